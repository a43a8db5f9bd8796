//! Scripts of which everything is known beforehand: programs and their words, joined by `;`, `&&`, `||`,
//! `|`, `&`, line ends or brackets. Whatever else stands in a script is asked about.

use brush_parser::{
    ast::{
        Command, CompoundCommand, CompoundList, IoFileRedirectTarget, IoRedirect, SimpleCommand,
        Word,
    },
    word::{WordPiece, WordPieceWithSource},
};

use super::{pattern::is_assignment, tree};
use crate::{
    risk::{self, LOOKED_THROUGH, RUNS_OTHERS, SHELLS, base, is_harmless},
    text,
};

/// Scripts within scripts (`sh -c`).
const DEEPEST: usize = 3;

/// One command that a script runs, with all that stands before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Assignments, the program, its words.
    pub(crate) words: Vec<String>,
    /// Files that redirections write.
    pub(crate) writes: Vec<String>,
    /// Files that redirections read.
    pub(crate) reads: Vec<String>,
}

/// Builtins that change what later commands mean, or run what they are given.
const OF_THE_SHELL: [&str; 24] = [
    "alias",
    "unalias",
    "export",
    "declare",
    "typeset",
    "readonly",
    "local",
    "eval",
    "source",
    ".",
    "trap",
    "hash",
    "enable",
    "shopt",
    "set",
    "exec",
    "unset",
    "read",
    "mapfile",
    "readarray",
    "getopts",
    "let",
    "builtin",
    "bind",
];

/// Why no plain command ever begins with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeverSure {
    ChangesTheShell,
    RunsAnother,
}

pub(super) fn is_no_end(name: &str) -> Option<NeverSure> {
    if OF_THE_SHELL.contains(&name) {
        return Some(NeverSure::ChangesTheShell);
    }
    (RUNS_OTHERS.contains(&name) || LOOKED_THROUGH.contains(&name))
        .then_some(NeverSure::RunsAnother)
}

/// The commands of `text`, all of them; or why it is not plain, which goes on after "it".
pub(crate) fn plain(text: &str) -> Result<Vec<Plain>, &'static str> {
    read(text, 0)
}

fn read(text: &str, depth: usize) -> Result<Vec<Plain>, &'static str> {
    if depth > DEEPEST {
        return Err("holds more in each other than is read for sure");
    }
    let shown = text::reveal(text);
    let controls = text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    if shown.hidden > 0 || shown.look_alikes > 0 || controls {
        return Err("holds characters that pass for others, or for none");
    }
    // Our own reader and the library's tree have to agree: what one of them takes wrongly is asked about.
    let ours = risk::read_words(text);
    if ours.has_here_document {
        return Err("holds a here-document");
    }
    if !ours.nested.is_empty() {
        return Err("holds a command inside another");
    }
    if ours.commands.iter().flat_map(|command| &command.words).any(|word| word.dynamic) {
        return Err("depends on what is only known when it runs");
    }
    let mut walk = Walk::default();
    for list in &tree::read(text)?.complete_commands {
        walk.list(list)?;
    }
    let same = walk.commands.len() == ours.commands.len()
        && walk.commands.iter().zip(&ours.commands).all(|((_, theirs), ours)| {
            let words = ours.words.iter().map(|word| &word.text);
            let writes = ours.writes.iter().filter(|target| !tree::is_descriptor(target));
            theirs.words.iter().eq(words) && theirs.writes.iter().eq(writes)
        });
    if !same {
        return Err("can be read in two ways");
    }
    let mut all = Vec::new();
    for (piped, command) in walk.commands {
        refine(command, piped, depth, &mut all)?;
    }
    if all.is_empty() { Err("runs nothing") } else { Ok(all) }
}

#[derive(Default)]
struct Walk {
    /// Whether it is fed what the one before it prints, and what it is.
    commands: Vec<(bool, Plain)>,
}

impl Walk {
    fn list(&mut self, list: &CompoundList) -> Result<(), &'static str> {
        for item in &list.0 {
            for pipeline in tree::pipelines(&item.0) {
                if pipeline.bang || pipeline.timed.is_some() {
                    return Err("is more than commands in a row");
                }
                for (at, command) in pipeline.seq.iter().enumerate() {
                    self.command(command, at > 0)?;
                }
            }
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, piped: bool) -> Result<(), &'static str> {
        match command {
            Command::Simple(simple) => {
                let command = said(simple)?;
                self.commands.push((piped, command));
                Ok(())
            }
            Command::Compound(CompoundCommand::Subshell(shell), None) if !piped => {
                self.list(&shell.list)
            }
            Command::Compound(..) | Command::Function(_) | Command::ExtendedTest(_) => {
                Err("is more than commands in a row")
            }
        }
    }
}

