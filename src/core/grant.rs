//! What a person allowed for longer than one request: for a session, or for some hours in a project. It
//! covers what was shown when it was given, and nothing of more risk.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

use crate::{
    Timestamp,
    bridge::Risk,
    id::{HumanId, ProjectName, SessionId, SessionName},
    policy::{Asking, Plain, SHELL_TOOLS, is_assignment, other_field, plain},
    risk::{base, resolved},
};

/// A yes that lasts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// As people name it, and never used again.
    pub number: u64,
    pub by: HumanId,
    pub at: Timestamp,
    /// Where it was given: "the phone page", "the command line".
    pub via: String,
    pub kind: Kind,
    pub scope: Scope,
    /// The risk of what it was given at, and its most.
    pub risk: Risk,
    /// Since when it covers nothing any more; its time may also have passed.
    pub over: Option<Over>,
}

/// Who may go ahead by it, and how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Scope {
    /// Until its program ends.
    Session {
        session: SessionId,
        name: SessionName,
    },
    Project {
        project: ProjectName,
        until: Timestamp,
    },
}

/// How it ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "snake_case")]
pub enum Over {
    Revoked {
        by: HumanId,
        at: Timestamp,
    },
    /// Its session ended.
    Ended {
        at: Timestamp,
    },
}

/// What a grant covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Commands run in that folder; what they write is written out.
    Commands { commands: Vec<Command>, folder: String },
    /// Changes of files below that folder.
    Edits { folder: String },
    /// Looks into files below that folder.
    Reads { folder: String },
    /// That tool, with that one file.
    File { tool: String, path: String },
    /// Pages of that host.
    Pages { host: String },
    /// That tool, whatever it is given.
    Tool { tool: String },
}

/// A command as a grant knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub words: Vec<String>,
    /// Files that its redirections name.
    #[serde(default)]
    pub files: Vec<String>,
    pub ends: Ends,
}

/// Whether more words may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    There,
    Anyhow,
}

/// Programs whose second word says what they do, so that the rest of it may differ.
const WITH_VERBS: [&str; 10] =
    ["cargo", "npm", "pnpm", "yarn", "go", "make", "just", "dotnet", "mvn", "gradle"];

const EDITS: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
const READS: [&str; 4] = ["Read", "Grep", "Glob", "LS"];

impl Kind {
    /// What a grant at such a request would cover; `None`: what it does is not sure, or its code is needed.
    pub fn of(tool: &str, input: &Value, cwd: &str, risk: Risk) -> Option<Self> {
        if risk == Risk::Code {
            return None;
        }
        if SHELL_TOOLS.contains(&tool) {
            return commands(input, cwd, risk);
        }
        if EDITS.contains(&tool) || READS.contains(&tool) {
            let folder = cwd.to_owned();
            return match (risk, READS.contains(&tool)) {
                (Risk::Plain, true) => Some(Self::Reads { folder }),
                (Risk::Plain, false) => Some(Self::Edits { folder }),
                (Risk::Care | Risk::Code, _) => {
                    let path = whole_path(input, cwd)?;
                    Some(Self::File { tool: tool.into(), path })
                }
            };
        }
        if tool == "WebFetch" {
            return host(input).map(|host| Self::Pages { host });
        }
        // A shell by another name, of which nothing is known.
        input.get("command").is_none().then(|| Self::Tool { tool: tool.into() })
    }

    /// Whether a request is one of them.
    fn covers(&self, asking: &Asking<'_>) -> bool {
        let Asking { tool, input, cwd, .. } = asking;
        match self {
            Self::Commands { commands, folder } => {
                let text = input.get("command").and_then(Value::as_str);
                let text = text.filter(|_| SHELL_TOOLS.contains(tool) && folder == cwd);
                let text = text.filter(|_| other_field(input).is_none());
                text.and_then(|text| plain(text).ok()).is_some_and(|all| {
                    all.iter().all(|one| commands.iter().any(|known| known.covers(one)))
                })
            }
            // What lies elsewhere, and what is kept for itself below, is of more risk than plain.
            Self::Edits { folder } => {
                EDITS.contains(tool) && asking.risk == Risk::Plain && is_below(input, cwd, folder)
            }
            Self::Reads { folder } => {
                READS.contains(tool) && asking.risk == Risk::Plain && is_below(input, cwd, folder)
            }
            Self::File { tool: known, path } => {
                known == tool && whole_path(input, cwd).as_ref() == Some(path)
            }
            Self::Pages { host: known } => {
                *tool == "WebFetch" && host(input).as_ref() == Some(known)
            }
            Self::Tool { tool: known } => known == tool,
        }
    }
}

