//! What a request names as files: words of commands and fields of tools, under every spelling that could
//! lead to one; and the folders that it searches as a whole.

use serde_json::Value;
use std::collections::HashSet;

use super::{
    Asking,
    pattern::{Follow, Place},
};
use crate::risk::{self, Seen, base, braces};

/// A longer text in a tool's input is no path.
const LONGEST_PATH: usize = 4096;
/// Parts of a word that are looked at, and ways to fill its braces in.
const MOST_PIECES: usize = 64;

/// Names of one request beyond which it is too much to be read, and those that links are followed for.
const MOST_NAMES: usize = 20_000;
const MOST_LINKS: usize = 2_000;

/// Tools whose texts are read by people and models, and open no file.
const PROSE: [&str; 9] = [
    "Agent",
    "Task",
    "TaskCreate",
    "TaskUpdate",
    "TodoWrite",
    "SendMessage",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
];
/// Vigie's own tools, which open none either.
const OURS: &str = "mcp__vigie__";

/// Programs that are given a text in which files stand between quotes.
const TAKES_CODE: [&str; 4] = ["sed", "jq", "sqlite3", "psql"];
/// Programs that read all below a folder, or below the one they run in.
const SEARCHERS: [&str; 5] = ["rg", "ag", "ack", "ugrep", "ripgrep"];
const GREPS: [&str; 5] = ["grep", "egrep", "fgrep", "zgrep", "rgrep"];
/// Programs that take along all below a folder they are given.
const TAKES_ALL: [&str; 8] = ["tar", "zip", "7z", "rsync", "cpio", "bsdtar", "pax", "mv"];
/// The same where a flag says so.
const TAKES_ALL_IF: [&str; 5] = ["cp", "scp", "rm", "chmod", "chown"];
/// Programs that list what another may be given, and those that give it.
const LISTS: [&str; 3] = ["find", "fd", "locate"];
const GIVES: [&str; 2] = ["xargs", "parallel"];

/// One file, as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) how: How,
    /// The paths, by their parts from the root, that it may stand for.
    pub(super) wholes: Vec<Vec<String>>,
}

/// What in it is not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum How {
    Plain,
    /// The shell fills in which files it is.
    Pattern,
    /// Part of it is only known when it runs: what is spelt out counts.
    Open,
    /// A pattern that a tool looks for: what is spelt out counts, and names with a dot before them have to be.
    Listed,
    /// All that is below what the shell fills in: where that lies which may lie anywhere, nothing is known.
    Below,
}

/// A folder of which everything is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) folder: String,
    /// Of that, files with such a name alone.
    pub(super) only: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) files: Vec<Name>,
    pub(super) searches: Vec<Search>,
    /// There was more than is looked at.
    pub(super) too_many: bool,
}

impl Name {
    fn new(text: impl Into<String>, how: How) -> Self {
        Self { text: text.into(), how, wholes: Vec::new() }
    }
}

impl Names {
    pub(super) fn of(asking: &Asking<'_>, seen: Option<&Seen>) -> Self {
        let mut names = Self::default();
        if let Some(seen) = seen {
            names.command(seen);
            names.too_many |= seen.too_long;
        } else {
            names.tool(asking.tool, asking.input);
        }
        names
    }

    /// Finds out where they lead, each once.
    pub(super) fn find(&mut self, place: &Place<'_>) {
        let mut seen = HashSet::new();
        self.files.retain(|name| seen.insert((name.text.clone(), name.how)));
        for (at, name) in self.files.iter_mut().enumerate() {
            let links = if at < MOST_LINKS { Follow::Links } else { Follow::Nothing };
            name.wholes = place.wholes(&name.text, links);
        }
        let most = if place.links.is_some() { MOST_LINKS } else { MOST_NAMES };
        self.too_many |= self.files.len() > most;
    }

