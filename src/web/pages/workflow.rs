//! One workflow: its text, and a form that runs it.

use axum::{
    extract::{Extension, Path, State},
    response::Response,
};
use vigie_dashboard::{
    Page,
    workflow::{self, Edit, Workflow},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        api::{
            runs::read_workflows,
            workflows::{first_file, why_not},
        },
        fault::Fault,
        people::Caller,
        serve::App,
    },
    workflows,
};

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    how: How,
) -> Response {
    app.outside.workflows.look().await;
    live::answer(app, caller, how, move |seen| draw(seen, name.clone())).await
}

async fn draw(seen: Seen, name: String) -> Result<Page, Fault> {
    let views = read_workflows(&seen.app, &seen.caller).await?;
    let reading = seen.app.outside.workflows.now();
    let file = first_file(&reading, &name)?;
    let Some(view) = views.iter().find(|view| view.name == name) else {
        return Err(Fault::no_such_page());
    };
    let why_not = why_not(&reading, &name)
        .or_else(|| (!seen.may(Role::Owner)).then(|| "Only an owner changes workflows.".into()));
    let page = Workflow {
        view,
        text: &file.text,
        digest: &workflows::digest(&file.text),
        problems: &file.problems.all,
        edit: why_not.as_deref().map_or(Edit::Yes, Edit::No),
        may_run: seen.may(Role::Talker),
        projects: &seen.app.outside.projects,
        waiting: &seen.waiting,
        now: seen.now,
    };
    Ok(workflow::page(&page))
}