impl Grant {
    /// Whether it still covers anything.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.over.is_none()
            && match &self.scope {
                Scope::Session { .. } => true,
                Scope::Project { until, .. } => now < *until,
            }
    }

    /// Whether a request of that session goes ahead by it.
    pub fn covers(&self, asking: &Asking<'_>, session: Option<SessionId>) -> bool {
        let its = match &self.scope {
            Scope::Session { session: its, .. } => session == Some(*its),
            Scope::Project { project, .. } => asking.project == Some(project.as_str()),
        };
        its && self.is_live(asking.now)
            && asking.risk != Risk::Code
            && asking.risk <= self.risk
            && self.kind.covers(asking)
    }
}

impl Command {
    fn covers(&self, command: &Plain) -> bool {
        let Plain { words, writes, reads } = command;
        let begins = words.starts_with(&self.words);
        let ends = match self.ends {
            Ends::There => words.len() == self.words.len(),
            Ends::Anyhow => words.iter().skip(self.words.len()).all(|word| is_plain_name(word)),
        };
        begins && ends && writes.iter().chain(reads).all(|file| self.files.contains(file))
    }
}

fn commands(input: &Value, cwd: &str, risk: Risk) -> Option<Kind> {
    if other_field(input).is_some() {
        return None;
    }
    let all = plain(input.get("command")?.as_str()?).ok()?;
    let commands = all.into_iter().map(|command| {
        let files = [command.writes, command.reads].concat();
        let verb = risk == Risk::Plain && files.is_empty() && has_verb(&command.words);
        let (words, ends) = if verb {
            (command.words.into_iter().take(2).collect(), Ends::Anyhow)
        } else {
            (command.words, Ends::There)
        };
        Command { words, files, ends }
    });
    Some(Kind::Commands { commands: commands.collect(), folder: cwd.into() })
}

/// `cargo test …`, and not `npm run …`, where the third word says it.
fn has_verb(words: &[String]) -> bool {
    let [program, verb, ..] = words else { return false };
    WITH_VERBS.contains(&program.as_str())
        && base(program) == program
        && !is_assignment(program)
        && !verb.starts_with('-')
        && !matches!(verb.as_str(), "run" | "exec" | "x" | "dlx")
}

/// A word that says which, and neither how nor where: no option, no setting, no path that climbs.
fn is_plain_name(word: &str) -> bool {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '@' | '+');
    let flag = matches!(
        word,
        "--" | "-q"
            | "-v"
            | "-p"
            | "--lib"
            | "--all"
            | "--workspace"
            | "--release"
            | "--quiet"
            | "--verbose"
            | "--nocapture"
            | "--exact"
    );
    flag || word.starts_with(char::is_alphanumeric)
        && !word.contains("..")
        && word.chars().all(plain)
}

/// The file that a tool of files is about, from the root.
fn whole_path(input: &Value, cwd: &str) -> Option<String> {
    let field = ["file_path", "notebook_path", "path"].into_iter().find_map(|name| input.get(name));
    let parts = resolved(field?.as_str()?, cwd)?;
    Some(format!("/{}", parts.join("/")))
}

/// Without a file, a search is in the folder it runs in.
fn is_below(input: &Value, cwd: &str, folder: &str) -> bool {
    let path = whole_path(input, cwd).unwrap_or_else(|| cwd.to_owned());
    match (resolved(&path, "/"), resolved(folder, "/")) {
        (Some(path), Some(folder)) => path.starts_with(&folder),
        (None | Some(_), _) => false,
    }
}

/// The host of a page on the web, in lower case.
fn host(input: &Value) -> Option<String> {
    let url = input.get("url")?.as_str()?;
    let rest = url.strip_prefix("https://")?;
    let host = rest.split(['/', '?', '#']).next()?.to_ascii_lowercase();
    let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':'));
    (plain && !host.is_empty()).then_some(host)
}

