//! `vigie mcp install` and `uninstall`: Vigie's tools for a Claude Code that runs outside of Vigie.
//! Claude Code's own command does the writing, so its file stays as it wants it.

use serde::Serialize;
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};
use tokio::process::Command;

use super::{
    Desk,
    args::{Install, McpScope, Uninstall},
    failure::Failure,
    kept,
    out::Format,
    plain, set,
};
use crate::{
    agents::AgentKind,
    config::{Config, Named, on_path},
    hold::ancestry,
    web::{
        client::segment,
        shapes::{Done, MadeToken, NewToken, TokenShape},
    },
};

/// Claude Code starts in under a second; this is for a machine that is busy.
const DEADLINE: Duration = Duration::from_mins(1);

/// What Claude Code's token is called in Vigie, so that people see who writes.
const TOKEN: &str = "claude-code";

/// What is written, and where.
#[derive(Serialize)]
struct Plan {
    name: String,
    scope: &'static str,
    /// Claude Code's own file.
    file: PathBuf,
    entry: Value,
    /// What stands there under that name.
    before: Option<Value>,
    /// The token it speaks with, and the file that Vigie keeps it in.
    token: &'static str,
    token_file: PathBuf,
    /// Whether it was written.
    done: bool,
}

pub(super) async fn install(args: Install, desk: &Desk) -> Result<(), Failure> {
    outside_of_sessions()?;
    let Install { scope, name, dry_run, yes } = args;
    let claude = claude(desk)?;
    let mut plan = plan(scope, name, desk)?;
    if dry_run {
        return desk.out.show(&plan, |_, plan| words(plan));
    }
    let tokens: Vec<TokenShape> = desk.client.get("/tokens").await?;
    let listed = tokens.iter().any(|token| token.name.eq_ignore_ascii_case(TOKEN));
    let kept = listed && plan.token_file.is_file();
    if listed && !kept {
        let words = format!("a token is called {TOKEN}, and Vigie does not have it");
        let hint = format!("`vigie token revoke {TOKEN}` ends it; then run this again.");
        return Err(Failure::refused("token_exists", words).hint(hint));
    }
    let same = plan.before.as_ref() == Some(&plan.entry);
    if !(kept && same) {
        if desk.out.format() == Format::Words {
            desk.out.print(&words(&plan))?;
        }
        if !yes {
            agree(desk.out.format())?;
        }
        if !kept {
            make_token(&plan, desk).await?;
        }
        if !same && let Err(failure) = register(&claude, &plan).await {
            if !kept {
                drop_token(&plan, desk).await;
            }
            return Err(failure);
        }
        plan.done = true;
    }
    desk.out.show(&plan, |_, plan| outcome(plan))
}

fn outside_of_sessions() -> Result<(), Failure> {
    if !ancestry::inside_a_session() {
        return Ok(());
    }
    let words = "this is inside a session of Vigie, which has the tools already";
    Err(Failure::refused("inside_a_session", words).hint("Run it in a terminal outside of Vigie."))
}

/// The person's own program: the configured one, else what is on PATH.
fn claude(desk: &Desk) -> Result<PathBuf, Failure> {
    let config = Config::load(&desk.around, Named::No).map_err(Failure::usage)?;
    let named = config.agents.iter().find(|agent| agent.kind == AgentKind::Claude);
    let found = named.and_then(|agent| {
        let program = &agent.program;
        let bare = || on_path(program.to_str()?, env::var_os("PATH"));
        if program.is_absolute() { program.is_file().then(|| program.clone()) } else { bare() }
    });
    found.ok_or_else(|| {
        Failure::outside("Claude Code is not found")
            .hint("Put `claude` on PATH, or set `program` of its [[agent]] in the configuration.")
    })
}

fn plan(scope: McpScope, name: String, desk: &Desk) -> Result<Plan, Failure> {
    let (file, entry) = match scope {
        McpScope::User => {
            let own = env::current_exe().map_err(Failure::outside)?;
            let (own, data) = (own.to_string_lossy(), desk.around.data.to_string_lossy());
            let args = ["--home", &data, "mcp", "--token", TOKEN];
            (user_file(&desk.around.home), json!({ "type": "stdio", "command": own, "args": args }))
        }
        // Others get this file too: it names nothing of this machine.
        McpScope::Project => {
            let folder = env::current_dir().map_err(Failure::outside)?;
            let args = ["mcp", "--token", TOKEN];
            let entry = json!({ "type": "stdio", "command": "vigie", "args": args });
            (folder.join(".mcp.json"), entry)
        }
    };
    let before = registered(&file, &name)?;
    let token_file = kept::file(&desk.around.data, TOKEN);
    let scope = scope.as_str();
    Ok(Plan { name, scope, file, entry, before, token: TOKEN, token_file, done: false })
}

/// Where Claude Code keeps what counts in every project. Source: observed with 2.1.332.
fn user_file(home: &Path) -> PathBuf {
    set("CLAUDE_CONFIG_DIR").map_or_else(|| home.into(), PathBuf::from).join(".claude.json")
}

/// What stands in Claude Code's file under that name.
fn registered(file: &Path, name: &str) -> Result<Option<Value>, Failure> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(file, &error)),
    };
    let mut whole: Value =
        serde_json::from_slice(&text).map_err(|error| unreadable(file, &error))?;
    Ok(whole.get_mut("mcpServers").and_then(|servers| servers.get_mut(name)).map(Value::take))
}

