//! The check of how workflows are run: `[workflows]`.

use std::ops::RangeInclusive;
use toml::Spanned;
use vigie_core::id::ProjectName;

use super::{Config, WorkflowRules, Workflows, check::Check, problem::nearest, rows::WorkflowsRow};

/// No machine does more than this at once to any avail.
const STEPS: RangeInclusive<u32> = 1..=1000;
/// Each is in memory while it is open.
const OPEN_RUNS: RangeInclusive<u32> = 1..=10_000;

impl Check<'_> {
    pub(super) fn workflows(&mut self, row: WorkflowsRow, config: &Config) -> Workflows {
        let usual = WorkflowRules::default();
        let steps = "A whole number from 1 to 1000.";
        let runs = "A whole number from 1 to 10000.";
        let triggers = row.triggers.unwrap_or_default();
        let rules = WorkflowRules {
            host_steps: self.many(row.host_steps, &STEPS, steps).unwrap_or(usual.host_steps),
            project_steps: self
                .many(row.project_steps, &STEPS, steps)
                .unwrap_or(usual.project_steps),
            runs: self.many(row.open_runs, &OPEN_RUNS, runs).unwrap_or(usual.runs),
            agents: self.many(row.agent_steps, &STEPS, steps).unwrap_or(usual.agents),
            ..usual
        };
        let armed = triggers.iter().filter_map(|name| self.armed(name, config)).collect();
        Workflows { triggers: armed, rules }
    }

    fn many(
        &mut self,
        value: Option<Spanned<i64>>,
        range: &RangeInclusive<u32>,
        hint: &str,
    ) -> Option<usize> {
        self.count(value, range, hint).and_then(|count| usize::try_from(count).ok())
    }

    fn armed(&mut self, name: &Spanned<String>, config: &Config) -> Option<ProjectName> {
        let word = name.get_ref().as_str();
        let found = config.projects.iter().find(|project| project.name.as_str() == word);
        if found.is_none() {
            let known: Vec<&str> = config.projects.iter().map(|p| p.name.as_str()).collect();
            let hint = nearest(word, &known, "Projects");
            self.add(name.span(), format!("no project is called `{word}`"), hint);
        }
        found.map(|project| project.name.clone())
    }
}
