//! Taps and reactions where the service has no place for an answer to them.

use chrono::TimeDelta;

use super::world::{Shown, World, matrix};
use crate::{
    agent::{OrderKind, Settled},
    bridge::{Action, CardState, Counts, HeardKind, Level, Reactions},
    id::{GateId, MessageId},
};

const ROOM: &str = "!room:example.org";
const INES: &str = "@ines:example.org";

fn room() -> World {
    let mut w = World::on_telegram();
    w.pairs_on_matrix("owner", INES, ROOM);
    w.start("PD-285");
    w.wait(TimeDelta::minutes(1));
    w
}

fn asks(w: &mut World, command: &str) -> (GateId, MessageId) {
    let gate = w.asks_to_run("PD-285", "r1", command);
    w.wait(TimeDelta::seconds(20));
    (gate, w.card_in(gate, ROOM).message.clone())
}

fn replies_to(w: &World, message: &MessageId) -> Vec<String> {
    let about = |s: &&Shown| s.reply_to.as_ref() == Some(message);
    w.shown.iter().filter(about).map(Shown::text).collect()
}

#[test]
fn the_case_of_approval_by_reaction() {
    let mut w = room();
    w.pairs_on_matrix("second", "@awa:example.org", "!awa:example.org");
    let other = w.shown.last().unwrap().message.clone();
    let (gate, card) = asks(&mut w, "make test");
    w.reacts("@mallory:example.org", &card, "👍");
    w.reacts(INES, &other, "✅");
    w.reacts(INES, &card, "🎉");
    w.takes_back(INES, &card, "✅");
    assert!(matches!(w.card_state(gate), CardState::Open), "the wrong sender, message, emoji");
    assert!(replies_to(&w, &card).is_empty(), "and nothing is said of it");

    w.reacts(INES, &card, "✅\u{fe0f}");
    w.wait(TimeDelta::seconds(5));
    assert!(!w.state.gates[&gate].is_open());
    assert!(replies_to(&w, &card).is_empty(), "the card shows it");
    let code = w.state.gates[&gate].code.to_string();

    for _ in 0..3 {
        w.takes_back(INES, &card, "✅");
    }
    w.takes_back("@mallory:example.org", &card, "✅");
    w.wait(TimeDelta::seconds(5));
    let stays = format!(
        "Taking a reaction back changes nothing: {code} stays approved. /stop PD-285 interrupts it."
    );
    assert_eq!(replies_to(&w, &card), [stays], "once");

    for _ in 0..3 {
        w.reacts(INES, &card, "❌");
    }
    w.wait(TimeDelta::seconds(5));
    let said = replies_to(&w, &card);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].starts_with("Already approved by Inès Caradec"), "{said:?}");
    assert!(said[1].ends_with("/stop PD-285 interrupts it."), "{said:?}");
    assert_eq!(w.decisions().len(), 1);
    let late = w.shown.iter().find(|s| s.text() == said[1]).unwrap();
    assert_eq!(late.post.level, Level::Note);
}

#[test]
fn every_yes_and_no_counts_in_any_skin() {
    for (emoji, allowed) in [
        ("👍", true),
        ("👍🏽", true),
        ("👍\u{fe0f}", true),
        ("✅", true),
        ("✔\u{fe0f}", true),
        ("👎", false),
        ("👎🏿", false),
        ("❌", false),
        ("❌\u{fe0f}", false),
    ] {
        let mut w = room();
        let (gate, card) = asks(&mut w, "make test");
        w.reacts(INES, &card, emoji);
        w.wait(TimeDelta::seconds(5));
        let CardState::Answered(decided) = w.card_state(gate) else { panic!("{emoji}") };
        assert_eq!(decided.verdict == "Approved", allowed, "{emoji}");
    }
}

