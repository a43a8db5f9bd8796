//! The account on Matrix: how it stands, and who is who there. At the desk alone: whoever could
//! confirm a verification from elsewhere could put themselves in between.

use axum::{
    Json, Router,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
    routing::{get, post},
};
use std::sync::Arc;

use super::{desk::owner_at_the_desk, read};
use crate::web::{
    fault::Fault,
    outside::{MatrixDesk, MatrixRefusal, MatrixRefusalKind, VerificationStep},
    people::Caller,
    serve::App,
    shapes::{
        AcceptIdentity, ConfirmVerification, Done, MatrixShape, NewVerification, VerificationShape,
    },
};

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/matrix", get(look))
        .route("/matrix/verifications", get(list).post(begin))
        .route("/matrix/verifications/{id}", get(show))
        .route("/matrix/verifications/{id}/accept", post(accept))
        .route("/matrix/verifications/{id}/confirm", post(confirm))
        .route("/matrix/verifications/{id}/mismatch", post(mismatch))
        .route("/matrix/verifications/{id}/cancel", post(cancel))
        .route("/matrix/people/{user}/accept", post(accept_change))
}

/// The account, for an owner at the desk.
fn at_the_desk(app: &App, caller: &Caller) -> Result<Arc<dyn MatrixDesk>, Fault> {
    owner_at_the_desk(caller)?;
    app.outside.matrix.clone().ok_or_else(|| {
        Fault::new(StatusCode::NOT_FOUND, "no_matrix", "Vigie has no account on Matrix").hint(
            "Set one up: vigie init matrix. `vigie status` says if it is there and not ready.",
        )
    })
}

async fn look(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<MatrixShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.look().await?))
}

async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<VerificationShape>>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.verifications()))
}

async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    let mut all = at_the_desk(&app, &caller)?.verifications().into_iter();
    let found = all.find(|each| each.id == id);
    found.map(Json).ok_or_else(|| {
        let words = format!("there is no verification {id}; a restart ends those that run");
        Fault::new(StatusCode::NOT_FOUND, "no_verification", words)
            .hint("Begin again: vigie matrix verify.")
    })
}

async fn begin(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<VerificationShape>), Fault> {
    let desk = at_the_desk(&app, &caller)?;
    let NewVerification { user } = read(&body)?;
    Ok((StatusCode::CREATED, Json(desk.verify(user).await?)))
}

async fn accept(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Accept).await?))
}

async fn confirm(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<VerificationShape>, Fault> {
    let desk = at_the_desk(&app, &caller)?;
    let ConfirmVerification { same } = read(&body)?;
    Ok(Json(desk.step(id, VerificationStep::Confirm(same)).await?))
}

async fn mismatch(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Mismatch).await?))
}

async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Cancel).await?))
}

async fn accept_change(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(user): Path<String>,
    body: Bytes,
) -> Result<Json<Done>, Fault> {
    let desk = at_the_desk(&app, &caller)?;
    let AcceptIdentity { identity } = read(&body)?;
    desk.accept_change(user.clone(), identity).await?;
    let words = format!(
        "{user} is taken as they are now, not verified. `vigie matrix verify {user}` verifies them."
    );
    Ok(Json(Done { words }))
}

impl From<MatrixRefusal> for Fault {
    fn from(refusal: MatrixRefusal) -> Self {
        let MatrixRefusal { kind, words, hint } = refusal;
        let (status, code) = match kind {
            MatrixRefusalKind::NotThere => (StatusCode::NOT_FOUND, "not_on_matrix"),
            MatrixRefusalKind::NotNow => (StatusCode::CONFLICT, "not_now"),
            MatrixRefusalKind::Unreadable => (StatusCode::UNPROCESSABLE_ENTITY, "unreadable"),
            MatrixRefusalKind::Outside => (StatusCode::BAD_GATEWAY, "outside"),
        };
        Self::new(status, code, words).hint(hint)
    }
}
