//! What policies say about commands and files, read once.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::{
    Links,
    glob::{Case, Glob, list_fits, lists_meet, meet},
    names::{How, Name, Search},
    plain::{self, NeverSure},
};
use crate::risk::{self, base};

/// Words of a command: each as it is, with `*` for any characters of that one word; a `*` that stands
/// alone is any number of words, also none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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

    /// Why it fits nothing that is allowed: what it names is always looked through, or never sure.
    pub fn is_never_sure(&self) -> Option<NeverSure> {
        let program = self.words.iter().find(|word| !is_assignment(word.as_str()))?;
        plain::is_no_end(base(program.as_str()))
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

impl TryFrom<String> for CommandPattern {
    type Error = NoPattern;

    fn try_from(text: String) -> Result<Self, NoPattern> {
        Self::parse(&text)
    }
}

impl From<CommandPattern> for String {
    fn from(pattern: CommandPattern) -> Self {
        pattern.text
    }
}

/// `NAME=…`, as it stands before a command.
pub(crate) fn is_assignment(word: &str) -> bool {
    risk::is_assignment(word)
}

/// Files and folders: `*` for any characters of one part, `**` for any number of parts. Relative ones
/// are below the folder a request runs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathPattern {
    text: String,
    from: Base,
    parts: Vec<Glob>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Root,
    Folder,
}

impl PathPattern {
    /// `None`: it is empty, or climbs with `..`. A `~` was filled in before.
    pub fn parse(text: &str) -> Option<Self> {
        let from = if text.starts_with('/') { Base::Root } else { Base::Folder };
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let climbs = parts.contains(&"..") || text.starts_with('~');
        if text.is_empty() || climbs {
            return None;
        }
        Some(Self { text: text.into(), from, parts: parts.into_iter().map(Glob::new).collect() })
    }

    /// Whether `path` could be one of them, seen from a folder that is not known: its parts are the last
    /// ones of such a path.
    fn could_be(&self, path: &str) -> bool {
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

    /// Whether `path`, seen from `cwd`, is one of them by its name; links are not followed. Relative ones
    /// are below `folder`.
    pub(super) fn is(&self, path: &str, cwd: &str, folder: &str) -> bool {
        let Some(whole) = risk::resolved(path, cwd) else { return false };
        let Some(folder) = risk::resolved(folder, "/") else { return false };
        self.fits(&whole, &folder, Case::Counts)
    }

    fn fits(&self, whole: &[String], folder: &[String], case: Case) -> bool {
        let rest = match self.from {
            Base::Root => whole,
            Base::Folder => match whole.strip_prefix(folder) {
                Some(rest) => rest,
                None => return false,
            },
        };
        let is_any = |part: &Glob| part.as_str() == "**";
        list_fits(&self.parts, rest, is_any, |part, name| part.fits(name, case))
    }

    /// Whether a name could lead to one of them, on a file system that may take letters in other case for
    /// the same.
    pub(super) fn is_meant_by(&self, name: &Name, place: &Place<'_>) -> bool {
        let text = name.text.as_str();
        let unknown = text.starts_with(['~', '$', '\\']) || place.moves && !text.starts_with('/');
        if unknown {
            let home = |at: usize, part: &str| at == 0 && part.starts_with('~');
            let tail = text.split('/').enumerate();
            let tail =
                tail.filter(|(at, part)| !matches!(*part, "" | "." | "..") && !home(*at, part));
            let tail = tail.map(|(_, part)| Said::of(part));
            let parts: Vec<Said> = std::iter::once(Said::Any).chain(tail).collect();
            if self.could_be(text) || parts.len() > 1 && self.meets(&parts, How::Open, place) {
                return true;
            }
        }
        match name.how {
            How::Plain => name.wholes.iter().any(|whole| {
                place.folders.iter().any(|folder| self.fits(whole, folder, Case::Folded))
            }),
            How::Pattern | How::Open | How::Listed | How::Below => {
                name.wholes.iter().any(|whole| {
                    let parts: Vec<Said> = whole.iter().map(|part| Said::of(part)).collect();
                    self.meets(&parts, name.how, place)
                })
            }
        }
    }

    /// Whether one path could be both.
    fn meets(&self, said: &[Said], how: How, place: &Place<'_>) -> bool {
        let none = [Vec::new()];
        let folders = match self.from {
            Base::Root => none.as_slice(),
            Base::Folder => &place.folders,
        };
        let floats = self.parts.first().is_some_and(|part| part.as_str().contains('*'));
        if how == How::Below && floats {
            return false;
        }
        let is_open = matches!(how, How::Open | How::Listed);
        let ends_below =
            how == How::Pattern && self.parts.last().is_some_and(|it| it.as_str() == "**");
        folders.iter().any(|folder| {
            let base = folder.iter().map(|part| (part.to_lowercase(), false));
            let own = self.parts.iter().map(|part| {
                let spelt_out = !part.as_str().chars().all(|c| c == '*');
                (part.as_str().to_lowercase(), spelt_out)
            });
            let mut parts: Vec<(String, bool)> = base.chain(own).collect();
            if ends_below {
                // Of a folder's name alone nothing is read.
                parts.insert(parts.len() - 1, ("*".into(), false));
            }
            lists_meet(
                &parts,
                said,
                |(part, _)| part == "**",
                |word| *word == Said::Any,
                |(_, spelt_out)| !(*spelt_out && is_open),
                |(part, spelt_out), word| match word {
                    Said::Any => false,
                    Said::Part(word) => {
                        let says_nothing = word.chars().all(|c| c == '*');
                        let hidden = part.starts_with('.') && word.starts_with('*');
                        let left_out = hidden && how != How::Open;
                        let unsaid = *spelt_out && says_nothing && is_open;
                        !left_out && !unsaid && meet(part, word)
                    }
                },
            )
        })
    }

    /// Whether some of them lie below a folder that is searched as a whole. Of those that may lie anywhere
    /// nothing is known.
    pub(super) fn lies_in(&self, search: &Search, place: &Place<'_>) -> bool {
        let spelt = |part: &&Glob| !part.as_str().contains('*');
        let fixed: Vec<String> =
            self.parts.iter().take_while(spelt).map(|part| part.as_str().to_lowercase()).collect();
        if fixed.is_empty() || self.is_left_out_by(search.only.as_deref(), &fixed) {
            return false;
        }
        let none = [Vec::new()];
        let folders = match self.from {
            Base::Root => none.as_slice(),
            Base::Folder => &place.folders,
        };
        let relative = !search.folder.starts_with('/');
        if search.folder.starts_with(['~', '$']) || place.moves && relative {
            return true;
        }
        place.wholes(&search.folder, Follow::Links).iter().any(|whole| {
            let searched: Vec<String> = whole.iter().map(|part| part.to_lowercase()).collect();
            folders.iter().any(|folder| {
                let base = folder.iter().map(|part| part.to_lowercase());
                let own: Vec<String> = base.chain(fixed.iter().cloned()).collect();
                own.starts_with(&searched)
            })
        })
    }

    /// Whether a search that is about some files alone leaves all of them out.
    fn is_left_out_by(&self, only: Option<&str>, fixed: &[String]) -> bool {
        let Some(only) = only.map(str::to_lowercase) else { return false };
        if let Some(but) = only.strip_prefix('!') {
            let but = but.trim_start_matches("**/").trim_end_matches(['/', '*']);
            return but.split('/').eq(fixed.iter().map(String::as_str));
        }
        let wanted = only.rsplit('/').next().unwrap_or_default();
        let plain = !only.contains(['!', '{', '[', '?', ' ', ',']);
        let last = self.parts.last().map(|part| part.as_str().to_lowercase());
        plain && last.is_some_and(|last| !meet(&last, wanted))
    }
}

/// One part of a path that is not plain.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Part(String),
    /// Any number of parts.
    Any,
}

