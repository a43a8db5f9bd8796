//! Steps with an agent of their own that stop and go on: for their account, or for their money.

use chrono::TimeDelta;

use super::World;
use crate::{
    agent::FailureKind,
    bridge::Level,
    caller::{AgentCommand, AgentReply},
    command::{Command, Reply},
    decide::{
        Event,
        tests::{ledger::used, world::start_run},
    },
    id::{AccountName, AgentName, ProjectName},
    run::{PutOff, PutOffBy},
};
use vigie_workflow::run::Spent;

const LOOK: &str = "
name: look
steps:
  - {id: read, claude: look at it}
";

const LIMIT: &str = "You've hit your session limit · resets 4:11am (Europe/Paris)";

fn world() -> World {
    let mut w = World::new();
    let agent_of = [(ProjectName::new("quay"), AgentName::new("demo"))].into();
    w.state.rules.workflows.agent_of = agent_of;
    w.state.rules.budgets.turn = 100;
    w.knows(&[("look", LOOK)]);
    w
}

impl World {
    fn is_put_off(&mut self, name: &str, why: PutOffBy) {
        let order = self.order_of(name, "read");
        let (conversation, at) = ("the-conversation".into(), self.now);
        let put_off = PutOff { why, at, conversation, spent: Spent::default() };
        let (run, step, attempt) = (order.run, order.step, order.attempt);
        self.step(Event::StepPutOff { run, step, attempt, put_off, denied: Vec::new() });
    }

    fn step_hits(&mut self, name: &str, kind: FailureKind, said: &str) {
        self.is_put_off(name, PutOffBy::Account { kind, said: said.into() });
    }

    /// Its models answered for so much.
    fn step_pays(&mut self, name: &str, message: &str, micro_usd: u64) {
        let order = self.order_of(name, "read");
        let entries = vec![used(message, micro_usd / 10)];
        let (run, step, attempt) = (order.run, order.step, order.attempt);
        self.step(Event::StepUsed { run, step, attempt, entries });
    }

    fn words_of_step(&self, name: &str) -> String {
        self.view(name).steps[0].words.clone()
    }
}

#[test]
fn a_limit_in_a_step_stops_the_account_for_all_and_the_step_goes_on_by_itself() {
    let mut w = world();
    w.start("PD-285");
    let run = w.runs("look", &[]);
    w.wait(TimeDelta::seconds(1));
    w.step_hits(&run, FailureKind::Limit, LIMIT);
    assert!(w.said("demo is at its usage limit until 04:11 (Europe/Paris)."));
    assert!(w.said("Held: step read of look-1."));
    assert_eq!(w.words_of_step(&run), "waits: demo is at its usage limit until 04:11");
    w.writes("[PD-285] go");
    assert!(w.handed("PD-285").is_empty(), "sessions of that account wait as well");
    let second = w.runs("look", &[]);
    assert_eq!(w.told_runner(&second), [] as [&str; 0], "and other steps");
    w.ask(Command::CancelRun { name: second }).unwrap();
    w.wait(TimeDelta::hours(3));
    for _ in 0..6 {
        w.wait(TimeDelta::seconds(10));
        if w.handed("PD-285").len() == 1 {
            w.takes("PD-285");
            w.finishes("PD-285", "Done.");
        }
    }
    assert_eq!(w.told_runner(&run), ["read begin", "read again"]);
    assert_eq!(w.view(&run).steps[0].attempt, 1, "that was no try");
    w.does(&run, "read", "looked");
    assert_eq!(w.ended(&run), "succeeded");
    w.wait(TimeDelta::seconds(10));
    assert!(w.state.troubles.is_empty(), "{:?}", w.state.troubles);
}

#[test]
fn a_step_alone_tells_whether_its_account_works_again() {
    let mut w = world();
    let run = w.runs("look", &[]);
    w.wait(TimeDelta::seconds(1));
    w.step_hits(&run, FailureKind::Account, "Please run /login");
    assert!(w.said("demo is not logged in any more"));
    w.wait(TimeDelta::hours(8));
    assert_eq!(w.told_runner(&run), ["read begin"]);
    w.ask(Command::RetryAccount { account: None }).unwrap();
    assert_eq!(w.told_runner(&run), ["read begin", "read again"]);
    w.wait(TimeDelta::seconds(1));
    w.step_hits(&run, FailureKind::Account, "Please run /login");
    assert_eq!(w.told_runner(&run).len(), 2, "it is not tried again by itself");
    w.ask(Command::RetryAccount { account: Some("demo".into()) }).unwrap();
    assert!(!w.state.troubles.is_empty());
    w.does(&run, "read", "looked");
    assert_eq!(w.ended(&run), "succeeded");
    assert_eq!(w.state.troubles.get(&AccountName::new("demo")), None);
}

