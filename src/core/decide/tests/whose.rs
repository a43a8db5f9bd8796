//! Who is rung first for what several people may answer, and who comes after them.

use chrono::TimeDelta;

use super::{
    quiet::{approves, asks, code, evening, fails, level, rang, rings},
    ruled::policy,
    world::{World, telegram},
};
use crate::{
    agent::{Asked, Settled},
    bridge::Level,
    id::{GateId, HumanId},
    policy::Effect,
    ringing::Order,
    state::{Person, Role},
};
use serde_json::json;

/// The owner and an approver, each in their own chat on Telegram.
fn team() -> World {
    let mut w = evening();
    w.pairs("second", "1002", "1002");
    w.state.rules.ringing.remind = Some(TimeDelta::minutes(30));
    w.wait(TimeDelta::minutes(1));
    w
}

fn levels(w: &World, gate: GateId) -> (Level, Level) {
    (level(w, gate, "1001"), level(w, gate, "1002"))
}

#[test]
fn whoever_wrote_to_a_session_last_is_rung_first_for_it() {
    let mut w = team();
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(levels(&w, gate), (Level::Ring, Level::Note), "whoever started it");
    approves(&mut w, gate);
    w.settled("PD-285", "r1", Settled::Ours);
    w.finishes("PD-285", "Done.");

    w.writes_as("1002", &telegram("1002", None), "[PD-285] and the pier", None);
    w.takes("PD-285");
    w.crash();
    let gate = asks(&mut w, "PD-285", "r2");
    assert_eq!(levels(&w, gate), (Level::Note, Level::Ring), "whoever wrote to it");
    let other = asks(&mut w, "PD-300", "r3");
    assert_eq!(levels(&w, other), (Level::Ring, Level::Note), "another session is another's");

    // Nobody answers: the same person, then the next.
    let (first, before) = (rang(&w, "1002"), rings(&w, "1001").len());
    w.wait(TimeDelta::minutes(31));
    assert_eq!(rang(&w, "1002"), first + 1);
    w.wait(TimeDelta::minutes(30));
    let rung = &rings(&w, "1001")[before..];
    assert!(rung.iter().any(|text| text.contains(&code(&w, gate))), "{rung:?}");
}

#[test]
fn a_session_that_an_agent_started_is_of_whoever_stands_behind_it() {
    let mut w = team();
    w.writes_as("1002", &telegram("1002", None), "[PD-285] go", None);
    w.takes("PD-285");
    w.child("PD-285", "PD-286");
    let gate = asks(&mut w, "PD-286", "r1");
    assert_eq!(levels(&w, gate), (Level::Note, Level::Ring));
}

#[test]
fn a_run_is_of_whoever_started_it_and_without_anybody_owners_come_first() {
    let mut w = team();
    let step = "name: deploy\nsteps:\n  - {id: ask, approval: {ask: \"Deploy?\"}}\n";
    w.knows(&[("deploy", step)]);
    w.runs_as("second", "deploy");
    w.wait(TimeDelta::seconds(10));
    let gate = w.gate_of("deploy-1", "ask").id;
    assert_eq!(levels(&w, gate), (Level::Note, Level::Ring));
    w.change("PD-285", |session| session.whose = None); // as after an older Vigie
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(levels(&w, gate), (Level::Ring, Level::Note), "an owner");
}

#[test]
fn whoever_can_be_woken_nowhere_is_not_waited_for() {
    let mut w = World::new();
    w.pairs("second", "1002", "1002");
    w.start("PD-285"); // of the owner, who has no chat
    w.wait(TimeDelta::minutes(1));
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, gate, "1002"), Level::Ring);
}

#[test]
fn a_failure_rings_for_whoever_the_session_is_of() {
    let mut w = team();
    fails(&mut w, "PD-285", "503");
    assert_eq!((rang(&w, "1001"), rang(&w, "1002")), (1, 0));
    w.state.rules.ringing.order = Order::Everybody;
    w.wait(TimeDelta::minutes(1));
    fails(&mut w, "PD-300", "503");
    assert_eq!((rang(&w, "1001"), rang(&w, "1002")), (2, 1));
}

#[test]
fn two_who_have_to_say_yes_are_rung_at_once_and_whoever_did_is_left_alone() {
    let mut w = team();
    let third = Person { name: "Ulla Berg".into(), role: Role::Approver };
    w.state.rules.people.insert(HumanId::new("ulla"), third);
    w.pairs("ulla", "1003", "1003");
    w.wait(TimeDelta::minutes(1));
    w.state.rules.policies = vec![policy("", Effect::AskTwo, "make deploy")];
    let ask = Asked::Permission {
        tool: "Bash".into(),
        input: json!({ "command": "make deploy" }),
        cwd: "/src/quay".into(),
        can_remember: false,
    };
    let gate = w.asks("PD-285", "r1", ask);
    w.wait(TimeDelta::seconds(10));
    let rung = |w: &World| ["1001", "1002", "1003"].map(|chat| rang(w, chat));
    assert_eq!(rung(&w), [1, 1, 0], "as many as are needed");
    approves(&mut w, gate);
    w.wait(TimeDelta::minutes(31));
    assert_eq!(rung(&w), [1, 2, 0], "whoever said yes is not asked again");
    w.wait(TimeDelta::minutes(30));
    assert_eq!(rung(&w), [1, 2, 1], "the next person, and not the first again");
    let words = format!("approve {}", code(&w, gate));
    w.writes_as("1003", &telegram("1003", None), &words, None);
    assert!(!w.state.gates[&gate].is_open());
    w.wait(TimeDelta::hours(2));
    assert_eq!(rung(&w), [1, 2, 1], "answered, nothing more rings");
}

#[test]
fn the_other_service_then_the_next_person_and_nothing_after_the_answer() {
    let with = |answered_after: i64| {
        let mut w = team();
        w.pairs_on_matrix("owner", "@ines:example.org", "!room:example.org");
        w.now += TimeDelta::seconds(1);
        w.writes_as("1001", &telegram("1001", None), "/status", None);
        w.wait(TimeDelta::minutes(1));
        let gate = asks(&mut w, "PD-285", "r1");
        w.wait(TimeDelta::minutes(answered_after));
        if w.state.gates[&gate].is_open() && answered_after < 100 {
            approves(&mut w, gate);
            w.settled("PD-285", "r1", Settled::Ours);
        }
        w.wait(TimeDelta::hours(3));
        ["1001", "!room:example.org", "1002"].map(|chat| rang(&w, chat))
    };
    assert_eq!(with(10), [1, 0, 0]);
    assert_eq!(with(40), [2, 0, 0], "said again where it was said");
    assert_eq!(with(70), [2, 1, 0], "over the other service");
    assert_eq!(with(100), [2, 1, 1], "and to the next person");
}
