//! Whether one policy fits one request, and why.

use serde_json::Value;

use super::{
    Asking, Catastrophic, CommandPattern, Effect, Plain, Policy, SHELL_TOOLS,
    glob::Case,
    names::{How, Names},
    pattern::Place,
    plain, tree,
};
use crate::{
    bridge::Risk,
    risk::{self, Seen},
};

/// Fields of a shell tool that change nothing about what is run.
const HARMLESS_FIELDS: [&str; 4] = ["command", "description", "timeout", "run_in_background"];

/// A request, read once for all policies.
pub(super) struct Read<'a> {
    asking: &'a Asking<'a>,
    shell: Option<Shell>,
    names: Names,
    place: Place<'a>,
    /// Files its own fields name.
    files: Vec<&'a str>,
}

/// A shell command, in both directions.
struct Shell {
    /// All that it runs; or why that is not sure.
    plain: Result<Vec<Plain>, &'static str>,
    /// All that it could be taken to run.
    seen: Seen,
    /// Where its one plain `cd` leads; `None`: there are more of them, or none that is plain.
    folder: Option<String>,
}

impl<'a> Read<'a> {
    /// Names of files are looked for only where a policy is about some.
    pub(super) fn new(asking: &'a Asking<'a>, policies: &[Policy]) -> Self {
        let field = |name: &str| asking.input.get(name).and_then(Value::as_str);
        // Whatever is called a command may be run by a shell.
        let shell = field("command").filter(|_| !risk::is_file_tool(asking.tool)).map(Shell::read);
        let place = place(asking, shell.as_ref());
        let mut names = Names::default();
        if policies.iter().any(|policy| !policy.paths.is_empty()) {
            names = Names::of(asking, shell.as_ref().map(|shell| &shell.seen));
            names.find(&place);
        }
        let files = ["file_path", "notebook_path", "path"].into_iter().filter_map(field).collect();
        Self { asking, shell, names, place, files }
    }
}

/// Where it runs: in its folder, and where its one plain `cd` leads.
fn place<'a>(asking: &Asking<'a>, shell: Option<&Shell>) -> Place<'a> {
    let mut at = vec![asking.cwd.to_owned()];
    let mut moves = false;
    if let Some(shell) = shell.filter(|shell| shell.seen.changes_folder()) {
        let folder = shell.folder.as_ref();
        match folder.and_then(|folder| risk::resolved(folder, asking.cwd)) {
            Some(parts) => at.push(format!("/{}", parts.join("/"))),
            None => moves = true,
        }
    }
    let folders = asking.folders.iter().flat_map(|folder| {
        let real = asking.links.and_then(|links| links(folder));
        std::iter::once(folder.clone()).chain(real)
    });
    let mut folders: Vec<Vec<String>> =
        folders.filter_map(|folder| risk::resolved(&folder, "/")).collect();
    folders.dedup();
    Place { at, moves, folders, links: asking.links }
}

impl Shell {
    fn read(text: &str) -> Self {
        let (commands, scripts) = match tree::read(text) {
            Ok(program) => {
                let all = tree::Everything::of(&program);
                (all.commands, all.scripts)
            }
            Err(_) => (Vec::new(), Vec::new()),
        };
        let seen = risk::seen(text, &commands, &scripts);
        let folder = one_folder(text, &seen).map(ToOwned::to_owned);
        Self { plain: plain(text), seen, folder }
    }
}

/// The folder that a script goes to, where it says so once and plainly.
fn one_folder<'a>(text: &str, seen: &'a Seen) -> Option<&'a str> {
    const MOVES: [&str; 3] = ["cd", "pushd", "popd"];
    const AGAIN: [&str; 5] = ["for", "while", "until", "function", "CDPATH"];
    let words = || text.split(|c: char| !c.is_alphanumeric());
    let once = words().filter(|word| MOVES.contains(word)).count() == 1;
    if !once || text.contains("()") || words().any(|word| AGAIN.contains(&word)) {
        return None;
    }
    let to = seen.commands.iter().find_map(|words| match words.as_slice() {
        [cd, folder] if cd == "cd" => Some(folder.as_str()),
        _ => None,
    })?;
    let plain = !to.starts_with(['-', '~']) && !to.contains(['$', '*', '?', '[', '{', '`']);
    plain.then_some(to)
}

