use crate::{id::SessionName, text::plain_letter};

use super::StoryPattern;

/// Longest content of a pair of brackets that is looked at.
const LONGEST: usize = 400;

/// Whom a message names at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Nobody: the text is all text.
    None,
    /// These, each once, in the order written; the text is what follows and may be empty.
    To { targets: Vec<Target>, text: String },
    /// It looks like a key and is none. Nothing is sent.
    Refused { why: String, suggestion: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A story's key in its usual spelling (`PD-285`), or a session's name as it was written.
    Name(String),
    /// Every session whose name begins so: `PD-`.
    Group(String),
    /// Every session.
    All,
}

/// Reads the prefix of a message: `[PD-285] text`, `[PD-285, PD-286]`, `[PD-285] [PD-300]`, `[PD-*]`,
/// `[all]`, `PD-285: text`, `/PD285 text`; any case, full-width brackets and every kind of hyphen.
/// What is shaped like a story's key is a prefix even if no such session exists, so that it is never
/// sent elsewhere; any other word (`[docs]`, `docs:`) only when `known` says that it names a session.
/// Brackets within code or a quotation are not at the start, so they are text.
pub fn address(text: &str, keys: &StoryPattern, known: &dyn Fn(&str) -> bool) -> Address {
    let reader = Reader { keys, known };
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    let read = match start.chars().next() {
        Some('[' | '［') => reader.brackets(start),
        Some('/') => Ok(reader.command(start)),
        Some(_) => reader.colon(start),
        None => Ok(None),
    };
    match read {
        Ok(Some((targets, text))) => Address::To { targets, text },
        Ok(None) => Address::None,
        Err(LooksAlike { written, meant }) => Address::Refused {
            why: format!(
                "{written} has letters that only look like those of {meant}, so it was sent to nobody."
            ),
            suggestion: meant,
        },
    }
}

/// The one word in brackets at the start of `text` that a session could be called, as written, and what
/// follows it. It may be a word like any other: `[todo]`.
pub fn bracketed(text: &str) -> Option<(String, String)> {
    let start = text.trim_start_matches(|c: char| c.is_whitespace() || is_mark(c));
    let (inner, after) = pair(start)?;
    let name = fold(inner).parse::<SessionName>().ok()?;
    // A Markdown link.
    (!after.starts_with('(')).then(|| (name.into(), body(after)))
}

/// Marks that phones put at the start of a text and nobody sees.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{FEFF}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2060}')
}

struct LooksAlike {
    written: String,
    meant: String,
}

type Read = Result<Option<(Vec<Target>, String)>, LooksAlike>;

struct Reader<'a> {
    keys: &'a StoryPattern,
    known: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn brackets(&self, text: &str) -> Read {
        let mut targets = Vec::new();
        let mut rest = text;
        while let Some((inner, after)) = pair(rest.trim_start()) {
            if after.starts_with('(') {
                break; // a Markdown link
            }
            let Some(named) = self.list(inner)? else { break };
            for target in named {
                if !targets.contains(&target) {
                    targets.push(target);
                }
            }
            rest = after;
        }
        Ok((!targets.is_empty()).then(|| (targets, body(rest))))
    }

    fn colon(&self, text: &str) -> Read {
        let Some((word, after)) = text.split_once([':', '：']) else { return Ok(None) };
        if word.len() > SessionName::MAX * 3
            || word.contains(char::is_whitespace)
            || after.starts_with("//")
        {
            return Ok(None);
        }
        let word = fold(word);
        if word.eq_ignore_ascii_case("all") {
            return Ok(None); // "all: …" begins a sentence
        }
        Ok(self.one(&word)?.map(|target| (vec![target], body(after))))
    }

    fn command(&self, text: &str) -> Option<(Vec<Target>, String)> {
        let (word, after) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
        let word = fold(&word[1..]);
        let word = word.split_once('@').map_or(word.as_str(), |(word, _)| word);
        self.keys.key_of_command(word).map(|key| (vec![Target::Name(key)], body(after)))
    }

    /// What stands in one pair of brackets; `None` when it is not a list of targets.
    fn list(&self, inner: &str) -> Result<Option<Vec<Target>>, LooksAlike> {
        let words: Vec<String> = inner.split([',', '，', '、', ';']).map(fold).collect();
        let read = words.iter().map(|word| self.one(word)).collect::<Result<Vec<_>, _>>()?;
        if read.iter().all(Option::is_none) {
            return Ok(None);
        }
        // Beside a target, a word that could name a session is one that does not exist: never dropped.
        let all = read.into_iter().zip(words).map(|(target, word)| {
            target.or_else(|| word.parse::<SessionName>().ok().map(|_| Target::Name(word)))
        });
        Ok(all.collect())
    }

    fn one(&self, word: &str) -> Result<Option<Target>, LooksAlike> {
        if word.is_ascii() {
            return Ok(self.target(word));
        }
        let meant: String =
            word.chars().map(|c| plain_letter(c).map_or(c, |(plain, _)| plain)).collect();
        if meant.is_ascii() && self.target(&meant).is_some() {
            return Err(LooksAlike {
                written: word.into(),
                meant: self.keys.key(&meant).unwrap_or(meant),
            });
        }
        Ok(None)
    }

    fn target(&self, word: &str) -> Option<Target> {
        if word.eq_ignore_ascii_case("all") {
            return Some(Target::All);
        }
        if let Some(project) = word.strip_suffix("-*") {
            return self.keys.group(project).map(Target::Group);
        }
        if let Some(key) = self.keys.key(word) {
            return Some(Target::Name(key));
        }
        (!word.is_empty() && (self.known)(word)).then(|| Target::Name(word.into()))
    }
}

