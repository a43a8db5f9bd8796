//! Files with workflows: what a person writes in place of one of their own.

use axum::{
    Json,
    body::Bytes,
    extract::{Extension, Path, State},
    http::StatusCode,
};
use vigie_core::{command::Refusal, nearest::nearest};
use vigie_dashboard::words::many;

use super::{MOST_NEAR, read};
use crate::{
    config::Role,
    web::{
        fault::Fault,
        people::Caller,
        serve::App,
        shapes::{ProblemShape, SaveText, Saved},
    },
    workflows::{self, FileRead, NotSaved, Reading},
};

/// Keeps a text in place of the one that was read. A workflow may be called `check`, whose address has
/// no name in it.
pub(super) async fn save(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    name: Option<Path<String>>,
    body: Bytes,
) -> Result<Json<Saved>, Fault> {
    caller.needs(Role::Owner)?;
    let name = name.map_or_else(|| "check".to_owned(), |Path(name)| name);
    let SaveText { text, digest } = read(&body)?;
    let file = the_file(&app.outside.workflows.look().await, &name)?.clone();
    let path = file.path.clone();
    // A disk takes its time, and others wait on this thread.
    let saving = tokio::task::spawn_blocking(move || workflows::save(&file, &text, &digest));
    saving.await.map_err(internal)?.map_err(not_saved)?;
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
        words,
        digest: now.map(|file| workflows::digest(&file.text)).unwrap_or_default(),
        runs: !problems.has_errors(),
        problems: problems.all.iter().map(ProblemShape::new).collect(),
    }))
}

/// The one file of that name.
pub(in crate::web) fn the_file<'a>(
    reading: &'a Reading,
    name: &str,
) -> Result<&'a FileRead, Fault> {
    let mut named = reading.named(name);
    let Some(file) = named.next() else {
        let known: Vec<_> = reading.catalog.all.keys().cloned().collect();
        let near = nearest(name, known.iter().map(String::as_str), MOST_NEAR);
        let near = near.into_iter().map(str::to_owned).collect();
        return Err(Refusal::NoWorkflow { name: name.into(), near, known }.into());
    };
    match named.next() {
        None => Ok(file),
        Some(other) => {
            let words =
                format!("`{name}` is the name of two files: {}, {}", file.shown, other.shown);
            let hint = "Give one of them another name at the desk.";
            Err(Fault::new(StatusCode::CONFLICT, "two_files", words).hint(hint))
        }
    }
}

fn internal(error: tokio::task::JoinError) -> Fault {
    Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
}

fn not_saved(why: NotSaved) -> Fault {
    let (status, code, hint) = match &why {
        NotSaved::NotYours(_) => (
            StatusCode::FORBIDDEN,
            "not_yours",
            "Only files beside the configuration are changed here.",
        ),
        NotSaved::Changed(_) => {
            let hint = "Nothing was saved. Copy what you wrote, and open the page again.";
            (StatusCode::CONFLICT, "changed", hint)
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
