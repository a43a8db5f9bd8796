//! How Vigie itself does, and what the doctor found.

use axum::{
    Json,
    extract::{Extension, State},
    http::StatusCode,
    response::Response,
};
use std::sync::{Mutex, PoisonError};
use vigie_core::command::{Command, Reply};
use vigie_dashboard::{
    Page,
    system::{self, Doctor, Doing, Protection, System},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        api::{ask, undelivered::read_undelivered, unexpected},
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::Done,
    },
};

/// What the doctor found last. One examination at a time: it starts programs and asks services.
#[derive(Debug, Default)]
pub(in crate::web) struct Examined {
    last: Mutex<Doctor>,
    running: tokio::sync::Mutex<()>,
}

impl Examined {
    fn last(&self) -> Doctor {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    how: How,
) -> Response {
    live::answer(app, caller, how, draw).await
}

async fn draw(seen: Seen) -> Result<Page, Fault> {
    let people = if seen.may(Role::Owner) {
        match ask(&seen.app, &seen.caller, Role::Owner, Command::People).await? {
            Reply::People(people) => Some(people.identities),
            other => return Err(unexpected(&other)),
        }
    } else {
        None
    };
    let undelivered = read_undelivered(&seen.app, &seen.caller).await?;
    let outside = &seen.app.outside;
    let protection = |shape: &crate::web::shapes::ProtectionShape| Protection {
        name: shape.name.clone(),
        holds: shape.holds,
        words: shape.words.clone(),
        todo: shape.todo.clone(),
    };
    let protections: Vec<_> = outside.protections.iter().map(protection).collect();
    let live = seen.status.sessions.iter().filter(|view| view.session.life.is_live()).count();
    let doing = Doing {
        live,
        known: seen.status.sessions.len(),
        process: std::process::id(),
        address: &seen.app.url.to_string(),
    };
    let page = System {
        versions: &outside.versions,
        up_since: seen.app.since,
        seq: *outside.newest.borrow(),
        bridges: &seen.status.bridges,
        undelivered: &undelivered,
        may_retry: seen.may(Role::Talker),
        to_send: seen.status.pending_deliveries,
        problems: &seen.status.problems,
        protections: &protections,
        host: &(outside.host)(),
        doing: &doing,
        people: people.as_deref(),
        doctor: &seen.app.examined.last(),
        may_examine: seen.may(Role::Approver),
        now: seen.now,
    };
    Ok(system::page(&page))
}

/// Has the doctor look again; the page shows what came of it.
#[utoipa::path(post, path = "/doctor", responses((status = 200, body = Done)))]
pub(in crate::web) async fn examine(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Done>, Fault> {
    caller.needs(Role::Approver)?;
    let Ok(_alone) = app.examined.running.try_lock() else {
        let words = "the doctor is looking already";
        return Err(Fault::new(StatusCode::CONFLICT, "busy", words).hint("Wait for what it finds."));
    };
    let found = (app.outside.doctor)().await;
    let at = app.clock.now();
    let (doctor, words) = match found {
        Ok(findings) => (Doctor::Found { findings, at }, "The doctor has looked."),
        Err(why) => (Doctor::Failed { why, at }, "The doctor could not look."),
    };
    *app.examined.last.lock().unwrap_or_else(PoisonError::into_inner) = doctor;
    Ok(Json(Done { words: words.into() }))
}
