//! What goes back when something was not done: `{error, hint, code}` and the right status; to whoever
//! looks at pages the same as a page.

use axum::{
    Json,
    extract::Request,
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};
use vigie_core::command::Refusal;

use super::shapes::ErrorShape;
use crate::config::Role;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    status: StatusCode,
    code: &'static str,
    error: String,
    hint: Option<String>,
    mistakes: Vec<String>,
}

impl Fault {
    pub(super) fn new(status: StatusCode, code: &'static str, error: impl Into<String>) -> Self {
        Self { status, code, error: error.into(), hint: None, mistakes: Vec::new() }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn code(&self) -> &'static str {
        self.code
    }

    pub(super) fn words(&self) -> &str {
        &self.error
    }

    pub(super) fn not_signed_in() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not_signed_in", "you are not signed in")
            .hint("Make a link at the desk: vigie login")
    }

    pub(super) fn role(name: &str, role: Role) -> Self {
        let deed = match role {
            Role::Viewer => "look",
            Role::Talker => "write to sessions",
            Role::Approver => "answer what waits",
            Role::Owner => "let people in or stop Vigie",
        };
        Self::new(StatusCode::FORBIDDEN, "role", format!("{name} may not {deed}"))
            .hint("Roles are in the configuration, under [[human]].")
    }

    pub(super) fn desk_only() -> Self {
        Self::new(StatusCode::FORBIDDEN, "desk_only", "this is done at the desk only")
            .hint("Run it with the vigie command on the machine itself.")
    }

    pub(super) fn no_such_page() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_such_page", "there is nothing at this address")
            .hint("Pages begin at /board; docs/api.md lists the rest.")
    }

    /// What a status alone says.
    fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::no_such_page(),
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(status, "method", "this address does not take that")
                    .hint("Open the page it belongs to; for programs, `Allow` in the answer says what it takes.")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(status, "too_large", "the body is longer than what is taken here")
            }
            status if status.is_server_error() => {
                Self::new(status, "internal", "Vigie could not answer")
                    .hint("This is a fault of Vigie; its log has the details.")
            }
            status => Self::new(status, "unreadable", "the request cannot be read"),
        }
    }

    pub(super) fn unreadable(reason: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unreadable",
            format!("the request cannot be read: {reason}"),
        )
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match &refusal {
            Refusal::NoSession { .. } => (StatusCode::NOT_FOUND, "no_session"),
            Refusal::NoProject { .. } => (StatusCode::NOT_FOUND, "no_project"),
            Refusal::NoAgent { .. } => (StatusCode::NOT_FOUND, "no_agent"),
            Refusal::NoHuman { .. } => (StatusCode::NOT_FOUND, "no_human"),
            Refusal::NotPaired { .. } => (StatusCode::NOT_FOUND, "not_paired"),
            Refusal::TokenExists { .. } => (StatusCode::CONFLICT, "token_exists"),
            Refusal::NoToken { .. } => (StatusCode::NOT_FOUND, "no_token"),
            Refusal::NoWorkflow { .. } => (StatusCode::NOT_FOUND, "no_workflow"),
            Refusal::NoRun { .. } => (StatusCode::NOT_FOUND, "no_run"),
            Refusal::BadWorkflow { .. } => (StatusCode::CONFLICT, "bad_workflow"),
            Refusal::BadParams { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bad_params"),
            Refusal::NotFilledIn { .. } => (StatusCode::CONFLICT, "not_filled_in"),
            Refusal::TooOften { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_often"),
            Refusal::NotRun(_) => (StatusCode::CONFLICT, "not_run"),
            Refusal::OtherKey { .. } => (StatusCode::CONFLICT, "other_key"),
            Refusal::NoAccount { .. } => (StatusCode::NOT_FOUND, "no_account"),
            Refusal::NothingStopped | Refusal::AccountWorks { .. } => {
                (StatusCode::CONFLICT, "account_works")
            }
            Refusal::NotHandedOver(_) => (StatusCode::CONFLICT, "not_handed_over"),
            Refusal::NoService => (StatusCode::CONFLICT, "no_service"),
            Refusal::NotQueued => (StatusCode::CONFLICT, "not_queued"),
            Refusal::NotTheirs { .. } => (StatusCode::FORBIDDEN, "not_theirs"),
            Refusal::NotAPersons => (StatusCode::CONFLICT, "not_a_persons"),
            Refusal::NoGrant { .. } => (StatusCode::NOT_FOUND, "no_grant"),
            Refusal::NoDelivery { .. } => (StatusCode::NOT_FOUND, "no_delivery"),
            Refusal::NotOurChat { .. } => (StatusCode::CONFLICT, "not_our_chat"),
            Refusal::NoGate { .. } => (StatusCode::NOT_FOUND, "no_gate"),
            Refusal::NotLive { .. } => (StatusCode::CONFLICT, "not_live"),
            Refusal::StillLive { .. } => (StatusCode::CONFLICT, "still_live"),
            Refusal::NothingToResume { .. } => (StatusCode::CONFLICT, "nothing_to_resume"),
            Refusal::AlreadyDecided(_) => (StatusCode::CONFLICT, "already_decided"),
            Refusal::NeedsCode { .. } => (StatusCode::CONFLICT, "needs_code"),
            Refusal::NoSuchChoice { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "no_such_choice"),
            Refusal::BadName(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_name"),
            Refusal::EmptyText => (StatusCode::UNPROCESSABLE_ENTITY, "empty_text"),
            Refusal::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "queue_full"),
            Refusal::NotWritten { .. } => (StatusCode::INSUFFICIENT_STORAGE, "not_written"),
            Refusal::NotRead { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "not_read"),
            Refusal::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        };
        let (error, hint) = (refusal.to_string(), refusal.hint());
        let mut fault = Self::new(status, code, error);
        fault.hint = hint;
        if let Refusal::BadParams { mistakes, .. } = refusal {
            fault.mistakes = mistakes;
        }
        fault
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let Self { status, code, error, hint, mistakes } = self.clone();
        let shape = ErrorShape { error, hint, code: code.into(), mistakes };
        let mut response = (status, Json(shape)).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Whatever refuses a request on its way says so in the one shape.
pub(super) async fn shaped(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let told = kind.is_some_and(|kind| {
        kind.starts_with(b"application/json") || kind.starts_with(b"text/html")
    });
    if told || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let mut shaped = Fault::of_status(status).into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        shaped.headers_mut().insert(header::ALLOW, allow.clone());
    }
    shaped
}

/// What went wrong, as a page; whatever else there is to be seen stays as it is.
pub(super) fn as_page(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if is_page || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let fault = response.extensions().get::<Fault>().cloned();
    let fault = fault.unwrap_or_else(|| Fault::of_status(status));
    let html = vigie_dashboard::frame::fault(&fault.error, fault.hint.as_deref());
    (status, Html(html)).into_response()
}
