//! The daemon dies after any commit, before it does anything about it: a run ends as it would have,
//! and nothing that was done is done again.

use vigie_workflow::run::{Ended, Outcome, Output, StepState, Told};

use super::*;
use crate::{
    command::Command,
    run::{StepHow, StepTold, With},
};

const EVERYTHING: &str = "
name: everything
steps:
  - {id: shell, shell: make}
  - {id: http, needs: [shell], http: {url: 'https://example.org'}}
  - {id: js, needs: [shell], javascript: return 1}
  - {id: agent, needs: [shell], claude: Look.}
  - {id: nap, needs: [shell], sleep: 10m}
  - {id: when, needs: [nap], condition: 'true'}
  - {id: ok, needs: [when], approval: {ask: Go on?}}
  - {id: turn, needs: [http, js], claude: {session: PD-9, prompt: And?}}
  - {id: call, needs: [ok], workflow: part}
  - id: each
    needs: [call, turn, agent]
    foreach:
      in: '[1, 2, 3]'
      as: item
      parallel: 2
      steps:
        - {id: one, shell: echo}
        - {id: two, needs: [one], shell: echo}
  - {id: flaky, needs: [each], shell: flaky, retry: {times: 2, backoff: 5s}}
";

const PART: &str = "
name: part
steps:
  - {id: inner, shell: make}
";

/// What the world outside does, whatever the daemon forgets: each attempt once.
#[derive(Default)]
struct Outside {
    done: Vec<String>,
    flaked: bool,
}

impl Outside {
    /// One thing happens, if there is something left that can.
    fn moves(&mut self, world: &mut World) -> bool {
        self.runner(world) || Self::person(world) || Self::session(world) || Self::time(world)
    }

    fn runner(&mut self, world: &mut World) -> bool {
        let open = world.state.runs.open();
        let at_work = open.flat_map(|known| {
            let name = known.row.name();
            known
                .at_work
                .iter()
                .filter(|(_, work)| matches!(work.with, With::Runner { .. }))
                .map(move |(step, work)| (known.row.id, name.clone(), step.clone(), work.attempt))
        });
        let Some((run, name, step, attempt)) = at_work.collect::<Vec<_>>().into_iter().next()
        else {
            return false;
        };
        let told = world
            .steps
            .iter()
            .any(|order| order.run == run && order.step == step && order.attempt == attempt);
        assert!(told, "the runner was told of {name} {step}");
        let work = format!("{name} {step} {attempt}");
        // Asked again, it says the same again and does nothing.
        if !self.done.contains(&work) {
            self.done.push(work);
        }
        let fails = step.to_string() == "flaky" && attempt == 1;
        self.flaked |= fails;
        let outcome =
            if fails { Outcome::Failed { why: "exit status 7".into() } } else { Outcome::Done };
        let output = Output { text: "fine".into(), ..Output::default() };
        let told = Told::Ended(Ended { output, ..Ended::of(outcome) });
        world.step(crate::decide::Event::Step(StepTold {
            run,
            step,
            attempt,
            told,
            denied: vec![],
        }));
        true
    }

    fn person(world: &mut World) -> bool {
        let Some(gate) = world.state.open_gates().next().cloned() else { return false };
        let code = gate.code.to_string();
        let _ = world.ask(Command::Answer { code, choice: "approve".into() });
        true
    }

    fn session(world: &mut World) -> bool {
        let Some(session) = world.state.session_named("PD-9").cloned() else { return false };
        if session.last_seq == 0 {
            world.comes_up("PD-9");
            return true;
        }
        let handed = world
            .state
            .line_of(session.id)
            .any(|prompt| matches!(prompt.state, crate::prompt::PromptState::Handed { .. }));
        if handed {
            // A holder is told again under the same id after a start.
            world.takes("PD-9");
            return true;
        }
        if session.turn.is_some() {
            world.finishes("PD-9", "nothing more");
            return true;
        }
        false
    }

    fn time(world: &mut World) -> bool {
        let sleeps = world.state.runs.open().any(|known| {
            known.run.steps().any(|(_, state)| {
                matches!(state, StepState::Running { .. } | StepState::Backoff { .. })
            })
        });
        if sleeps {
            world.wait(chrono::TimeDelta::minutes(11));
        }
        sleeps
    }
}