impl Said {
    /// What the shell fills in, and what is only known when it runs, may be anything.
    fn of(part: &str) -> Self {
        if part == "**" {
            return Self::Any;
        }
        let mut said = String::new();
        let mut chars = part.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '?' => said.push('*'),
                '[' => {
                    // What is not closed is anything to the end.
                    while chars.next().is_some_and(|c| c != ']') {}
                    said.push('*');
                }
                '$' => {
                    let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '{' | '}');
                    while chars.next_if(is_name).is_some() {}
                    said.push('*');
                }
                c => said.extend(c.to_lowercase()),
            }
        }
        Self::Part(said)
    }
}

/// From where names of files are read.
pub(super) struct Place<'a> {
    /// Folders that it may run in.
    pub(super) at: Vec<String>,
    /// It may run in another one as well.
    pub(super) moves: bool,
    /// The folders that relative patterns are below, by their parts.
    pub(super) folders: Vec<Vec<String>>,
    pub(super) links: Option<&'a Links>,
}

/// Whether links are followed where somebody can.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Links,
    Nothing,
}

impl Place<'_> {
    /// The paths, from the root, that a name may stand for: as it is written, and where links lead.
    pub(super) fn wholes(&self, text: &str, follow: Follow) -> Vec<Vec<String>> {
        let links = self.links.filter(|_| follow == Follow::Links);
        let written = self.at.iter().filter_map(|cwd| risk::resolved(text, cwd));
        let both = written.flat_map(|whole| {
            let real = links.and_then(|links| {
                let real = links(&format!("/{}", whole.join("/")))?;
                risk::resolved(&real, "/").filter(|real| *real != whole)
            });
            std::iter::once(whole).chain(real)
        });
        both.collect()
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for PathPattern {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("names no files")
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.text
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
            PathPattern::parse(pattern).unwrap().is(path, "/home/ines/quay", "/home/ines/quay")
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
        assert!(!git.is(".GIT/config", "/p", "/p"));
    }
}
