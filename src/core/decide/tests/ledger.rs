use super::world::World;
use crate::{
    Timestamp,
    agent::AgentEvent,
    decide::Event,
    id::TurnId,
    ledger::{LedgerRow, MOST_TOKENS, Tokens, UsageKey, Used, WorkKind},
    session::Amount,
};

/// An answer of the model that has a price: `output` tokens, ten millionths of a dollar each.
pub(super) fn used(message: &str, output: u64) -> Used {
    Used {
        key: UsageKey { message: message.into(), request: "req".into() },
        model: "heron-2".into(),
        asked: Timestamp::default(),
        at: Timestamp::default(),
        tokens: Tokens { output, ..Tokens::default() },
        turn: Some(TurnId::new("t")),
        subagent: None,
    }
}

fn reads(w: &mut World, name: &str, entries: Vec<Used>) {
    w.report(name, AgentEvent::Usage { entries });
}

fn spent(w: &World, name: &str) -> (u64, u64, u64) {
    let spent = w.state.session_named(name).unwrap().spent;
    (spent.micro_usd, spent.input_tokens, spent.output_tokens)
}

fn told(rows: &[LedgerRow]) -> Vec<(&str, WorkKind, Option<u64>)> {
    let line = |row: &'_ LedgerRow| (row.owner.kind, row.micro_usd);
    rows.iter().map(|row| (row.used.key.message.as_str(), line(row).0, line(row).1)).collect()
}

#[test]
fn an_answer_counts_once_however_often_and_wherever_it_stands() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    let first = used("a", 30);
    reads(&mut w, "PD-1", vec![first.clone(), first.clone()]);
    reads(&mut w, "PD-1", vec![first.clone()]);
    assert_eq!(spent(&w, "PD-1"), (300, 0, 30));
    // A fork copies it into the file of another session, after a start that forgot it.
    w.crash();
    reads(&mut w, "PD-2", vec![first, used("b", 1)]);
    assert_eq!(spent(&w, "PD-1"), (300, 0, 30));
    assert_eq!(spent(&w, "PD-2"), (10, 0, 1));
    assert_eq!(w.ledger().len(), 2);
}

#[test]
fn the_same_message_of_another_request_is_another_answer() {
    let mut w = World::with(&["PD-1"]);
    let first = used("a", 30);
    let key = UsageKey { request: "other".into(), ..first.key.clone() };
    reads(&mut w, "PD-1", vec![first.clone(), Used { key, ..first }]);
    assert_eq!(spent(&w, "PD-1").2, 60);
}

#[test]
fn an_answer_that_grew_adds_what_it_grew_by_to_whose_it_was() {
    let mut w = World::with(&["PD-1", "PD-2"]);
    reads(&mut w, "PD-1", vec![used("a", 1)]);
    reads(&mut w, "PD-2", vec![used("a", 40)]);
    reads(&mut w, "PD-2", vec![used("a", 7)]);
    assert_eq!(spent(&w, "PD-1"), (400, 0, 40));
    assert_eq!(spent(&w, "PD-2"), (0, 0, 0));
    assert_eq!(w.ledger()[0].used.tokens.output, 40);
}

#[test]
fn a_count_that_cannot_be_counts_for_nothing_and_stands_in_the_journal() {
    let mut w = World::with(&["PD-1"]);
    let tokens = Tokens { input: u64::MAX, output: 1, ..Tokens::default() };
    let senseless = Used { tokens, ..used("a", 0) };
    reads(&mut w, "PD-1", vec![senseless, used("b", MOST_TOKENS), used("c", MOST_TOKENS + 1)]);
    assert_eq!(w.ledger().len(), 1);
    assert_eq!(spent(&w, "PD-1").2, MOST_TOKENS);
    let aside = w.journal.iter().filter(|kind| *kind == "usage_set_aside");
    assert_eq!(aside.count(), 2);
}

#[test]
fn what_has_no_price_costs_nothing_known_and_is_said() {
    let mut w = World::with(&["PD-1"]);
    let unknown = Used { model: "heron-9".into(), ..used("a", 1234) };
    reads(&mut w, "PD-1", vec![unknown, used("b", 1)]);
    assert_eq!(spent(&w, "PD-1"), (10, 0, 1235));
    assert_eq!(told(&w.ledger())[0], ("a", WorkKind::Inline, None));
    w.writes("/cost PD-1");
    assert!(w.said("1,234 tokens of models without a price"));
}

#[test]
fn cached_tokens_are_kept_apart_and_priced_apart() {
    let mut w = World::with(&["PD-1"]);
    let tokens = Tokens {
        input: 1000,
        output: 100,
        cache_read: 10_000,
        cache_write_5m: 800,
        cache_write_1h: 400,
        web_searches: 0,
    };
    reads(&mut w, "PD-1", vec![Used { tokens, ..used("a", 0) }]);
    assert_eq!(spent(&w, "PD-1"), (1000 + 1000 + 1000 + 1000 + 800, 1000, 100));
    let all = w.state.session_named("PD-1").unwrap().spent;
    assert_eq!((all.cached_tokens, all.amount().tokens), (11_200, 12_300));
    assert_eq!(w.ledger()[0].used.tokens, tokens);
}

