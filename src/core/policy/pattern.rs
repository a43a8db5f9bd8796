//! What policies say about commands and files, read once.

use std::fmt;

use super::{
    glob::{Case, Glob, list_fits},
    plain,
};
use crate::risk::{self, base};

/// Words of a command: each as it is, with `*` for any characters of that one word; a `*` that stands
/// alone is any number of words, also none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandPattern {
    text: String,
    words: Vec<Glob>,
}

/// Why a text is no pattern of a command, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPattern {
    #[error("names no command")]
    Empty,
    #[error("is more than one simple command")]
    Several,
    #[error("holds a `$`, a backtick or a redirection")]
    Dynamic,
}

impl CommandPattern {
    /// Reads it by the rules of the shell, so that quotes are quotes.
    pub fn parse(text: &str) -> Result<Self, NoPattern> {
        let script = risk::read_words(text);
        let [command] = script.commands.as_slice() else {
            return Err(if script.commands.is_empty() {
                NoPattern::Empty
            } else {
                NoPattern::Several
            });
        };
        let dynamic = command.words.iter().any(|word| word.dynamic);
        if dynamic || !script.nested.is_empty() || !command.writes.is_empty() {
            return Err(NoPattern::Dynamic);
        }
        let words: Vec<Glob> =
            command.words.iter().map(|word| Glob::new(word.text.clone())).collect();
        if words.is_empty() {
            return Err(NoPattern::Empty);
        }
        Ok(Self { text: text.trim().into(), words })
    }

    /// Whether it leaves open which program is run.
    pub fn is_of_any_program(&self) -> bool {
        let program = self.words.iter().find(|word| !is_assignment(word.as_str()));
        program.is_none_or(|word| word.as_str().contains('*'))
    }

    /// Whether what it names is always looked through, or never sure: it fits nothing that is allowed.
    pub fn is_never_sure(&self) -> bool {
        let program = self.words.iter().find(|word| !is_assignment(word.as_str()));
        program.is_some_and(|word| plain::is_no_end(base(word.as_str())))
    }

    /// Whether the words, all of them, are what it says.
    pub(super) fn is(&self, words: &[String]) -> bool {
        self.fits(words, Case::Counts)
    }

    /// Whether it is meant: by another folder or in other case, which some file systems take for the
    /// same program; or with options before the word that says what is done, as in `git -C quay push`.
    pub(super) fn is_meant_by(&self, words: &[String]) -> bool {
        if self.fits(words, Case::Counts) {
            return true;
        }
        let Some((program, rest)) = words.split_first() else { return false };
        let named = base(program).to_lowercase();
        let mut folded = self.clone();
        if let Some(first) = folded.words.first_mut() {
            *first = Glob::new(base(first.as_str()).to_lowercase());
        }
        let is_option = |word: &String| word.starts_with(['-', '+']);
        // An option, or what may be the value of the one before it.
        let may_go = |at: usize| is_option(&rest[at]) || at > 0 && is_option(&rest[at - 1]);
        let starts = (0..=rest.len()).take_while(|at| *at == 0 || may_go(*at - 1));
        starts.into_iter().any(|at| {
            let words: Vec<String> =
                std::iter::once(named.clone()).chain(rest[at..].iter().cloned()).collect();
            folded.fits(&words, Case::Counts)
        })
    }

    fn fits(&self, words: &[String], case: Case) -> bool {
        let is_any = |part: &Glob| part.as_str() == "*";
        list_fits(&self.words, words, is_any, |part, word| part.fits(word, case))
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `NAME=…`, as it stands before a command.
pub(crate) fn is_assignment(word: &str) -> bool {
    risk::is_assignment(word)
}

/// Files and folders: `*` for any characters of one part, `**` for any number of parts. Relative ones
/// are below the folder a request runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
    from: From,
    parts: Vec<Glob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Root,
    Folder,
}

impl PathPattern {
    /// `None`: it is empty, or climbs with `..`. A `~` was filled in before.
    pub fn parse(text: &str) -> Option<Self> {
        let from = if text.starts_with('/') { From::Root } else { From::Folder };
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let climbs = parts.contains(&"..") || text.starts_with('~');
        if text.is_empty() || climbs {
            return None;
        }
        Some(Self { text: text.into(), from, parts: parts.into_iter().map(Glob::new).collect() })
    }

    /// Whether `path` could be one of them, seen from a folder that is not known: its parts are the last
    /// ones of such a path.
    pub(super) fn could_be(&self, path: &str) -> bool {
        let known = |part: &&str| !matches!(*part, "" | "." | ".." | "~" | "$HOME" | "${HOME}");
        let said: Vec<&str> = path.split('/').filter(known).collect();
        let is_any = |part: &Glob| part.as_str() == "**";
        let says =
            |parts: &[Glob]| parts.iter().any(|part| !part.as_str().chars().all(|c| c == '*'));
        let ends = (0..self.parts.len()).map(|at| &self.parts[at..]).filter(|parts| says(parts));
        !said.is_empty()
            && ends.into_iter().any(|parts| {
                list_fits(parts, &said, is_any, |part, word| part.fits(word, Case::Folded))
            })
    }

