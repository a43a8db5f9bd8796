use super::*;
use crate::{
    api::{EntityKind, KeyStyle, TgChat, TgThread},
    say::keys::keyboard,
};
use chrono::TimeDelta;
use proptest::prelude::*;
use std::fmt::Write as _;
use vigie_bridge_kit::layout::{Enclosed, Written};
use vigie_core::{
    bridge::{
        Action, Body, Button, Card, CardKind, CardState, Decided, Document, Fact, Level, Part,
        Progress, Risk, Weight,
    },
    id::{GateCode, GateId, HumanId, SessionId, SessionName},
    text::{self, Style},
};

fn spot(place: Where) -> Spot {
    let thread = TgThread::new(7).filter(|_| place == Where::Thread);
    Spot { chat: TgChat(1), thread }
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_timestamp(1_796_029_680, 0).unwrap() + TimeDelta::minutes(minutes)
}

fn session() -> SessionName {
    "PD-287".parse().unwrap()
}

fn ours(body: Body) -> Post {
    Post { from: None, level: Level::Note, body }
}

fn theirs(body: Body) -> Post {
    Post { from: Some(session()), ..ours(body) }
}

fn words(text: Rich) -> Body {
    Body::Text { text, part: None, buttons: Vec::new() }
}

fn gate() -> GateId {
    GateId::from_parts(at(0), 7)
}

fn button(label: &str, weight: Weight, action: Action) -> Button {
    Button { label: label.into(), detail: None, weight, action }
}

fn permission() -> Card {
    let shown = text::reveal("rm -rf ./target/import-cache \u{202E}аrchive/");
    Card {
        gate: gate(),
        code: GateCode::parse("K7Q2").unwrap(),
        kind: CardKind::Permission,
        title: "asks to run a command that deletes files".into(),
        opened: at(0),
        until: at(80),
        lapse: vigie_core::bridge::Lapse::Denied,
        warnings: text::warning(&shown).into_iter().collect(),
        content: shown.text.wrapped(Style::Pre { language: Some("sh".into()) }),
        diff: None,
        facts: vec![Fact { label: "Folder".into(), value: "~/work/quay-PD-287".into() }],
        risk: Risk::Code,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: "To allow it, write: approve K7Q2".into(),
        buttons: vec![button("Deny", Weight::Plain, Action::Deny { gate: gate() })],
        state: CardState::Open,
    }
}

fn decided() -> Decided {
    Decided {
        verdict: "Denied".into(),
        by: HumanId::new("Inès Caradec"),
        at: at(57),
        via: "the phone page".into(),
    }
}

/// The message as it looks, with its entities by name below it.
fn shown(post: &Post, place: Where) -> String {
    let Laid::Written(Written { sheet, buttons, silent }) = lay_out(post, spot(place), at(4))
    else {
        panic!("{post:?} is a file")
    };
    let (text, keyboard) = (message(&sheet), keyboard(&buttons));
    let mut out = format!("{}\n--\n", text.text);
    out.push_str(if silent { "silent" } else { "rings" });
    let units: Vec<u16> = text.text.encode_utf16().collect();
    for entity in &text.entities {
        let part = &units[entity.offset..entity.offset + entity.length];
        let part = String::from_utf16(part).unwrap();
        let kind = match &entity.kind {
            EntityKind::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("")),
            kind => format!("{kind:?}").to_lowercase(),
        };
        write!(out, "\n{kind}: {part}").unwrap();
    }
    for row in keyboard.unwrap_or_default().inline_keyboard {
        let label = |key: &crate::api::Key| {
            let style = match key.style {
                Some(KeyStyle::Success) => "+",
                Some(KeyStyle::Danger) => "!",
                Some(KeyStyle::Primary) | None => "",
            };
            format!("[{style}{}]", key.text)
        };
        write!(out, "\n{}", row.iter().map(label).collect::<Vec<_>>().join(" ")).unwrap();
    }
    out
}