    fn tool(&mut self, tool: &str, input: &Value) {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        let own = ["file_path", "notebook_path", "path"].into_iter().filter_map(field);
        if risk::is_file_tool(tool) && input.is_object() {
            for path in own {
                self.files.push(plain(path));
                self.files.extend(by_other_ways(path).into_iter().map(named));
            }
        } else if !PROSE.contains(&tool) && !tool.starts_with(OURS) {
            self.files.extend(texts(input).into_iter().flat_map(|text| pieces(&text)).map(named));
        }
        let folder = field("path").filter(|path| !path.is_empty()).unwrap_or(".");
        let inside = |pattern: &str| {
            let from_root = pattern.starts_with(['/', '~']);
            if from_root { pattern.to_owned() } else { format!("{folder}/{pattern}") }
        };
        match tool {
            "Glob" => {
                let pattern = field("pattern").map(inside);
                self.files.extend(pattern.iter().flat_map(|it| braces(it)).map(listed));
            }
            "Grep" => {
                let only = field("glob").map(str::trim).filter(|it| !it.is_empty());
                let only = only.map(ToOwned::to_owned);
                let left = only.iter().filter(|it| !it.starts_with('!'));
                let deep =
                    left.flat_map(|it| braces(it)).map(|it| listed(inside(&format!("**/{it}"))));
                self.files.extend(deep.collect::<Vec<_>>());
                self.searches.push(Search { folder: folder.into(), only });
            }
            _ => {}
        }
    }

    /// All below each of the words is read.
    fn below(&mut self, words: &[String]) {
        for word in words.iter().filter(|word| !word.starts_with('-')).flat_map(|word| braces(word))
        {
            if word.contains(['*', '?', '[']) {
                self.files.push(Name::new(format!("{word}/**"), How::Below));
            }
            self.searches.push(Search { folder: word, only: None });
        }
    }

    fn command(&mut self, seen: &Seen) {
        self.files.extend(seen.files.iter().flat_map(|file| pieces(file)).map(named));
        let mut programs = seen.commands.iter().filter_map(|words| words.first());
        let given = programs.any(|program| GIVES.contains(&base(program)));
        let here = [".".to_owned()];
        for words in &seen.commands {
            let Some((program, rest)) = words.split_first() else { continue };
            if program.contains('/') || risk::is_assignment(program) {
                self.files.extend(pieces(program).into_iter().map(named));
            }
            self.files.extend(rest.iter().flat_map(|word| pieces(word)).map(named));
            let name = base(program);
            if risk::is_interpreter(name) || TAKES_CODE.contains(&name) {
                let quoted = rest.iter().flat_map(|word| word.split(is_no_path));
                self.files.extend(quoted.filter(|it| !it.is_empty()).map(|it| named(it.into())));
            }
            let listed = given && (LISTS.contains(&name) || rest.iter().any(|it| it == "ls-files"));
            if listed || goes_down(name, rest) {
                self.below(rest);
            }
            if deletes_below(name, rest) {
                let folders = rest.iter().filter(|word| !word.starts_with('-') && *word != "clean");
                let folders: Vec<_> = folders.cloned().collect();
                self.below(if folders.is_empty() { &here } else { &folders });
            }
            let bare = rest.iter().filter(|word| !word.starts_with('-') && *word != "ls-files");
            // Only what is looked for.
            if listed && bare.count() <= usize::from(name == "fd") {
                self.searches.push(Search { folder: ".".into(), only: None });
            }
        }
        for words in &seen.unfed {
            let Some((program, rest)) = words.split_first() else { continue };
            let name = base(program);
            let bare =
                rest.iter().filter(|word| !word.starts_with('-') && !word.starts_with("HEAD"));
            let bare = bare.count();
            // Only what is looked for, or that behind `git grep`.
            let at_most = if name == "git" { 2 } else { 1 };
            if searches(name, rest) && bare <= at_most {
                self.searches.push(Search { folder: ".".into(), only: None });
            }
        }
    }
}

