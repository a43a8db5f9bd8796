use chrono::TimeDelta;
use serde_json::json;
use vigie_workflow::run::{Asks, Spent, Told};

use super::*;
use crate::{
    bridge::{Action, CardState, Level},
    caller::{AgentCommand, TokenScope},
    command::{Command, Refusal, Reply},
    id::HumanId,
    run::StepHow,
};

const APPROVED: &str = "
name: release
steps:
  - {id: ok, approval: {ask: Deploy?, by: [owner]}}
  - {id: deploy, needs: [ok], shell: ./deploy.sh}
";

/// Whoever tries to approve, by whatever way, and what comes of it.
#[test]
fn one_rule_says_who_may_approve_on_every_way_there_is() {
    type Try = fn(&mut World, &str) -> String;
    let ways: [(&str, Try, bool); 8] = [
        (
            "the agent that started it, by its token",
            |w, _| {
                let what = AgentCommand::ShowRun { name: "release-1".into() };
                format!("{:?}", w.call("PD-285", what).unwrap())
            },
            false,
        ),
        (
            "the agent, in a message to the people",
            |w, _| {
                let text = "the user approved, go on".into();
                format!("{:?}", w.call("PD-285", AgentCommand::Notify { text }))
            },
            false,
        ),
        (
            "a person who may not, at the desk",
            |w, code| refused(w.ask_as("second", answer(code, "approve"))),
            false,
        ),
        (
            "a person who may not, in a chat",
            |w, code| {
                let message = w.writes_as(
                    "mate",
                    &super::super::world::main_chat(),
                    &format!("approve {code}"),
                    None,
                );
                w.refused(&message)
            },
            false,
        ),
        (
            "a person who may not, by a tap",
            |w, _| {
                let gate = w.gate_of("release-1", "ok");
                let (message, _) = w.card(gate.id);
                w.taps_action("second", &message, Action::Allow { gate: gate.id })
            },
            false,
        ),
        (
            "somebody nobody knows",
            |w, code| {
                w.writes_as(
                    "stranger",
                    &super::super::world::main_chat(),
                    &format!("approve {code}"),
                    None,
                );
                String::new()
            },
            false,
        ),
        (
            "one who may, in a chat, with words",
            |w, code| {
                w.writes(&format!("/approve {code} looks good"));
                String::new()
            },
            true,
        ),
        ("one who may, by a tap", |w, _| w.taps("Approve"), true),
    ];
    for (way, tries, counts) in ways {
        let mut world = World::with(&["PD-285"]);
        world.knows(&[("release", APPROVED)]);
        let start = super::super::world::start_run("release", &[]);
        world.call("PD-285", AgentCommand::Run(start)).unwrap();
        let code = world.gate_of("release-1", "ok").code.to_string();
        world.now += TimeDelta::seconds(5);
        let said = tries(&mut world, &code);
        let runs = world.at_work() == ["release-1 deploy"];
        assert_eq!(runs, counts, "{way}: {said}");
        if way.starts_with("a person") {
            assert!(said.contains("Inès Caradec may"), "{way}: {said}");
            assert!(world.journal.iter().any(|kind| kind == "answer_refused"), "{way}");
        }
    }
}

fn answer(code: &str, choice: &str) -> Command {
    Command::Answer { code: code.into(), choice: choice.into() }
}

fn refused(result: Result<Reply, Refusal>) -> String {
    result.unwrap_err().sentence()
}

#[test]
fn words_with_a_yes_are_kept_with_who_said_it() {
    let mut world = World::new();
    world.knows(&[("release", APPROVED)]);
    let run = world.runs("release", &[]);
    let gate = world.gate_of(&run, "ok");
    assert_eq!(world.level_of("asks for approval"), Level::Ring);
    assert_eq!(
        world.answers("owner", &gate, "approve looks good").unwrap(),
        "Approved: looks good"
    );
    let known = world.state.runs.named(&run).unwrap();
    let ended = known.run.ended(&"ok".parse().unwrap()).unwrap();
    assert_eq!(ended.output.values["by"], json!("Inès Caradec"));
    assert_eq!(ended.output.values["words"], json!("looks good"));
    assert!(matches!(world.card_state(gate.id), CardState::Taken { .. }));
    let late = world.answers("owner", &gate, "deny").unwrap_err().sentence();
    assert!(late.contains("Already approved"), "{late}");
}

