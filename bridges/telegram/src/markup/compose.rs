use vigie_core::{
    bridge::{Limits, TextUnit},
    text::{Rich, Style, split},
};

use super::{clean::clean, entities::entities, is_blank, utf16_len};
use crate::api::Entity;

/// Longest text of one message, in UTF-16 units. Source: Bot API, `sendMessage`, field `text`,
/// counted after formatting.
pub const MESSAGE_UNITS: usize = 4096;

/// Columns between tab stops, as wide as a phone allows; narrower where the text would not fit.
const TABS: [usize; 3] = [4, 2, 1];

/// A text as Telegram takes and shows it: 1 to 4096 units, at most 100 entities, nothing in it that
/// Telegram would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: String,
    pub entities: Vec<Entity>,
}

/// `rich` in as many messages as it needs: one, when it fits; none, when there is nothing to see. No
/// word is lost; of more styles than Telegram shows, the less telling ones are.
pub fn lay_out(rich: &Rich) -> Vec<Text> {
    let cleaned = cleaned(rich);
    let parts = if utf16_len(cleaned.text.trim_end_matches(is_edge)) <= MESSAGE_UNITS {
        vec![cleaned]
    } else {
        split(&cleaned, &LIMITS)
    };
    parts.into_iter().filter_map(message).collect()
}

/// The parts are cut by length alone: too many styles are no reason for one more message.
const LIMITS: Limits = Limits::of_text(TextUnit::Utf16, MESSAGE_UNITS, usize::MAX, usize::MAX);

fn cleaned(rich: &Rich) -> Rich {
    let may_fit = utf16_len(&rich.text) <= MESSAGE_UNITS;
    let [wide, narrower @ ..] = TABS;
    let mut cleaned = clean(rich, wide);
    if may_fit && rich.text.contains('\t') {
        for tab in narrower {
            if utf16_len(&cleaned.text) <= MESSAGE_UNITS {
                break;
            }
            cleaned = clean(rich, tab);
        }
    }
    cleaned
}

fn message(part: Rich) -> Option<Text> {
    if is_blank(&part.text) {
        return None;
    }
    let rich = trimmed(part);
    let entities = entities(&rich);
    Some(Text { text: rich.text, entities })
}

/// Telegram trims both.
fn is_edge(c: char) -> bool {
    matches!(c, ' ' | '\n')
}

/// Without blanks at either end, but for those that code begins with: they are its indent, and
/// Telegram leaves what an entity covers.
fn trimmed(rich: Rich) -> Rich {
    let end = rich.text.trim_end_matches(is_edge).len();
    let lead = rich.text.len() - rich.text.trim_start_matches(is_edge).len();
    let is_code = |style: &Style| matches!(style, Style::Code | Style::Pre { .. });
    let code = rich.spans.iter().find(|span| is_code(&span.style)).map(|span| span.range.start);
    let start = code.map_or(lead, |code| code.min(lead));
    if start == 0 && end == rich.text.len() { rich } else { rich.slice(start..end) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::EntityKind;

    fn one(rich: &Rich) -> Text {
        let mut all = lay_out(rich);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn edges_are_trimmed_and_an_indent_of_code_stays() {
        let mut rich = Rich::plain("\n  ");
        rich.push("bold ", Some(Style::Bold));
        rich.push("\n\n", None);
        let text = one(&rich);
        assert_eq!(
            (text.text.as_str(), text.entities[0].offset, text.entities[0].length),
            ("bold", 0, 4)
        );

        let mut rich = Rich::plain("\n\n");
        rich.push("    indented\nless\n", Some(Style::Pre { language: None }));
        let text = one(&rich);
        assert_eq!(text.text, "    indented\nless");
        assert_eq!((text.entities[0].offset, text.entities[0].length), (0, 17));
    }

    #[test]
    fn nothing_to_see_is_no_message() {
        for text in
            ["", " \n\t\r", "\u{200B}\u{FEFF} \u{A0}\u{2060}", "\u{2800}\u{3164}", "\u{202E}"]
        {
            assert_eq!(lay_out(&Rich::plain(text)), [], "{text:?}");
        }
    }

    #[test]
    fn tabs_give_way_where_the_text_would_not_fit() {
        let diff = "\tx\n".repeat(1_300);
        let text = one(&Rich::plain(diff));
        assert!(text.text.starts_with("x\n x\n x"), "{}", &text.text[..20]);
        let diff = one(&Rich::plain("a\tx\n".repeat(20)));
        assert!(diff.text.starts_with("a   x\n"));
    }

    #[test]
    fn what_is_too_long_becomes_several_messages_and_loses_nothing() {
        let mut rich = Rich::plain("head\n");
        rich.push(
            &"let x = 1;\n".repeat(1_000),
            Some(Style::Pre { language: Some("rust".into()) }),
        );
        let all = lay_out(&rich);
        assert_eq!(all.len(), 3);
        let joined: Vec<&str> = all.iter().map(|text| text.text.as_str()).collect();
        assert_eq!(joined.join("\n"), rich.text.trim_end());
        for text in &all {
            assert!(utf16_len(&text.text) <= MESSAGE_UNITS);
            let kind = EntityKind::Pre { language: Some("rust".into()) };
            assert_eq!(text.entities.last().unwrap().kind, kind);
        }
    }
}