/// What a shell fills in for `${X:-deploy}`, and a file by way of what runs now: `/proc/self/cwd/deploy`.
fn by_other_ways(word: &str) -> Vec<String> {
    let within = word.contains("${").then(|| word.split(is_no_path)).into_iter().flatten();
    let within = within.map(|it| it.trim_start_matches(['-', '+', '?']).to_owned());
    let here = word.split_once("/cwd/").map(|(_, rest)| rest.to_owned());
    let root = word.split_once("/root/").map(|(_, rest)| format!("/{rest}"));
    within.chain(here).chain(root).filter(|it| !it.is_empty()).collect()
}

/// Whether it reads what lies below the folders among its words.
fn goes_down(name: &str, rest: &[String]) -> bool {
    let flagged = |of: &[char]| {
        let short =
            |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(of);
        rest.iter().any(|word| short(word) || word == "--recursive" || word == "--archive")
    };
    searches(name, rest)
        || TAKES_ALL.contains(&name)
        || TAKES_ALL_IF.contains(&name) && flagged(&['r', 'R', 'a'])
        || risk::finds_and_runs(name, rest)
}

/// Whether it deletes what it finds below the folders it is given, or below the one it runs in.
fn deletes_below(name: &str, rest: &[String]) -> bool {
    let given = |word: &str| rest.iter().any(|it| it == word);
    match name {
        "find" => given("-delete"),
        "git" => given("clean") && !given("-n") && !given("--dry-run"),
        _ => false,
    }
}

/// Whether it searches all below the folder it runs in, where it is given none.
fn searches(name: &str, rest: &[String]) -> bool {
    let recursive = |word: &String| {
        let short = word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R']);
        short || word.contains("recurs")
    };
    SEARCHERS.contains(&name)
        || name == "rgrep"
        || GREPS.contains(&name) && rest.iter().any(recursive)
        || name == "git" && rest.iter().any(|word| word == "grep")
}

fn is_no_path(c: char) -> bool {
    !(c.is_alphanumeric()
        || matches!(c, '/' | '.' | '_' | '-' | '~' | '*' | '?' | '[' | ']' | '$' | '+' | '@'))
}

fn plain(text: &str) -> Name {
    Name::new(text, How::Plain)
}

fn listed(text: String) -> Name {
    Name::new(text, How::Listed)
}

/// A word of a command, with what the shell fills in.
fn named(text: String) -> Name {
    let how = if text.contains('$') {
        How::Open
    } else if text.contains(['*', '?', '[']) {
        How::Pattern
    } else {
        How::Plain
    };
    Name::new(text, how)
}

/// The parts of a word that could each be a file: behind a flag, a `=`, a `:` (as in `HEAD:a`), an `@`.
fn pieces(word: &str) -> Vec<String> {
    let mut all = Vec::new();
    for word in braces(word) {
        let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        all.extend(
            rest.and_then(|rest| rest.char_indices().nth(1))
                .map(|(at, _)| word[at + 1..].to_owned()),
        );
        let cuts = word.match_indices([':', '=', '@', ',']).map(|(at, cut)| at + cut.len());
        for at in cuts.take(MOST_PIECES) {
            all.push(word[at..].to_owned());
            all.push(word[..at - 1].to_owned());
            all.extend(word[at..].split([':', '=', '@', ',']).next().map(ToOwned::to_owned));
        }
        if !word.starts_with('-') {
            all.push(word);
        }
    }
    all.extend(by_other_ways(word));
    all.retain(|piece| !piece.is_empty() && piece.len() <= LONGEST_PATH);
    all
}

/// The texts of one line in a tool's input.
fn texts(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![input];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.len() <= LONGEST_PATH && !text.contains('\n') => {
                found.push(text.clone());
            }
            Value::Array(values) => open.extend(values),
            Value::Object(fields) => open.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}