#[test]
fn numbers_choose_options_and_mean_nothing_elsewhere() {
    let mut w = room();
    let gate = w.asks_question("PD-285", "r1", "Which berth?", &["A1", "B2"]);
    w.wait(TimeDelta::seconds(20));
    let card = w.card_in(gate, ROOM).message.clone();
    w.reacts(INES, &card, "2\u{fe0f}\u{20e3}");
    assert_eq!(w.state.gates[&gate].picked, [Some("B2".to_owned())]);
    w.settled("PD-285", "r1", Settled::Ours);
    let mut w = room();
    let (gate, card) = asks(&mut w, "make test");
    w.reacts(INES, &card, "1\u{fe0f}\u{20e3}");
    assert!(w.state.gates[&gate].is_open() && replies_to(&w, &card).is_empty());
}

#[test]
fn a_reaction_never_stands_for_a_code_and_says_what_does() {
    let mut w = room();
    let (gate, card) = asks(&mut w, "rm -rf build");
    w.reacts(INES, &card, "👍");
    w.reacts(INES, &card, "👍");
    w.wait(TimeDelta::seconds(5));
    assert!(w.state.gates[&gate].is_open());
    let said = replies_to(&w, &card);
    let code = w.state.gates[&gate].code.to_string();
    assert_eq!(said.len(), 1, "the same words once: {said:?}");
    assert!(said[0].contains(&format!("approve {code}")), "{said:?}");
    w.reacts(INES, &card, "👎");
    assert!(!w.state.gates[&gate].is_open(), "a no needs none");
}

#[test]
fn a_reaction_is_told_in_words_where_only_taps_have_a_place_for_them() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "rm -rf build");
    let (card, _) = w.card(gate);
    w.reacts("owner", &card, "👍");
    let said = replies_to(&w, &card);
    assert!(said.len() == 1 && said[0].contains("approve"), "{said:?}");
}

#[test]
fn a_reaction_of_long_ago_decides_nothing() {
    let mut w = room();
    let (gate, card) = asks(&mut w, "make test");
    let at = w.now - TimeDelta::minutes(20);
    let (message, emoji) = (card.clone(), "👍".into());
    let what = HeardKind::Reaction { message, emoji, means: None };
    w.hears(INES, matrix(ROOM), "old".into(), at, what);
    let tap = HeardKind::Tap { message: card.clone(), action: Action::Allow { gate } };
    w.hears(INES, matrix(ROOM), "older".into(), at, tap.clone());
    w.wait(TimeDelta::seconds(5));
    assert!(w.state.gates[&gate].is_open());
    let said = replies_to(&w, &card);
    assert!(said.len() == 1 && said[0].contains("long ago"), "{said:?}");
    w.reacts(INES, &card, "👎");
    w.hears(INES, matrix(ROOM), "oldest".into(), at, tap);
    w.wait(TimeDelta::seconds(5));
    assert!(replies_to(&w, &card)[1].starts_with("Already denied"), "{:?}", replies_to(&w, &card));
}

#[test]
fn whoever_may_only_look_hears_so() {
    let mut w = room();
    w.state.rules.people.get_mut(&crate::id::HumanId::new("owner")).unwrap().role =
        crate::state::Role::Viewer;
    let (gate, card) = asks(&mut w, "make test");
    w.taps_action(INES, &card, Action::Allow { gate });
    w.wait(TimeDelta::seconds(5));
    assert_eq!(replies_to(&w, &card), ["You may look, not answer."]);
}

#[test]
fn where_a_service_answers_taps_nothing_is_said() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::seconds(20));
    let card = w.card_in(gate, "1001").message.clone();
    w.taps_action("1001", &card, Action::Allow { gate });
    let late = w.taps_action("1001", &card, Action::Deny { gate });
    assert!(late.starts_with("Already approved"), "{late}");
    w.wait(TimeDelta::seconds(5));
    assert!(replies_to(&w, &card).is_empty());
}

