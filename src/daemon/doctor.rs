//! The doctor, for the page: the same command as at the desk, since it looks at a daemon from outside.

use serde::Deserialize;
use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};
use tokio::process::Command;
use vigie_dashboard::system::{Finding, Level};

use crate::{sessions::Ground, web::Examine};

/// It asks services over the network, each with a deadline of its own.
const DEADLINE: Duration = Duration::from_mins(2);

/// As the command tells it.
#[derive(Deserialize)]
struct Told {
    topic: String,
    level: ToldLevel,
    words: String,
    todo: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToldLevel {
    Ok,
    Warn,
    Fail,
}

impl From<Told> for Finding {
    fn from(told: Told) -> Self {
        let level = match told.level {
            ToldLevel::Ok => Level::Good,
            ToldLevel::Warn => Level::Warn,
            ToldLevel::Fail => Level::Fail,
        };
        Self { topic: told.topic, level, words: told.words, todo: told.todo }
    }
}

pub(super) fn examine(ground: &Ground, config_file: PathBuf) -> Examine {
    let (binary, data) = (ground.binary.clone(), ground.data.clone());
    Arc::new(move || {
        let mut command = Command::new(&binary);
        command.args(["doctor", "--json", "--home"]).arg(&data);
        if config_file.exists() {
            command.arg("--config").arg(&config_file);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        Box::pin(async move {
            let said = tokio::time::timeout(DEADLINE, command.output())
                .await
                .map_err(|_| "it did not come to an end".to_owned())?
                .map_err(|error| format!("it does not start: {error}"))?;
            // Its exit status tells whether something fails, which the findings tell as well.
            let findings: Vec<Told> = serde_json::from_slice(&said.stdout)
                .map_err(|error| format!("what it said is not understood: {error}"))?;
            Ok(findings.into_iter().map(Finding::from).collect())
        })
    })
}
