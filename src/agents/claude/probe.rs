//! Whether the installed Claude Code is one we know, and if not, whether what we rely on still
//! holds. Model-free: nothing here needs a login or talks to a service.

use serde_json::{Map, json};
use std::{path::Path, process::Stdio, time::Duration};
use tokio::{process::Command, time::timeout};

/// The oldest version this was built against.
const OLDEST: Version = Version([2, 1, 197]);
/// The newest.
const NEWEST: Version = Version([2, 1, 332]);
/// Its start takes about a second; a slow disk has 400 MB to read.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
/// Flags that a session is started with.
const FLAGS: [&str; 8] = [
    "--session-id",
    "--resume",
    "--permission-mode",
    "--settings",
    "--name",
    "--mcp-config",
    "--append-system-prompt",
    "--plugin-dir",
];

/// What was found out about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// As the program says it.
    pub version: Option<String>,
    pub known: Known,
    /// Sentences for a person: what does not hold, and what to do.
    pub findings: Vec<String>,
}

/// How a version stands to the tested range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Tested,
    /// Not usable: hooks we need are missing or behave differently.
    TooOld,
    /// Used with care: the checks' findings say what may not work.
    Newer,
    /// It did not say a version, or could not be run.
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version([u32; 3]);

impl Version {
    /// Reads the first word of `2.1.332 (Claude Code)`.
    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().next()?.split('.').map(|part| part.parse().ok());
        Some(Self([numbers.next()??, numbers.next()??, numbers.next()??]))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Asks `program` for its version; checks an unknown one without a model.
pub async fn probe(program: &Path) -> Probe {
    let shown = program.display();
    let said = match output(Command::new(program).arg("--version")).await {
        Ok(said) => said,
        Err(why) => {
            let finding = format!(
                "`{shown} --version` gave no answer: {why}. Install Claude Code, or set `program` of the agent to where it is"
            );
            return Probe { version: None, known: Known::No, findings: vec![finding] };
        }
    };
    let version = said.split_whitespace().next().map(str::to_owned);
    let (known, findings) = match Version::read(&said) {
        None => (
            Known::No,
            vec![format!(
                "`{shown} --version` said {:?}, which is no version of Claude Code",
                said.trim()
            )],
        ),
        Some(found) if found < OLDEST => {
            let finding = format!(
                "Claude Code {found} is too old: Vigie needs {OLDEST} or newer. Update it, for instance with `claude update`"
            );
            (Known::TooOld, vec![finding])
        }
        Some(found) if found <= NEWEST => (Known::Tested, vec![]),
        Some(found) => {
            let mut findings = vec![newer(found)];
            findings.extend(check_flags(program).await);
            findings.extend(check_events(program).await);
            (Known::Newer, findings)
        }
    };
    Probe { version, known, findings }
}

/// What to say about a running program's version; `None` when it was tested.
pub(super) fn outside_tested(version: &str) -> Option<String> {
    let found = Version::read(version)?;
    if found < OLDEST {
        Some(format!(
            "Claude Code {found} is older than Vigie needs ({OLDEST}): prompts and permissions may not work"
        ))
    } else if found > NEWEST {
        Some(newer(found))
    } else {
        None
    }
}

fn newer(found: Version) -> String {
    format!(
        "Claude Code {found} is newer than what Vigie was tested with ({OLDEST} to {NEWEST}): watch the first session at the desk"
    )
}

async fn check_flags(program: &Path) -> Vec<String> {
    match output(Command::new(program).arg("--help")).await {
        Err(why) => vec![format!("its `--help` gave no answer: {why}")],
        Ok(help) => FLAGS
            .iter()
            .filter(|flag| !help.contains(*flag))
            .map(|flag| {
                format!("it no longer lists the option `{flag}`, which sessions are started with")
            })
            .collect(),
    }
}

/// Registers our events beside one that cannot exist: headless, the program then names the valid
/// ones in a warning and ends, since it has no login in its throw-away configuration.
async fn check_events(program: &Path) -> Vec<String> {
    const NOBODYS: &str = "VigieUnknownEvent";
    let Ok(folder) = tempfolder() else {
        return vec!["the hook events could not be checked: no temporary folder".into()];
    };
    let events = super::command::events().chain([NOBODYS]);
    let hook = json!([{ "hooks": [{ "type": "command", "command": "true" }] }]);
    let hooks: Map<_, _> = events.map(|event| (event.to_owned(), hook.clone())).collect();
    let mut command = Command::new(program);
    command
        .args(["-p", "--settings", &json!({ "hooks": hooks }).to_string(), "hello"])
        .env("CLAUDE_CONFIG_DIR", folder.path())
        .env("HOME", folder.path())
        // Nobody listens there: whatever it would ask a model fails at once.
        .env("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_MAX_RETRIES", "0")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .current_dir(folder.path());
    let said = match output(&mut command).await {
        Ok(said) => said,
        Err(why) => return vec![format!("the hook events could not be checked: {why}")],
    };
    read_warning(&said, NOBODYS)
}

/// Which of our events the warning does not list as valid.
fn read_warning(said: &str, nobodys: &str) -> Vec<String> {
    let Some((_, valid)) = said.split_once("Valid events:") else {
        return if said.contains(nobodys) {
            vec!["it warns about hook events in words Vigie does not know".into()]
        } else {
            vec!["it does not say which hook events it knows, so they could not be checked".into()]
        };
    };
    let known: Vec<_> = valid.split(|c: char| !c.is_alphanumeric()).collect();
    super::command::events()
        .filter(|event| !known.contains(event))
        .map(|event| format!("it no longer knows the hook event `{event}`: sessions will stop at a question when they start"))
        .collect()
}

/// What it printed on both streams, whatever its exit code.
async fn output(command: &mut Command) -> Result<String, String> {
    let run = command.stdin(Stdio::null()).kill_on_drop(true).output();
    match timeout(ANSWERS_WITHIN, run).await {
        Err(_) => Err(format!("it did not end within {} s", ANSWERS_WITHIN.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(out)) => {
            let [said, wrong] =
                [&out.stdout, &out.stderr].map(|text| String::from_utf8_lossy(text));
            Ok(format!("{said}{wrong}"))
        }
    }
}

/// A folder that is gone when dropped.
struct TempFolder(std::path::PathBuf);

impl TempFolder {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn tempfolder() -> std::io::Result<TempFolder> {
    use std::os::unix::fs::DirBuilderExt;
    let path = std::env::temp_dir().join(format!("vigie-probe-{:016x}", rand::random::<u64>()));
    std::fs::DirBuilder::new().mode(0o700).create(&path)?;
    Ok(TempFolder(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, script: &str) -> std::path::PathBuf {
        let path = folder.join("claude");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path
    }

    async fn of(script: &str) -> Probe {
        let folder = tempfile::tempdir().unwrap();
        probe(&program(folder.path(), script)).await
    }

    #[tokio::test]
    async fn a_tested_version_has_no_findings() {
        let found = of("echo '2.1.332 (Claude Code)'").await;
        let wanted =
            Probe { version: Some("2.1.332".into()), known: Known::Tested, findings: vec![] };
        assert_eq!(found, wanted);
    }

    #[tokio::test]
    async fn an_old_version_says_what_is_needed() {
        let found = of("echo '2.1.100 (Claude Code)'").await;
        assert_eq!(found.known, Known::TooOld);
        insta::assert_snapshot!(found.findings[0], @"Claude Code 2.1.100 is too old: Vigie needs 2.1.197 or newer. Update it, for instance with `claude update`");
    }

    #[tokio::test]
    async fn a_newer_version_is_checked_for_flags_and_events() {
        let found = of(r#"case "$1" in
            --version) echo '2.2.0 (Claude Code)';;
            --help) echo '--session-id --resume --settings --name --mcp-config --append-system-prompt --plugin-dir';;
            *) echo "Unknown. Valid events: $(echo "$3" | grep -o '[A-Z][A-Za-z]*' | grep -v -e Vigie -e StopFailure | tr '\n' ',')" >&2;;
            esac"#)
        .await;
        assert_eq!(found.known, Known::Newer);
        insta::assert_snapshot!(found.findings.join("\n"), @r"
        Claude Code 2.2.0 is newer than what Vigie was tested with (2.1.197 to 2.1.332): watch the first session at the desk
        it no longer lists the option `--permission-mode`, which sessions are started with
        it no longer knows the hook event `StopFailure`: sessions will stop at a question when they start
        ");
    }

    #[tokio::test]
    async fn a_program_that_is_none_is_explained() {
        let found = of("echo hello").await;
        assert_eq!(found.known, Known::No);
        let missing = probe(Path::new("/nonexistent/claude")).await;
        assert!(missing.findings[0].contains("Install Claude Code"), "{:?}", missing.findings);
    }
}
