//! All sessions and runs.

use axum::{
    extract::{Extension, State},
    response::Response,
};
use serde::Deserialize;
use vigie_dashboard::{
    Page,
    board::{self, Board, Filter, NewSession, Show},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{api::runs, fault::Fault, people::Caller, query::Query, serve::App},
};

/// What is shown, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    state: String,
    #[serde(default)]
    project: String,
    #[serde(default)]
    find: String,
}

impl Asked {
    fn show(self) -> Show {
        let state = Filter::ALL.into_iter().find(|filter| filter.name() == self.state);
        let project = Some(self.project).filter(|project| !project.is_empty());
        Show { state: state.unwrap_or_default(), project, find: self.find }
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Query(asked): Query<Asked>,
    how: How,
) -> Response {
    let show = asked.show();
    live::answer(app, caller, how, move |seen| draw(seen, show.clone())).await
}

async fn draw(seen: Seen, show: Show) -> Result<Page, Fault> {
    let runs = runs::read_open(&seen.app, &seen.caller).await?;
    let (projects, agents) = (&seen.app.outside.projects, &seen.app.outside.agents);
    let form = seen.may(Role::Talker).then_some(NewSession { projects, agents });
    let page = Board {
        sessions: &seen.status.sessions,
        runs: &runs,
        waiting: &seen.waiting,
        show: &show,
        form,
        health: &seen.health(),
        now: seen.now,
    };
    Ok(board::page(&page))
}
