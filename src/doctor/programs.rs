//! The agents' programs, and git where worktrees are wanted.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::process::Command;

use super::Finding;
use crate::{
    agents::{
        AgentKind,
        claude::{Known, probe},
    },
    config::{Agent, Config, Project, WorktreeMode, on_path},
};

/// Git answers in milliseconds; this is for a slow disk.
const GIT_DEADLINE: Duration = Duration::from_secs(5);

pub(super) async fn agents(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    for agent in &config.agents {
        findings.extend(look_at(agent).await);
    }
    findings
}

async fn look_at(agent: &Agent) -> Vec<Finding> {
    let topic = format!("agent {}", agent.name);
    let program = agent.program.display();
    match agent.kind {
        AgentKind::Demo => vec![Finding::ok(&topic, "built in")],
        AgentKind::Shell | AgentKind::Claude if found(&agent.program).is_none() => {
            let todo = "Install it, or set `program` of this [[agent]] to where it is.";
            vec![Finding::fail(&topic, format!("`{program}` is not there"), todo)]
        }
        AgentKind::Shell => vec![Finding::ok(&topic, program)],
        AgentKind::Claude => claude(&topic, &agent.program).await,
    }
}

async fn claude(topic: &str, program: &Path) -> Vec<Finding> {
    let probe = probe(program).await;
    let version = probe.version.as_deref().unwrap_or("no version");
    let words = format!("Claude Code {version} at {}", program.display());
    let rest = probe.findings.iter();
    match probe.known {
        Known::Tested => vec![Finding::ok(topic, words)],
        Known::Newer => {
            let todo = "It is newer than what Vigie was tested with; look for a newer Vigie.";
            let rest = rest.map(|finding| Finding::warn(topic, finding, todo));
            std::iter::once(Finding::warn(topic, words, todo)).chain(rest).collect()
        }
        Known::TooOld | Known::No => {
            let todo = if rest.len() == 0 {
                "Install a newer one: npm install -g @anthropic-ai/claude-code".into()
            } else {
                probe.findings.join(" ")
            };
            vec![Finding::fail(topic, words, todo)]
        }
    }
}

/// The program's file: the path itself, or found on PATH.
fn found(program: &Path) -> Option<PathBuf> {
    if program.is_absolute() {
        return program.is_file().then(|| program.into());
    }
    on_path(program.to_str()?, env::var_os("PATH"))
}

pub(super) async fn projects(config: &Config) -> Vec<Finding> {
    let mut findings: Vec<Finding> = config.projects.iter().filter_map(missing).collect();
    if config.projects.iter().any(|project| project.worktree == WorktreeMode::PerStory) {
        findings.push(git().await);
    }
    findings
}

/// The demo project is made when it is first used.
fn missing(project: &Project) -> Option<Finding> {
    let absent = !project.path.is_dir() && project.name.as_str() != "demo";
    absent.then(|| {
        let topic = format!("project {}", project.name);
        let words = format!("{} is no folder", project.path.display());
        Finding::fail(&topic, words, "Make it, or correct `path` of this [[project]].")
    })
}

async fn git() -> Finding {
    const TOPIC: &str = "git";
    let asked =
        Command::new("git").arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
    match tokio::time::timeout(GIT_DEADLINE, asked).await {
        Ok(Ok(output)) if output.status.success() => {
            Finding::ok(TOPIC, String::from_utf8_lossy(&output.stdout).trim())
        }
        Ok(_) | Err(_) => {
            let todo = "Install git: a project with `worktree = \"per-story\"` needs it.";
            Finding::fail(TOPIC, "`git --version` gives no answer", todo)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Surroundings, doctor::Level};

    #[tokio::test]
    async fn a_program_and_a_folder_that_are_not_there_are_said() {
        let around = Surroundings {
            home: "/nowhere".into(),
            data: "/nowhere".into(),
            config: "config.toml".into(),
            user: "ines".into(),
            shell: "/bin/sh".into(),
            claude: None,
        };
        let text = "[[agent]]\nname = \"old\"\nkind = \"shell\"\nprogram = \"/nowhere/sh\"\n\
            [[project]]\nname = \"quay\"\npath = \"/nowhere/quay\"\nagent = \"old\"\n";
        let config = Config::parse(text, &around).unwrap();
        let bad = |findings: Vec<Finding>| {
            let bad = findings.into_iter().filter(|finding| finding.level == Level::Fail);
            bad.map(|finding| finding.topic).collect::<Vec<_>>()
        };
        assert_eq!(bad(agents(&config).await), ["agent old"]);
        assert_eq!(bad(projects(&config).await), ["project quay"]);
    }
}
