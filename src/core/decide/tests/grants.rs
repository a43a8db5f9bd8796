//! What is allowed for longer than once: given on a card, looked at before anybody is asked, taken back.

use super::{ruled::policy, world::World};
use crate::{
    agent::{AgentEvent, Asked, Decision, ExitStatus, Scope},
    bridge::{Action, CardState},
    command::{Command, Refusal, Reply},
    id::GateId,
    policy::Effect,
    state::Role,
};
use chrono::TimeDelta;
use serde_json::json;

fn is_asked(w: &World, gate: GateId) -> bool {
    w.state.gates[&gate].is_open()
}

fn labels(w: &World, gate: GateId) -> Vec<String> {
    w.card(gate).1.buttons.into_iter().map(|button| button.label).collect()
}

#[test]
fn what_is_approved_for_a_session_is_not_asked_again_there_until_it_ends() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    let gate = w.asks_to_run("PD-285", "r1", "cargo test --lib");
    let card = w.card(gate).1;
    let fact = card.facts.iter().find(|fact| fact.label == "For longer, it allows").unwrap();
    assert_eq!(fact.value, "cargo test … in /src/quay");
    let said = w.taps("Approve for this session");
    assert_eq!(
        said,
        "Approved. Grant 1 allows cargo test … in /src/quay, for PD-285 until it ends. /revoke 1 takes it back."
    );
    assert_eq!(
        w.decisions()[0].1,
        Decision::Allow { scope: Scope::Once },
        "the agent keeps no rule"
    );
    let again = w.asks_to_run("PD-285", "r2", "cargo test -p core");
    assert!(!is_asked(&w, again) && w.state.gates[&again].cards.is_empty());
    let gates: Vec<_> =
        [("PD-285", "cargo build"), ("PD-285", "cargo test; rm -rf x"), ("PD-300", "cargo test")]
            .into_iter()
            .map(|(name, command)| w.asks_to_run(name, command, command))
            .collect();
    assert!(gates.iter().all(|gate| is_asked(&w, *gate)));
    w.crash();
    let again = w.asks_to_run("PD-285", "r3", "cargo test");
    assert!(!is_asked(&w, again));
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Code { code: 0 }, last: vec![] });
    assert!(w.state.grants[&1].over.is_some());
}

#[test]
fn its_like_goes_ahead_for_some_hours_in_the_project() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let code = w.card(gate).1.code.to_string();
    w.writes(&format!("approve {code} for 8 h"));
    let other = w.asks_to_run("PD-300", "r2", "make test fast");
    assert!(!is_asked(&w, other));
    w.wait(TimeDelta::hours(8));
    let late = w.asks_to_run("PD-300", "r3", "make test");
    assert!(is_asked(&w, late));
}

#[test]
fn a_grant_is_listed_and_taken_back_by_whoever_may_answer() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "make test");
    w.taps("Approve its like for 8 h");
    w.writes("/grants");
    assert!(
        w.last().text().starts_with("1: make test … in /src/quay, in quay until "),
        "{}",
        w.last().text()
    );
    let Reply::Grants(grants) = w.ask(Command::Grants).unwrap() else { panic!("grants") };
    assert_eq!(grants.len(), 1);
    let refused = w.ask_as("mate", Command::RevokeGrant { number: 1 }).unwrap_err();
    assert!(
        matches!(refused, Refusal::AlreadyDecided(words) if words.contains("may not see or take back"))
    );
    let refused = w.ask(Command::RevokeGrant { number: 2 }).unwrap_err();
    assert!(matches!(refused, Refusal::NoGrant { number: 2, .. }), "{refused}");
    w.writes("/revoke 1");
    assert_eq!(w.last().text(), "Grant 1 is over.");
    let gate = w.asks_to_run("PD-285", "r2", "make test");
    assert!(is_asked(&w, gate));
    assert!(
        w.journal.contains(&"grant_given".into()) && w.journal.contains(&"grant_revoked".into())
    );
    w.taps("Approve for this session");
    assert!(w.state.grants.contains_key(&2), "a number is never used again");
}