#[test]
fn what_was_put_off_is_found_again_after_a_crash_and_cancelled_without_a_trace() {
    let mut w = world();
    let run = w.runs("look", &[]);
    w.step_hits(&run, FailureKind::Limit, LIMIT);
    let rules = w.state.rules.clone();
    w.crash();
    w.state.rules = rules;
    // The runner is asked how it ended, and tells the same.
    assert_eq!(w.told_runner(&run), ["read begin", "read adopt"]);
    w.step_hits(&run, FailureKind::Limit, LIMIT);
    assert_eq!(w.told_runner(&run).len(), 2);
    w.ask(Command::CancelRun { name: run.clone() }).unwrap();
    w.stops(&run, "read");
    assert_eq!(w.ended(&run), "cancelled");
}

#[test]
fn a_budget_stops_a_steps_agent_and_it_goes_on_when_somebody_says_so() {
    let mut w = world();
    w.state.rules.budgets.day = Some(1000);
    let run = w.runs("look", &[]);
    w.step_pays(&run, "a", 800);
    let day = w.now.format("%Y-%m-%d").to_string();
    assert_eq!(w.level_of("At the limit its step stops"), Level::Note);
    assert!(w.put_off.is_empty());
    w.step_pays(&run, "b", 200);
    assert_eq!(w.put_off.len(), 1);
    assert_eq!(w.level_of("Its step is stopped, and its context is kept."), Level::Ring);
    w.is_put_off(&run, PutOffBy::Us);
    assert_eq!(w.told_runner(&run), ["read begin"]);
    let expected = format!("waits: the day {day} has used up its money (under $0.01 of $0.001)");
    assert_eq!(w.words_of_step(&run), expected);
    w.taps("As much again");
    assert_eq!(w.told_runner(&run), ["read begin", "read again"]);
    w.does(&run, "read", "looked");
    assert_eq!(w.ended(&run), "succeeded");
}

#[test]
fn a_step_begins_only_if_it_is_paid_for_and_has_that_set_aside() {
    let mut w = world();
    w.start("PD-285");
    w.state.rules.budgets.day = Some(150);
    let run = w.runs("look", &[]);
    assert_eq!(w.told_runner(&run), ["read begin"]);
    w.writes("[PD-285] go");
    assert!(w.handed("PD-285").is_empty(), "100 of 150 are set aside");
    w.step_pays(&run, "a", 100);
    w.does(&run, "read", "looked");
    assert!(w.handed("PD-285").is_empty() && w.said("as much again?"), "50 are left");
    let second = w.runs("look", &[]);
    assert_eq!(w.told_runner(&second), [] as [&str; 0]);
    let words = w.words_of_step(&second);
    assert!(words.starts_with("waits: the day ") && words.contains("may cost"), "{words}");
    let more =
        Command::Budget { name: Some(second.clone()), wanted: Some(crate::account::Wanted::More) };
    let Ok(Reply::Done { words }) = w.ask(more) else { panic!("it is let go on") };
    assert!(words.starts_with("Now $0.0003 for the day "), "{words}");
    assert_eq!(w.told_runner(&second), ["read begin"]);
}

#[test]
fn a_run_that_an_agent_started_is_paid_for_by_its_tree_and_its_story() {
    let mut w = World::with(&["PD-285-tests"]);
    w.knows(&[("look", LOOK)]);
    let start = AgentCommand::Run(start_run("look", &[]));
    let Ok(AgentReply::Run { run }) = w.call("PD-285-tests", start) else { panic!("it starts") };
    let run = run.name;
    w.step_pays(&run, "a", 300);
    let owner = w.ledger()[0].owner.clone();
    assert_eq!((owner.story.as_str(), owner.run_name.as_deref()), ("PD-285", Some("look-1")));
    assert_eq!(owner.root, Some(w.id("PD-285-tests").to_string()));
}
