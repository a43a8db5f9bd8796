//! Who is let in over chat services: a code to type there, a list, and the way out.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use futures_util::future::join_all;
use rand::{TryRngCore, rngs::OsRng};
use vigie_core::{
    command::{Command, Reply},
    id::{BridgeName, PairingCode},
};

use super::{ask, desk::owner_at_the_desk, read, read_status, unexpected};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{Done, NewPairing, PairingShape, PeopleShape, ServiceShape},
    },
};

/// A code that lets in whoever types it. Drawn here, from the system's randomness: the core has
/// none that is secret.
#[utoipa::path(
    post, path = "/pair", request_body = Option<NewPairing>,
    responses((status = 201, body = PairingShape))
)]
pub(super) async fn pair(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<PairingShape>), Fault> {
    owner_at_the_desk(&caller)?;
    let NewPairing { human } = if body.is_empty() { NewPairing::default() } else { read(&body)? };
    let random = OsRng.try_next_u64().map_err(|error| {
        let words = format!("the system gives no randomness: {error}");
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "outside", words)
            .hint("`vigie doctor` looks at disk and system.")
    })?;
    let command = Command::Pair { human, code: PairingCode::from_random(random) };
    let (code, human, name, until, bridges) = match ask(&app, &caller, Role::Owner, command).await?
    {
        Reply::Pairing { code, human, name, until, bridges } => (code, human, name, until, bridges),
        other => return Err(unexpected(&other)),
    };
    let status = read_status(&app, &caller).await?;
    let trouble = |bridge: &BridgeName| {
        status.bridges.iter().find(|view| view.name == *bridge)?.trouble.clone()
    };
    let links = join_all(bridges.iter().map(|bridge| (app.outside.invite)(bridge))).await;
    let service = |(bridge, link): (&BridgeName, Option<String>)| ServiceShape {
        bridge: bridge.to_string(),
        link,
        trouble: trouble(bridge),
    };
    let services = bridges.iter().zip(links).map(service).collect();
    let human = human.to_string();
    let shape = PairingShape { code: code.show(), human, name, until, services };
    Ok((StatusCode::CREATED, Json(shape)))
}

/// Who is heard over chat services, and which chats hear of sessions.
#[utoipa::path(get, path = "/people", responses((status = 200, body = PeopleShape)))]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<PeopleShape>, Fault> {
    owner_at_the_desk(&caller)?;
    match ask(&app, &caller, Role::Owner, Command::People).await? {
        Reply::People(people) => Ok(Json(PeopleShape::new(&people))),
        other => Err(unexpected(&other)),
    }
}

/// Takes access back from a person or a chat.
#[utoipa::path(
    delete, path = "/people/{bridge}/{id}",
    responses((status = 200, body = Done))
)]
pub(super) async fn unpair(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path((bridge, id)): Path<(String, String)>,
) -> Result<Json<Done>, Fault> {
    owner_at_the_desk(&caller)?;
    match ask(&app, &caller, Role::Owner, Command::Unpair { bridge, id }).await? {
        Reply::Done { words } => Ok(Json(Done { words })),
        other => Err(unexpected(&other)),
    }
}