/// Why it fits, or why it does not: goes on after "because".
pub(super) fn fits(policy: &Policy, request: &Read<'_>) -> Result<String, String> {
    let asking = request.asking;
    let tool = policy.tools.iter().find(|tool| tool.fits(asking.tool, Case::Counts));
    if tool.is_none() && !policy.tools.is_empty() {
        return Err(format!("it is about other tools than {}", asking.tool));
    }
    if !policy.projects.is_empty()
        && !policy.projects.iter().any(|name| Some(name.as_str()) == asking.project)
    {
        return Err("it is about other projects".into());
    }
    let named = |asker: &str| policy.sessions.iter().any(|name| name.fits(asker, Case::Folded));
    if !policy.sessions.is_empty() && !asking.asker.is_some_and(named) {
        return Err("it is about other sessions".into());
    }
    if let Some(hours) = &policy.hours
        && !hours.hold(asking.now)
    {
        return Err(format!("it holds {hours} only"));
    }
    let mut why = Vec::new();
    why.extend(tool.map(|tool| format!("the tool is `{tool}`")));
    match policy.effect {
        Effect::Allow => allows(policy, request, &mut why)?,
        Effect::Deny | Effect::Ask | Effect::AskTwo => forbids(policy, request, &mut why)?,
    }
    if why.is_empty() {
        why.push("it is about everything".into());
    }
    Ok(why.join(", and "))
}

/// Everything has to fit, and all of it has to be known.
fn allows(policy: &Policy, request: &Read<'_>, why: &mut Vec<String>) -> Result<(), String> {
    let asking = request.asking;
    if !policy.commands.is_empty() {
        let shell = request.shell.as_ref().filter(|_| SHELL_TOOLS.contains(&asking.tool));
        let Some(shell) = shell else {
            return Err(format!("{} runs no shell command", asking.tool));
        };
        let plain = shell.plain.as_ref().map_err(|reason| unsure(reason))?;
        if let Some(field) = other_field(asking.input) {
            return Err(format!("the request also sets `{field}`"));
        }
        for command in plain.iter().filter(|command| !command.words.is_empty()) {
            let fits = |pattern: &CommandPattern| pattern.is(&command.words);
            let Some(pattern) = policy.commands.iter().find(|it| fits(it)) else {
                return Err(format!("it names no command such as `{}`", command.words.join(" ")));
            };
            let words = format!("`{}` is `{pattern}`", command.words.join(" "));
            why.extend((!why.contains(&words)).then_some(words));
        }
        allows_files(policy, plain, asking)?;
    } else if !policy.paths.is_empty() {
        match &request.shell {
            Some(_) => return Err("it names no commands, and this is one".into()),
            None if request.files.is_empty() || !risk::is_file_tool(asking.tool) => {
                return Err(format!("{} says nothing sure about files", asking.tool));
            }
            None => {
                for file in &request.files {
                    is_one_of(policy, file, asking)?;
                }
            }
        }
    }
    why.extend(policy.paths.first().map(|_| "every file is one of its paths".into()));
    match (asking.risk, policy.catastrophic) {
        (Risk::Code, Catastrophic::Asked) => {
            Err("nothing that needs its code typed is allowed without `catastrophic = true`".into())
        }
        (Risk::Code, Catastrophic::Allowed) | (Risk::Plain | Risk::Care, _) => Ok(()),
    }
}

fn unsure(reason: &str) -> String {
    format!("the command {reason}, and what is not sure is never allowed")
}

