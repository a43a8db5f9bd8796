//! What only the desk does: let people in and out, stop Vigie.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use vigie_core::id::HumanId;

use super::read;
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::{Caller, Way},
        serve::App,
        shapes::{Done, LinkShape, LoginShape, NewLink},
    },
};

pub(super) fn owner_at_the_desk(caller: &Caller) -> Result<(), Fault> {
    caller.needs_desk()?;
    caller.needs(Role::Owner)
}

/// A one-time link for a person.
#[utoipa::path(
    post, path = "/links", request_body = Option<NewLink>,
    responses((status = 201, body = LinkShape))
)]
pub(super) async fn link(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<LinkShape>), Fault> {
    owner_at_the_desk(&caller)?;
    let NewLink { human } = if body.is_empty() { NewLink::default() } else { read(&body)? };
    let human = human.map_or_else(|| caller.human.clone(), HumanId::new);
    let Some(person) = app.people.caller(&human, Way::Desk) else {
        let words = format!("nobody is called `{human}`");
        let hint = format!("People in the configuration: {}.", app.people.ids().join(", "));
        return Err(Fault::new(StatusCode::NOT_FOUND, "no_human", words).hint(hint));
    };
    let made = app.links.make(human, app.clock.now());
    let (code, until) = made.map_err(|error| internal(error.to_string()))?;
    let url = format!("{}/login?token={code}", app.url);
    let link = LinkShape { url, code, human: person.name, until, reaches: app.reaches };
    Ok((StatusCode::CREATED, Json(link)))
}

/// Browsers that are signed in.
#[utoipa::path(
    get, path = "/logins",
    responses((status = 200, body = Vec<LoginShape>))
)]
pub(super) async fn logins(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Vec<LoginShape>>, Fault> {
    owner_at_the_desk(&caller)?;
    Ok(Json(app.logins.list()))
}

/// Signs a browser out.
#[utoipa::path(delete, path = "/logins/{id}", responses((status = 200, body = Done)))]
pub(super) async fn logout(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Done>, Fault> {
    owner_at_the_desk(&caller)?;
    match app.logins.remove(&id).await {
        Ok(true) => Ok(Json(Done { words: format!("{id} is signed out") })),
        Ok(false) => {
            let words = format!("there is no login {id}");
            let fault = Fault::new(StatusCode::NOT_FOUND, "no_login", words);
            Err(fault.hint("`vigie logins` lists them."))
        }
        Err(error) => Err(internal(error.to_string())),
    }
}

/// Stops the daemon; agents live on in their holders.
#[utoipa::path(post, path = "/down", responses((status = 202, body = Done)))]
pub(super) async fn down(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<(StatusCode, Json<Done>), Fault> {
    owner_at_the_desk(&caller)?;
    app.tasks.stop();
    let words = "Vigie stops. Sessions go on; `vigie up` finds them again.".into();
    Ok((StatusCode::ACCEPTED, Json(Done { words })))
}

fn internal(words: String) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "outside", words)
        .hint("`vigie doctor` looks at disk and system.")
}
