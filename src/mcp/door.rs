//! Puts a handler of the protocol behind the guard, under `/mcp`.

use axum::{
    Json, Router,
    http::StatusCode,
    middleware,
    response::IntoResponse,
    routing::{any_service, get},
};
use rmcp::{
    ServerHandler,
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use vigie_core::caller::TokenScope;

use super::{
    bearer::{Challenge, RunFolder},
    body,
    guard::{self, Guard},
    message::Asked,
    sessions::Sessions,
};
use crate::{hub::Hub, tasks::Tasks};

/// A comment this often on every open stream tells both ends that it still holds.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where calls go.
const PATH: &str = "/mcp";
/// Where it says what it wants. Source: RFC 9728, section 3.1.
const METADATA: &str = "/.well-known/oauth-protected-resource";

/// What is served, and to whom.
pub struct Parts {
    /// Scheme and authority under which people know us: `http://127.0.0.1:7285`.
    pub base: String,
    /// Knows the tokens.
    pub hub: Hub,
    pub folder: RunFolder,
    /// The scope that a call takes, if it takes one.
    pub needs: fn(&Asked) -> Option<TokenScope>,
    pub tasks: Tasks,
}

/// Answers `/mcp`, and where programs read what that is. `handler` is called for each session of
/// the older era, and for each call of the newer.
pub fn door<H: ServerHandler>(
    parts: Parts,
    handler: impl Fn() -> H + Send + Sync + 'static,
) -> Router {
    let Parts { base, hub, folder, needs, tasks } = parts;
    let sessions = Sessions::new();
    let sweeper = sessions.clone();
    tasks.start("sessions of clients", move |stop| sweeper.sweep(stop));
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_max_request_body_bytes(body::LONGEST)
        .with_cancellation_token(tasks.stopping())
        // The web door has checked both, against the names of the configuration.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service =
        StreamableHttpService::new(move || Ok(handler()), Arc::new(sessions.clone()), config);
    let challenge = Challenge {
        resource: format!("{base}{PATH}"),
        metadata_at: format!("{base}{METADATA}{PATH}"),
    };
    let metadata = challenge.metadata();
    let metadata = get(async move || Json(metadata));
    let guard = Arc::new(Guard { hub, folder, needs, challenge, sessions });
    Router::new()
        .route(PATH, any_service(service))
        .layer(middleware::from_fn_with_state(guard, guard::guard))
        .route(METADATA, metadata.clone())
        .route(&format!("{METADATA}{PATH}"), metadata)
        .route("/.well-known/{*rest}", get(nothing_here))
}

/// What other servers describe of themselves there; a page that asks for a login would mislead.
async fn nothing_here() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, Json(json!({ "error": "there is nothing at this address" })))
}