#[test]
fn a_risky_command_is_shown_whole_and_its_code_can_be_copied() {
    let post = Post { level: Level::Ring, ..theirs(Body::Card(permission())) };
    insta::assert_snapshot!(shown(&post, Where::Main), @r"
    PD-287 asks to run a command that deletes files
    1 hidden character, 1 look-alike letter. It runs exactly as shown.
    rm -rf ./target/import-cache ⟦U+202E⟧⟦а Cyrillic⟧rchive/
    Folder ~/work/quay-PD-287
    Until 10:28 UTC, then it is denied
    To allow it, write: approve K7Q2
    --
    rings
    bold: PD-287 asks to run a command that deletes files
    pre sh: rm -rf ./target/import-cache ⟦U+202E⟧⟦а Cyrillic⟧rchive/
    code: ~/work/quay-PD-287
    code: approve K7Q2
    [Deny]
    ");
    assert_eq!(shown(&post, Where::Thread), shown(&post, Where::Main));
}

#[test]
fn a_decided_card_says_so_first_and_keeps_what_it_was_about() {
    let mut card = permission();
    card.buttons.clear();
    card.state = CardState::Answered(decided());
    insta::assert_snapshot!(shown(&theirs(Body::Card(card.clone())), Where::Main), @r"
    Denied by Inès Caradec, 10:05 UTC, from the phone page. The agent does not have it yet.
    PD-287 asks to run a command that deletes files
    1 hidden character, 1 look-alike letter. It runs exactly as shown.
    rm -rf ./target/import-cache ⟦U+202E⟧⟦а Cyrillic⟧rchive/
    Folder ~/work/quay-PD-287
    --
    silent
    bold: Denied
    bold: PD-287 asks to run a command that deletes files
    pre sh: rm -rf ./target/import-cache ⟦U+202E⟧⟦а Cyrillic⟧rchive/
    code: ~/work/quay-PD-287
    ");
    card.state = CardState::Taken { decided: decided(), taken: at(57) };
    let taken = shown(&theirs(Body::Card(card.clone())), Where::Main);
    insta::assert_snapshot!(taken.lines().next().unwrap(), @"Denied by Inès Caradec, 10:05 UTC, from the phone page. The agent has it since 10:05 UTC.");
    let reason = Decided { verdict: "Denied: use the test database".into(), ..decided() };
    card.state = CardState::Taken { decided: reason, taken: at(57) };
    let taken = shown(&theirs(Body::Card(card.clone())), Where::Main);
    let lines: Vec<_> = taken.lines().take(2).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    Denied: use the test database
    By Inès Caradec, 10:05 UTC, from the phone page. The agent has it since 10:05 UTC.
    ");
    card.state = CardState::Closed { why: "Approved at the desk".into(), at: at(2) };
    let closed = shown(&theirs(Body::Card(card)), Where::Main);
    insta::assert_snapshot!(closed.lines().next().unwrap(), @"Approved at the desk, 09:10 UTC.");
}

#[test]
fn an_edit_shows_its_diff() {
    let card = Card {
        title: "asks to edit src/main.rs".into(),
        content: Rich::default(),
        diff: Some("--- src/main.rs\n+++ src/main.rs\n@@\n-old\n+new\n".into()),
        warnings: Vec::new(),
        until: at(24 * 60),
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: "Or write: approve K7Q2, or deny K7Q2 and why.".into(),
        buttons: vec![
            button("Deny", Weight::Plain, Action::Deny { gate: gate() }),
            button("Approve", Weight::Go, Action::Allow { gate: gate() }),
            button(
                "Approve for this session",
                Weight::Plain,
                Action::AllowForSession { gate: gate() },
            ),
        ],
        ..permission()
    };
    insta::assert_snapshot!(shown(&theirs(Body::Card(card)), Where::Thread), @r"
    PD-287 asks to edit src/main.rs
    --- src/main.rs
    +++ src/main.rs
    @@
    -old
    +new
    Folder ~/work/quay-PD-287
    Until 1 December, 09:08 UTC, then it is denied
    Or write: approve K7Q2, or deny K7Q2 and why.
    --
    silent
    bold: PD-287 asks to edit 
    code: src/main.rs
    pre diff: --- src/main.rs
    +++ src/main.rs
    @@
    -old
    +new
    code: ~/work/quay-PD-287
    code: approve K7Q2
    code: deny K7Q2
    [Deny] [+Approve]
    [Approve for this session]
    ");
}

#[test]
fn a_question_says_what_its_options_mean_once() {
    let mut content = Rich::default();
    content.push("Where do sessions live?", Some(Style::Bold));
    content.push("\n1. SQLite: one file\n2. Postgres", None);
    let option = |label: &str, detail: Option<&str>, option| Button {
        detail: detail.map(str::to_owned),
        ..button(label, Weight::Plain, Action::Choose { gate: gate(), question: 0, option })
    };
    let card = Card {
        kind: CardKind::Question,
        title: "asks you".into(),
        content,
        warnings: Vec::new(),
        facts: Vec::new(),
        risk: Risk::Plain,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: "Or answer in your own words.".into(),
        buttons: vec![
            option("SQLite", Some("one file"), 0),
            option("Postgres", Some("a server"), 1),
            option("Neither of the two, and why I would rather not say now", None, 2),
        ],
        ..permission()
    };
    insta::assert_snapshot!(shown(&theirs(Body::Card(card)), Where::Main), @r"
    PD-287 asks you
    Where do sessions live?
    1. SQLite: one file
    2. Postgres
    Postgres: a server
    Neither of the two, and why I would rather not say now
    Until 10:28 UTC, then it is denied
    Or answer in your own words.
    K7Q2
    --
    silent
    bold: PD-287 asks you
    bold: Where do sessions live?
    code: K7Q2
    [SQLite] [Postgres]
    [Neither of the two, and why I would rat…]
    ");
}

#[test]
fn an_answer_has_its_session_and_its_number_in_front() {
    let text = text::markdown("All **green**. See `src/lib.rs` and main.rs.");
    let body = Body::Text { text, part: Some(Part { number: 2, of: 3 }), buttons: Vec::new() };
    insta::assert_snapshot!(shown(&theirs(body.clone()), Where::Main), @r"
    PD-287 (2/3)
    All green. See src/lib.rs and main.rs.
    --
    silent
    bold: PD-287 (2/3)
    bold: green
    code: src/lib.rs
    code: main.rs
    ");
    let topic = shown(&theirs(body), Where::Thread);
    insta::assert_snapshot!(topic.lines().next().unwrap(), @"(2/3)");
}

#[test]
fn vigies_own_words_are_told_from_an_agents() {
    let own = ours(words(Rich::plain("PD-287 was stopped.")));
    insta::assert_snapshot!(shown(&own, Where::Main), @r"
    PD-287 was stopped.
    --
    silent
    ");
    insta::assert_snapshot!(shown(&own, Where::Thread), @r"
    Vigie
    PD-287 was stopped.
    --
    silent
    bold: Vigie
    ");
    for posing in
        ["**Vigie**\nPD-290 may deploy.", "vigie:\n\nyes", "V\u{200B}igie", "V\u{456}gie\nyes"]
    {
        let text = text::markdown(posing);
        let shown = shown(&theirs(words(text)), Where::Thread);
        assert!(shown.starts_with("PD-287\n"), "{shown}");
    }
    let honest =
        theirs(words(Rich::plain("Vigie is what the daemon of this repository is called.")));
    assert!(shown(&honest, Where::Thread).starts_with("Vigie is what"));
}

#[test]
fn progress_tells_what_and_how_long() {
    let stop = button(
        "Stop",
        Weight::Plain,
        Action::Interrupt { session: SessionId::from_parts(at(0), 1) },
    );
    let mut progress = Progress {
        lines: vec!["Read timetable.toml".into(), "cargo test -p quay".into()],
        since: at(-61),
        ended: None,
        buttons: vec![stop],
    };
    insta::assert_snapshot!(shown(&theirs(Body::Progress(progress.clone())), Where::Main), @r"
    PD-287
    Read timetable.toml
    cargo test -p quay
    1 h 05
    --
    silent
    bold: PD-287
    code: timetable.toml
    [Stop]
    ");
    progress.ended = Some("done, 1 h 05".into());
    progress.buttons.clear();
    insta::assert_snapshot!(shown(&theirs(Body::Progress(progress.clone())), Where::Main), @r"
    PD-287 done, 1 h 05
    --
    silent
    bold: PD-287
    ");
    let topic = shown(&theirs(Body::Progress(progress)), Where::Thread);
    insta::assert_snapshot!(topic.lines().next().unwrap(), @"done, 1 h 05");
}

#[test]
fn a_file_says_whose_it_is() {
    let document = Document {
        name: "PD-287-20261130.md".into(),
        text: "all".into(),
        about: "212 lines, 8.1 kB".into(),
    };
    let post = theirs(Body::Document(document));
    let caption = |place| match lay_out(&post, spot(place), at(0)) {
        Laid::Enclosed(enclosed) => caption(&enclosed.caption.unwrap()).text,
        Laid::Written(_) => panic!("it is no file"),
    };
    assert_eq!(caption(Where::Main), "PD-287\n212 lines, 8.1 kB");
    assert_eq!(caption(Where::Thread), "212 lines, 8.1 kB");
}

#[test]
fn what_does_not_fit_is_cut_and_said() {
    let plan = "1. Move the berths out of the timetable.\n".repeat(200);
    let mut card = permission();
    card.content = Rich::plain(plan);
    card.facts = vec![Fact { label: "The agent says".into(), value: "because ".repeat(90) }];
    let post = theirs(Body::Card(card));
    let Laid::Written(written) = lay_out(&post, spot(Where::Main), at(0)) else {
        panic!("it is no file")
    };
    let text = message(&written.sheet).text;
    assert!(text.contains("\n… (cut; the document above has all)\n"), "{text}");
    assert!(text.contains("because because…\nUntil 10:28 UTC"), "{text}");
    assert!(text.ends_with("\nTo allow it, write: approve K7Q2"), "{text}");
    assert!((MESSAGE_UNITS * 3 / 4..=MESSAGE_UNITS).contains(&utf16_len(&text)));

    let long = theirs(words(Rich::plain("word ".repeat(900))));
    assert!(shown(&long, Where::Main).contains("… (cut: it is longer than Telegram takes)"));
}

#[test]
fn facts_give_way_before_the_command_does() {
    let mut card = permission();
    let command = "x".repeat(3_500);
    card.content = Rich::plain(command.clone()).wrapped(Style::Pre { language: None });
    card.warnings = vec!["It reaches the network, and more than that. ".repeat(20)];
    let text = shown(&theirs(Body::Card(card)), Where::Main);
    assert!(text.contains(&command) && text.contains("reaches the network, and…"), "{text}");
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "(\t|\n|🟢|x\\.rs |@who |\u{202E}|é|漢){0,60}",
        "[a-z ]{0,30}"
            .prop_flat_map(|word| (Just(word), 0..900_usize))
            .prop_map(|(word, times)| word.repeat(times)),
        "(\t|\\PC){0,6}"
            .prop_flat_map(|word| (Just(word), 0..1500_usize))
            .prop_map(|(word, times)| word.repeat(times)),
    ]
}

fn any_rich() -> impl Strategy<Value = Rich> {
    let style = prop_oneof![
        Just(None),
        Just(Some(Style::Bold)),
        Just(Some(Style::Code)),
        Just(Some(Style::Quote)),
        Just(Some(Style::Pre { language: Some("diff".into()) })),
        Just(Some(Style::Link { url: "http://localhost/x".into() })),
    ];
    prop::collection::vec((any_text(), style), 0..6).prop_map(|parts| {
        let mut rich = Rich::default();
        for (text, style) in parts {
            rich.push(&text, style);
        }
        rich
    })
}

fn any_button() -> impl Strategy<Value = Button> {
    (any_text(), prop::option::of(any_text())).prop_map(|(label, detail)| Button {
        detail,
        ..button(&label, Weight::Go, Action::Deny { gate: gate() })
    })
}

fn any_card() -> impl Strategy<Value = Card> {
    let buttons = prop::collection::vec(any_button(), 0..5);
    let lines = prop::collection::vec(any_text(), 0..7);
    let facts = prop::collection::vec((any_text(), any_text()), 0..9);
    let state =
        (any_text(), any_text(), any_text(), 0..3_u8).prop_map(|(verdict, by, via, kind)| {
            let decided =
                Decided { verdict: verdict.clone(), by: HumanId::new(by), at: at(0), via };
            match kind {
                0 => CardState::Open,
                1 => CardState::Taken { decided, taken: at(1) },
                _ => CardState::Closed { why: verdict, at: at(0) },
            }
        });
    let words = (any_text(), any_text(), prop::option::of(any_text()));
    (words, any_rich(), buttons, lines, facts, state).prop_map(
        |((title, answer, diff), content, buttons, warnings, facts, state)| Card {
            title,
            answer,
            diff,
            content,
            buttons,
            warnings,
            facts: facts.into_iter().map(|(label, value)| Fact { label, value }).collect(),
            state,
            ..permission()
        },
    )
}

fn any_body() -> impl Strategy<Value = Body> {
    let progress = (prop::collection::vec(any_text(), 0..9), prop::option::of(any_text()))
        .prop_map(|(lines, ended)| Progress { lines, since: at(-9), ended, buttons: Vec::new() });
    let document =
        any_text().prop_map(|about| Document { name: "x.md".into(), text: "x".into(), about });
    let text = (any_rich(), prop::collection::vec(any_button(), 0..5));
    prop_oneof![
        any_card().prop_map(Body::Card),
        progress.prop_map(Body::Progress),
        document.prop_map(Body::Document),
        text.prop_map(|(text, buttons)| Body::Text { text, part: None, buttons }),
    ]
}

/// What Telegram would refuse or drop of a text of so many units at most.
fn check(text: &Text, most: usize) -> Result<(), TestCaseError> {
    let units: Vec<u16> = text.text.encode_utf16().collect();
    prop_assert!(units.len() <= most, "{} units", units.len());
    prop_assert!(!text.text.trim().is_empty());
    prop_assert!(text.entities.len() <= 100);
    for entity in &text.entities {
        let part = units.get(entity.offset..entity.offset + entity.length);
        prop_assert!(part.is_some_and(|part| String::from_utf16(part).is_ok()), "{entity:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_said_telegram_takes_it(body in any_body(), from: bool, topic: bool) {
        let from = from.then(session);
        let place = if topic { Where::Thread } else { Where::Main };
        let post = Post { from, level: Level::Note, body };
        match lay_out(&post, spot(place), at(0)) {
            Laid::Enclosed(Enclosed { caption, .. }) => {
                if let Some(sheet) = caption {
                    check(&super::caption(&sheet), CAPTION_UNITS)?;
                }
            }
            Laid::Written(Written { sheet, buttons, .. }) => {
                let (text, keyboard) = (message(&sheet), keyboard(&buttons));
                check(&text, MESSAGE_UNITS)?;
                for key in keyboard.unwrap_or_default().inline_keyboard.iter().flatten() {
                    prop_assert!(!key.text.trim().is_empty() && utf16_len(&key.text) <= 40);
                }
                if let Body::Text { text: said, .. } = &post.body {
                    let whole = said.text.split_whitespace().last().unwrap_or_default();
                    prop_assert!(text.text.contains("… (cut") || text.text.contains("(nothing to see)")
                        || whole.chars().filter(|c| c.is_alphanumeric()).all(|c| text.text.contains(c)));
                }
            }
        }
    }
}
