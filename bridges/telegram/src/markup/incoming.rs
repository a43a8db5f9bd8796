//! What a person wrote, as text for an agent: the marks that Telegram took out of it are put back.

use serde::Deserialize;
use serde_json::Value;
use std::ops::Range;

/// A person's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    /// The part of the answered message that they picked out.
    pub quote: Option<String>,
}

/// The words of a message as Telegram tells it: its text, or what was written to a file. `None` when
/// it has neither.
pub fn words(message: &Value) -> Option<Words> {
    let (text, entities) = if let Some(text) = message.get("text").and_then(Value::as_str) {
        (text, message.get("entities"))
    } else {
        (message.get("caption")?.as_str()?, message.get("caption_entities"))
    };
    Some(Words { text: restored(text, entities), quote: quote(message) })
}

/// Only a quote somebody made: Telegram adds others by itself.
fn quote(message: &Value) -> Option<String> {
    let quote = message.get("quote")?;
    let manual = quote.get("is_manual").and_then(Value::as_bool).unwrap_or(false);
    let text = quote.get("text").and_then(Value::as_str).filter(|_| manual)?;
    Some(restored(text, quote.get("entities")))
}

/// An entity as far as it concerns us; what is newer than this is only a look.
#[derive(Deserialize)]
struct Marked {
    #[serde(rename = "type")]
    kind: String,
    offset: usize,
    length: usize,
    url: Option<String>,
    language: Option<String>,
}

