//! A post as Matrix has it: a text, and reactions where other services have buttons. Pure.

use vigie_bridge_kit::{
    layout::{self as neutral, Laid, Service, Where},
    sheet::{NOTHING, Sheet},
};
use vigie_core::{
    Timestamp,
    bridge::{Action, Body, Button, Post, Reactions, TextUnit},
    text::Rich,
};

use super::content::fitting;
use crate::{
    bridge::TEXT,
    markup::{Kind, Text, text},
    store::Meaning,
};

/// What stands on a button, in bytes: longer labels are in the text already, or do not matter.
const LONGEST_LABEL: usize = 240;

/// A text of so many bytes is shown whole, whatever stands around it.
const NEVER_CUT: usize = TEXT / 4;

const KEYCAPS: [&str; 10] = [
    "1\u{FE0F}\u{20E3}",
    "2\u{FE0F}\u{20E3}",
    "3\u{FE0F}\u{20E3}",
    "4\u{FE0F}\u{20E3}",
    "5\u{FE0F}\u{20E3}",
    "6\u{FE0F}\u{20E3}",
    "7\u{FE0F}\u{20E3}",
    "8\u{FE0F}\u{20E3}",
    "9\u{FE0F}\u{20E3}",
    "\u{1F51F}",
];

const YES: &str = "👍";
const NO: &str = "👎";

/// Stops what works; never put there by ourselves, and never a number that means something else on the
/// next message.
const STOP: &str = "⏹";

pub(super) const SERVICE: Service = Service { name: "Matrix", details: legend_lines };

/// Lays `post` out, with reactions for those of its buttons that they may stand in for; `now` tells how
/// long something has been going on.
pub(super) fn lay_out(post: &Post, is_thread: bool, reactions: Reactions, now: Timestamp) -> Laid {
    let place = if is_thread { Where::Thread } else { Where::Main };
    neutral::lay_out(SERVICE, &offered(post.clone(), reactions), place, now)
}

/// Without what no reaction may decide; it says how that is done instead.
fn offered(mut post: Post, reactions: Reactions) -> Post {
    let may = |button: &Button| reactions.may(&button.action, None);
    match &mut post.body {
        Body::Card(card) => *card = card.clone().for_reactions(reactions),
        Body::Text { text, buttons, .. } => {
            let written = buttons.extract_if(.., |button| !may(button));
            let written: Vec<String> = written.map(|button| label(&button)).collect();
            if !written.is_empty() {
                text.push(&format!("\n{}: {NOT_BY_REACTION}", written.join(", ")), None);
            }
        }
        Body::Progress(progress) => progress.buttons.retain(may),
        Body::Document(_) | Body::File(_) => {}
    }
    post
}

const NOT_BY_REACTION: &str = "not by a reaction here. Write it, as a command where there is one (/help), or tap it on the phone page.";

/// Vigie's own words.
pub(super) fn plain(words: &str) -> Text {
    fit(&neutral::plain(SERVICE, words), Kind::New)
}

/// The sheet in one event.
pub(super) fn fit(sheet: &Sheet, kind: Kind) -> Text {
    fit_in(sheet, kind, usize::MAX)
}

/// The same in at most `most` bytes of text, where the server finds it too large.
pub(super) fn fit_in(sheet: &Sheet, kind: Kind, most: usize) -> Text {
    let compose = |rich: &Rich| {
        let text = fitting(seen(text(rich)), kind)?;
        (text.body.len() <= most).then_some(text)
    };
    sheet
        .fit(TEXT.min(most), TextUnit::Bytes, compose)
        .unwrap_or_else(|| seen(text(&Rich::default())))
}

/// An event without anything to see is none for a reader.
fn seen(text: Text) -> Text {
    let blank = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{180E}'
                    | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{2800}'
                    | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
                    | '\u{E0000}'..='\u{E0FFF}'
            )
    };
    if text.body.chars().all(blank) { Text { body: NOTHING.into(), html: None } } else { text }
}