fn said(simple: &SimpleCommand) -> Result<Plain, &'static str> {
    let mut plain = Plain::default();
    for part in tree::items(simple) {
        match part {
            tree::Part::Word(word) => plain.words.push(known(word)?),
            tree::Part::Substitution(_) => return Err("holds a command inside another"),
            tree::Part::Redirect(redirect) => match redirect {
                IoRedirect::File(_, kind, IoFileRedirectTarget::Filename(word)) => {
                    let file = known(word)?;
                    let files =
                        if tree::writes(kind) { &mut plain.writes } else { &mut plain.reads };
                    files.push(file);
                }
                IoRedirect::File(_, kind, IoFileRedirectTarget::Duplicate(word)) => {
                    let file = known(word)?;
                    let is_file = tree::writes(kind) && !tree::is_descriptor(&file);
                    plain.writes.extend(is_file.then_some(file));
                }
                IoRedirect::File(_, _, IoFileRedirectTarget::Fd(_)) => {}
                IoRedirect::OutputAndError(word, _) => plain.writes.push(known(word)?),
                IoRedirect::File(_, _, IoFileRedirectTarget::ProcessSubstitution(..))
                | IoRedirect::HereDocument(..)
                | IoRedirect::HereString(..) => return Err("holds a command inside another"),
            },
        }
    }
    Ok(plain)
}

/// The text of a word of which nothing is filled in when it runs.
fn known(word: &Word) -> Result<String, &'static str> {
    let pieces = tree::pieces(word).ok_or("is not read as a script for sure")?;
    let mut text = String::new();
    push(&pieces, &mut text)?;
    Ok(text)
}

fn push(pieces: &[WordPieceWithSource], to: &mut String) -> Result<(), &'static str> {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) => {
                // A bracket that nothing closes is the program of that name.
                let is_program = text == "[" && to.is_empty() && pieces.len() == 1;
                let filled = text.contains(['*', '?', '[']) && !is_program;
                let braces = text.contains('{') && (text.contains(',') || text.contains(".."));
                if filled || braces || (to.is_empty() && text.starts_with('~')) {
                    return Err("holds a pattern that the shell fills in");
                }
                to.push_str(text);
            }
            WordPiece::SingleQuotedText(text) => to.push_str(text),
            WordPiece::EscapeSequence(text) => to.push_str(tree::unescaped(text)),
            WordPiece::DoubleQuotedSequence(inner) => quoted(inner, to)?,
            WordPiece::TildePrefix(_) => return Err("holds a pattern that the shell fills in"),
            WordPiece::AnsiCQuotedText(_)
            | WordPiece::GettextDoubleQuotedSequence(_)
            | WordPiece::ParameterExpansion(_)
            | WordPiece::CommandSubstitution(_)
            | WordPiece::BackquotedCommandSubstitution(_)
            | WordPiece::ArithmeticExpression(_) => {
                return Err("depends on what is only known when it runs");
            }
        }
    }
    Ok(())
}

/// Between double quotes, where patterns are text.
fn quoted(pieces: &[WordPieceWithSource], to: &mut String) -> Result<(), &'static str> {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) => to.push_str(text),
            WordPiece::EscapeSequence(text) => to.push_str(tree::unescaped(text)),
            WordPiece::SingleQuotedText(_)
            | WordPiece::DoubleQuotedSequence(_)
            | WordPiece::TildePrefix(_)
            | WordPiece::AnsiCQuotedText(_)
            | WordPiece::GettextDoubleQuotedSequence(_)
            | WordPiece::ParameterExpansion(_)
            | WordPiece::CommandSubstitution(_)
            | WordPiece::BackquotedCommandSubstitution(_)
            | WordPiece::ArithmeticExpression(_) => {
                return Err("depends on what is only known when it runs");
            }
        }
    }
    Ok(())
}