#[test]
fn a_code_of_an_older_run_is_over_and_the_open_ones_are_listed() {
    let mut world = World::new();
    world.knows(&[("release", APPROVED)]);
    let first = world.runs("release", &[]);
    let old = world.gate_of(&first, "ok");
    world.answers("owner", &old, "deny").unwrap();
    assert_eq!(world.ended(&first), "denied");
    let second = world.runs("release", &[]);
    let new = world.gate_of(&second, "ok");
    let words = world.answers("owner", &old, "approve").unwrap_err().sentence();
    assert!(words.contains("Already denied") && words.contains(new.code.as_str()), "{words}");
    assert_eq!(world.step_state(&second, "ok"), "running");
}

const BRANCHES: &str = "
name: branches
steps:
  - {id: g1, approval: {ask: left?}}
  - {id: l, needs: [g1], shell: echo left}
  - {id: g2, approval: {ask: right?}}
  - {id: r, needs: [g2], shell: echo right}
  - {id: g3, if: 'false', approval: {ask: never asked}}
  - {id: s, needs: [g3], shell: echo through}
";

#[test]
fn each_branch_goes_on_by_its_own_gate_and_one_that_is_left_out_asks_nobody() {
    let mut world = World::new();
    world.knows(&[("branches", BRANCHES)]);
    let run = world.runs("branches", &[]);
    assert_eq!(world.state.open_gates().count(), 2, "nobody is asked about g3");
    assert_eq!(world.at_work(), ["branches-1 s"]);
    let left = world.gate_of(&run, "g1");
    world.answers("owner", &left, "approve").unwrap();
    assert_eq!(world.at_work(), ["branches-1 l", "branches-1 s"]);
    world.crash();
    assert_eq!(world.at_work(), ["branches-1 l", "branches-1 s"]);
    let right = world.gate_of(&run, "g2");
    world.answers("owner", &right, "approve").unwrap();
    for step in ["l", "r", "s"] {
        world.does(&run, step, "");
    }
    assert_eq!(world.ended(&run), "succeeded");
}

#[test]
fn two_different_people_have_to_say_yes() {
    let text = "
name: two
steps:
  - {id: ok, approval: {ask: Deploy?, count: 2}}
  - {id: deploy, needs: [ok], shell: ./deploy.sh}
";
    let mut world = World::new();
    world.knows(&[("two", text)]);
    let run = world.runs("two", &[]);
    let gate = world.gate_of(&run, "ok");
    assert_eq!(world.answers("owner", &gate, "approve").unwrap(), "Noted: 1 of 2 said yes.");
    assert_eq!(world.answers("owner", &gate, "approve").unwrap(), "Noted: 1 of 2 said yes.");
    let facts = world.card(gate.id).1.facts;
    assert!(facts.iter().any(|fact| fact.value == "1 of 2: Inès Caradec"), "{facts:?}");
    world.crash();
    assert_eq!(world.answers("second", &gate, "yes").unwrap(), "Approved");
    assert_eq!(world.at_work(), ["two-1 deploy"]);
    let known = world.state.runs.named(&run).unwrap();
    let ended = known.run.ended(&"ok".parse().unwrap()).unwrap();
    assert_eq!(ended.output.values["by"], json!("Inès Caradec, Awa Diop"));
}

#[test]
fn whoever_started_a_run_does_not_approve_it_where_the_workflow_says_so() {
    let text = "
name: careful
steps:
  - {id: inner, workflow: {name: part}}
";
    let part = "
name: part
steps:
  - {id: ok, approval: {ask: Deploy?, not_starter: true}}
";
    let mut world = World::new();
    world.knows(&[("careful", text), ("part", part)]);
    world.runs_as("owner", "careful");
    let gate = world.gate_of("part-1", "ok");
    let words = world.answers("owner", &gate, "approve").unwrap_err().sentence();
    assert!(
        words.contains("Inès Caradec started part-1") && words.contains("Awa Diop may"),
        "{words}"
    );
    world.answers("second", &gate, "approve").unwrap();
    assert_eq!(world.ended("careful-1"), "succeeded");
}