    /// Whether `path`, seen from `cwd`, is one of them by its name; links are not followed.
    pub(super) fn is(&self, path: &str, cwd: &str) -> bool {
        self.fits(path, cwd, Case::Counts)
    }

    /// The same where case does not count, as on some file systems.
    pub(super) fn is_meant_by(&self, path: &str, cwd: &str) -> bool {
        self.fits(path, cwd, Case::Folded)
    }

    fn fits(&self, path: &str, cwd: &str, case: Case) -> bool {
        let Some(whole) = risk::resolved(path, cwd) else { return false };
        let Some(folder) = risk::resolved(cwd, "/") else { return false };
        let rest = match self.from {
            From::Root => whole.as_slice(),
            From::Folder => match whole.strip_prefix(folder.as_slice()) {
                Some(rest) => rest,
                None => return false,
            },
        };
        let is_any = |part: &Glob| part.as_str() == "**";
        list_fits(&self.parts, rest, is_any, |part, name| part.fits(name, case))
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(Into::into).collect()
    }

    #[test]
    fn a_pattern_is_of_whole_words() {
        let is =
            |pattern: &str, text: &str| CommandPattern::parse(pattern).unwrap().is(&words(text));
        for (pattern, text) in [
            ("cargo test *", "cargo test"),
            ("cargo test *", "cargo test -p core --lib"),
            ("rm *", "rm -rf x"),
            ("npm run test:*", "npm run test:unit"),
            ("RUST_LOG=* cargo *", "RUST_LOG=debug cargo test"),
            ("git 'commit' -m *", "git commit -m words"),
        ] {
            assert!(is(pattern, text), "{pattern}: {text}");
        }
        for (pattern, text) in [
            ("cargo test", "cargo test -p core"),
            ("cargo test *", "cargo testing"),
            ("git *", "gitx push"),
            ("npm run test:*", "npm run test:unit extra"),
            ("cargo *", "A=1 cargo test"),
            ("cargo *", "./cargo test"),
            ("cargo *", "CARGO test"),
        ] {
            assert!(!is(pattern, text), "{pattern}: {text}");
        }
        let rm = CommandPattern::parse("rm *").unwrap();
        assert!(rm.is_meant_by(&words("/bin/RM -rf x")) && !rm.is_meant_by(&words("rmdir x")));
    }

    #[test]
    fn what_is_no_simple_command_is_no_pattern() {
        for (text, why) in [
            ("", NoPattern::Empty),
            ("  ", NoPattern::Empty),
            ("a; b", NoPattern::Several),
            ("a | b", NoPattern::Several),
            ("echo $X", NoPattern::Dynamic),
            ("echo `x`", NoPattern::Dynamic),
            ("echo > x", NoPattern::Dynamic),
        ] {
            assert_eq!(CommandPattern::parse(text), Err(why), "{text}");
        }
        assert!(CommandPattern::parse("* push").unwrap().is_of_any_program());
        assert!(CommandPattern::parse("A=1 g* push").unwrap().is_of_any_program());
        assert!(!CommandPattern::parse("A=* git *").unwrap().is_of_any_program());
    }

    #[test]
    fn paths_are_told_by_their_name() {
        let is = |pattern: &str, path: &str| {
            PathPattern::parse(pattern).unwrap().is(path, "/home/ines/quay")
        };
        for (pattern, path) in [
            ("src/**", "src/a/b.rs"),
            ("src/**", "/home/ines/quay/src/a.rs"),
            ("build/**", "build"),
            ("*.md", "README.md"),
            ("**/.env*", "a/b/.env.local"),
            ("/etc/**", "../../../etc/passwd"),
            ("**", "x"),
        ] {
            assert!(is(pattern, path), "{pattern}: {path}");
        }
        for (pattern, path) in [
            ("src/**", "src/../x.rs"),
            ("src/**", "/src/a.rs"),
            ("src/**", "../quay-2/src/a.rs"),
            ("*.md", "docs/a.md"),
            ("**", "../x"),
            ("**", "~/x"),
            ("**", "$X/y"),
        ] {
            assert!(!is(pattern, path), "{pattern}: {path}");
        }
        for bad in ["", "../x", "a/../b", "~/x"] {
            assert_eq!(PathPattern::parse(bad), None, "{bad}");
        }
        let git = PathPattern::parse(".git/**").unwrap();
        assert!(git.is_meant_by(".GIT/config", "/p") && !git.is(".GIT/config", "/p"));
    }
}