/// The inside of the brackets at the start of `text`, and what follows them.
fn pair(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['[', '［'])?;
    let end = inner.find([']', '］', '[', '［', '\n']).filter(|end| *end <= LONGEST)?;
    let after = inner[end..].strip_prefix([']', '］'])?;
    Some((&inner[..end], after))
}

/// Full-width characters and all kinds of hyphens as ASCII, without blanks around.
fn fold(word: &str) -> String {
    let ascii = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' => '-',
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFF01 + 0x21).unwrap_or(c),
        c => c,
    };
    let word = word.trim_matches(|c: char| c.is_whitespace() || is_mark(c));
    word.chars().filter(|c| !is_mark(*c) && *c != '\u{AD}').map(ascii).collect()
}

/// The message behind its prefix; a first line that is indented stays so.
fn body(rest: &str) -> String {
    let rest = rest.trim_start_matches([' ', '\t', '\u{A0}', '\u{3000}']);
    let rest = rest.strip_prefix([':', '：']).unwrap_or(rest);
    let line = rest.trim_start_matches([' ', '\t', '\u{A0}', '\u{3000}']);
    if !line.starts_with(['\n', '\r']) {
        return line.into();
    }
    let first = line.find(|c: char| !c.is_whitespace()).unwrap_or(line.len());
    let start = line[..first].rfind('\n').map_or(0, |feed| feed + 1);
    line[start..].trim_end_matches(|c: char| first == line.len() && c.is_whitespace()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Address {
        address(text, &StoryPattern::default(), &|name| name.eq_ignore_ascii_case("docs"))
    }

    #[test]
    fn an_indented_first_line_stays_so() {
        let Address::To { text, .. } = read("[PD-285]\n\n    let x;\n  y") else { panic!() };
        assert_eq!(text, "    let x;\n  y");
    }

    #[test]
    fn a_look_alike_is_explained() {
        insta::assert_debug_snapshot!(read("[РD-285] hello"), @r#"
        Refused {
            why: "РD-285 has letters that only look like those of PD-285, so it was sent to nobody.",
            suggestion: "PD-285",
        }
        "#);
    }

    proptest! {
        #[test]
        fn every_spelling_reaches_the_same(blanks in "[ \n\u{A0}]{0,3}", hyphen in "[-‐‑‒–−－]", number in 1_u32..999_999, text in "[a-z][a-z \n]{0,20}", lower in any::<bool>()) {
            let project = if lower { "pd" } else { "PD" };
            let targets = vec![Target::Name(format!("PD-{number}"))];
            let expected = Address::To { targets, text: text.clone() };
            for written in [
                format!("{blanks}[{project}{hyphen}{number}] {text}"),
                format!("{blanks}［{project}{hyphen}{number}］{text}"),
                format!("{blanks}{project}{hyphen}{number}: {text}"),
                format!("{blanks}/{project}{hyphen}{number} {text}"),
                format!("{blanks}/{project}{number}@some_bot\n{text}"),
            ] {
                prop_assert_eq!(&read(&written), &expected, "{}", written);
            }
        }

        #[test]
        fn nothing_panics(text in "(\\[|\\]|PD-1|,|:|/|\\PC|\n| |all|docs){0,20}") {
            if let Address::To { targets, .. } = read(&text) {
                prop_assert!(!targets.is_empty());
            }
        }
    }
}
