//! Runs of workflows as the desk and the phone page see them.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::{
    home::{DEADLINE, Home},
    phone::{Phone, plain},
};

pub(crate) fn vigie_up(home: &Home) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(["up", "--no-link", "--home"]).arg(home.data());
    command.arg("--config").arg(home.settings()).env("VIGIE_DEMO_PACE", "1");
    command
}

/// What a person at the desk would type: its exit code and all it says.
pub(crate) async fn desk(home: &Home, arguments: &[&str]) -> (i32, String) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_vigie"));
    command.args(arguments).arg("--home").arg(home.data()).kill_on_drop(true);
    let output = tokio::time::timeout(DEADLINE, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{arguments:?} does not end")).unwrap();
    let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
    (output.status.code().unwrap_or(-1), said)
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).trim().to_owned()
}

/// A repository with what lies in there as its first commit, made long ago.
pub(crate) fn repository(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    commit(folder, "first", "2024-01-02T03:04:05Z");
}

pub(crate) fn commit(folder: &Path, message: &str, date: &str) {
    git(folder, &["add", "--all"]);
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    command.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
    let commit = ["commit", "--quiet", "--allow-empty", "-m", message];
    assert!(command.args(commit).status().unwrap().success());
}

/// A file that can be run.
pub(crate) fn program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh -e\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Home {
    /// One of the person's own.
    pub(crate) fn workflow(&self, name: &str, text: &str) {
        let folder = self.folder("workflows");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.yaml")), format!("name: {name}\n{text}")).unwrap();
    }

    /// Begins a run, and gives its name.
    pub(crate) async fn run(&self, workflow: &str, project: &str, params: Value) -> String {
        let start = json!({ "workflow": workflow, "project": project, "params": params });
        let run: Value = self.desk().post("/runs", &start).await.unwrap();
        run["name"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn shown(&self, run: &str) -> Value {
        self.desk().get(&format!("/runs/{run}")).await.unwrap()
    }

    /// Waits until the run `is` so.
    pub(crate) async fn run_becomes(
        &self,
        run: &str,
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let end = Instant::now() + DEADLINE;
        loop {
            let shown: Result<Value, _> = self.desk().get(&format!("/runs/{run}")).await;
            if let Ok(shown) = &shown
                && is(shown)
            {
                return shown.clone();
            }
            assert!(Instant::now() < end, "{run} is not {what}: {shown:#?}\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the run is over, which it must be in that way.
    pub(crate) async fn run_is(&self, run: &str, state: &str) -> Value {
        let shown = self.run_becomes(run, "over", |shown| !shown["ended"].is_null()).await;
        assert_eq!(shown["state"], state, "{shown:#}\n{}", self.log());
        shown
    }

    /// Waits until that step has printed just that.
    pub(crate) async fn prints(&self, run: &str, step: &str, text: &str) {
        let path = format!("/runs/{run}/steps/{step}/output");
        let end = Instant::now() + DEADLINE;
        loop {
            let printed: Result<Value, _> = self.desk().get(&path).await;
            if printed.as_ref().is_ok_and(|printed| printed["text"] == text) {
                return;
            }
            assert!(Instant::now() < end, "{step} does not print {text}: {printed:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until that step is in that state.
    pub(crate) async fn step_is(&self, run: &str, step: &str, state: &str) -> Value {
        self.run_becomes(run, &format!("so that {step} is {state}"), |shown| {
            word(shown, step) == state
        })
        .await
    }
}

impl Phone {
    /// Waits for the open card with this question.
    pub(crate) async fn asked(&self, question: &str) -> Value {
        let is = |message: &Value| {
            message["what"]["body"]["state"]["state"] == "open" && plain(message).contains(question)
        };
        self.shows(&format!("the question `{question}`"), is).await
    }

    pub(crate) async fn approve(&self, question: &str) -> Value {
        let card = self.asked(question).await;
        self.tap(&card, "Approve").await;
        card
    }
}

pub(crate) fn step<'a>(run: &'a Value, step: &str) -> &'a Value {
    let steps = run["steps"].as_array().unwrap();
    steps.iter().find(|it| it["step"] == step).unwrap_or_else(|| panic!("no {step}: {run:#}"))
}

/// The state of that step.
pub(crate) fn word(run: &Value, step: &str) -> String {
    let steps = run["steps"].as_array().into_iter().flatten();
    let found = steps.into_iter().find(|it| it["step"] == step);
    found.and_then(|it| it["state"].as_str()).unwrap_or_default().to_owned()
}
