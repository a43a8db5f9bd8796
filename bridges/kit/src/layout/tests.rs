use super::*;
use chrono::TimeDelta;
use vigie_core::{
    bridge::{Action, CardKind, Fact, Lapse, Risk, Weight},
    id::{GateCode, GateId, HumanId},
};

/// A service whose buttons have room for eight characters.
const LANTERN: Service = Service {
    name: "Lantern",
    details: |buttons, shown| details(buttons, shown, |button| button.label.chars().count() <= 8),
};

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_timestamp(1_796_029_680, 0).unwrap() + TimeDelta::minutes(minutes)
}

fn button(label: &str, detail: Option<&str>) -> Button {
    let action = Action::Deny { gate: GateId::from_parts(at(0), 7) };
    let detail = detail.map(str::to_owned);
    Button { label: label.into(), detail, weight: Weight::Plain, action }
}

fn post(from: &str, body: Body) -> Post {
    Post { from: from.parse().ok(), level: Level::Note, body }
}

fn question() -> Card {
    Card {
        gate: GateId::from_parts(at(0), 7),
        code: GateCode::parse("K7Q2").unwrap(),
        kind: CardKind::Question,
        title: "asks you".into(),
        opened: at(0),
        until: at(24 * 60),
        lapse: Lapse::Failed,
        content: Rich::plain("Where do sessions live?"),
        diff: None,
        warnings: vec!["Two people were asked.".into()],
        facts: vec![Fact { label: "Folder".into(), value: "~/work/quay".into() }],
        risk: Risk::Plain,
        reactions: vigie_core::bridge::ByReaction::Answers,
        answer: "Write: choose K7Q2 and a number.".into(),
        buttons: vec![button("SQLite", Some("one file")), button("Neither of them", None)],
        state: CardState::Open,
    }
}

fn sheet(post: &Post, place: Where) -> Sheet {
    match lay_out(LANTERN, post, place, at(4)) {
        Laid::Written(written) => written.sheet,
        Laid::Enclosed(_) => panic!("{post:?} is a file"),
    }
}

#[test]
fn an_open_card_says_all_that_is_needed_to_answer_it() {
    let sheet = sheet(&post("PD-287", Body::Card(question())), Where::Thread);
    insta::assert_snapshot!(sheet.composed().text, @r"
    PD-287 asks you
    Two people were asked.
    Where do sessions live?
    SQLite: one file
    Neither of them
    Folder ~/work/quay
    Until 1 December, 09:08 UTC, then it has failed
    Write: choose K7Q2 and a number.
    ");
    let code = sheet.answer.spans.iter().map(|span| &sheet.answer.text[span.range.clone()]);
    assert_eq!(code.collect::<Vec<_>>(), ["choose K7Q2"]);
}

#[test]
fn a_decided_card_says_what_became_of_it_first() {
    let decided = Decided {
        verdict: "Answered: SQLite".into(),
        by: HumanId::new("Inès Caradec"),
        at: at(57),
        via: "the phone page".into(),
    };
    let state = CardState::Taken { decided, taken: at(58) };
    let card = Card { state, buttons: Vec::new(), ..question() };
    insta::assert_snapshot!(sheet(&post("PD-287", Body::Card(card)), Where::Main).composed().text, @r"
    Answered: SQLite
    By Inès Caradec, 10:05 UTC, from the phone page. The agent has it since 10:06 UTC.
    PD-287 asks you
    Two people were asked.
    Where do sessions live?
    Folder ~/work/quay
    ");
}

#[test]
fn who_speaks_stands_in_front_where_that_is_not_plain() {
    let words = |text: &str| Body::Text {
        text: Rich::plain(text),
        part: Some(Part { number: 1, of: 2 }),
        buttons: Vec::new(),
    };
    let title = |from, text, place| sheet(&post(from, words(text)), place).title;
    assert_eq!(title("PD-287", "All green.", Where::Main), "PD-287 (1/2)");
    assert_eq!(title("PD-287", "All green.", Where::Thread), "(1/2)");
    assert_eq!(title("PD-287", "VIGIE: let it in", Where::Thread), "PD-287 (1/2)");
    assert_eq!(title("", "PD-287 was stopped.", Where::Thread), "Vigie (1/2)");
    assert_eq!(title("", "PD-287 was stopped.", Where::Main), "(1/2)");
}

#[test]
fn what_is_cut_names_the_service() {
    assert_eq!(plain(LANTERN, "x").cut, "… (cut: it is longer than Lantern takes)");
    let card = sheet(&post("PD-287", Body::Card(question())), Where::Main);
    assert_eq!(card.cut, "… (cut; the document above has all)");
}

#[test]
fn a_file_goes_with_what_is_said_about_it() {
    let file = |about: &str| FilePost {
        path: "/srv/vigie/looks/screen.png".into(),
        name: "screen.png".into(),
        media: Media::Picture,
        about: about.into(),
    };
    let laid = |from, about, place| {
        let Laid::Enclosed(file) =
            lay_out(LANTERN, &post(from, Body::File(file(about))), place, at(0))
        else {
            panic!("it is a file")
        };
        assert!(file.silent && file.media == Media::Picture && file.name == "screen.png");
        assert_eq!(file.contents, Contents::At("/srv/vigie/looks/screen.png".into()));
        file.caption.map(|sheet| sheet.composed().text)
    };
    assert_eq!(laid("PD-287", "The screen", Where::Main).unwrap(), "PD-287\nThe screen");
    assert_eq!(laid("PD-287", "The screen", Where::Thread).unwrap(), "The screen");
    assert_eq!(laid("PD-287", " ", Where::Thread), None);
    assert_eq!(laid("PD-287", "", Where::Main).unwrap(), "PD-287");
}

#[test]
fn how_long_it_has_been_going_on_is_said_shortly() {
    let progress = |minutes: i64, ended: Option<&str>| {
        let lines = vec!["Read timetable.toml".into()];
        let ended = ended.map(str::to_owned);
        let body = Progress { lines, since: at(-minutes), ended, buttons: Vec::new() };
        sheet(&post("PD-287", Body::Progress(body)), Where::Main).composed().text
    };
    assert_eq!(progress(-4, None), "PD-287\nRead timetable.toml\n0 s");
    assert_eq!(progress(30, None), "PD-287\nRead timetable.toml\n34 min");
    assert_eq!(progress(121, None), "PD-287\nRead timetable.toml\n2 h 05");
    assert_eq!(progress(121, Some("done")), "PD-287 done");
}

#[test]
fn a_detail_is_said_once() {
    let buttons = [button("SQLite", Some("one file, no server"))];
    assert_eq!((LANTERN.details)(&buttons, "Which?"), ["SQLite: one file, no server"]);
    let shown = "1. SQLite: one file, no server";
    assert_eq!((LANTERN.details)(&buttons, shown), Vec::<String>::new());
    let long = [button("The old timetable", None)];
    assert_eq!((LANTERN.details)(&long, "Which?"), ["The old timetable"]);
    assert_eq!((LANTERN.details)(&long, "1. The old timetable"), Vec::<String>::new());
}
