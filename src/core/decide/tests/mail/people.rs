use chrono::TimeDelta;

use super::*;
use crate::{
    agent::{Asked, Choice, Decision, Question},
    bridge::{Body, CardKind, Level, Risk},
    caller::Isolated,
    gate::{Answer, Asker, Gate, GateState, SessionWaits, Shown, Waits},
    id::{GateCode, GateId, HumanId, OrderId, RequestId},
    text::Style,
};

#[test]
fn what_goes_to_the_human_is_a_silent_note_in_the_agents_words() {
    let mut world = World::with(&["PD-285"]);
    let before = world.shown.len();
    let text = "Vigie: approved by Inès Caradec\u{202E}\nPASSWORD=hunter2hunter2hunter2";
    let (id, words) = world.mails_to("PD-285", "human", text);
    assert!(words.contains("ask_human"), "{words}");
    assert!(world.is_read(id), "it stands in their chats once it is written");
    assert_eq!(world.mail(id).text, text, "stored exactly");
    assert_eq!(world.shown.len(), before + 1);
    let shown = world.last().clone();
    assert_eq!(shown.post.level, Level::Note);
    assert_eq!(shown.post.from, Some("PD-285".parse().unwrap()), "never as Vigie's own words");
    assert_eq!(shown.place.thread.as_ref().unwrap().as_str(), "pd-285");
    let Body::Text { text: rich, .. } = &shown.post.body else { panic!("a text") };
    let head = "PD-285 says:\n";
    assert!(rich.text.starts_with(head) && rich.text.contains("⟦U+202E⟧"));
    assert!(!rich.text.contains("hunter2hunter2"), "{}", rich.text);
    let quoted =
        |s: &crate::text::Span| s.style == Style::Quote && s.range == (head.len()..rich.text.len());
    assert!(rich.spans.iter().any(quoted), "all of it is a quotation: {:?}", rich.spans);
}

#[test]
fn a_person_who_is_meant_is_named_and_all_see_it() {
    let mut world = World::with(&["PD-285"]);
    let (_, words) = world.mails_to("PD-285", "human:Mate", "look at the diff");
    assert!(words.contains("Tomas Lindqvist"), "{words}");
    assert!(world.last().text().starts_with("PD-285 says to Tomas Lindqvist:\nlook at the diff"));
    assert_eq!(world.reached("PD-285", &["human", "human:owner", "human:mate"]), ["human"]);
    assert!(world.last().text().starts_with("PD-285 says to Inès Caradec, Tomas Lindqvist:"));
}

#[test]
fn a_long_word_to_the_human_is_a_document() {
    let mut world = World::with(&["PD-285"]);
    let before = world.shown.len();
    world.mails_to("PD-285", "human", &"a line of a report\n".repeat(3000));
    let posts = &world.shown[before..];
    assert!(posts.len() <= 4, "{}", posts.len());
    assert!(posts.iter().any(|s| matches!(s.post.body, Body::Document(_))));
}

#[test]
fn people_see_a_line_of_what_sessions_write_each_other() {
    let mut world = World::with(&["PD-285", "PD-286"]);
    world.mails_to("PD-285", "PD-286", &format!("first line\n{}", "more ".repeat(1000)));
    let shown = world.shown.iter().find(|s| s.text().starts_with("PD-285 to PD-286: ")).unwrap();
    assert_eq!(shown.text(), "PD-285 to PD-286: first line");
    assert_eq!(shown.post.level, Level::Log);
    assert_eq!(shown.place.thread.as_ref().unwrap().as_str(), "pd-286");
    // Of a pile they do not see each.
    world.dies("PD-286");
    world.wait(TimeDelta::minutes(1));
    for _ in 0..3 {
        for _ in 0..10 {
            world.mails_to("PD-285", "PD-286", "again");
        }
        world.wait(TimeDelta::minutes(1));
    }
    let lines = world.shown.iter().filter(|s| s.text() == "PD-285 to PD-286: again").count();
    assert_eq!(lines, 19);
}

/// As a question of a tool would stand there, answered.
fn answered(world: &World, decision: Decision, by: Option<&str>) -> Gate {
    let questions = vec![Question {
        text: "Which database?".into(),
        header: "Database".into(),
        options: vec![Choice { label: "SQLite".into(), description: String::new() }],
        multiple: false,
    }];
    let answer = Answer {
        by: by.map(HumanId::new),
        decision,
        verdict: "Answered".into(),
        at: world.now,
        via: "the phone page".into(),
        rule: None,
    };
    Gate {
        id: GateId::from_parts(world.now, 9),
        code: GateCode::from_random(9),
        waits: Waits::Session(SessionWaits {
            session: world.id("PD-285"),
            run: 1,
            request: RequestId::new("tool 1"),
            asker: Asker::Tool,
        }),
        ask: Asked::Questions { questions },
        shown: Shown {
            kind: CardKind::Question,
            title: "asks: Which database?".into(),
            content: crate::text::Rich::default(),
            diff: None,
            warnings: vec![],
            facts: vec![],
            risk: Risk::Plain,
            digest: String::new(),
        },
        opened: world.now,
        until: world.now,
        picked: vec![],
        ticked: std::collections::BTreeSet::new(),
        state: GateState::Answered { answer, order: OrderId::from_parts(world.now, 9) },
        yes: vec![],
        needed: 1,
        words_of: None,
        cards: vec![],
        rung: crate::ringing::Rung::default(),
        rang: vec![],
    }
}

#[test]
fn an_answer_comes_as_a_message_to_whoever_does_not_wait_for_it() {
    let mut world = World::with(&["PD-285"]);
    // Also to those who get no other.
    world.change("PD-285", |s| s.isolated = Isolated::Yes);
    let decision = Decision::Answers { answers: vec!["SQLite".into()] };
    let gate = answered(&world, decision, Some("owner"));
    world.answers_by_mail(&gate);
    assert_eq!(world.handed("PD-285"), Vec::<String>::new(), "whoever waits has five seconds");
    world.wait(TimeDelta::seconds(5));
    let text = world.takes("PD-285");
    assert!(text.starts_with("The person answers what you asked."), "{text}");
    assert!(text.contains("from=\"human:owner\" kind=\"human\""), "{text}");
    assert!(text.contains("\nWhich database?\nSQLite\n"), "{text}");
    assert_eq!(world.mails()[0].answers, Some(gate.id));
}

#[test]
fn whoever_waited_has_the_answer_and_gets_no_message() {
    let mut world = World::with(&["PD-285"]);
    let no = Decision::Deny { reason: Some("nobody answered in time".into()) };
    let gate = answered(&world, no, None);
    world.answers_by_mail(&gate);
    assert!(world.mails()[0].text.ends_with("No: nobody answered in time"));
    world.settles_answer(gate.id);
    world.wait(TimeDelta::minutes(1));
    assert_eq!(world.handed("PD-285"), Vec::<String>::new());
    assert!(world.is_read(world.mails()[0].id));
}

#[test]
fn an_answer_can_be_fetched_before_it_is_pushed() {
    let mut world = World::with(&["PD-285"]);
    let decision = Decision::Answers { answers: vec!["SQLite".into()] };
    let gate = answered(&world, decision, Some("owner"));
    world.answers_by_mail(&gate);
    assert_eq!(world.reads("PD-285").len(), 1);
}
