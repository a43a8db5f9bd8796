use vigie_workflow::run::Told;

use super::*;
use crate::{
    agent::{AgentEvent, ExitStatus, OrderKind, PromptForm, RefusedPrompt},
    command::Command,
    session::Life,
};

const TALK: &str = "
name: talk
steps:
  - {id: ask, claude: {session: PD-9, prompt: What is left to do?}}
  - {id: tell, needs: [ask], shell: ./tell.sh, env: {SAID: '{{ steps.ask.text }}'}}
";

#[test]
fn a_turn_goes_into_a_session_that_is_started_for_it_and_ends_the_step() {
    let mut world = World::new();
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    assert_eq!(world.launched.len(), 1);
    let title = &world.state.session_named("PD-9").unwrap().title;
    assert_eq!(title, "talk-1: What is left to do?", "its words, without the marks of its data");
    world.comes_up("PD-9");
    assert_eq!(world.form("PD-9"), PromptForm::Others, "never a command, never a person's word");
    let text = world.takes("PD-9");
    assert!(text.starts_with("From the workflow run talk-1, step ask."), "{text}");
    assert!(text.ends_with("What is left to do?"), "{text}");
    world.report("PD-9", AgentEvent::Cost { micro_usd: 700, input_tokens: 5, output_tokens: 6 });
    world.crash();
    world.finishes("PD-9", "Two things.");
    let order = world.order_of(&run, "tell");
    assert!(order.work.env.iter().any(|(_, value)| value.to_string() == "Two things."));
    world.does(&run, "tell", "");
    assert_eq!(world.ended(&run), "succeeded");
    assert_eq!(world.view(&run).spent.micro_usd, 700);
    // What the last answer cost is told after it, here after the run; the next turn is nobody's.
    world.report("PD-9", AgentEvent::Cost { micro_usd: 900, input_tokens: 7, output_tokens: 8 });
    assert_eq!(world.view(&run).spent.micro_usd, 900);
    world.crash();
    assert_eq!(world.view(&run).spent.micro_usd, 900);
    world.writes("[PD-9] thank you");
    world.takes("PD-9");
    world.finishes("PD-9", "You are welcome.");
    world.report("PD-9", AgentEvent::Cost { micro_usd: 950, input_tokens: 9, output_tokens: 9 });
    assert_eq!(world.view(&run).spent.micro_usd, 900);
    let view = world.ask(Command::Sessions).unwrap();
    assert!(format!("{view:?}").contains("started_by: Some(\"talk-1\")"), "{view:?}");
}

#[test]
fn a_session_that_runs_takes_it_after_what_people_wrote_and_only_its_own_turn_counts() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", TALK)]);
    world.writes("[PD-9] first this");
    world.takes("PD-9");
    let run = world.runs("talk", &[]);
    world.finishes("PD-9", "That was the person's.");
    assert_eq!(world.step_state(&run, "ask"), "running");
    world.takes("PD-9");
    world.finishes("PD-9", "And this is the run's.");
    assert_eq!(world.step_state(&run, "ask"), "done");
    assert_eq!(world.launched.len(), 1, "no second session");
}

#[test]
fn a_turn_that_comes_to_nothing_fails_the_step_or_leaves_it_in_doubt() {
    type End = fn(&mut World);
    let ends: [(End, &str); 5] = [
        (|w| w.report("PD-9", AgentEvent::Interrupted { turn: None }), "failed"),
        (|w| w.exits("PD-9", 0), "failed"),
        (|w| w.dies("PD-9"), "in_doubt"),
        (
            |w| {
                w.report(
                    "PD-9",
                    AgentEvent::Exited { how: ExitStatus::Signal { signal: 9 }, last: vec![] },
                );
            },
            "failed",
        ),
        (
            |w| {
                w.report(
                    "PD-9",
                    AgentEvent::TurnFailed {
                        turn: None,
                        kind: crate::agent::FailureKind::Request,
                        text: "too large".into(),
                    },
                );
            },
            "failed",
        ),
    ];
    for (end, state) in ends {
        let mut world = World::with(&["PD-9"]);
        world.knows(&[("talk", TALK)]);
        let run = world.runs("talk", &[]);
        world.takes("PD-9");
        end(&mut world);
        assert_eq!(world.step_state(&run, "ask"), state, "{:?}", world.view(&run).steps);
    }
}

#[test]
fn words_that_a_session_does_not_take_fail_the_step() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    world.refuses("PD-9", RefusedPrompt::ByAgent { reason: "a hook of the person's".into() });
    assert_eq!(world.step_state(&run, "ask"), "failed");

    let mut world = World::new();
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    world.exits("PD-9", 1);
    assert_eq!(world.step_state(&run, "ask"), "failed", "it ended before it took the words");
    world.resumes("PD-9");
    assert!(world.handed("PD-9").is_empty(), "they wait for nobody");
}