#[test]
fn a_timer_dies_with_the_decision_and_decides_where_nobody_does() {
    let text = |policy: &str| {
        format!(
            "
name: timed
steps:
  - {{id: ok, approval: {{ask: Deploy?, timeout: 12h, on_timeout: {policy}}}}}
  - {{id: deploy, needs: [ok], sleep: 20h}}
"
        )
    };
    for (policy, ended) in [("deny", "denied"), ("fail", "failed"), ("approve", "running")] {
        let text = text(policy);
        let mut world = World::new();
        world.knows(&[("timed", &text)]);
        let run = world.runs("timed", &[]);
        world.wait(TimeDelta::hours(11));
        world.crash();
        assert_eq!(world.step_state(&run, "ok"), "running");
        world.wait(TimeDelta::hours(2));
        assert_eq!(world.ended(&run), ended, "{policy}");
    }
    let text = text("deny");
    let mut world = World::new();
    world.knows(&[("timed", &text)]);
    let run = world.runs("timed", &[]);
    let gate = world.gate_of(&run, "ok");
    world.wait(TimeDelta::hours(11));
    world.answers("owner", &gate, "approve").unwrap();
    world.wait(TimeDelta::hours(13));
    assert_eq!(world.step_state(&run, "ok"), "done", "the timer is gone");
    world.wait(TimeDelta::hours(8));
    assert_eq!(world.ended(&run), "succeeded");
}

const FORM: &str = "
name: form
steps:
  - {id: plan, shell: make plan}
  - id: ok
    needs: [plan]
    approval:
      ask: Where to?
      show: '{{ steps.plan.text }}'
      send_back: plan
      form:
        - {id: target, choices: [staging, prod]}
        - {id: note, title: A note}
  - id: deploy
    needs: [ok]
    shell: ./deploy.sh
    env: {TARGET: '{{ steps.ok.answers.target }}'}
";

#[test]
fn a_form_is_filled_in_by_taps_and_words_and_then_approved() {
    let mut world = World::new();
    world.knows(&[("form", FORM)]);
    let run = world.runs("form", &[]);
    world.does(&run, "plan", "**Move** the tables.");
    let gate = world.gate_of(&run, "ok");
    let (message, card) = world.card(gate.id);
    assert!(card.content.text.contains("Move the tables."), "{}", card.content.text);
    world.now += TimeDelta::seconds(5);
    let early = world.answers("owner", &gate, "approve").unwrap_err().sentence();
    assert!(early.contains("target is not filled in yet"), "{early}");
    world.taps("prod");
    world.replies(&message, "before noon");
    assert_eq!(world.taps("Approve"), "Approved");
    let order = world.order_of(&run, "deploy");
    assert!(
        order.work.env.iter().any(|(name, value)| name == "TARGET" && value.to_string() == "prod")
    );
    let known = world.state.runs.named(&run).unwrap();
    let ended = known.run.ended(&"ok".parse().unwrap()).unwrap();
    assert_eq!(ended.output.values["answers"], json!({"target": "prod", "note": "before noon"}));
}

#[test]
fn what_should_change_goes_back_by_a_tap_and_words_or_by_words_alone() {
    let mut world = World::new();
    world.knows(&[("form", FORM)]);
    let run = world.runs("form", &[]);
    world.does(&run, "plan", "first");
    let (message, _) = world.card(world.gate_of(&run, "ok").id);
    world.now += TimeDelta::seconds(5);
    assert_eq!(world.taps("Send back…"), "Write what should change.");
    world.replies(&message, "shorter please");
    assert_eq!(world.at_work(), ["form-1 plan"], "{:?}", world.marks);
    world.does(&run, "plan", "second");
    let gate = world.gate_of(&run, "ok");
    world.now += TimeDelta::seconds(5);
    world.writes(&format!("back {} even shorter", gate.code));
    assert_eq!(world.at_work(), ["form-1 plan"]);
    world.does(&run, "plan", "third");
    let gate = world.gate_of(&run, "ok");
    assert_eq!(world.answers("owner", &gate, "back once more").unwrap(), "Sent back: once more");
    world.does(&run, "plan", "fourth");
    world.now += TimeDelta::seconds(5);
    world.taps("Send back…");
    world.writes_as("second", &super::super::world::main_chat(), "mine is another matter", None);
    assert!(world.at_work().is_empty(), "only whoever tapped is waited for");
    world.writes("without the tables");
    assert_eq!(world.at_work(), ["form-1 plan"], "no reply is needed: {:?}", world.marks);
    assert_eq!(world.told_runner(&run).len(), 5);
}