/// One approval, two channels: the text on one decides, the other shows it and is late.
#[test]
fn one_approval_over_two_services() {
    let mut w = room();
    w.pairs("owner", "1001", "1001");
    let (gate, _) = asks(&mut w, "make test");
    let on_telegram = w.card_in(gate, "1001").message.clone();
    let code = w.state.gates[&gate].code.to_string().to_ascii_lowercase();
    w.writes_as(INES, &matrix(ROOM), &format!("approve {code}"), None);
    let late = w.taps_action("1001", &on_telegram, Action::Deny { gate });
    assert!(late.contains("Already approved") && late.contains("from Matrix"), "{late}");
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::seconds(10));
    for chat in ["1001", ROOM] {
        let shown = w.card_in(gate, chat);
        assert!(shown.buttons().is_empty(), "{chat}");
        let crate::bridge::Body::Card(card) = &shown.post.body else { panic!("a card") };
        assert!(
            matches!(&card.state, CardState::Taken { decided, .. } if decided.via == "Matrix"),
            "{chat}: {:?}",
            card.state
        );
    }
    assert_eq!(w.decisions().len(), 1, "one answer to the agent");
}

#[test]
fn what_a_tap_does_elsewhere_is_said() {
    let mut w = room();
    w.finishes("PD-285", "Done.");
    w.exits("PD-285", 1);
    w.wait(TimeDelta::seconds(20));
    let session = w.id("PD-285");
    let message = w.shown.last().unwrap().message.clone();
    w.taps_action(INES, &message, Action::Resume { session });
    w.wait(TimeDelta::seconds(5));
    assert_eq!(replies_to(&w, &message).len(), 1, "{:?}", w.shows(ROOM));
    assert!(w.orders.iter().all(|(_, order)| order.what != OrderKind::Interrupt));
}

/// As [`room`], where the homeserver could put reactions.
fn forgeable(counts: Counts) -> World {
    let mut w = room();
    for limits in w.state.rules.limits.values_mut() {
        if limits.taps == crate::bridge::Taps::Unanswered {
            limits.reactions = Reactions::Forgeable(counts);
        }
    }
    w
}

#[test]
fn what_others_could_put_there_lets_nothing_out_of_the_project() {
    let mut w = forgeable(Counts::Answers);
    let (gate, card) = asks(&mut w, "git push origin main");
    w.reacts(INES, &card, "👍");
    w.wait(TimeDelta::seconds(5));
    assert!(w.state.gates[&gate].is_open());
    let code = w.state.gates[&gate].code.to_string();
    let said = replies_to(&w, &card);
    assert!(said[0].ends_with(&format!("Reply: approve {code}")), "{said:?}");
    w.reacts(INES, &card, "👎");
    assert!(!w.state.gates[&gate].is_open(), "a no lets nothing through");
}

#[test]
fn what_others_could_put_there_says_yes_only_where_that_is_wanted() {
    for (counts, yes, no) in [
        (Counts::Answers, true, true),
        (Counts::Denials, false, true),
        (Counts::Nothing, false, false),
    ] {
        for (emoji, decides, instead) in [("👍", yes, "approve"), ("👎", no, "deny")] {
            let mut w = forgeable(counts);
            let (gate, card) = asks(&mut w, "make test");
            for _ in 0..3 {
                w.reacts(INES, &card, emoji);
            }
            w.wait(TimeDelta::seconds(5));
            assert_eq!(!w.state.gates[&gate].is_open(), decides, "{counts:?} {emoji}");
            let code = w.state.gates[&gate].code.to_string();
            if !decides {
                let said = replies_to(&w, &card);
                assert_eq!(said.len(), 1, "once: {said:?}");
                assert!(said[0].ends_with(&format!("Reply: {instead} {code}")), "{said:?}");
                w.writes_as(INES, &matrix(ROOM), &format!("{instead} {code}"), None);
                assert!(!w.state.gates[&gate].is_open(), "words decide");
            }
        }
    }
}

#[test]
fn nothing_that_lasts_is_said_by_what_others_could_put_there() {
    let mut w = forgeable(Counts::Answers);
    let (gate, card) = asks(&mut w, "make test");
    let code = w.state.gates[&gate].code.to_string();
    w.reacts_as_button(INES, &card, "1️⃣", Action::AllowForSession { gate });
    w.wait(TimeDelta::seconds(5));
    assert!(w.state.gates[&gate].is_open());
    let said = replies_to(&w, &card);
    assert!(said[0].ends_with(&format!("Reply: approve {code} for this session")), "{said:?}");
    w.writes_as(INES, &matrix(ROOM), &format!("approve {code} for this session"), None);
    w.wait(TimeDelta::seconds(5));
    let CardState::Answered(decided) = w.card_state(gate) else { panic!("it is answered") };
    assert_eq!(decided.verdict, "Approved for this session");
}