/// What reactions mean that stand in for those buttons.
pub(super) fn meanings(buttons: &[Button]) -> Vec<Meaning> {
    let with_emoji = emojis(buttons).into_iter().zip(buttons);
    let meaning = |(emoji, button): (Option<&str>, &Button)| {
        Some(Meaning { emoji: emoji?.to_owned(), action: button.action.clone() })
    };
    with_emoji.filter_map(meaning).collect()
}

/// An emoji for each button: a thumb for yes and no, and keycaps for all others, in their order, as
/// long as there are any.
fn emojis(buttons: &[Button]) -> Vec<Option<&'static str>> {
    let mut keycaps = KEYCAPS.into_iter();
    let (mut yes, mut no) = (Some(YES), Some(NO));
    let emoji = |button: &Button| match button.action {
        Action::Allow { .. } => yes.take().or_else(|| keycaps.next()),
        Action::Deny { .. } => no.take().or_else(|| keycaps.next()),
        Action::Interrupt { .. } | Action::InterruptAll => Some(STOP),
        Action::AllowForSession { .. }
        | Action::AllowForHours { .. }
        | Action::AllowWithEdits { .. }
        | Action::SendBack { .. }
        | Action::Choose { .. }
        | Action::Submit { .. }
        | Action::SendTo { .. }
        | Action::StartAndSend { .. }
        | Action::Drop { .. }
        | Action::SendEdit { .. }
        | Action::Resume { .. }
        | Action::CancelRun { .. }
        | Action::RetryRun { .. }
        | Action::FillIn { .. }
        | Action::StartRun { .. }
        | Action::DropRun { .. }
        | Action::AsMuchAgain { .. }
        | Action::RunGoesOn { .. } => keycaps.next(),
    };
    buttons.iter().map(emoji).collect()
}

/// Whether it is one that we put on a card ourselves where events are few.
pub(super) fn is_thumb(emoji: &str) -> bool {
    emoji == YES || emoji == NO
}

/// Whether we may put it on a message ourselves: what stops something is for people to put there.
pub(super) fn is_offered(emoji: &str) -> bool {
    emoji != STOP
}

/// A line for each button: `1️⃣ SQLite — one file, no server`. What the text says already is not said
/// twice: where it numbers the options as their keycaps do, one line says so.
fn legend_lines(buttons: &[Button], shown: &str) -> Vec<String> {
    let emojis = emojis(buttons);
    let listed = listed(buttons, &emojis, shown);
    let mut lines: Vec<String> = by_number(&emojis[..listed]).into_iter().collect();
    let (emojis, buttons) = (&emojis[listed..], &buttons[listed..]);
    let line = |(emoji, button): (Option<&str>, &Button)| {
        let detail = button.detail.as_deref().map(str::trim);
        let detail = detail.filter(|detail| !detail.is_empty() && !shown.contains(detail));
        let detail = detail.map(|detail| format!(" — {detail}")).unwrap_or_default();
        Some(format!("{} {}{detail}", emoji?, label(button)))
    };
    lines.extend(emojis.iter().copied().zip(buttons).filter_map(line));
    let without: Vec<String> =
        emojis.iter().zip(buttons).filter(|(e, _)| e.is_none()).map(|(_, b)| label(b)).collect();
    if !without.is_empty() {
        lines.push(format!("To choose one of these, write it: {}", without.join(", ")));
    }
    lines
}

/// How many of the buttons, from the first on, are options that the text numbers in just that way; none
/// unless it does so with all of them. Of a text that may be cut nobody knows what is seen.
fn listed(buttons: &[Button], emojis: &[Option<&str>], shown: &str) -> usize {
    let is_option = |button: &&Button| matches!(button.action, Action::Choose { .. });
    let options = buttons.iter().take_while(is_option).count();
    let says = |(at, button): (usize, &Button)| {
        let option = format!("{}. {}", at + 1, button.label);
        let rest = |line: &str| line.strip_prefix(&option).map(str::to_owned);
        let same = |rest: String| rest.is_empty() || rest.starts_with(':');
        emojis[at].is_some()
            && emojis[at] == KEYCAPS.get(at).copied()
            && shown.lines().filter_map(rest).any(same)
    };
    let all = options == buttons.iter().filter(is_option).count()
        && shown.len() <= NEVER_CUT
        && buttons[..options].iter().enumerate().all(says);
    if all { options } else { 0 }
}

