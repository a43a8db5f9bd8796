//! `vigie workflow run`, `cancel` and `retry`.

use std::collections::BTreeMap;

use super::{args::Run, files, follow, show};
use crate::{
    cli::{Desk, failure::Failure, plain},
    web::{
        client::segment,
        shapes::{Done, NewRun, RetryRun, RunShape},
    },
};

pub(super) async fn run(args: Run, desk: &Desk) -> Result<(), Failure> {
    let Run { workflow, params, project, key, follow } = args;
    let typed: Result<BTreeMap<_, _>, _> =
        params.iter().map(|text| files::assignment(text)).collect();
    let new = NewRun { workflow, params: BTreeMap::new(), typed: typed?, project, key };
    let begun: RunShape = desk.client.post("/runs", &new).await?;
    if follow {
        return follow::run(begun, desk).await;
    }
    desk.out.show(&begun, |_, run| {
        let name = plain::line(&run.name);
        match run.state.as_str() {
            "not_run" => format!("{name} was not run: {}", run.why.as_deref().unwrap_or_default()),
            "queued" => format!("{name} waits for its turn: vigie workflow show {name}"),
            _ => format!("{name} has begun: vigie workflow show {name}"),
        }
    })
}

pub(super) async fn cancel(name: &str, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/runs/{}/cancel", segment(name));
    let done: Done = desk.client.post(&path, &serde_json::json!({})).await?;
    desk.out.show(&done, |_, done| plain::line(&done.words))
}

pub(super) async fn retry(name: &str, from: Option<String>, desk: &Desk) -> Result<(), Failure> {
    let path = format!("/runs/{}/retry", segment(name));
    let run: RunShape = desk.client.post(&path, &RetryRun { from }).await?;
    desk.out.show(&run, show::words)
}
