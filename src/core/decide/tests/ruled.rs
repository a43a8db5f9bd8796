//! What is decided before anybody is asked, and what two people decide.

use super::world::World;
use crate::{
    agent::{AgentEvent, Asked, Decision, DeniedCall, Scope, Settled},
    bridge::{Action, CardState, Level},
    command::{Command, Refusal, Reply},
    id::{GateId, TurnId},
    policy::{Catastrophic, CommandPattern, Effect, Policy},
};
use chrono::TimeDelta;
use serde_json::json;

pub(super) fn policy(name: &str, effect: Effect, command: &str) -> Policy {
    Policy {
        name: name.into(),
        line: 7,
        effect,
        reason: None,
        tools: Vec::new(),
        commands: vec![CommandPattern::parse(command).unwrap()],
        paths: Vec::new(),
        projects: Vec::new(),
        sessions: Vec::new(),
        hours: None,
        catastrophic: Catastrophic::Asked,
    }
}

fn world(policies: &[Policy]) -> World {
    let mut world = World::with(&["PD-285"]);
    world.state.rules.policies = policies.to_vec();
    world
}

fn verdict(w: &World, gate: GateId) -> String {
    w.state.gates[&gate].verdict().unwrap_or("open").to_owned()
}

#[test]
fn what_was_allowed_goes_on_and_nobody_hears_of_it() {
    let mut w = world(&[policy("tests", Effect::Allow, "make test *")]);
    let shown = w.shown.len();
    let gate = w.asks_to_run("PD-285", "r1", "make test FAST=1");
    assert_eq!(w.decisions().last().unwrap().1, Decision::Allow { scope: Scope::Once });
    assert!(w.shown[shown..].iter().all(|shown| shown.post.level != Level::Ring));
    assert!(w.state.gates[&gate].cards.is_empty());
    assert!(
        w.journal.contains(&"gate_ruled".into()) && w.journal.contains(&"gate_answered".into())
    );
    let code = w.state.gates[&gate].code.to_string();
    let late = w.ask(Command::Answer { code, choice: "deny".into() }).unwrap_err();
    let Refusal::AlreadyDecided(words) = late else { panic!("{late:?}") };
    assert!(words.contains("Already approved by policy `tests` (line 7)"), "{words}");
    w.settled("PD-285", "r1", Settled::Ours);
    assert_eq!(w.decisions().len(), 1);
}

#[test]
fn a_decision_of_a_policy_reaches_its_agent_after_a_crash_and_once() {
    let mut w = world(&[policy("tests", Effect::Allow, "make test")]);
    w.asks_to_run("PD-285", "r1", "make test");
    w.crash();
    let orders: Vec<_> = w.orders.iter().map(|(_, order)| order.id).collect();
    assert!(orders.len() > 1 && orders.iter().all(|id| *id == orders[0]), "{orders:?}");
}

#[test]
fn what_was_denied_says_the_rule_to_the_agent_and_makes_no_sound() {
    let mut deny = policy("no-deploys", Effect::Deny, "make deploy *");
    deny.reason = Some("People deploy.".into());
    let mut w = world(&[deny]);
    w.asks_to_run("PD-285", "r1", "cd a && make deploy");
    let Decision::Deny { reason: Some(reason) } = &w.decisions()[0].1 else { panic!("denied") };
    assert!(
        reason.starts_with("policy `no-deploys` (line 7) does not allow this, because `make deploy` is `make deploy *`. People deploy."),
        "{reason}"
    );
    assert_eq!(w.level_of("Denied by policy `no-deploys`"), Level::Log);
}

