//! What stands before every call: who calls, what they may, and whether what they sent is a message.
//! Host and Origin were looked at by the web door already.

use axum::{
    Json,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::sync::Arc;
use tracing::warn;
use vigie_core::caller::TokenScope;

use super::{
    bearer::{self, Caller, Challenge, RunFolder, Turned, Whence},
    body::{self, Unread},
    message::{self, Asked},
    sessions::Sessions,
};
use crate::hub::Hub;

/// The older era's session. Source: the protocol of 2025-11-25, Transports.
const SESSION: &str = "mcp-session-id";
/// The last event a client got of a stream. Source: the same.
const LAST_EVENT: &str = "last-event-id";

/// What every call is looked at with.
pub(super) struct Guard {
    pub(super) hub: Hub,
    pub(super) folder: RunFolder,
    pub(super) needs: fn(&Asked) -> Option<TokenScope>,
    pub(super) challenge: Challenge,
    pub(super) sessions: Sessions,
}

pub(super) async fn guard(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.look(request).await {
        Ok((request, caller)) => {
            let response = next.run(request).await;
            // The caller learns of a new session with this very answer.
            if let Some(session) = text(response.headers(), SESSION) {
                guard.sessions.belongs(session, &caller.known.principal);
            }
            response
        }
        Err(refused) => *refused,
    }
}

impl Guard {
    /// The request as it may go on, or what its caller hears.
    async fn look(&self, mut request: Request) -> Result<(Request, Caller), Box<Response>> {
        let whence = request.extensions().get::<Whence>().cloned();
        let caller = self.admit(request.headers(), whence).await.map_err(|turned| {
            warn!(why = %turned, "a call of a program was turned away");
            Box::new(self.challenge.unknown(&turned))
        })?;
        if *request.method() == Method::POST && is_json(request.headers()) {
            let asked;
            (request, asked) = read(request).await?;
            let missing = |scope: &TokenScope| !caller.known.scopes.contains(scope);
            if let Some(scope) = (self.needs)(&asked).filter(missing) {
                let what = asked.name.as_deref().or(asked.method.as_deref()).unwrap_or_default();
                return Err(Box::new(self.challenge.not_enough(scope, what)));
            }
            if asked.method.as_deref() == Some("initialize") {
                self.sessions.make_room(&caller.known.principal).await.map_err(|full| {
                    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, &full.to_string());
                    response
                        .headers_mut()
                        .insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
                    Box::new(response)
                })?;
            }
        }
        self.own_session(request.headers(), &caller)?;
        request.extensions_mut().insert(caller.clone());
        Ok((request, caller))
    }

    async fn admit(&self, headers: &HeaderMap, whence: Option<Whence>) -> Result<Caller, Turned> {
        let token = bearer::token(headers)?;
        let whence = whence.ok_or_else(|| Turned::NotGood("it is unclear who calls".into()))?;
        bearer::caller(&self.hub, &self.folder, &token, &whence).await
    }

    /// A session is there for whoever opened it; for everybody else there is none.
    fn own_session(&self, headers: &HeaderMap, caller: &Caller) -> Result<(), Box<Response>> {
        let Some(session) = text(headers, SESSION) else { return Ok(()) };
        if !self.sessions.is_of(session, &caller.known.principal) {
            return Err(Box::new(refuse(
                StatusCode::NOT_FOUND,
                "there is no such session any more; begin a new one with `initialize`",
            )));
        }
        match text(headers, LAST_EVENT) {
            // An empty stream instead would be asked for again and again.
            Some(event) if !self.sessions.goes_on_after(session, event) => Err(Box::new(refuse(
                StatusCode::BAD_REQUEST,
                "what came after that event is not kept any more; ask again",
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// Takes the message in, and hands on what was understood of it.
async fn read(request: Request) -> Result<(Request, Asked), Box<Response>> {
    let (mut parts, body) = request.into_parts();
    let body = body::take(body)
        .await
        .map_err(|Unread { status, words }| Box::new(refuse(status, &words)))?;
    let message = message::read(&body).map_err(|broken| {
        Box::new((StatusCode::BAD_REQUEST, Json(broken.answer())).into_response())
    })?;
    parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(message.body.len()));
    Ok((Request::from_parts(parts, Body::from(message.body)), message.asked))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn refuse(status: StatusCode, words: &str) -> Response {
    (status, Json(json!({ "error": words }))).into_response()
}
