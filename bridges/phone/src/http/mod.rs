//! The page's requests, mounted under `/phone` behind the web part's login.

mod act;
mod live;
mod read;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, FromRequestParts, Request},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::error;

use crate::{
    PhoneBridge, files,
    store::{ActError, StoreError},
};

/// Longest request: a text at its limit, escaped in the worst way, and room around it.
const BODY_LIMIT: usize = 256 * 1024;

/// Everything from here, no inline script or style, and nobody may frame the page.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'";

/// Who asks; the web part's login puts it into the request's extensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Unique and for ever: it becomes [`Heard::from`](vigie_core::bridge::Heard::from).
    pub id: String,
    /// What others read.
    pub name: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Person {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Refusal::new(
                StatusCode::UNAUTHORIZED,
                "you are not signed in here; run `vigie pair` at the desk",
            )
        })
    }
}

/// A request that was not carried out, and a sentence about it.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    says: String,
}

impl Refusal {
    fn new(status: StatusCode, says: impl Into<String>) -> Self {
        Self { status, says: says.into() }
    }

    fn bad(says: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, says)
    }

    fn gone(says: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, says)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "error": self.says }))).into_response()
    }
}

impl From<StoreError> for Refusal {
    fn from(failed: StoreError) -> Self {
        error!(error = %failed, "a request of the phone page failed");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Vigie could not reach its disk just now; the page tries again by itself",
        )
    }
}

impl From<ActError> for Refusal {
    fn from(failed: ActError) -> Self {
        match failed {
            ActError::Store(failed) => failed.into(),
            ActError::Gone(says) => Self::gone(says),
            ActError::Forbidden(says) => Self::new(StatusCode::FORBIDDEN, says),
            ActError::Full => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Vigie has not taken the last 1000 messages; look at the desk whether it runs well",
            ),
        }
    }
}

impl PhoneBridge {
    /// The page and its requests, to be nested under `/phone` with `nest_service`, which lets in
    /// `/phone/` too (`nest` would not). [`assets_router`] belongs beside it.
    ///
    /// [`assets_router`]: crate::assets_router
    pub fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/", get(read::shell))
            .route("/api/state", get(read::state))
            .route("/api/messages", get(read::messages))
            .route("/api/changes", get(read::changes))
            .route("/api/document/{id}", get(read::document))
            .route("/api/live", get(live::live))
            .route("/api/send", post(act::send))
            .route("/api/edit", post(act::edit))
            .route("/api/tap", post(act::tap))
            .route("/api/again", post(act::again))
            .route("/api/read", post(act::read))
            .route("/offline", get(files::offline))
            .route("/worker.js", get(files::worker))
            .layer(middleware::from_fn(guard))
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .with_state(Arc::clone(self))
    }
}

/// A form on a foreign page can neither send this header nor JSON without asking first.
async fn guard(request: Request, next: Next) -> Response {
    let ours = request.headers().get("x-vigie").is_some_and(|value| value == "1");
    let mut response = if *request.method() == Method::POST && !ours {
        Refusal::new(StatusCode::FORBIDDEN, "this request lacks the header `x-vigie: 1`")
            .into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