/// What redirections write has to be one of the paths; where there are paths, whatever the words name
/// has to be as well.
fn allows_files(policy: &Policy, plain: &[Plain], asking: &Asking<'_>) -> Result<(), String> {
    for command in plain {
        for file in &command.writes {
            if policy.paths.is_empty() {
                return Err(format!("the command writes {file}, and it names no paths"));
            }
            is_one_of(policy, file, asking)?;
        }
        if policy.paths.is_empty() {
            continue;
        }
        for file in &command.reads {
            is_one_of(policy, file, asking)?;
        }
        let program = command.words.iter().position(|word| !risk::is_assignment(word));
        let Some((name, rest)) = program.and_then(|at| command.words[at..].split_first()) else {
            continue;
        };
        if risk::changes_folder(name) {
            return Err("the command changes its folder, so its paths are not sure".into());
        }
        for word in rest {
            if risk::base(name) != "rm" && may_hold_a_file(word) {
                return Err(format!("`{word}` may name a file"));
            }
            if let Some(file) = as_file(word) {
                is_one_of(policy, file, asking)?;
            }
        }
    }
    Ok(())
}

fn is_one_of(policy: &Policy, file: &str, asking: &Asking<'_>) -> Result<(), String> {
    let folder = asking.folders.first().map_or(asking.cwd, String::as_str);
    let is_its = policy.paths.iter().any(|path| path.is(file, asking.cwd, folder));
    if is_its { Ok(()) } else { Err(format!("{file} is none of its paths")) }
}

/// The part of a word that could name a file: all of it, or what stands in a flag.
fn as_file(word: &str) -> Option<&str> {
    if !word.starts_with('-') {
        return Some(word);
    }
    let value = word.split_once('=').map(|(_, value)| value);
    value.or_else(|| word.find('/').map(|at| &word[at..]))
}

/// Short flags of which one takes the rest for its value: `-tsrc`, `-ofile`.
fn may_hold_a_file(word: &str) -> bool {
    let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-') && flags.len() > 1);
    let glued = |flags: &str| {
        let value = flags.find(['t', 'o', 'f', 'C', 'O', 'T', 'd', 'I']);
        value.is_some_and(|at| at + 1 < flags.len())
    };
    flags.is_some_and(glued)
}

/// One part that could be meant is enough.
fn forbids(policy: &Policy, request: &Read<'_>, why: &mut Vec<String>) -> Result<(), String> {
    let asking = request.asking;
    if !policy.commands.is_empty() {
        let Some(shell) = &request.shell else {
            return Err(format!("{} runs no shell command", asking.tool));
        };
        let found = policy.commands.iter().find_map(|pattern| {
            let of = |words: &&Vec<String>| pattern.is_meant_by(words);
            shell.seen.commands.iter().find(of).map(|words| (pattern, words.join(" ")))
        });
        match found {
            Some((pattern, words)) => why.push(format!("`{words}` is `{pattern}`")),
            None if shell.seen.too_long => why.push("the command is too long to be read".into()),
            None => return Err("none of the commands in it is one of its own".into()),
        }
    }
    if !policy.paths.is_empty() {
        why.push(names(policy, request)?);
    }
    Ok(())
}

/// Which of its paths a request names, or searches.
fn names(policy: &Policy, request: &Read<'_>) -> Result<String, String> {
    let Read { names, place, .. } = request;
    for path in &policy.paths {
        if let Some(name) = names.files.iter().find(|name| path.is_meant_by(name, place)) {
            let words = match name.how {
                How::Plain => "is one of",
                How::Pattern | How::Open | How::Listed | How::Below => "could be one of",
            };
            return Ok(format!("{} {words} `{path}`", name.text));
        }
        if let Some(search) = names.searches.iter().find(|search| path.lies_in(search, place)) {
            let folder = if search.folder == "." { "the whole folder" } else { &search.folder };
            return Ok(format!("it searches {folder}, where `{path}` lies"));
        }
    }
    if names.too_many {
        return Ok("the command is too long to be read".into());
    }
    Err("it names none of its paths".into())
}

/// What a request sets beside what is known to be harmless.
pub(crate) fn other_field(input: &Value) -> Option<&str> {
    let fields = input.as_object()?;
    let set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let other =
        |(key, value): &(&String, &Value)| !HARMLESS_FIELDS.contains(&key.as_str()) && set(value);
    fields.iter().find(other).map(|(key, _)| key.as_str())
}