#[test]
fn a_cancelled_run_interrupts_its_own_turn_and_no_other() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    world.takes("PD-9");
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    let interrupts = |world: &World| {
        world.orders.iter().filter(|(_, order)| order.what == OrderKind::Interrupt).count()
    };
    assert_eq!(interrupts(&world), 1);
    assert_eq!(world.ended(&run), "cancelled");
    world.report("PD-9", AgentEvent::Interrupted { turn: None });

    world.doing("PD-9", crate::agent::Doing::Idle);
    world.writes("[PD-9] something of mine");
    world.takes("PD-9");
    let run = world.runs("talk", &[]);
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert_eq!(interrupts(&world), 1, "the person's turn goes on");
    assert_eq!(world.ended(&run), "cancelled");
    world.finishes("PD-9", "ok");
    assert_eq!(world.handed("PD-9").len(), 2, "the run's words never went in");
}

#[test]
fn words_that_go_in_while_the_run_is_stopped_are_interrupted() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    assert!(world.orders.iter().any(|(_, order)| matches!(order.what, OrderKind::Withdraw { .. })));
    assert_eq!(world.ended(&run), "cancelled");
    world.takes("PD-9");
    assert!(world.orders.iter().any(|(_, order)| order.what == OrderKind::Interrupt));
}

#[test]
fn while_its_session_waits_for_a_person_a_step_waits_too() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    world.takes("PD-9");
    world.asks_to_run("PD-9", "r1", "make test");
    world.wait(chrono::TimeDelta::hours(5));
    assert_eq!(world.step_state(&run, "ask"), "running");
    world.taps("Approve");
    world.finishes("PD-9", "ok");
    assert_eq!(world.step_state(&run, "ask"), "done");
}

#[test]
fn a_turn_that_takes_too_long_is_stopped() {
    let text = TALK.replace("id: ask,", "id: ask, timeout: 10m,");
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", &text)]);
    let run = world.runs("talk", &[]);
    world.takes("PD-9");
    world.wait(chrono::TimeDelta::minutes(9));
    world.crash();
    assert_eq!(world.step_state(&run, "ask"), "running");
    world.wait(chrono::TimeDelta::minutes(2));
    assert_eq!(world.step_state(&run, "ask"), "timed_out");
    assert!(world.orders.iter().any(|(_, order)| order.what == OrderKind::Interrupt));
}

#[test]
fn a_session_that_the_run_started_before_is_resumed() {
    let text = "
name: twice
steps:
  - {id: one, claude: {session: PD-9, prompt: First.}}
  - {id: between, needs: [one], shell: make}
  - {id: two, needs: [between], claude: {session: PD-9, prompt: Then.}}
";
    let mut world = World::new();
    world.knows(&[("twice", text)]);
    let run = world.runs("twice", &[]);
    world.comes_up("PD-9");
    world.takes("PD-9");
    world.finishes("PD-9", "one");
    let session = world.id("PD-9");
    world.exits("PD-9", 0);
    world.does(&run, "between", "");
    assert_eq!(world.id("PD-9"), session);
    assert!(matches!(world.state.sessions[&session].life, Life::Starting { .. }));
    world.comes_up("PD-9");
    world.takes("PD-9");
    world.finishes("PD-9", "two");
    assert_eq!(world.ended(&run), "succeeded");
}

#[test]
fn no_words_go_where_they_would_be_run() {
    let mut world = World::new();
    let mut rules = world.state.rules.clone();
    rules.projects[0].agent = crate::id::AgentName::new("shell");
    world.state.rules = rules;
    world.knows(&[("talk", TALK)]);
    let run = world.runs("talk", &[]);
    assert_eq!(world.ended(&run), "failed");
    assert!(world.launched.is_empty());
    world.tells_nothing(&run, Told::Gone);
}

#[test]
fn a_step_can_run_in_the_folder_of_a_session() {
    let text = "
name: there
steps:
  - {id: test, shell: make test, in_session: PD-9}
  - {id: lost, needs: [test], shell: make test, in_session: PD-404}
";
    let mut world = World::with(&["PD-9"]);
    world.change("PD-9", |session| session.cwd = "/src/quay/.worktrees/PD-9".into());
    world.knows(&[("there", text)]);
    let run = world.runs("there", &[]);
    assert_eq!(world.order_of(&run, "test").folder, "/src/quay/.worktrees/PD-9");
    world.does(&run, "test", "");
    assert_eq!(world.ended(&run), "failed");
    assert!(world.said("there is no session PD-404"));
}

#[test]
fn an_answer_that_is_longer_than_a_log_takes_is_marked() {
    let mut world = World::with(&["PD-9"]);
    world.knows(&[("talk", &TALK.replace("SAID: '{{ steps.ask.text }}'", "SAID: none"))]);
    let run = world.runs("talk", &[]);
    world.takes("PD-9");
    world.finishes("PD-9", &"long ".repeat(20_000));
    let known = world.state.runs.named(&run).unwrap();
    let output = &known.run.ended(&"ask".parse().unwrap()).unwrap().output;
    assert_eq!(output.cut.as_ref().unwrap().bytes, 100_000);
    assert!(output.text.len() <= vigie_workflow::run::KEPT_TEXT);
}
