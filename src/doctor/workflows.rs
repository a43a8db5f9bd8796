//! Files with workflows: those that do not run, and those whose times and webhooks do not count.

use std::{path::Path, thread, time::Duration};
use tokio::{sync::oneshot, time::timeout};
use vigie_core::run::Origin;
use vigie_workflow::Problem;

use super::Finding;
use crate::{
    clock::Clock,
    config::{Config, Secret},
    workflows::{self, FileRead, Reading},
};

const TOPIC: &str = "workflows";

/// A folder that takes longer lies on a disk that does not answer.
const DEADLINE: Duration = Duration::from_secs(5);

pub(super) async fn look(config: &Config, config_file: &Path, clock: &Clock) -> Vec<Finding> {
    let places = workflows::places(config, config_file);
    let now = clock.now();
    let (found, reading) = oneshot::channel();
    let read = move || {
        let folders: Vec<_> = places.iter().map(|place| workflows::read(place, now)).collect();
        // Whoever waited may have given up.
        let _ = found.send(workflows::build(&folders));
    };
    // On a thread that nobody waits for at the end.
    let begun = thread::Builder::new().name("workflows".into()).spawn(read);
    match timeout(DEADLINE, reading).await {
        Ok(Ok(reading)) if begun.is_ok() => findings(&reading, &config.secrets),
        Ok(_) | Err(_) => {
            let todo = "Look at the disks of your projects: one does not answer.";
            vec![Finding::fail(TOPIC, "the files cannot be read", todo)]
        }
    }
}

fn findings(reading: &Reading, secrets: &[Secret]) -> Vec<Finding> {
    let broken = reading.files.iter().filter(|file| file.problems.has_errors());
    let broken = broken.map(|file| {
        let todo = format!("vigie workflow check {}", file.whole_name());
        Finding::fail(TOPIC, format!("{} does not run", file.shown), todo)
    });
    let faults = reading.faults.iter().map(|fault| {
        Finding::fail(TOPIC, fault, "What is in there is not run until that is mended.")
    });
    let idle = reading.files.iter().filter(|file| starts_by_itself(file)).filter_map(|file| {
        let Origin::Project { project, triggers: false } = &file.origin else { return None };
        let words = format!("{} has times or a webhook, and they do not count", file.whole_name());
        let todo = format!(
            "If they should, put \"{project}\" into `triggers` under [workflows]; agents in it can write that file."
        );
        Some(Finding::warn(TOPIC, words, todo))
    });
    let lacking = reading.files.iter().flat_map(|file| {
        let warn = |problem: Problem| {
            let words = format!("{}: {}", file.whole_name(), problem.what);
            Finding::warn(TOPIC, words, problem.hint.unwrap_or_default())
        };
        file.lacking(secrets).into_iter().map(warn)
    });
    let mut all: Vec<Finding> = broken.chain(faults).chain(idle).chain(lacking).collect();
    if all.is_empty() {
        let count = reading.files.len();
        all.push(Finding::ok(TOPIC, format!("{count} run as they stand")));
    }
    all
}

fn starts_by_itself(file: &FileRead) -> bool {
    let on = file.workflow.as_ref().map(|workflow| &workflow.on);
    on.is_some_and(|on| !on.cron.is_empty() || on.webhook.is_some())
}