#[test]
fn an_ask_stops_before_a_later_allow() {
    let mut w =
        world(&[policy("", Effect::Ask, "make deploy"), policy("", Effect::Allow, "make *")]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    assert_eq!((verdict(&w, gate).as_str(), w.last().post.level), ("open", Level::Ring));
    let other = w.asks_to_run("PD-285", "r2", "make test");
    assert_eq!(verdict(&w, other), "Approved");
}

#[test]
fn questions_and_plans_are_for_people() {
    let mut everything = policy("", Effect::Allow, "x");
    everything.commands.clear();
    let mut w = world(&[everything]);
    let question = w.asks_question("PD-285", "q1", "Which?", &["SQLite", "Files"]);
    let plan = w.asks("PD-285", "p1", Asked::Plan { plan: "# Begin".into() });
    assert_eq!((verdict(&w, question), verdict(&w, plan)), ("open".into(), "open".into()));
    let tool = Asked::Permission {
        tool: "WebSearch".into(),
        input: json!({ "query": "tides" }),
        cwd: String::new(),
        can_remember: false,
    };
    let gate = w.asks("PD-285", "t1", tool);
    assert_eq!(verdict(&w, gate), "Approved");
}

#[test]
fn two_people_say_yes_and_one_of_them_twice_is_one() {
    let mut w = world(&[policy("deploys", Effect::AskTwo, "make deploy")]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    let (message, card) = w.card(gate);
    let fact = |w: &World, label: &str| {
        let card = w.card(gate).1;
        card.facts.into_iter().find(|fact| fact.label == label).map(|fact| fact.value)
    };
    assert_eq!(
        fact(&w, "Needs").unwrap(),
        "Two people have to approve it: policy `deploys` (line 7)"
    );
    let labels: Vec<_> = card.buttons.iter().map(|button| button.label.as_str()).collect();
    assert_eq!(labels, ["Deny", "Approve"], "nothing beyond this one request");
    assert_eq!(w.taps("Approve"), "Noted: 1 of 2 said yes.");
    assert_eq!(w.taps("Approve"), "Noted: 1 of 2 said yes.");
    let code = card.code.to_string();
    let again = w.ask(Command::Answer { code, choice: "approve".into() });
    assert!(again.is_ok() && w.decisions().is_empty(), "the same person at the desk");
    assert_eq!(fact(&w, "Said yes").unwrap(), "1 of 2: Inès Caradec");
    w.taps_action("mate", &message, Action::Allow { gate });
    assert!(w.decisions().is_empty(), "who only talks counts for nothing");
    w.crash();
    assert_eq!(w.taps_action("second", &message, Action::Allow { gate }), "Approved");
    assert_eq!(w.decisions().len(), 1);
}

#[test]
fn one_no_is_enough_where_two_have_to_say_yes() {
    let mut w = world(&[policy("", Effect::AskTwo, "make deploy")]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    let (message, _) = w.card(gate);
    w.taps("Approve");
    w.taps_action("second", &message, Action::Deny { gate });
    assert!(matches!(w.decisions().as_slice(), [(_, Decision::Deny { .. })]));
}

#[test]
fn two_who_have_not_both_answered_in_time_have_denied() {
    let mut w = world(&[policy("", Effect::AskTwo, "make deploy")]);
    w.asks_to_run("PD-285", "r1", "make deploy");
    w.taps("Approve");
    w.wait(TimeDelta::hours(24));
    assert!(matches!(w.decisions().as_slice(), [(_, Decision::Deny { .. })]));
}

/// Every way in which somebody can say yes without the code, and then the ways with it.
#[test]
fn what_is_catastrophic_needs_its_code_on_every_way() {
    let mut w = world(&[
        policy("", Effect::Allow, "rm *"),
        policy("", Effect::Allow, "sh *"),
        policy("", Effect::Allow, "cd *"),
    ]);
    let gate = w.asks_to_run("PD-285", "r1", "cd a && rm -rf b");
    let (message, card) = w.card(gate);
    let labels: Vec<_> = card.buttons.iter().map(|button| button.label.as_str()).collect();
    assert_eq!(labels, ["Deny"]);
    for action in [
        Action::Allow { gate },
        Action::AllowForSession { gate },
        Action::AllowWithEdits { gate },
        Action::Choose { gate, question: 0, option: 0 },
        Action::Submit { gate, question: 0 },
        Action::SendBack { gate },
    ] {
        w.taps_action("owner", &message, action.clone());
        assert!(w.ask(Command::Tap { action }).is_err());
    }
    for words in
        ["yes", "approve", "ok", "👍", "1", "approve for this session", "approve all", "aprove"]
    {
        w.writes(words);
        w.replies(&message, words);
        w.writes(&format!("[PD-285] {words}"));
    }
    w.writes("approve K7Q2");
    let code = card.code.to_string();
    for choice in ["approve for this session", "1", "yes please", "approve all"] {
        let _ = w.ask(Command::Answer { code: code.clone(), choice: choice.into() });
    }
    assert!(w.decisions().is_empty(), "{:?}", w.decisions());
    assert!(matches!(w.card_state(gate), CardState::Open));
    w.writes(&format!("approve {}", code.to_lowercase()));
    assert_eq!(w.decisions()[0].1, Decision::Allow { scope: Scope::Once });
}

#[test]
fn an_allow_that_says_so_lets_a_catastrophe_through() {
    let mut allow = policy("clean", Effect::Allow, "rm -rf target");
    allow.catastrophic = Catastrophic::Allowed;
    let mut w = world(&[allow]);
    let gate = w.asks_to_run("PD-285", "r1", "rm -rf target");
    assert_eq!(verdict(&w, gate), "Approved");
    let gate = w.asks_to_run("PD-285", "r2", "rm -rf target src");
    assert_eq!(verdict(&w, gate), "open");
}

fn denied(line: &str) -> AgentEvent {
    let call = DeniedCall {
        tool: "Read".into(),
        line: line.into(),
        digest: "d".into(),
        rule: "policy `deployment` (line 3)".into(),
        why: "it is one of `deploy/**`".into(),
    };
    AgentEvent::Denied { call }
}

#[test]
fn what_was_denied_before_it_ran_stands_in_the_audit_each_time_and_is_told_a_few_times() {
    let mut w = World::with(&["PD-285"]);
    w.report("PD-285", denied("Read: deploy/key"));
    assert_eq!(w.level_of("Denied by policy `deployment` (line 3): Read: deploy/key."), Level::Log);
    let told = |w: &World, text: &str| w.shown.iter().filter(|it| it.text().contains(text)).count();
    w.report("PD-285", denied("Read: deploy/key"));
    for number in 0..100 {
        w.report("PD-285", denied(&format!("Read: deploy/{number}")));
    }
    let entries = w.journal.iter().filter(|kind| *kind == "tool_denied").count();
    assert_eq!(entries, 102);
    assert_eq!((told(&w, "Denied by policy"), told(&w, "More was denied in this turn")), (5, 1));
    let turn = Some(TurnId::new("t2"));
    w.report("PD-285", AgentEvent::ForeignTurn { turn, text: "again".into() });
    w.report("PD-285", denied("Read: deploy/key"));
    assert_eq!(told(&w, "Denied by policy"), 6, "another turn");
}

#[test]
fn whoever_asks_what_waits_hears_who_said_yes() {
    let mut w = world(&[policy("deploys", Effect::AskTwo, "make deploy")]);
    w.asks_to_run("PD-285", "r1", "make deploy");
    w.writes("/waiting");
    assert!(w.last().text().ends_with("(0 of 2 said yes)"), "{}", w.last().text());
    w.taps("Approve");
    w.writes("/waiting");
    assert!(w.last().text().ends_with("(1 of 2 said yes: Inès Caradec)"), "{}", w.last().text());
    let Reply::Waiting(gates) = w.ask(Command::Waiting).unwrap() else { panic!("gates") };
    let fact = gates[0].shown.facts.last().unwrap();
    assert_eq!((fact.label.as_str(), fact.value.as_str()), ("Said yes", "1 of 2: Inès Caradec"));
}