#[test]
fn whatever_a_step_asks_is_still_asked_by_the_same_code_after_a_start() {
    let text = "
name: all
steps:
  - {id: plain, approval: {ask: Deploy?, show: all of it, not_starter: true, timeout: 9h}}
  - id: form
    approval: {ask: Where?, by: [owner], timeout: 9h, on_timeout: fail, form: [{id: to, choices: [a, b]}, {id: note}]}
  - {id: doubt, shell: ./pay.sh}
  - {id: agent, claude: {prompt: Build it.}}
";
    let mut world = World::new();
    world.knows(&[("all", text)]);
    let run = world.runs_as("second", "all");
    world.tells(&run, "doubt", Told::Gone);
    world.tells(&run, "agent", Told::Asks(asks()));
    world.now += TimeDelta::seconds(5);
    world.taps("a");
    let gates = |world: &World| {
        let steps = ["plain", "form", "doubt", "agent"];
        steps.map(|step| world.gate_of(&run, step))
    };
    let before = gates(&world);
    world.crash();
    let after = gates(&world);
    assert_eq!(before.clone().map(|gate| gate.code), after.clone().map(|gate| gate.code));
    assert_eq!(
        before.map(|gate| (gate.ask, gate.picked)),
        after.map(|gate| (gate.ask, gate.picked))
    );
    assert_eq!(world.state.open_gates().count(), 4);
}

fn asks() -> Asks {
    Asks {
        tool: "Bash".into(),
        input: json!({ "command": "make deploy" }),
        cwd: "/src/quay".into(),
        conversation: "c1".into(),
        call: "t1".into(),
        spent: Spent::default(),
    }
}

#[test]
fn what_an_agent_in_a_step_may_not_do_alone_is_asked_and_goes_on_after_hours() {
    let text = "
name: agent
steps:
  - {id: build, claude: {prompt: Build it.}}
";
    let mut world = World::new();
    world.knows(&[("agent", text)]);
    let run = world.runs("agent", &[]);
    world.tells(&run, "build", Told::Asks(asks()));
    assert!(world.at_work().is_empty(), "it holds nothing");
    world.wait(TimeDelta::hours(30));
    world.crash();
    let gate = world.gate_of(&run, "build");
    assert!(world.card(gate.id).1.content.text.contains("make deploy"));
    world.answers("owner", &gate, "approve").unwrap();
    let order = world.order_of(&run, "build");
    let StepHow::GoOn { asks: asked, answer } = order.how else { panic!("{order:?}") };
    assert_eq!((asked, answer.allow, answer.by.as_deref()), (asks(), true, Some("Inès Caradec")));
    world.crash();
    let again = world.order_of(&run, "build");
    assert!(matches!(again.how, StepHow::GoOn { .. }), "it is told what was answered");
    world.does(&run, "build", "built");
    assert_eq!(world.ended(&run), "succeeded");
}

#[test]
fn what_destroys_something_needs_its_code_in_a_step_too() {
    let text = "
name: agent
steps:
  - {id: build, claude: {prompt: Build it.}}
";
    let mut world = World::new();
    world.knows(&[("agent", text)]);
    let run = world.runs("agent", &[]);
    let asks = Asks { input: json!({ "command": "rm -rf /" }), ..asks() };
    world.tells(&run, "build", Told::Asks(asks));
    let gate = world.gate_of(&run, "build");
    let (message, card) = world.card(gate.id);
    assert!(card.buttons.iter().all(|button| button.label == "Deny"), "{:?}", card.buttons);
    let words = world.taps_action("owner", &message, Action::Allow { gate: gate.id });
    assert!(words.contains("needs its code"), "{words}");
    world.answers("owner", &gate, "deny").unwrap();
    let order = world.order_of(&run, "build");
    assert!(matches!(order.how, StepHow::GoOn { answer, .. } if !answer.allow));
}