#[test]
fn a_plan_is_approved_with_its_edits_by_words() {
    let mut w = forgeable(Counts::Answers);
    let ask = crate::agent::Asked::Plan { plan: "First the berths.".into() };
    let gate = w.asks("PD-285", "r1", ask);
    w.wait(TimeDelta::seconds(20));
    let card = w.card_in(gate, ROOM).message.clone();
    w.reacts_as_button(INES, &card, "1️⃣", Action::AllowWithEdits { gate });
    assert!(w.state.gates[&gate].is_open());
    let code = w.state.gates[&gate].code.to_string();
    w.writes_as(INES, &matrix(ROOM), &format!("approve {code} for this session"), None);
    w.wait(TimeDelta::seconds(5));
    let CardState::Answered(decided) = w.card_state(gate) else { panic!("it is answered") };
    assert_eq!(decided.verdict, "Approved, edits accepted");
}

#[test]
fn an_option_is_a_plain_answer_and_no_denial() {
    for (counts, picked) in [(Counts::Answers, true), (Counts::Denials, false)] {
        let mut w = forgeable(counts);
        let gate = w.asks_question("PD-285", "r1", "Which berth?", &["A1", "B2"]);
        w.wait(TimeDelta::seconds(20));
        let card = w.card_in(gate, ROOM).message.clone();
        w.reacts(INES, &card, "2\u{fe0f}\u{20e3}");
        w.wait(TimeDelta::seconds(5));
        assert_eq!(!w.state.gates[&gate].is_open(), picked, "{counts:?}");
        if !picked {
            let code = w.state.gates[&gate].code.to_string();
            assert!(replies_to(&w, &card)[0].ends_with(&format!("Reply: 2 {code}")));
            w.writes_as(INES, &matrix(ROOM), &format!("2 {code}"), None);
            assert_eq!(w.state.gates[&gate].picked, [Some("B2".to_owned())]);
        }
    }
}

#[test]
fn what_others_could_put_there_stops_and_begins_nothing() {
    let mut w = forgeable(Counts::Denials);
    w.finishes("PD-285", "Done.");
    w.exits("PD-285", 1);
    w.wait(TimeDelta::seconds(20));
    let session = w.id("PD-285");
    let message = w.shown.last().unwrap().message.clone();
    let launched = w.launched.len();
    w.reacts_as_button(INES, &message, "1️⃣", Action::Resume { session });
    w.wait(TimeDelta::seconds(5));
    assert_eq!(w.launched.len(), launched);
    assert!(replies_to(&w, &message)[0].ends_with("Write: /resume PD-285"));
}

#[test]
fn taking_back_what_did_not_count_is_not_spoken_of() {
    let mut w = forgeable(Counts::Denials);
    let (gate, card) = asks(&mut w, "make test");
    let code = w.state.gates[&gate].code.to_string();
    w.writes_as(INES, &matrix(ROOM), &format!("approve {code}"), None);
    w.wait(TimeDelta::seconds(5));
    let said = replies_to(&w, &card).len();
    w.takes_back(INES, &card, "👍");
    w.wait(TimeDelta::seconds(5));
    assert_eq!(replies_to(&w, &card).len(), said);
}

#[test]
fn who_may_not_answer_is_told_that_and_not_how() {
    let mut w = forgeable(Counts::Denials);
    w.state.rules.people.get_mut(&crate::id::HumanId::new("owner")).unwrap().role =
        crate::state::Role::Talker;
    let (gate, card) = asks(&mut w, "make test");
    w.reacts(INES, &card, "👍");
    w.wait(TimeDelta::seconds(5));
    assert!(w.state.gates[&gate].is_open());
    assert!(
        replies_to(&w, &card)[0].contains("may not answer this"),
        "{:?}",
        replies_to(&w, &card)
    );
}