/// What it runs in the end: behind `env`, `nohup` and their like, and inside `sh -c`.
fn refine(
    command: Plain,
    piped: bool,
    depth: usize,
    all: &mut Vec<Plain>,
) -> Result<(), &'static str> {
    let Plain { words, writes, reads } = command;
    let writes: Vec<String> = writes.into_iter().filter(|file| !is_harmless(file)).collect();
    let at = words.iter().take_while(|word| is_assignment(word)).count();
    let Some(program) = words.get(at) else { return Err("sets a variable, or only redirects") };
    let rest = &words[at + 1..];
    let name = base(program);
    let flagged = rest.first().is_none_or(|word| word.starts_with('-'));
    let without = |count: usize| {
        let words = words[..at].iter().chain(rest.get(count..).unwrap_or_default());
        let (writes, reads) = (writes.clone(), reads.clone());
        Plain { words: words.cloned().collect(), writes, reads }
    };
    if OF_THE_SHELL.contains(&name) || (name == "printf" && flagged) {
        return Err("changes the shell that runs the rest");
    }
    // The shell computes what stands between such brackets, and runs what it finds there.
    let computes = matches!(name, "test" | "[" | "printf" | "expr");
    if computes && rest.iter().any(|word| word.contains("$(") || word.contains('`')) {
        return Err("holds a command inside another");
    }
    if RUNS_OTHERS.contains(&name) || risk::finds_and_runs(name, rest) {
        return Err("runs a program that another one is given");
    }
    if piped && risk::runs_what_it_is_fed(&words[at..]) {
        return Err("runs what another program prints");
    }
    match name {
        "timeout" if rest.first().is_some_and(|word| is_duration(word)) => {
            refine(without(1), piped, depth, all)
        }
        "nice" if rest.first().is_some_and(|word| word == "-n") => {
            refine(without(2), piped, depth, all)
        }
        name if LOOKED_THROUGH.contains(&name) && name != "timeout" && !flagged => {
            refine(without(0), piped, depth, all)
        }
        name if LOOKED_THROUGH.contains(&name) => Err("runs a program that another one is given"),
        name if SHELLS.contains(&name) => match rest {
            [flags, script] if matches!(flags.as_str(), "-c" | "-lc") => {
                let outer = Plain { words: Vec::new(), writes, reads };
                all.extend((outer != Plain::default()).then_some(outer));
                if at > 0 {
                    return Err("sets a variable, or only redirects");
                }
                all.extend(read(script, depth + 1)?);
                Ok(())
            }
            [file] if !file.starts_with('-') => {
                all.push(Plain { words, writes, reads });
                Ok(())
            }
            _ => Err("gives a shell something to run"),
        },
        _ => {
            all.push(Plain { words, writes, reads });
            Ok(())
        }
    }
}

/// `5`, `1.5m`.
fn is_duration(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
    word.len() <= digits.len() + 1
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let all = plain(text).unwrap_or_else(|why| panic!("{text}: it {why}"));
        let one = |command: Plain| {
            let writes = command.writes.iter().map(|file| format!(" >{file}"));
            command.words.join("|") + &writes.collect::<String>()
        };
        all.into_iter().map(one).collect()
    }

    #[test]
    fn commands_in_a_row_are_told_apart() {
        assert_eq!(
            words("cd x && cargo test --lib 2>&1 | tail -5; (ls; pwd) || true &"),
            ["cd|x", "cargo|test|--lib", "tail|-5", "ls", "pwd", "true"]
        );
        assert_eq!(words("a 'b c' \"d e\" f\\ g \\rm"), ["a|b c|d e|f g|rm"]);
        assert_eq!(words("a >x 2>/dev/null\nb >>y"), ["a >x", "b >y"]);
        assert_eq!(words("A=1 timeout 60 env B=2 cargo test # x"), ["A=1|B=2|cargo|test"]);
        assert_eq!(words("sh -c 'a; b' >x"), [" >x", "a", "b"]);
    }

    #[test]
    fn every_bound_is_reached_and_nothing_takes_long() {
        assert!(plain(&format!("echo {}", "a".repeat(9_000))).is_err());
        for (open, close) in [("(", ")"), ("{ ", ";}"), ("if ", ""), ("! ", ""), ("((", "))")] {
            for depth in [1, 5, 12, 13, 400] {
                let text = format!("{}true{}", open.repeat(depth), close.repeat(depth));
                let _ = plain(&text);
                let _ = tree::read(&text);
            }
        }
        for piece in [
            "a|", "a&&", "a;", "\\a", "'a'", "\"a\"", "$a", ">a ", "a=b ", "<<A ", "\n", "*",
            "[[ a ", "| ",
        ] {
            let text = format!("a {}", piece.repeat(8_000 / piece.len()));
            let _ = plain(&text);
            if let Ok(tree) = tree::read(&text) {
                let _ = tree::Everything::of(&tree);
            }
        }
        let deep = "sh -c \"sh -c 'sh -c \\\"sh -c true\\\"'\"";
        assert!(plain(deep).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(rm|-r|sh|-c|if|then|fi|case|in|esac|for|do|done|'|\"|\\$\\(|\\$\\{|\\)|\\}|\\(|\\{|;|\\||>|<<|EOF|&| |\n|/|`|=|a|\\PC){0,24}") {
            let _ = plain(&text);
            if let Ok(tree) = tree::read(&text) {
                let _ = tree::Everything::of(&tree);
            }
        }

        /// What is let through is what a shell would run: the words are those between the separators.
        #[test]
        fn what_is_plain_is_what_stands_there(
            words in proptest::collection::vec("[a-z]{1,6}", 1..5),
            by in "(; |\n| && | \\|\\| )",
        ) {
            let text = words.iter().map(|word| format!("run {word}")).collect::<Vec<_>>().join(&by);
            let found = plain(&text).map_err(|why| TestCaseError::fail(format!("{text}: it {why}")))?;
            let found: Vec<String> = found.into_iter().map(|command| command.words[1].clone()).collect();
            prop_assert_eq!(found, words);
        }
    }
}