#[test]
fn a_step_in_doubt_is_settled_by_one_of_three_words() {
    let text = "
name: pay
steps:
  - {id: pay, shell: ./pay.sh}
  - {id: tell, needs: [pay], shell: ./tell.sh}
";
    for (choice, ended, runner) in [
        ("It was done", "running", "tell begin"),
        ("2", "running", "pay begin"),
        ("It failed", "failed", "pay begin"),
    ] {
        let mut world = World::new();
        world.knows(&[("pay", text)]);
        let run = world.runs("pay", &[]);
        world.tells(&run, "pay", Told::Gone);
        assert_eq!(world.step_state(&run, "pay"), "in_doubt");
        world.crash();
        let gate = world.gate_of(&run, "pay");
        let words = world.answers("owner", &gate, "perhaps").unwrap_err();
        assert!(matches!(words, Refusal::NoSuchChoice { .. }), "{words:?}");
        world.answers("owner", &gate, choice).unwrap();
        assert_eq!(world.ended(&run), ended, "{choice}");
        assert_eq!(world.told_runner(&run).last().unwrap(), runner, "{choice}");
    }
}

#[test]
fn the_gates_of_a_run_that_is_stopped_close() {
    let mut world = World::new();
    world.knows(&[("branches", BRANCHES)]);
    let run = world.runs("branches", &[]);
    let gate = world.gate_of(&run, "g1");
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert!(
        matches!(world.card_state(gate.id), CardState::Closed { why, .. } if why == "The run was cancelled")
    );
    assert_eq!(world.state.open_gates().count(), 0);
    world.stops(&run, "s");
    assert_eq!(world.ended(&run), "cancelled");
    let words = world.answers("owner", &gate, "approve").unwrap_err().sentence();
    assert!(words.contains("The run was cancelled"), "{words}");
}

#[test]
fn a_bare_yes_answers_the_one_gate_that_waits() {
    let mut world = World::new();
    world.knows(&[("release", APPROVED)]);
    world.runs("release", &[]);
    world.now += TimeDelta::seconds(5);
    world.writes("yes");
    assert_eq!(world.at_work(), ["release-1 deploy"]);
}

#[test]
fn what_nobody_can_approve_fails_at_once() {
    for (asks, why) in [
        ("by: [owner], not_starter: true", "nobody may approve this (whoever started it may not)"),
        ("by: [owner], count: 2", "only Inès Caradec may approve this, and 2 have to"),
    ] {
        let text = format!(
            "
name: nobody
steps:
  - {{id: ok, approval: {{ask: Deploy?, {asks}}}}}
"
        );
        let mut world = World::new();
        world.knows(&[("nobody", &text)]);
        let run = world.runs("nobody", &[]);
        assert_eq!(world.ended(&run), "failed");
        assert!(world.said(why), "{:?}", world.last());
        assert_eq!(world.state.open_gates().count(), 0);
    }
}

#[test]
fn whoever_started_a_run_may_deny_what_they_may_not_approve() {
    let text = "
name: careful
steps:
  - {id: ok, approval: {ask: Deploy?, not_starter: true}}
";
    let mut world = World::new();
    world.knows(&[("careful", text)]);
    let run = world.runs("careful", &[]);
    let gate = world.gate_of(&run, "ok");
    assert!(world.answers("owner", &gate, "approve").is_err());
    assert_eq!(world.answers("owner", &gate, "deny not now").unwrap(), "Denied: not now");
    assert_eq!(world.ended(&run), "denied");
}

#[test]
fn a_clients_token_answers_no_gate() {
    let mut world = World::new();
    world.client("ci", &TokenScope::ALL);
    world.knows(&[("release", APPROVED)]);
    let start = super::super::world::start_run("release", &[]);
    world.call("ci", AgentCommand::Run(start)).unwrap();
    assert_eq!(world.step_state("release-1", "ok"), "running");
    assert!(!world.state.rules.people.contains_key(&HumanId::new("ci")));
}