#[test]
fn what_an_agent_told_before_its_records_were_read_counts_no_second_time() {
    let mut w = World::with(&["PD-1"]);
    let cost = |micro_usd| AgentEvent::Cost { micro_usd, input_tokens: 5, output_tokens: 5 };
    w.report("PD-1", cost(700));
    assert_eq!(spent(&w, "PD-1").0, 700);
    reads(&mut w, "PD-1", vec![used("a", 30)]);
    w.report("PD-1", cost(900));
    assert_eq!(spent(&w, "PD-1"), (300, 0, 30));
}

#[test]
fn an_entry_says_whose_it_was() {
    let mut w = World::with(&["PD-285-fix"]);
    w.child("PD-285-fix", "tests");
    let own = used("a", 1);
    let below = Used { subagent: Some("a7".into()), ..used("b", 1) };
    reads(&mut w, "PD-285-fix", vec![own, below]);
    reads(&mut w, "tests", vec![used("c", 1)]);
    let rows = w.ledger();
    let kinds: Vec<_> = rows.iter().map(|row| row.owner.kind).collect();
    assert_eq!(kinds, [WorkKind::Inline, WorkKind::Subagent, WorkKind::Session]);
    let id = |name: &str| w.id(name).to_string();
    let units: Vec<_> = rows.iter().map(|row| row.owner.unit.clone()).collect();
    let parent = id("PD-285-fix");
    assert_eq!(units, [format!("{parent}/t"), format!("{parent}/a7"), id("tests")]);
    assert!(rows.iter().all(|row| row.owner.story == "PD-285"), "a child works on the same story");
    assert_eq!(rows[2].owner.parent.as_ref(), Some(&parent));
    assert_eq!(rows[2].owner.root.as_ref(), Some(&parent));
    let project = |row: &LedgerRow| row.owner.project.clone().unwrap().to_string();
    assert_eq!(project(&rows[0]), "quay");
}

const TALK: &str = "
name: talk
steps:
  - {id: ask, claude: {session: PD-9, prompt: What is left to do?}}
";

#[test]
fn a_turn_of_a_step_is_paid_for_by_that_step() {
    let mut w = World::new();
    w.knows(&[("talk", TALK)]);
    let run = w.runs("talk", &[]);
    w.comes_up("PD-9");
    w.takes("PD-9");
    reads(&mut w, "PD-9", vec![used("a", 30)]);
    w.finishes("PD-9", "Two things.");
    // What is read after the end is of the same turn.
    reads(&mut w, "PD-9", vec![used("b", 20)]);
    assert_eq!(w.view(&run).spent.micro_usd, 500);
    w.writes("[PD-9] thank you");
    w.takes("PD-9");
    reads(&mut w, "PD-9", vec![used("c", 20)]);
    assert_eq!(w.view(&run).spent.micro_usd, 500);
    let rows = w.ledger();
    let steps: Vec<_> = rows.iter().map(|row| row.owner.step.clone()).collect();
    assert_eq!(steps, [Some("ask".into()), Some("ask".into()), None]);
    assert!(rows.iter().all(|row| row.owner.run_name.as_deref() == Some("talk-1")));
}

#[test]
fn an_agent_of_a_step_stands_in_the_same_ledger() {
    let mut w = World::new();
    w.knows(&[("talk", TALK)]);
    w.runs("talk", &[]);
    let run = w.state.session_named("PD-9").unwrap().of_run.clone().unwrap().run;
    let step: vigie_workflow::value::StepPath = "ask".parse().unwrap();
    let entries = vec![used("a", 30)];
    for _ in 0..2 {
        let (step, entries) = (step.clone(), entries.clone());
        w.step(Event::StepUsed { run, step, attempt: 1, entries });
    }
    assert_eq!(told(&w.ledger()), [("a", WorkKind::Step, Some(300))]);
    assert_eq!(w.ledger()[0].owner.name, "talk-1 ask");
}

#[test]
fn what_was_set_aside_for_a_session_is_measured_by_its_records() {
    let mut w = World::with(&["PD-1"]);
    w.child("PD-1", "PD-2");
    let reserve = w.state.session_named("PD-2").unwrap().spawn.clone().unwrap().reserve();
    assert!(reserve.micro_usd > 0);
    reads(&mut w, "PD-2", vec![used("a", reserve.micro_usd / 10 + 1)]);
    assert!(w.said("has used up what was set aside for it"));
    let spent = w.state.session_named("PD-2").unwrap().spent.amount();
    assert!(!spent.is_within(Amount { tokens: u64::MAX, ..reserve }));
}