/// Runs it through, dying after these commits; how it ended, what was done and how many commits.
fn through(dies_after: &[usize]) -> (Vec<(String, String)>, Vec<String>, usize) {
    let mut world = World::new();
    world.knows(&[("everything", EVERYTHING), ("part", PART)]);
    let before = world.commits;
    world.dies_after = dies_after.iter().map(|commit| before + commit).collect();
    let start = super::super::world::start_run("everything", &[]);
    let _ = world.ask(Command::Run(start));
    let mut outside = Outside::default();
    for _ in 0..2_000 {
        if !outside.moves(&mut world) {
            break;
        }
    }
    let view = world.view("everything-1");
    let steps = view.steps.into_iter().map(|step| (step.step, step.state)).collect();
    assert_eq!(world.ended("everything-1"), "succeeded", "{steps:?} after {dies_after:?}");
    assert!(outside.flaked);
    outside.done.sort();
    let prompts = world.handed("PD-9").len();
    assert_eq!(prompts, 1, "the words went in once");
    (steps, outside.done, world.commits - before)
}

#[test]
fn a_daemon_that_dies_after_any_commit_changes_nothing() {
    let (steps, done, commits) = through(&[]);
    assert!(commits > 30, "{commits}");
    for commit in 1..=commits {
        let (other_steps, other_done, _) = through(&[commit]);
        assert_eq!(other_steps, steps, "after commit {commit}");
        assert_eq!(other_done, done, "after commit {commit}");
    }
    let often: Vec<_> = (1..200).step_by(3).collect();
    let (other_steps, other_done, _) = through(&often);
    assert_eq!((other_steps, other_done), (steps, done), "again and again");
}

#[test]
fn what_is_being_stopped_is_stopped_again_after_a_start_and_over_when_it_is() {
    let mut world = World::new();
    world.state.rules.workflows.host_steps = 2;
    world.knows(&[("everything", EVERYTHING), ("part", PART)]);
    let run = world.runs("everything", &[]);
    world.does(&run, "shell", "");
    world.ask(Command::CancelRun { name: run.clone() }).unwrap();
    let stopped = world.stopped.len();
    assert_eq!(stopped, 2, "one waited for room and is over at once");
    world.crash();
    assert_eq!(world.stopped.len(), stopped + 2);
    assert_eq!(world.ended(&run), "running");
    world.stops(&run, "http");
    world.stops(&run, "js");
    assert_eq!(world.ended(&run), "cancelled");
}

#[test]
fn after_a_start_the_runner_is_asked_what_became_of_each_step() {
    let mut world = World::new();
    world.knows(&[("everything", EVERYTHING), ("part", PART)]);
    let run = world.runs("everything", &[]);
    world.does(&run, "shell", "");
    let before = world.steps.len();
    world.crash();
    let asked: Vec<_> = world.steps[before..].iter().map(|o| o.step.to_string()).collect();
    assert_eq!(asked, ["http", "js", "agent"]);
    assert!(world.steps[before..].iter().all(|order| order.how == StepHow::Adopt));
}

#[test]
fn what_a_reset_left_behind_is_stopped_before_it_runs_again_also_over_a_start() {
    let text = "
name: back
steps:
  - {id: plan, shell: make plan}
  - {id: other, needs: [plan], shell: make}
  - {id: ok, needs: [plan], approval: {ask: Fine?, send_back: plan}}
";
    let mut world = World::new();
    world.knows(&[("back", text)]);
    let run = world.runs("back", &[]);
    world.does(&run, "plan", "first");
    let gate = world.gate_of(&run, "ok");
    let other = world.order_of(&run, "other");
    world.answers("owner", &gate, "back shorter").unwrap();
    assert_eq!(world.stopped, [(other.run, "other".to_owned(), 1)]);
    world.crash();
    assert_eq!(world.stopped.len(), 2, "nobody knows whether the first was heard");
    world.does(&run, "plan", "second");
    assert!(world.told_runner(&run).iter().filter(|told| told.starts_with("other")).count() == 1);
    world.stops(&run, "other");
    let gate = world.gate_of(&run, "ok");
    world.answers("owner", &gate, "approve").unwrap();
    assert_eq!(world.order_of(&run, "other").attempt, 2);
    world.does(&run, "other", "");
    assert_eq!(world.ended(&run), "succeeded");
}
