//! Every workflow, and the runs of them.

use axum::{
    extract::{Extension, State},
    response::Response,
};
use serde::Deserialize;
use vigie_core::run::RunListing;
use vigie_dashboard::{
    Page,
    runs::{self, Runs},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::config::Role;
use crate::web::{
    api::runs::{read_runs, read_workflows},
    fault::Fault,
    people::Caller,
    query::Query,
    serve::App,
};

/// What is shown, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    workflow: String,
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
    how: How,
) -> Response {
    let only = Some(asked.workflow).filter(|name| !name.is_empty());
    app.outside.workflows.look().await;
    live::answer(app, caller, how, move |seen| draw(seen, only.clone())).await
}

async fn draw(seen: Seen, only: Option<String>) -> Result<Page, Fault> {
    let (app, caller) = (&seen.app, &seen.caller);
    let workflows = read_workflows(app, caller).await?;
    // A list ends somewhere, and one that is open stands in it however old it is.
    let listing = |open_only| RunListing { workflow: only.clone(), open_only };
    let mut runs = read_runs(app, caller, listing(true)).await?;
    let newest = read_runs(app, caller, listing(false)).await?;
    runs.extend(newest.into_iter().filter(|run| !run.row.life.is_open()));
    let reading = app.outside.workflows.now();
    let page = Runs {
        workflows: &workflows,
        runs: &runs,
        only: only.as_deref(),
        faults: &reading.faults,
        waiting: &seen.waiting,
        may_make: seen.may(Role::Owner) && app.outside.workflows.own().is_some(),
        now: seen.now,
    };
    Ok(runs::page(&page))
}