#[test]
fn a_grant_gives_way_to_what_policies_deny_or_want_two_for() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "make deploy");
    w.taps("Approve for this session");
    w.state.rules.policies = vec![policy("", Effect::Ask, "make deploy")];
    let gate = w.asks_to_run("PD-285", "r2", "make deploy");
    assert!(!is_asked(&w, gate), "a person was asked, and said for how long");
    w.state.rules.policies = vec![policy("", Effect::AskTwo, "make deploy")];
    let gate = w.asks_to_run("PD-285", "r3", "make deploy");
    assert!(is_asked(&w, gate));
    w.state.rules.policies = vec![policy("", Effect::Deny, "make deploy")];
    w.asks_to_run("PD-285", "r4", "make deploy");
    assert!(matches!(w.decisions().last().unwrap().1, Decision::Deny { .. }));
}

#[test]
fn what_is_not_sure_or_catastrophic_is_approved_once_at_most() {
    let mut w = World::with(&["PD-285"]);
    let ask = |command: &str| Asked::Permission {
        tool: "Bash".into(),
        input: json!({ "command": command }),
        cwd: "/src/quay".into(),
        can_remember: false,
    };
    let unsure = w.asks("PD-285", "r1", ask("ls $X"));
    assert_eq!(labels(&w, unsure), ["Deny", "Approve"]);
    let (message, _) = w.card(unsure);
    for action in [Action::AllowForSession { gate: unsure }, Action::AllowForHours { gate: unsure }]
    {
        w.taps_action("owner", &message, action);
    }
    assert!(is_asked(&w, unsure) && w.state.grants.is_empty());
    let gate = w.asks("PD-285", "r2", ask("rm -rf x"));
    let code = w.card(gate).1.code.to_string();
    let _ = w.ask(Command::Answer { code, choice: "approve for 8 h".into() });
    assert!(is_asked(&w, gate) && w.state.grants.is_empty());
}

#[test]
fn the_grants_of_somebody_who_may_approve_no_more_are_worth_nothing() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let (message, _) = w.card(gate);
    w.taps_action("second", &message, Action::AllowForHours { gate });
    let person = crate::id::HumanId::new("second");
    w.state.rules.people.get_mut(&person).unwrap().role = crate::state::Role::Talker;
    let gate = w.asks_to_run("PD-285", "r2", "make test");
    assert!(is_asked(&w, gate));
}

#[test]
fn a_grant_answers_what_else_waits_that_it_covers_and_each_once() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    let like = w.asks_to_run("PD-300", "r1", "make test fast");
    let other = w.asks_to_run("PD-300", "r2", "make deploy");
    let risky = w.asks_to_run("PD-300", "r3", "rm -rf x");
    w.asks_to_run("PD-285", "r4", "make test");
    let said = w.taps("Approve its like for 8 h");
    let code = w.state.gates[&like].code.to_string();
    assert!(said.ends_with(&format!("It also answered {code}.")), "{said}");
    assert!(!is_asked(&w, like) && is_asked(&w, other) && is_asked(&w, risky));
    let CardState::Answered(decided) = w.card_state(like) else { panic!("its card says so") };
    assert_eq!(decided.by.to_string(), "grant 1 of Inès Caradec");
    assert_eq!(w.decisions().len(), 2);
    w.crash();
    let orders: Vec<_> = w.orders.iter().map(|(_, order)| order.id).collect();
    let distinct: std::collections::HashSet<_> = orders.iter().collect();
    assert_eq!(distinct.len(), 2, "told again, decided once");
    w.state.rules.policies = vec![policy("", Effect::AskTwo, "make check")];
    let two = w.asks_to_run("PD-300", "r5", "make check");
    w.state.rules.policies.clear();
    w.asks_to_run("PD-285", "r6", "make check");
    w.taps("Approve its like for 8 h");
    assert!(is_asked(&w, two), "two people were to answer it");
}

#[test]
fn a_grant_of_somebody_who_may_no_longer_approve_is_marked() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "make test");
    w.taps("Approve its like for 8 h");
    let id = w.state.grants[&1].by.clone();
    w.state.rules.people.get_mut(&id).unwrap().role = Role::Talker;
    let gate = w.asks_to_run("PD-285", "r2", "make test");
    assert!(is_asked(&w, gate));
    let Reply::Grants(grants) = w.ask_as("second", Command::Grants).unwrap() else { panic!() };
    assert!(!grants[0].counts);
}
