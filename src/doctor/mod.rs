//! `vigie doctor`: looks at everything that Vigie leans on, and says what to do where it gives.

mod confinement;
mod daemon;
mod files;
#[cfg(feature = "matrix")]
mod matrix;
mod programs;
#[cfg(any(feature = "matrix", feature = "telegram"))]
mod service;
mod system;
#[cfg(feature = "telegram")]
mod telegram;
mod workflows;

use serde::{Deserialize, Serialize};
use std::fmt::Display;

use crate::{
    clock::Clock,
    config::{Config, Named, Surroundings},
};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A word or two: "data folder".
    pub topic: String,
    pub level: Level,
    /// What was found.
    pub words: String,
    /// What to do, unless all is well.
    pub todo: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Ok,
    /// It works, with less than it could.
    Warn,
    /// It does not work.
    Fail,
}

impl Finding {
    fn ok(topic: &str, words: impl Display) -> Self {
        Self { topic: topic.into(), level: Level::Ok, words: words.to_string(), todo: None }
    }

    fn warn(topic: &str, words: impl Display, todo: impl Into<String>) -> Self {
        let todo = Some(todo.into());
        Self { topic: topic.into(), level: Level::Warn, words: words.to_string(), todo }
    }

    fn fail(topic: &str, words: impl Display, todo: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(topic, words, todo) }
    }
}

/// Looks at everything; a look that cannot be taken is a finding too.
pub async fn examine(around: &Surroundings, named: Named, clock: &Clock) -> Vec<Finding> {
    let (config, mut findings) = configuration(around, named);
    findings.push(files::data_folder(&around.data));
    findings.extend(files::disk(&around.data));
    findings.extend(daemon::look(&around.data, config.web.listen).await);
    #[cfg(feature = "telegram")]
    findings.extend(telegram::look(&config.telegram, &around.data).await);
    #[cfg(feature = "matrix")]
    findings.extend(Box::pin(matrix::look(&config, &around.data, clock)).await);
    findings.push(system::terminal());
    findings.push(system::open_files());
    findings.push(system::hooks().await);
    findings.extend(system::proxy());
    findings.extend(confinement::look(&around.data).await);
    findings.extend(programs::agents(&config).await);
    findings.extend(programs::projects(&config).await);
    findings.extend(workflows::look(&config, &around.config, clock).await);
    findings
}

/// The configuration, or the defaults to go on with when it does not read.
fn configuration(around: &Surroundings, named: Named) -> (Config, Vec<Finding>) {
    const TOPIC: &str = "configuration";
    match Config::load(around, named) {
        Ok(config) => {
            let from = match &config.source {
                Some(file) => file.display().to_string(),
                None => format!("defaults, since there is no {}", around.config.display()),
            };
            let warnings = config.warnings.iter();
            let warnings =
                warnings.map(|words| Finding::warn(TOPIC, words, "Vigie works all the same."));
            let findings = std::iter::once(Finding::ok(TOPIC, from)).chain(warnings).collect();
            (config, findings)
        }
        Err(error) => {
            let words = error.to_string();
            let todo = "Correct it; the rest of this goes by the defaults.";
            (Config::defaults(around), vec![Finding::fail(TOPIC, words.trim_end(), todo)])
        }
    }
}
