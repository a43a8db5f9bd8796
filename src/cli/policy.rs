//! `vigie policy`: what is decided before anybody is asked. Reads the configuration, and needs no daemon.

use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use vigie_core::{
    bridge::Risk,
    policy::{Asking, Fitting, Judgement, Policy, SHELL_TOOLS, judge},
    risk,
};

use super::{
    Desk,
    audit::instant,
    failure::Failure,
    out::{Cell, Ink, Out, table},
    plain,
};
use crate::config::{Config, Named};

#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub what: PolicyDo,
    /// The configuration [default: ~/.config/vigie/config.toml]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
pub enum PolicyDo {
    /// List the policies, in the order in which they are asked
    List,
    /// Say which policy would decide about a request, and why
    Test(PolicyTest),
}

#[derive(Debug, clap::Args)]
pub struct PolicyTest {
    /// The command; with --tool, the file it is about; or all that the tool is given, as JSON
    pub what: String,
    /// The tool that is asked for
    #[arg(long, value_name = "TOOL", default_value = SHELL_TOOLS[0])]
    pub tool: String,
    /// The project it is asked in [default: the first]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// The session that asks
    #[arg(long, value_name = "NAME")]
    pub session: Option<String>,
    /// When: 22:15 of today, or 2026-11-30T22:15:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    #[serde(rename = "line")]
    at: usize,
    effect: String,
    conditions: Vec<String>,
}

#[derive(Serialize)]
struct Tested {
    /// `ask` where no policy fits.
    effect: String,
    /// What decided; `None`: nothing fits, so a person is asked.
    by: Option<Said>,
    passed_over: Vec<Said>,
    needs_code: bool,
    /// It holds whether the agent asks or not.
    before: bool,
}

#[derive(Serialize)]
struct Said {
    policy: String,
    effect: String,
    because: String,
}

pub(super) fn run(args: PolicyArgs, desk: &Desk) -> Result<(), Failure> {
    Failure::if_inside_a_session()?;
    let named = if args.config.is_some() { Named::Yes } else { Named::No };
    let config = Config::load(&desk.around, named).map_err(Failure::usage)?;
    match args.what {
        PolicyDo::List => list(&config, desk),
        PolicyDo::Test(test) => tested(&config, &test, desk),
    }
}

fn list(config: &Config, desk: &Desk) -> Result<(), Failure> {
    let lines: Vec<Line> = config.policies.iter().map(line).collect();
    desk.out.show(&lines, |out, lines| {
        if lines.is_empty() {
            return "There are no policies: every request is asked about. docs/policies.md shows some.".into();
        }
        let rows = lines.iter().map(|line| {
            vec![
                Cell::inked(out, Ink::Bold, line.effect.clone()),
                Cell::plain(plain::line(&line.name)),
                Cell::inked(out, Ink::Dim, format!("line {}", line.at)),
                Cell::plain(plain::line(&line.conditions.join("; "))),
            ]
        });
        table(&rows.collect::<Vec<_>>())
    })
}

fn line(policy: &Policy) -> Line {
    let list =
        |what: &str, of: Vec<String>| (!of.is_empty()).then(|| format!("{what} {}", of.join(", ")));
    let texts = |of: &[vigie_core::policy::Glob]| of.iter().map(ToString::to_string).collect();
    let conditions = [
        list("tool", texts(&policy.tools)),
        list("command", policy.commands.iter().map(ToString::to_string).collect()),
        list("path", policy.paths.iter().map(ToString::to_string).collect()),
        list("project", policy.projects.iter().map(ToString::to_string).collect()),
        list("session", texts(&policy.sessions)),
        list("hours", policy.hours.iter().map(ToString::to_string).collect()),
    ];
    Line {
        name: policy.name.clone(),
        at: policy.line,
        effect: policy.effect.to_string(),
        conditions: conditions.into_iter().flatten().collect(),
    }
}