impl fmt::Display for Kind {
    /// For people: goes on after "allows".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commands { commands, folder } => {
                let all: Vec<String> = commands.iter().map(ToString::to_string).collect();
                write!(f, "{} in {folder}", all.join("; "))
            }
            Self::Edits { folder } => write!(f, "plain changes of files below {folder}"),
            Self::Reads { folder } => write!(f, "plain looks into files below {folder}"),
            Self::File { tool, path } => write!(f, "{tool} of {path}"),
            Self::Pages { host } => write!(f, "pages of {host}"),
            Self::Tool { tool } => write!(f, "{tool}, whatever it is given"),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.words.join(" "))?;
        for file in &self.files {
            write!(f, " (and {file})")?;
        }
        match self.ends {
            Ends::There => Ok(()),
            Ends::Anyhow => f.write_str(" …"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::describe;
    use serde_json::json;

    const CWD: &str = "/home/ines/quay";

    fn kind(tool: &str, input: &Value) -> Option<Kind> {
        Kind::of(tool, input, CWD, describe(tool, input, CWD).risk)
    }

    fn covers(kind: &Kind, tool: &str, input: &Value) -> bool {
        let risk = describe(tool, input, CWD).risk;
        let now = Timestamp::UNIX_EPOCH;
        let folders = [CWD.to_owned()];
        let asking = Asking {
            tool,
            input,
            cwd: CWD,
            folders: &folders,
            links: None,
            project: None,
            asker: None,
            risk,
            now,
        };
        kind.covers(&asking)
    }

    #[test]
    fn a_kind_of_commands_is_those_commands_and_their_like() {
        let given = |text: &str| kind("Bash", &json!({ "command": text, "description": "x" }));
        let test = given("cargo test --lib | sort > out.txt").unwrap();
        assert_eq!(test.to_string(), "cargo test …; sort (and out.txt) in /home/ines/quay");
        let runs = |text: &str| covers(&test, "Bash", &json!({ "command": text }));
        for text in ["cargo test", "cargo test -p core", "cargo test | sort > out.txt", "sort"] {
            assert!(runs(text), "{text}");
        }
        for text in [
            "cargo build",
            "cargo test; make",
            "sort -r",
            "sort > other.txt",
            "sort < other.txt",
            "cargo test > out.txt",
            "A=1 cargo test",
            "cargo test --config 'build.rustc-wrapper=\"x\"'",
            "cargo test -C /tmp/elsewhere",
            "cargo test ../elsewhere",
            "cargo test /etc",
            "cargo test CC=x",
            "cargo test $(make)",
            "./cargo test",
        ] {
            assert!(!runs(text), "{text}");
        }
        assert!(!covers(
            &test,
            "Bash",
            &json!({ "command": "sort", "dangerouslyDisableSandbox": true })
        ));
        assert_eq!(
            given("git push origin x").unwrap().to_string(),
            "git push origin x in /home/ines/quay"
        );
        assert_eq!(given("npm run build").unwrap().to_string(), "npm run build in /home/ines/quay");
        for unsure in ["rm -rf x", "ls $HOME", "if ls; then ls; fi", "sudo ls", "ls <<EOF\nx\nEOF"]
        {
            assert_eq!(given(unsure), None, "{unsure}");
        }
    }

    #[test]
    fn a_kind_of_files_is_of_no_more_risk() {
        let edits =
            kind("Edit", &json!({ "file_path": "src/a.rs", "old_string": "a", "new_string": "b" }));
        let edits = edits.unwrap();
        let write =
            |path: &str| covers(&edits, "Write", &json!({ "file_path": path, "content": "x" }));
        assert!(write("/home/ines/quay/b.rs"));
        for path in ["../x", ".git/hooks/pre-commit", "/etc/hosts", "~/.bashrc", ".github/x.yml"] {
            assert!(!write(path), "{path}");
        }
        assert!(!covers(&edits, "Read", &json!({ "file_path": "src/a.rs" })));
        let profile = kind("Write", &json!({ "file_path": "/home/ines/.bashrc", "content": "x" }));
        assert_eq!(profile.unwrap().to_string(), "Write of /home/ines/.bashrc");
    }

    #[test]
    fn other_tools_go_by_their_name_and_pages_by_their_host() {
        let page = |url: &str| json!({ "url": url, "prompt": "x" });
        let docs = kind("WebFetch", &page("https://Docs.example.org/a")).unwrap();
        assert!(covers(&docs, "WebFetch", &page("https://docs.example.org/b?c")));
        for other in [
            "https://docs.example.org.example.com/",
            "https://docs.example.org@example.com/",
            "http://docs.example.org/",
            "https://example.org/",
        ] {
            assert!(!covers(&docs, "WebFetch", &page(other)), "{other}");
        }
        assert_eq!(kind("PowerShell", &json!({ "command": "ls" })), None);
        let tool = kind("mcp__lab__echo", &json!({ "a": 1 })).unwrap();
        assert!(
            covers(&tool, "mcp__lab__echo", &json!({}))
                && !covers(&tool, "mcp__lab__wipe", &json!({}))
        );
    }
}
