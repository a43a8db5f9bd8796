//! Why a call of a webhook began nothing.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use std::time::Duration;
use vigie_core::command::Refusal;

use crate::web::{fault::Fault, shapes::NotBegunShape};

#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    code: String,
    error: String,
    hint: Option<String>,
    mistakes: Vec<String>,
    again: Option<Duration>,
}

impl Refused {
    fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        let error = error.into();
        Self { status, code: code.into(), error, hint: None, mistakes: Vec::new(), again: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "a webhook takes POST alone")
    }

    pub(super) fn from_a_page() -> Self {
        Self::new(StatusCode::FORBIDDEN, "wrong_origin", "a webhook is not called by pages")
            .hint("Call it from a program, which names no Origin.")
    }

    pub(super) fn query() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "query", "a webhook takes no query")
            .hint("Addresses end up in logs: send the token as `Authorization: Bearer …`.")
    }

    /// The same whether there is such a webhook or not.
    pub(super) fn unproven() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not_proven", "no webhook here takes this call")
            .hint("Look at its name and at the token, or at the signature and its time.")
    }

    pub(super) fn too_large(most: u64) -> Self {
        let words = format!("the body is longer than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", words)
            .hint("Send less, or set `max_body` of the webhook in the workflow's file.")
    }

    pub(super) fn too_slow() -> Self {
        let words = "the body did not come in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", words)
    }

    pub(super) fn broken_off() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "broken_off", "the body broke off")
    }

    pub(super) fn too_many(again: Duration) -> Self {
        let words = "too many calls at once; nothing was begun";
        Self { again: Some(again), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", words) }
            .hint("Send it again after the time in Retry-After.")
    }

    pub(super) fn no_json_type() -> Self {
        let words = "a webhook takes JSON, or nothing";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "no_json", words)
            .hint("Send it as `Content-Type: application/json`.")
    }

    pub(super) fn no_json(error: &serde_json::Error) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "unreadable", format!("the body is no JSON: {error}"))
    }

    pub(super) fn bad_key(most: usize) -> Self {
        let words = format!("the Idempotency-Key is not 1 to {most} visible characters of ASCII");
        Self::new(StatusCode::BAD_REQUEST, "bad_key", words)
    }

    pub(super) fn params(mistakes: Vec<String>) -> Self {
        let words = "the body does not give what the workflow needs";
        Self { mistakes, ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_params", words) }
    }

    pub(super) fn not_run(why: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "not_run", why)
    }

    pub(super) fn slow_disk() -> Self {
        let words = "Vigie did not write it down in time; it may be begun all the same";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "slow", words)
            .hint("Send it again with the same Idempotency-Key.")
    }

    /// The hub answered something else than was asked: a fault of ours.
    pub(super) fn ours() -> Self {
        let words = "Vigie answered itself nonsense";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", words)
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::BadParams { mistakes, .. } => Self::params(mistakes),
            Refusal::TooOften { retry_after, .. } => {
                Self::too_many(Duration::from_secs(retry_after))
            }
            // Whoever calls has no desk to type what the hints say.
            other => {
                let fault = Fault::from(other);
                Self::new(fault.status(), fault.code(), fault.words())
            }
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self { status, code, error, hint, mistakes, again } = self;
        let body = Json(NotBegunShape { error, hint, code, mistakes });
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        // The body may not have been read to its end: what is left of it is no next request.
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(again) = again {
            headers.insert(header::RETRY_AFTER, again.as_secs().max(1).into());
        }
        response
    }
}
