//! Tokens of programs outside of every session: made, listed and ended at the desk.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use vigie_core::{
    caller::{TokenHash, TokenRow, TokenScope},
    command::{Command, Reply},
};

use super::{ask, desk::owner_at_the_desk, read, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, MadeToken, NewToken, TokenShape},
        token,
    },
};

/// Makes a token. Its secret is told this once; the core and the disk have its hash alone.
#[utoipa::path(
    post, path = "/tokens", request_body = NewToken,
    responses((status = 201, body = MadeToken))
)]
pub(super) async fn create(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<MadeToken>), Fault> {
    owner_at_the_desk(&caller)?;
    let NewToken { name, scopes } = read(&body)?;
    let scopes = scopes.unwrap_or_else(|| TokenScope::ALL.into());
    if scopes.is_empty() {
        return Err(Fault::unreadable("`scopes` is empty, and such a token opens nothing"));
    }
    let secret = token::client().map_err(|error| {
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "outside", error.to_string())
            .hint("`vigie doctor` looks at disk and system.")
    })?;
    let hash = TokenHash(token::Hash::of(&secret).hex());
    let reply = ask(&app, &caller, Role::Owner, Command::AddToken { name, hash, scopes }).await?;
    match &reply {
        Reply::Tokens(rows) if let [row] = rows.as_slice() => {
            let url = format!("{}/mcp", app.url);
            let made = MadeToken { token: secret, url, about: TokenShape::new(row) };
            Ok((StatusCode::CREATED, Json(made)))
        }
        other => Err(unexpected(other)),
    }
}

/// Tokens that are valid, the oldest first.
#[utoipa::path(
    get, path = "/tokens",
    responses((status = 200, body = Vec<TokenShape>))
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<TokenShape>>, Fault> {
    owner_at_the_desk(&caller)?;
    let valid = |row: &&TokenRow| row.revoked.is_none();
    match ask(&app, &caller, Role::Owner, Command::Tokens).await? {
        Reply::Tokens(rows) => Ok(Json(rows.iter().filter(valid).map(TokenShape::new).collect())),
        other => Err(unexpected(&other)),
    }
}

/// Ends a token.
#[utoipa::path(
    delete, path = "/tokens/{name}",
    responses((status = 200, body = Done))
)]
pub(super) async fn revoke(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<Done>, Fault> {
    owner_at_the_desk(&caller)?;
    match ask(&app, &caller, Role::Owner, Command::RevokeToken { name }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
