//! The account on Matrix: how it stands, and who is who there. At the desk alone: whoever could
//! confirm a verification from elsewhere could put themselves in between.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

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

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(look))
        .routes(routes!(list, begin))
        .routes(routes!(show))
        .routes(routes!(accept))
        .routes(routes!(confirm))
        .routes(routes!(mismatch))
        .routes(routes!(cancel))
        .routes(routes!(accept_change))
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

/// The account on Matrix.
#[utoipa::path(get, path = "/matrix", responses((status = 200, body = MatrixShape)))]
async fn look(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<MatrixShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.look().await?))
}

/// Verifications that run or ended lately, oldest first.
#[utoipa::path(
    get, path = "/matrix/verifications",
    responses((status = 200, body = Vec<VerificationShape>))
)]
async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<VerificationShape>>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.verifications()))
}

/// One verification.
#[utoipa::path(
    get, path = "/matrix/verifications/{id}",
    responses((status = 200, body = VerificationShape))
)]
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

/// Asks a person to be verified.
#[utoipa::path(
    post, path = "/matrix/verifications",
    request_body = NewVerification,
    responses((status = 201, body = VerificationShape))
)]
async fn begin(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<VerificationShape>), Fault> {
    let desk = at_the_desk(&app, &caller)?;
    let NewVerification { user } = read(&body)?;
    Ok((StatusCode::CREATED, Json(desk.verify(user).await?)))
}

/// Takes a verification that was asked for.
#[utoipa::path(
    post, path = "/matrix/verifications/{id}/accept",
    responses((status = 200, body = VerificationShape))
)]
async fn accept(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Accept).await?))
}

/// Says that it is the same on both sides.
#[utoipa::path(
    post, path = "/matrix/verifications/{id}/confirm",
    request_body = ConfirmVerification,
    responses((status = 200, body = VerificationShape))
)]
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

/// Says that it is not the same.
#[utoipa::path(
    post, path = "/matrix/verifications/{id}/mismatch",
    responses((status = 200, body = VerificationShape))
)]
async fn mismatch(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Mismatch).await?))
}

/// Leaves a verification.
#[utoipa::path(
    post, path = "/matrix/verifications/{id}/cancel",
    responses((status = 200, body = VerificationShape))
)]
async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<VerificationShape>, Fault> {
    Ok(Json(at_the_desk(&app, &caller)?.step(id, VerificationStep::Cancel).await?))
}

/// Takes somebody as they are now.
#[utoipa::path(
    post, path = "/matrix/people/{user}/accept",
    request_body = AcceptIdentity,
    responses((status = 200, body = Done))
)]
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
