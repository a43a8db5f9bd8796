//! One run.

use axum::{
    extract::{Extension, Path, State},
    response::Response,
};
use serde::Deserialize;
use vigie_dashboard::{
    Page,
    run::{self, Run, Show},
};

use super::{
    Seen,
    live::{self, How},
};
use crate::{
    config::Role,
    web::{
        api::runs::{read_run, read_workflows},
        fault::Fault,
        outside::Stream,
        people::Caller,
        query::Query,
        serve::App,
    },
};

/// What of it is shown, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    step: String,
    #[serde(default)]
    stream: Stream,
    #[serde(default)]
    view: String,
}

impl Asked {
    fn show(self) -> Show {
        let step = Some(self.step).filter(|step| !step.is_empty());
        Show { step, err: self.stream == Stream::Err, yaml: self.view == "yaml" }
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
    how: How,
) -> Response {
    let show = asked.show();
    live::answer(app, caller, how, move |seen| draw(seen, name.clone(), show.clone())).await
}

async fn draw(seen: Seen, name: String, show: Show) -> Result<Page, Fault> {
    let view = read_run(&seen.app, &seen.caller, name).await?;
    let workflows = read_workflows(&seen.app, &seen.caller).await?;
    let workflow = workflows.iter().find(|workflow| workflow.name == view.row.workflow);
    let next = workflow.and_then(|it| Some((*it.next.first()?, it.timezone.as_str())));
    let mine = seen.waiting.iter().filter(|asked| view.open_gates.contains(&asked.card.code));
    let asked: Vec<_> = mine.collect();
    let page = Run {
        view: &view,
        asked: &asked,
        show: &show,
        may_steer: seen.may(Role::Talker),
        may: seen.may_answer(),
        waiting: &seen.waiting,
        next,
        now: seen.now,
    };
    Ok(run::page(&page))
}
