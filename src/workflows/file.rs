//! One file with a workflow: its text, and what is in it.

use std::path::{Path, PathBuf};
use vigie_core::run::Origin;
use vigie_workflow::{Problem, Problems, Workflow, language::Webhook, problem::Severity};

use super::sketch;

/// Longest file, in bytes: a thousand times a long workflow.
pub const LONGEST_FILE: u64 = 1 << 20;

/// One file, read and checked by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRead {
    pub path: PathBuf,
    /// For people: the path, or `built in`.
    pub shown: String,
    pub origin: Origin,
    /// The name inside, as far as it can be told; else that of the file.
    pub name: String,
    /// Empty where it cannot be read.
    pub text: String,
    /// `None`: it does not run, for `problems`.
    pub workflow: Option<Workflow>,
    pub problems: Problems,
    /// What its webhook asks of a caller, as far as a broken file still says it.
    pub webhook: Option<Webhook>,
}

impl FileRead {
    /// `release`, or `api/release` for one of a project's own.
    pub fn whole_name(&self) -> String {
        match &self.origin {
            Origin::BuiltIn | Origin::Own => self.name.clone(),
            Origin::Project { project, .. } => format!("{project}/{}", self.name),
        }
    }

    pub(super) fn unreadable(path: &Path, origin: Origin, why: &str, hint: &str) -> Self {
        let problem = problem(0, 0, 1, why.into(), Some(hint.into()));
        Self {
            path: path.into(),
            shown: path.display().to_string(),
            origin,
            name: stem(path),
            text: String::new(),
            workflow: None,
            problems: Problems { all: vec![problem] },
            webhook: None,
        }
    }

    /// What is wrong beyond its own text; from then on it does not run.
    pub(super) fn add(&mut self, problem: Problem) {
        self.problems.all.push(problem);
        self.problems.all.sort_by_key(|problem| (problem.line, problem.column));
        self.workflow = None;
    }
}

pub(super) fn problem(
    line: usize,
    column: usize,
    width: usize,
    what: String,
    hint: Option<String>,
) -> Problem {
    Problem { severity: Severity::Error, line, column, width, what, hint }
}

/// Checks a text that lies nowhere yet.
pub fn check(text: &str) -> Problems {
    let beside =
        |name: &str| Err(format!("`{name}` is looked for beside a file, and this is a text"));
    vigie_workflow::parse(text.as_bytes(), &beside).1
}

pub(super) fn parse(
    path: &Path,
    shown: String,
    origin: Origin,
    text: String,
    beside: &dyn Fn(&str) -> Result<String, String>,
) -> FileRead {
    let (workflow, problems) = vigie_workflow::parse(text.as_bytes(), beside);
    let workflow = workflow.filter(|_| !problems.has_errors());
    let (name, webhook) = match &workflow {
        Some(workflow) => (workflow.name.to_string(), workflow.on.webhook.clone()),
        None => (sketch::name(&text).unwrap_or_else(|| stem(path)), sketch::webhook(&text)),
    };
    FileRead { path: path.into(), shown, origin, name, text, workflow, problems, webhook }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
