//! Cases of a phone that was away, of a flood, and of somebody who takes long to answer.

use chrono::TimeDelta;

use super::world::{Shown, World, matrix};
use crate::{
    agent::{AgentEvent, Settled},
    bridge::{Action, Body, CardState, Level, Noted, Room},
    id::{BridgeName, ChatId, SessionName},
};

const FORUM: &str = "-100";

fn telegram() -> BridgeName {
    BridgeName::new("telegram")
}

fn in_a_chat(chat: &str, room: Room, sessions: &[&str]) -> World {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new(chat), room);
    w.pairs("owner", "1001", chat);
    for name in sessions {
        w.start(name);
    }
    w.wait(TimeDelta::minutes(2));
    w
}

fn by(shown: &Shown, name: &str) -> bool {
    shown.post.from.as_ref().map(SessionName::as_str) == Some(name)
}

#[test]
fn the_case_of_two_hours_without_a_network() {
    let names = ["PD-285", "PD-300", "PD-310"];
    let mut w = in_a_chat("1001", Room::Direct, &names);
    let begun = w.now;
    w.down.insert(telegram());
    w.goes_deaf("telegram");
    for step in 0..14_usize {
        w.finishes(names[step % 3], &format!("step {step} done"));
        w.wait(TimeDelta::minutes(5));
        if step == 7 {
            w.crash();
            w.pulse("telegram", w.now - begun);
        }
    }
    let gate = w.asks_to_run("PD-300", "r1", "make test");
    w.wait(TimeDelta::minutes(50));
    let before = w.shown.len();
    w.down.clear();
    w.pulse("telegram", TimeDelta::zero());
    w.notes(Noted::Back { after: std::time::Duration::from_hours(2) });
    w.wait(TimeDelta::minutes(5));

    let came = &w.shown[before..];
    let card = came.iter().position(|s| matches!(&s.post.body, Body::Card(c) if c.gate == gate));
    assert_eq!(card, Some(0), "{came:#?}");
    for (name, last, earlier) in [
        ("PD-285", 12, [0, 3, 6, 9].as_slice()),
        ("PD-300", 13, &[1, 4, 7, 10]),
        ("PD-310", 11, &[2, 5, 8]),
    ] {
        let said: Vec<_> = came.iter().filter(|s| by(s, name)).collect();
        let texts: Vec<_> = said
            .iter()
            .filter(|s| !matches!(s.post.body, Body::Card(_)))
            .map(|s| s.text())
            .collect();
        assert_eq!(texts.len(), 2, "a list and the last: {texts:?}");
        assert_eq!(texts[1], format!("step {last} done"));
        for step in earlier {
            assert!(texts[0].contains(&format!(": step {step} done")), "{texts:?}");
        }
        let count = format!("{name} said {} more", earlier.len());
        assert!(texts[0].starts_with(&count), "{texts:?}");
    }
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

#[test]
fn after_a_short_silence_everything_comes_as_it_was_said() {
    let mut w = in_a_chat("1001", Room::Direct, &["PD-285"]);
    w.down.insert(telegram());
    w.goes_deaf("telegram");
    w.finishes("PD-285", "one");
    w.wait(TimeDelta::minutes(2));
    w.finishes("PD-285", "two");
    w.down.clear();
    w.pulse("telegram", TimeDelta::zero());
    w.wait(TimeDelta::minutes(2));
    let texts: Vec<_> = w.shown.iter().filter(|s| by(s, "PD-285")).map(Shown::text).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn the_case_of_a_session_that_waits_for_a_person() {
    let mut w = in_a_chat("1001", Room::Direct, &["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::minutes(32));
    assert!(w.state.session_named("PD-285").unwrap().life.is_live());
    w.taps("Approve");
    assert!(!w.state.gates[&gate].is_open());
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::seconds(10));
    let Body::Card(card) = &w.card_in(gate, "1001").post.body else { panic!("a card") };
    assert!(matches!(card.state, CardState::Taken { .. }), "{:?}", card.state);
}

#[test]
fn the_case_of_eight_sessions_that_flood_one_group() {
    let names = ["PD-285", "PD-286", "PD-287", "PD-288", "PD-289", "PD-290", "PD-291", "PD-292"];
    let mut w = in_a_chat(FORUM, Room::Forum, &names);
    w.wait(TimeDelta::minutes(5));
    let begun = w.now;
    for chunk in 0..160_usize {
        let line = format!("chunk {chunk}");
        w.report(names[chunk % 8], AgentEvent::Progress { turn: None, line });
        w.wait(TimeDelta::milliseconds(500));
    }
    w.wait(TimeDelta::seconds(1));
    let asked = w.now;
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let card = w.card_in(gate, FORUM).clone();
    assert_eq!(card.post.level, Level::Ring);
    assert!(card.at - asked <= TimeDelta::milliseconds(3500), "{}", card.at - asked);
    let said = w.now;
    w.finishes("PD-290", "done");
    w.wait(TimeDelta::seconds(7));
    let last = w.shown.iter().find(|s| s.text() == "done").expect("it is there");
    assert!(last.at - said <= TimeDelta::seconds(7), "{}", last.at - said);
    let times: Vec<_> = w.calls.iter().map(|(at, _)| *at).filter(|at| *at >= begun).collect();
    let minute = TimeDelta::minutes(1);
    let within = |from| times.iter().filter(|at| **at >= from && **at < from + minute).count();
    assert!(times.iter().all(|from| within(*from) <= 20));
}

#[test]
fn the_case_of_one_approval_on_two_services() {
    let mut w = World::new();
    w.pairs_on_matrix("owner", "@ines:example.org", "!room:example.org");
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::seconds(4));
    let card = w.card_in(gate, "1001");
    let (message, deny) = (card.message.clone(), Action::Deny { gate });
    let offers = |w: &World| w.card_in(gate, "1001").buttons().iter().any(|b| b.action == deny);
    assert!(offers(&w));
    let code = w.state.gates[&gate].code.to_string().to_lowercase();
    w.writes_as(
        "@ines:example.org",
        &matrix("!room:example.org"),
        &format!("approve {code}"),
        None,
    );
    let late = w.taps_action("1001", &message, deny.clone());
    assert!(
        late.starts_with("Already approved by Inès Caradec") && late.contains("Matrix"),
        "{late}"
    );
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.decisions().len(), 1, "one answer to the agent");
    assert!(!offers(&w), "no card is left open");
}