fn unreadable(file: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::outside(format!("{} cannot be read: {why}", file.display()))
        .hint("Nothing was changed. Claude Code itself reads this file: look at it there.")
}

fn words(plan: &Plan) -> String {
    let shown = |value: &Value| {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        plain::lines(&text).replace('\n', "\n    ")
    };
    let mut lines = vec![
        format!("Into {}, under \"mcpServers\", by `claude mcp add-json`:", plan.file.display()),
        format!("    \"{}\": {}", plain::line(&plan.name), shown(&plan.entry)),
    ];
    if let Some(before) = plan.before.as_ref().filter(|before| **before != plan.entry) {
        lines.push(format!("instead of\n    {}", shown(before)));
    }
    let (token, file) = (plan.token, plan.token_file.display());
    lines.push(format!(
        "It speaks with the token {token}, which Vigie makes if there is none and keeps in\n    {file}"
    ));
    lines.join("\n")
}

/// A person's yes; nothing else is one.
fn agree(format: Format) -> Result<(), Failure> {
    let no = || Failure::refused("cancelled", "nothing was changed");
    if format == Format::Json || !io::stdin().is_terminal() {
        return Err(no().hint("Say `--yes` when nobody is there to ask, or `--dry-run` to look."));
    }
    let mut to = io::stderr();
    // A question that cannot be shown gets no answer.
    write!(to, "Write this? [y/N] ").and_then(|()| to.flush()).map_err(|_| no())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|_| no())?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(no()),
    }
}

async fn make_token(plan: &Plan, desk: &Desk) -> Result<(), Failure> {
    let new = NewToken { name: plan.token.into(), scopes: None };
    let made: MadeToken = desk.client.post("/tokens", &new).await?;
    if let Err(error) = kept::keep(&plan.token_file, &made.token) {
        drop_token(plan, desk).await;
        let words = format!("{} cannot be written: {error}", plan.token_file.display());
        return Err(Failure::outside(words).hint("Nothing was changed. Look: vigie doctor"));
    }
    Ok(())
}

/// Takes back what was made for a registration that failed; the failure is what is told.
async fn drop_token(plan: &Plan, desk: &Desk) {
    let path = format!("/tokens/{}", segment(plan.token));
    let _: Result<Done, _> = desk.client.delete(&path).await;
    let _ = kept::forget(&plan.token_file);
}

async fn register(claude: &Path, plan: &Plan) -> Result<(), Failure> {
    let Plan { name, scope, entry, .. } = plan;
    if plan.before.is_some() {
        run(claude, &["mcp", "remove", "--scope", scope, name]).await?;
    }
    run(claude, &["mcp", "add-json", "--scope", scope, name, &entry.to_string()]).await?;
    if registered(&plan.file, name)?.as_ref() == Some(entry) {
        return Ok(());
    }
    let words = format!("Claude Code did not write this into {}", plan.file.display());
    Err(Failure::outside(words).hint(format!("Look what it has: claude mcp get {name}")))
}

/// One of Claude Code's own commands; what it says counts when it fails.
async fn run(claude: &Path, args: &[&str]) -> Result<(), Failure> {
    let asked = Command::new(claude).args(args).stdin(Stdio::null()).kill_on_drop(true).output();
    let failure = |why: String| {
        let command = args.iter().take(2).copied().collect::<Vec<_>>().join(" ");
        Failure::outside(format!("`claude {command}` failed: {}", plain::line(&why)))
    };
    let Output { status, stdout, stderr } = match tokio::time::timeout(DEADLINE, asked).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(failure(error.to_string())),
        Err(_) => return Err(failure("it gives no answer".into())),
    };
    if status.success() {
        return Ok(());
    }
    let said = if stderr.is_empty() { stdout } else { stderr };
    Err(failure(String::from_utf8_lossy(&said).trim().to_owned()))
}

fn outcome(plan: &Plan) -> String {
    let Plan { name, scope, token, .. } = plan;
    let first = if plan.done {
        "Done. Each Claude Code that starts from now on has Vigie's tools; /mcp there shows them."
    } else {
        "It is registered already: nothing to do."
    };
    let mut lines = vec![first.to_owned()];
    if *scope == McpScope::Project.as_str() {
        lines.push(
            "Whoever else uses this repository runs the same once, and Claude Code asks them first."
                .into(),
        );
    }
    let name =
        if name == "vigie" { String::new() } else { format!(" --name {}", plain::line(name)) };
    lines.push(format!("vigie mcp uninstall --scope {scope}{name}   takes it out"));
    lines.push(format!("vigie token revoke {token}   ends what it may do"));
    lines.join("\n")
}

pub(super) async fn uninstall(args: Uninstall, desk: &Desk) -> Result<(), Failure> {
    outside_of_sessions()?;
    let Uninstall { scope, name } = args;
    run(&claude(desk)?, &["mcp", "remove", "--scope", scope.as_str(), &name]).await?;
    let words = format!(
        "{} is taken out of Claude Code. Its token is still good: vigie token revoke {TOKEN}",
        plain::line(&name)
    );
    desk.out.show(&Done { words }, |_, done| done.words.clone())
}