/// How options are answered that the text has numbered.
fn by_number(emojis: &[Option<&str>]) -> Option<String> {
    let (first, others) = emojis.split_first()?;
    let or_last = others.last().map(|last| format!(" to {}", last.unwrap_or_default()));
    Some(format!(
        "React with {}{}, or write the number.",
        first.unwrap_or_default(),
        or_last.unwrap_or_default()
    ))
}

pub(super) fn label(button: &Button) -> String {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = button.label.split(blank).filter(|word| !word.is_empty()).collect();
    let label = words.join(" ");
    if label.is_empty() {
        return "(no words)".into();
    }
    vigie_bridge_kit::measure::shortened(&label, LONGEST_LABEL, TextUnit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vigie_core::{
        bridge::{ByReaction, Card, CardKind, CardState, Counts, Lapse, Level, Risk, Weight},
        id::{GateCode, GateId, SessionId},
    };

    fn gate() -> GateId {
        GateId::from_parts(Timestamp::default(), 1)
    }

    fn button(label: &str, detail: Option<&str>, action: Action) -> Button {
        Button {
            label: label.into(),
            detail: detail.map(str::to_owned),
            weight: Weight::Plain,
            action,
        }
    }

    fn choose(label: &str, detail: Option<&str>, option: usize) -> Button {
        button(label, detail, Action::Choose { gate: gate(), question: 0, option })
    }

    #[test]
    fn yes_and_no_are_thumbs_and_all_else_has_a_number() {
        let buttons = [
            button("Deny", None, Action::Deny { gate: gate() }),
            button("Approve", None, Action::Allow { gate: gate() }),
            button("For this session", None, Action::AllowForSession { gate: gate() }),
        ];
        let emojis: Vec<String> = meanings(&buttons).into_iter().map(|m| m.emoji).collect();
        assert_eq!(emojis, ["👎", "👍", KEYCAPS[0]]);
        assert_eq!(
            legend_lines(&buttons, "cargo test"),
            ["👎 Deny", "👍 Approve", "1️⃣ For this session"]
        );
    }

    #[test]
    fn only_what_counts_is_offered_and_the_rest_is_written() {
        let card = Card {
            gate: gate(),
            code: GateCode::parse("K7Q2").unwrap(),
            kind: CardKind::Permission,
            title: "asks to run a command".into(),
            opened: Timestamp::default(),
            until: Timestamp::default(),
            lapse: Lapse::Denied,
            content: Rich::plain("cargo test"),
            diff: None,
            warnings: Vec::new(),
            facts: Vec::new(),
            risk: Risk::Plain,
            reactions: ByReaction::Answers,
            answer: "Or write: approve K7Q2, or deny K7Q2 and why.".into(),
            buttons: vec![
                button("Deny", None, Action::Deny { gate: gate() }),
                button("Approve", None, Action::Allow { gate: gate() }),
                button("For this session", None, Action::AllowForSession { gate: gate() }),
            ],
            state: CardState::Open,
        };
        let approval = Card { reactions: ByReaction::Denials, ..card.clone() };
        for (card, counts, offered) in [
            (&card, Counts::Answers, &["👎", "👍"][..]),
            (&card, Counts::Denials, &["👎"]),
            (&card, Counts::Nothing, &[]),
            (&approval, Counts::Answers, &["👎"]),
        ] {
            let body = Body::Card(card.clone());
            let post = Post { from: None, level: Level::Ring, body };
            let reactions = Reactions::Forgeable(counts);
            let Laid::Written(laid) = lay_out(&post, false, reactions, Timestamp::default()) else {
                panic!("a card is words")
            };
            let emojis: Vec<_> = meanings(&laid.buttons).into_iter().map(|it| it.emoji).collect();
            assert_eq!(emojis, offered, "{counts:?}");
            let shown = fit(&laid.sheet, Kind::New).body;
            assert_eq!(shown.contains("👍"), offered.contains(&"👍"), "{shown}");
            let how = ["For this session: write \"", "approve K7Q2", " for this session\"."];
            assert!(how.iter().all(|words| shown.contains(words)), "{shown}");
        }
    }

    #[test]
    fn what_begins_something_is_named_where_no_reaction_does_it() {
        let resume = Action::Resume { session: SessionId::from_parts(Timestamp::default(), 1) };
        let buttons =
            vec![button("Resume PD-1", None, resume), button("Stop", None, Action::InterruptAll)];
        let body = Body::Text { text: Rich::plain("It ended."), part: None, buttons };
        let post = Post { from: None, level: Level::Note, body };
        let reactions = Reactions::Forgeable(Counts::Denials);
        let Laid::Written(laid) = lay_out(&post, false, reactions, Timestamp::default()) else {
            panic!("it is words")
        };
        let shown = fit(&laid.sheet, Kind::New).body;
        assert!(shown.contains("Resume PD-1: not by a reaction here."), "{shown}");
        assert!(shown.contains("⏹ Stop") && !shown.contains("1️⃣"), "{shown}");
    }

    #[test]
    fn options_are_numbered_and_say_what_they_are() {
        let buttons = [
            choose("SQLite", Some("one file, no server"), 0),
            choose("Postgres", Some("said above"), 1),
        ];
        let lines = legend_lines(&buttons, "Which? (said above)");
        assert_eq!(lines, ["1️⃣ SQLite — one file, no server", "2️⃣ Postgres"]);
    }

    #[test]
    fn options_that_the_text_numbers_are_not_listed_again() {
        let deny = button("Deny", None, Action::Deny { gate: gate() });
        let mut buttons = vec![
            choose("SQLite", Some("one file, no server"), 0),
            choose("Postgres", None, 1),
            choose("None", None, 2),
        ];
        let text = "Which?\n1. SQLite: one file, no server\n2. Postgres\n3. None";
        let rule = "React with 1️⃣ to 3️⃣, or write the number.";
        assert_eq!(legend_lines(&buttons, text), [rule]);
        buttons.push(deny);
        assert_eq!(legend_lines(&buttons, text), [rule, "👎 Deny"]);
        for text in [
            "Which?\n1. SQLite\n2. Postgres",
            "Which?\n2. SQLite\n1. Postgres\n3. None",
            "Which?\n1. SQLite 3\n2. Postgres\n3. None",
        ] {
            assert_eq!(legend_lines(&buttons, text).len(), 4, "{text}");
        }
        let long = format!("{text}\n{}", "x".repeat(TEXT));
        assert_eq!(legend_lines(&buttons, &long).len(), 4);
    }

    #[test]
    fn an_eleventh_option_is_written() {
        let label = |at| format!("option {at}");
        let buttons: Vec<_> = (1..=12).map(|at| choose(&label(at), None, at)).collect();
        assert_eq!(meanings(&buttons).len(), 10);
        let lines = legend_lines(&buttons, "");
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[10], "To choose one of these, write it: option 11, option 12");
    }

    #[test]
    fn two_sessions_to_resume_are_two_numbers() {
        let resume =
            |at| Action::Resume { session: SessionId::from_parts(Timestamp::default(), at) };
        let buttons =
            [button("Resume PD-1", None, resume(1)), button("Resume PD-2", None, resume(2))];
        let meanings = meanings(&buttons);
        assert_eq!(meanings[1], Meaning { emoji: KEYCAPS[1].into(), action: resume(2) });
    }

    #[test]
    fn nothing_to_see_is_said() {
        let sheet = Sheet { contents: vec![Rich::plain("\u{200B} \n")], ..Sheet::default() };
        assert_eq!(fit(&sheet, Kind::New).body, NOTHING);
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        for text in ["漢".repeat(40_000), "&".repeat(90_000), "\n\"".repeat(60_000)] {
            let sheet = neutral::plain(SERVICE, &text);
            let fitted = fit(&sheet, Kind::Edit);
            assert!(
                fitted.body.ends_with("… (cut: it is longer than Matrix takes)"),
                "{}",
                fitted.body
            );
            assert!(fitted.body.len() > 3_000, "{}", fitted.body.len());
        }
    }
}