fn tested(config: &Config, test: &PolicyTest, desk: &Desk) -> Result<(), Failure> {
    let project = match &test.project {
        None => config.projects.first(),
        Some(name) => {
            let found = config.projects.iter().find(|project| project.name.as_str() == name);
            let known = || config.projects.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
            Some(found.ok_or_else(|| {
                Failure::usage(format!(
                    "no project is called `{name}`; there are: {}",
                    known().join(", ")
                ))
            })?)
        }
    };
    let folder = project.map(|project| project.path.to_string_lossy().into_owned());
    let folder = folder.unwrap_or_else(|| "/".into());
    let input = input(&test.tool, &test.what)?;
    let risk = risk::describe(&test.tool, &input, &folder).risk;
    let folders = [folder.clone()];
    let asking = Asking {
        tool: &test.tool,
        input: &input,
        cwd: &folder,
        folders: &folders,
        links: None,
        project: project.map(|project| project.name.as_str()),
        asker: test.session.as_deref(),
        risk,
        now: match &test.at {
            Some(at) => instant(at, desk.clock.now())?,
            None => desk.clock.now(),
        },
    };
    let Judgement { decided: by, passed_over } = judge(&config.policies, &asking);
    let before = by.as_ref().is_some_and(|it| it.policy.holds_before());
    let tested = Tested {
        effect: by.as_ref().map_or_else(|| "ask".into(), |it| it.policy.effect.to_string()),
        by: by.map(said),
        passed_over: passed_over.into_iter().map(said).collect(),
        needs_code: risk == Risk::Code,
        before,
    };
    desk.out.show(&tested, words)
}

fn said(fitting: Fitting<'_>) -> Said {
    Said {
        policy: fitting.policy.to_string(),
        effect: fitting.policy.effect.to_string(),
        because: fitting.why,
    }
}

/// What a tool would be given.
fn input(tool: &str, what: &str) -> Result<Value, Failure> {
    if let Ok(input @ Value::Object(_)) = serde_json::from_str(what) {
        return Ok(input);
    }
    if SHELL_TOOLS.contains(&tool) {
        Ok(json!({ "command": what }))
    } else if tool == "NotebookEdit" {
        Ok(json!({ "notebook_path": what }))
    } else if risk::is_file_tool(tool) {
        Ok(json!({ "file_path": what }))
    } else {
        serde_json::from_str(what).map_err(|error| {
            Failure::usage(format!(
                "`{what}` is no JSON ({error}); write what {tool} is given, such as {{}}"
            ))
        })
    }
}

fn words(out: &Out, tested: &Tested) -> String {
    let mut lines = Vec::new();
    let effect = out.ink(Ink::Bold, &tested.effect);
    lines.push(match &tested.by {
        Some(by) => {
            format!("{effect}: {}, because {}.", plain::line(&by.policy), plain::line(&by.because))
        }
        None => format!("{effect}: no policy fits, so a person is asked."),
    });
    let asks = !matches!(tested.effect.as_str(), "allow" | "deny");
    if tested.needs_code && asks {
        lines.push("Whoever approves it has to type its code.".into());
    }
    match (&tested.by, tested.before) {
        (None, _) => {}
        (Some(_), true) => {
            lines.push("It holds before the tool runs, also where the agent would not ask.".into());
        }
        (Some(_), false) => lines.push(
            "It is about what the agent asks; what it does by itself goes on: docs/policies.md."
                .into(),
        ),
    }
    if !tested.passed_over.is_empty() {
        lines.push(out.ink(Ink::Dim, "Passed over:"));
    }
    lines.extend(tested.passed_over.iter().map(|it| {
        format!("  {} ({}): {}", plain::line(&it.policy), it.effect, plain::line(&it.because))
    }));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_given_what_was_typed() {
        assert_eq!(input("Bash", "ls").unwrap()["command"], "ls");
        assert_eq!(input("Write", "a.rs").unwrap()["file_path"], "a.rs");
        assert_eq!(input("mcp__lab__echo", "{\"a\": 1}").unwrap()["a"], 1);
        assert!(input("mcp__lab__echo", "a").is_err());
    }
}
