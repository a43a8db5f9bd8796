//! Files with workflows: what a person writes in place of one of their own.

use axum::{
    Json,
    body::Bytes,
    extract::{self, Extension, State},
    http::StatusCode,
};
use std::path::Path;
use vigie_core::{command::Refusal, nearest::nearest};
use vigie_dashboard::words::many;

use super::{MOST_NEAR, read};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{NewWorkflow, ProblemShape, SaveText, Saved},
    },
    workflows::{self, FileRead, NotSaved, Reading},
};

/// Keeps a text in place of the one that was read. A workflow may be called `check`, whose address has
/// no name in it.
#[utoipa::path(
    put, path = "/workflows/{*name}", request_body = SaveText,
    responses((status = 200, body = Saved))
)]
pub(super) async fn save(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    name: Option<extract::Path<String>>,
    body: Bytes,
) -> Result<Json<Saved>, Fault> {
    caller.needs(Role::Owner)?;
    let name = name.map_or_else(|| "check".to_owned(), |extract::Path(name)| name);
    let SaveText { text, digest } = read(&body)?;
    let reading = app.outside.workflows.look().await;
    let file = first_file(&reading, &name)?.clone();
    if let Some(why) = why_not(&reading, &name) {
        return Err(not_saved(&NotSaved::NotYours(why.trim_end_matches('.').into())));
    }
    let path = file.path.clone();
    // A disk takes its time, and others wait on this thread.
    let saving = tokio::task::spawn_blocking(move || workflows::save(&file, &text, &digest));
    saving.await.map_err(|error| internal(&error))?.map_err(|why| not_saved(&why))?;
    let reading = app.outside.workflows.look().await;
    let now = reading.files.iter().find(|file| file.path == path);
    let problems = now.map(|file| file.problems.clone()).unwrap_or_default();
    let words = match problems.all.len() {
        0 => "Saved.".to_owned(),
        count if problems.has_errors() => {
            format!("Saved. It does not run: {}.", many(count, "problem", "problems"))
        }
        count => format!("Saved, with {}.", many(count, "warning", "warnings")),
    };
    Ok(Json(Saved {
        name: now.map_or(name, FileRead::whole_name),
        words,
        digest: now.map(|file| workflows::digest(&file.text)).unwrap_or_default(),
        runs: !problems.has_errors(),
        problems: problems.all.iter().map(ProblemShape::new).collect(),
    }))
}

/// Makes a workflow of one's own that runs as it is, to be changed in the editor.
#[utoipa::path(post, path = "/workflows", request_body = NewWorkflow,
    responses((status = 201, body = Saved))
)]
pub(super) async fn create(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    body: Bytes,
) -> Result<(StatusCode, Json<Saved>), Fault> {
    caller.needs(Role::Owner)?;
    let NewWorkflow { name } = read(&body)?;
    let reading = app.outside.workflows.look().await;
    let Some(folder) = app.outside.workflows.own().map(Path::to_owned) else {
        let why = NotSaved::NotYours("there is no folder for workflows of your own".into());
        return Err(not_saved(&why));
    };
    if reading.named(&name).next().is_some() {
        return Err(not_saved(&NotSaved::Exists(name)));
    }
    let text = workflows::sample(&name);
    let (kept, named) = (text.clone(), name.clone());
    let written = tokio::task::spawn_blocking(move || workflows::create(&folder, &named, &kept));
    written.await.map_err(|error| internal(&error))?.map_err(|why| not_saved(&why))?;
    app.outside.workflows.look().await;
    let (digest, words) = (workflows::digest(&text), format!("{name} is there."));
    Ok((StatusCode::CREATED, Json(Saved { name, words, digest, runs: true, problems: Vec::new() })))
}

/// The first file of that name, or the near misses.
pub(in crate::web) fn first_file<'a>(
    reading: &'a Reading,
    name: &str,
) -> Result<&'a FileRead, Fault> {
    reading.named(name).next().ok_or_else(|| {
        let known: Vec<_> = reading.catalog.all.keys().cloned().collect();
        let near = nearest(name, known.iter().map(String::as_str), MOST_NEAR);
        let near = near.into_iter().map(str::to_owned).collect();
        Refusal::NoWorkflow { name: name.into(), near, known }.into()
    })
}

/// Why nobody writes into the file of that name from a page; `None`: an owner may.
pub(in crate::web) fn why_not(reading: &Reading, name: &str) -> Option<String> {
    let mut named = reading.named(name);
    let (first, second) = (named.next()?, named.next());
    let twins = second.map(|second| {
        let (one, other) = (&first.shown, &second.shown);
        format!("Two files have that name, {one} and {other}: give one of them another.")
    });
    twins.or_else(|| workflows::why_not(first))
}

fn internal(error: &tokio::task::JoinError) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
}

fn not_saved(why: &NotSaved) -> Fault {
    let (status, code, hint) = match why {
        NotSaved::NotYours(_) => (
            StatusCode::FORBIDDEN,
            "not_yours",
            "Only files beside the configuration are changed here.",
        ),
        NotSaved::Changed(_) => {
            let hint = "Nothing was saved. Copy what you wrote, and open the page again.";
            (StatusCode::CONFLICT, "changed", hint)
        }
        NotSaved::Exists(_) => {
            (StatusCode::CONFLICT, "workflow_exists", "Choose another name, or change that one.")
        }
        NotSaved::BadName(_) => {
            let hint = "Letters, digits, `-` and `_`, at most 60, a letter or digit first.";
            (StatusCode::UNPROCESSABLE_ENTITY, "bad_name", hint)
        }
        NotSaved::TooLong => {
            (StatusCode::UNPROCESSABLE_ENTITY, "unreadable", "Nothing a person wrote is as long.")
        }
        NotSaved::Disk { .. } => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "outside",
            "Look at its owner and mode, and at the disk.",
        ),
    };
    Fault::new(status, code, why.to_string()).hint(hint)
}
