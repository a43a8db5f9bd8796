//! Secrets that a workflow names and would not get.

use std::collections::BTreeSet;
use vigie_workflow::{Problem, problem::Severity, value::SecretName};

use super::file::{FileRead, problem};
use crate::config::Secret;

impl FileRead {
    /// Warns of each: it runs, and fails at the step that needs the secret.
    pub fn warn_of_secrets(&mut self, secrets: &[Secret]) {
        let lacking = self.lacking(secrets);
        if !lacking.is_empty() {
            self.problems.all.extend(lacking);
            self.problems.all.sort_by_key(|problem| (problem.line, problem.column));
        }
    }

    /// What it names, its webhook included, and may not use as the configuration stands.
    pub fn lacking(&self, secrets: &[Secret]) -> Vec<Problem> {
        let Some(workflow) = &self.workflow else { return Vec::new() };
        let webhook = workflow.on.webhook.as_ref().map(|webhook| &webhook.secret);
        let named: BTreeSet<&SecretName> = workflow.secrets.iter().chain(webhook).collect();
        let whole = self.whole_name();
        let lacking = named.into_iter().filter_map(|name| {
            let (what, hint) = match secrets.iter().find(|secret| secret.name == *name) {
                None => (
                    format!("no secret is called `{name}`"),
                    format!(
                        "add [[secret]] name = \"{name}\", workflows = [\"{whole}\"] to the configuration"
                    ),
                ),
                Some(secret) if !secret.is_for(&whole) => (
                    format!("it may not use the secret `{name}`"),
                    format!("add \"{whole}\" to its `workflows` in the configuration"),
                ),
                Some(_) => return None,
            };
            let (line, column) = place(&self.text, name.as_str());
            let width = name.as_str().len();
            let problem = problem(line, column, width, what, Some(hint));
            Some(Problem { severity: Severity::Warning, ..problem })
        });
        lacking.collect()
    }
}

/// Where the word stands first; the file as a whole where it does not.
fn place(text: &str, word: &str) -> (usize, usize) {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let found = text.lines().enumerate().find_map(|(number, line)| {
        let mut places = line.match_indices(word).map(|(at, _)| at);
        let at = places.find(|at| {
            !line[..*at].ends_with(inside) && !line[at + word.len()..].starts_with(inside)
        })?;
        Some((number + 1, line[..at].chars().count() + 1))
    });
    found.unwrap_or_default()
}