/// The text with its links' addresses, its code's backticks, and marks at what is quoted or struck
/// out: neither is meant by whoever sends it, so neither may read as their own words.
fn restored(text: &str, entities: Option<&Value>) -> String {
    let entities = entities.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let marked = entities.iter().filter_map(|entity| Marked::deserialize(entity).ok());
    let mut found: Vec<(Range<usize>, Marked)> = Vec::new();
    let places = Places::new(text);
    for marked in marked {
        if let Some(range) = places.bytes(marked.offset, marked.length) {
            found.push((range, marked));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    let mut added: Vec<(usize, String)> = disowned(text, &found);
    let mut from = 0;
    for (range, marked) in &found {
        if range.start < from {
            continue; // inside another, or crossing it
        }
        let part = &text[range.clone()];
        let Some((before, behind)) = marks(text, range, part, marked) else { continue };
        added.extend([(range.start, before), (range.end, behind)]);
        from = range.end;
    }
    added.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, mark) in added {
        out.push_str(&text[from..at]);
        out.push_str(&mark);
        from = at;
    }
    out.push_str(&text[from..]);
    out
}

/// The marks of what is quoted, one for each line, and of what is struck out, and where they go.
fn disowned(text: &str, found: &[(Range<usize>, Marked)]) -> Vec<(usize, String)> {
    let mut added = Vec::new();
    for (range, marked) in found {
        match marked.kind.as_str() {
            "blockquote" | "expandable_blockquote" => {
                let breaks = text[range.clone()].match_indices('\n');
                let lines = breaks.map(|(at, _)| range.start + at + 1).filter(|at| *at < range.end);
                let mark = |at| (at, "> ".to_owned());
                added.extend(std::iter::once(range.start).chain(lines).map(mark));
            }
            "strikethrough" => added.extend([range.start, range.end].map(|at| (at, "~~".into()))),
            _ => {}
        }
    }
    added
}

/// What belongs before and behind a part; `None` where nothing does.
fn marks(
    text: &str,
    range: &Range<usize>,
    part: &str,
    marked: &Marked,
) -> Option<(String, String)> {
    match marked.kind.as_str() {
        "text_link" => {
            let url = marked.url.as_deref().map(one_line).filter(|url| !url.is_empty())?;
            (url.trim_end_matches('/') != part.trim_end_matches('/'))
                .then(|| (String::new(), format!(" ({url})")))
        }
        "code" => {
            let ticks = "`".repeat(longest_ticks(part) + 1);
            let pad = if part.starts_with('`') || part.ends_with('`') { " " } else { "" };
            Some((format!("{ticks}{pad}"), format!("{pad}{ticks}")))
        }
        "pre" => {
            let ticks = "`".repeat(longest_ticks(part).max(2) + 1);
            let language = marked.language.as_deref().map(one_line).unwrap_or_default();
            let above = if text[..range.start].is_empty() || text[..range.start].ends_with('\n') {
                ""
            } else {
                "\n"
            };
            let end = if part.ends_with('\n') { "" } else { "\n" };
            let below = if text[range.end..].is_empty() || text[range.end..].starts_with('\n') {
                ""
            } else {
                "\n"
            };
            Some((format!("{above}{ticks}{language}\n"), format!("{end}{ticks}{below}")))
        }
        _ => None,
    }
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Where each UTF-16 unit of a text stands in bytes.
struct Places(Vec<Option<usize>>);

impl Places {
    fn new(text: &str) -> Self {
        let mut places = Vec::with_capacity(text.len() + 1);
        for (at, c) in text.char_indices() {
            places.push(Some(at));
            places.extend(std::iter::repeat_n(None, c.len_utf16() - 1));
        }
        places.push(Some(text.len()));
        Self(places)
    }

    /// The bytes of a range in units, up to the end of the text; `None` where it begins beyond it,
    /// begins or ends inside a character, or is empty.
    fn bytes(&self, offset: usize, length: usize) -> Option<Range<usize>> {
        let last = self.0.len() - 1;
        let start = (*self.0.get(offset)?)?;
        let end = (*self.0.get(offset.saturating_add(length).min(last))?)?;
        (start < end).then_some(start..end)
    }
}

/// Whom the command at the beginning of a text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The text does not begin with a command.
    None,
    /// `/stop`: for whoever reads it.
    Anybody,
    /// `/stop@our_bot now`: for us; this is the text without our name.
    Ours { text: String },
    /// `/stop@other_bot`: not our business.
    Other { bot: &'a str },
}

/// Reads the command at the beginning of `text`; `bot` is our own name, without the `@`.
pub fn command<'a>(text: &'a str, bot: &str) -> Command<'a> {
    let Some(rest) = text.strip_prefix('/') else { return Command::None };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    if name == 0 {
        return Command::None; // a path, a comment, a slash
    }
    let behind = &rest[name..];
    let Some(addressed) = behind.strip_prefix('@') else {
        let ends = behind.is_empty() || behind.starts_with(char::is_whitespace);
        return if ends { Command::Anybody } else { Command::None };
    };
    let length = addressed.find(|c| !is_name(c)).unwrap_or(addressed.len());
    let (whom, more) = addressed.split_at(length);
    if whom.is_empty() || !(more.is_empty() || more.starts_with(char::is_whitespace)) {
        Command::None
    } else if whom.eq_ignore_ascii_case(bot) {
        Command::Ours { text: format!("/{}{more}", &rest[..name]) }
    } else {
        Command::Other { bot: whom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn text(text: &str, entities: &Value) -> String {
        words(&json!({"text": text, "entities": entities})).unwrap().text
    }

    #[test]
    fn links_say_where_they_lead() {
        let link = |offset, length, url| json!([{"type": "text_link", "offset": offset, "length": length, "url": url}]);
        assert_eq!(
            text("😀😀 see the page now", &link(9, 8, "https://example.org/x?a=1&b=2")),
            "😀😀 see the page (https://example.org/x?a=1&b=2) now"
        );
        assert_eq!(
            text("https://example.org", &link(0, 19, "https://example.org/")),
            "https://example.org"
        );
        assert_eq!(
            text("x y", &link(0, 1, "https://example.org/\n[PD-285] no")),
            "x (https://example.org/[PD-285] no) y"
        );
    }

    #[test]
    fn code_gets_its_backticks_back() {
        let code = |offset, length| json!([{"type": "code", "offset": offset, "length": length}]);
        assert_eq!(text("code: a*b_c", &code(6, 5)), "code: `a*b_c`");
        assert_eq!(text("a `b", &code(2, 2)), "a `` `b ``");
        let pre = json!([{"type": "pre", "offset": 3, "length": 8, "language": "rust"}]);
        assert_eq!(text("so ```\nx();end", &pre), "so \n````rust\n```\nx();\n````\nend");
        let alone = json!([{"type": "pre", "offset": 0, "length": 4}]);
        assert_eq!(text("x();", &alone), "```\nx();\n```");
    }

    #[test]
    fn looks_are_left_out_and_bad_ranges_do_no_harm() {
        let all = json!([
            {"type": "bold", "offset": 3, "length": 99}, {"type": "code", "offset": 99, "length": 1},
            {"type": "code", "offset": 1, "length": 1}, {"type": "code", "offset": -1, "length": 2},
            {"type": "spoiler", "offset": 0, "length": 2}, {"type": "date_time", "offset": 0, "length": 2},
            {"type": "code", "offset": 4, "length": 0}, {"type": "text_link", "offset": 0, "length": 2},
            {"offset": 0}, 7, {"type": "code", "offset": u64::MAX, "length": u64::MAX},
        ]);
        assert_eq!(text("😀hello", &all), "😀hello");
        let over = json!([{"type": "code", "offset": 2, "length": 99}]);
        assert_eq!(text("😀hello", &over), "😀`hello`");
        assert_eq!(text("hello", &json!("none")), "hello");
    }

    #[test]
    fn captions_and_quotes_are_read_too() {
        let message = json!({
            "caption": "[PD-285] see x", "caption_entities": [{"type": "code", "offset": 13, "length": 1}],
            "quote": {"text": "the second", "is_manual": true, "position": 4},
        });
        let read = words(&message).unwrap();
        assert_eq!(read.text, "[PD-285] see `x`");
        assert_eq!(read.quote.as_deref(), Some("the second"));
        let by_telegram = json!({"text": "yes", "quote": {"text": "the second", "position": 4}});
        assert_eq!(words(&by_telegram), Some(Words { text: "yes".into(), quote: None }));
        assert_eq!(words(&json!({"sticker": {}})), None);
    }

    #[test]
    fn a_command_is_for_us_or_for_another_bot() {
        let ours = |text: &str| Command::Ours { text: text.into() };
        for (text, expected) in [
            ("/stop", Command::Anybody),
            ("/STOP PD-285", Command::Anybody),
            ("/stop@our_bot", ours("/stop")),
            ("/stop@Our_Bot PD-285", ours("/stop PD-285")),
            ("/approve@our_bot\nK7Q2", ours("/approve\nK7Q2")),
            ("/stop@other_bot x", Command::Other { bot: "other_bot" }),
            ("😀 /stop@other_bot", Command::None),
            ("/tmp/x is full", Command::None),
            ("/", Command::None),
            ("//stop", Command::None),
            ("/stop@", Command::None),
            ("/stop@our_bot/x", Command::None),
            ("/stop, please", Command::None),
            ("stop", Command::None),
        ] {
            assert_eq!(command(text, "our_bot"), expected, "{text}");
        }
    }

    #[test]
    fn what_is_quoted_or_struck_out_does_not_read_as_their_own_words() {
        let quoted =
            |kind, offset, length| json!([{"type": kind, "offset": offset, "length": length}]);
        assert_eq!(text("approve K7Q2", &quoted("blockquote", 0, 12)), "> approve K7Q2");
        assert_eq!(
            text("😀 he said\nyes\ndo it\nreally?", &quoted("expandable_blockquote", 11, 9)),
            "😀 he said\n> yes\n> do it\nreally?"
        );
        assert_eq!(text("approve K7Q2", &quoted("strikethrough", 0, 12)), "~~approve K7Q2~~");
        let code_in_a_quote = json!([
            {"type": "blockquote", "offset": 0, "length": 8},
            {"type": "code", "offset": 4, "length": 4},
        ]);
        assert_eq!(text("run make", &code_in_a_quote), "> run `make`");
    }

    proptest! {
        #[test]
        fn no_entity_breaks_it_and_no_letter_is_lost(
            source in "(\\PC|\n|`){0,40}",
            marked in proptest::collection::vec((0_u8..7, 0_usize..50, 0_usize..50), 0..8),
        ) {
            let kinds =
                ["code", "pre", "text_link", "bold", "new_kind", "blockquote", "strikethrough"];
            let entities: Vec<Value> = marked.into_iter().map(|(kind, offset, length)| {
                json!({"type": kinds[usize::from(kind)], "offset": offset, "length": length, "url": "u:"})
            }).collect();
            let restored = text(&source, &Value::Array(entities));
            let mut rest = restored.chars();
            prop_assert!(source.chars().all(|c| rest.any(|other| other == c)), "{}", restored);
        }
    }
}
