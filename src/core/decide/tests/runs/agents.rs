use super::*;
use crate::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Standing, TokenScope},
    command::Refusal,
    run::StartRun,
};

const WORK: &str = "
name: work
limits: {concurrency: 100}
steps:
  - {id: a, shell: make}
";

fn start(world: &mut World, by: &str) -> Result<String, AgentRefusal> {
    start_with(world, by, None)
}

fn start_with(world: &mut World, by: &str, key: Option<&str>) -> Result<String, AgentRefusal> {
    let start = super::super::world::start_run("work", &[]);
    let start = StartRun { key: key.map(str::to_owned), ..start };
    match world.call(by, AgentCommand::Run(start))? {
        AgentReply::Run { run } => Ok(run.name),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_agent_starts_a_run_waits_for_it_and_gets_its_result() {
    let mut world = World::with(&["PD-1"]);
    world.knows(&[("work", WORK)]);
    let run = start(&mut world, "PD-1").unwrap();
    assert_eq!(world.view(&run).started_by, "PD-1");
    let wait = AgentCommand::WaitForRun { name: run.clone() };
    let AgentReply::Ticket(first) = world.call("PD-1", wait.clone()).unwrap() else { panic!() };
    assert!(
        matches!(first.standing, Standing::Waiting { ref words } if words.contains("runs since"))
    );
    let AgentReply::Ticket(same) = world.call("PD-1", wait).unwrap() else { panic!() };
    assert_eq!(same.ticket.id, first.ticket.id);
    world.crash();
    world.does(&run, "a", "made");
    let look = AgentCommand::Look { ticket: first.ticket.id };
    let AgentReply::Ticket(over) = world.call("PD-1", look).unwrap() else { panic!() };
    let Standing::Run { run: view } = over.standing else { panic!("{over:?}") };
    assert_eq!(view.steps[0].text, "made");
    assert!(
        matches!(world.call("PD-1", AgentCommand::Workflows).unwrap(), AgentReply::Workflows(all) if all.len() == 1)
    );
}

#[test]
fn an_agent_cancels_what_it_or_its_tree_started_and_nothing_else() {
    let mut world = World::with(&["PD-1", "PD-2"]);
    world.knows(&[("work", WORK)]);
    world.child("PD-1", "PD-3");
    let own = start(&mut world, "PD-3").unwrap();
    let person = world.runs("work", &[]);
    let cancel = |name: &str| AgentCommand::CancelRun { name: name.into() };
    let other = world.call("PD-2", cancel(&own)).unwrap_err();
    assert!(matches!(other, AgentRefusal::NotYourRun { .. }), "{other:?}");
    assert!(matches!(world.call("PD-1", cancel(&person)), Err(AgentRefusal::NotYourRun { .. })));
    world.call("PD-1", cancel(&own)).unwrap();
    assert_eq!(world.stopped.len(), 1);
    // Whoever works in the same project may look.
    world.call("PD-2", AgentCommand::ShowRun { name: own }).unwrap();
}

#[test]
fn bounds_hold_for_runs_and_for_what_they_start() {
    let mut world = World::with(&["PD-1"]);
    world.knows(&[("work", WORK)]);
    world.child("PD-1", "PD-2");
    world.child("PD-2", "PD-3");
    let refusal = start(&mut world, "PD-3").unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Bound { bound: "depth", .. }), "{refusal:?}");
    world.state.rules.bounds.starts_a_minute = 2;
    start(&mut world, "PD-1").unwrap();
    start(&mut world, "PD-1").unwrap();
    let refusal = start(&mut world, "PD-1").unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Bound { .. }), "{refusal:?}");
    world.wait(chrono::TimeDelta::seconds(61));
    start(&mut world, "PD-1").unwrap();
}

#[test]
fn a_session_that_a_run_of_an_agent_starts_stands_below_that_agent() {
    let talk = "
name: talk
steps:
  - {id: ask, claude: {session: PD-9, prompt: Look.}}
";
    let mut world = World::with(&["PD-1"]);
    world.knows(&[("talk", talk)]);
    world.child("PD-1", "PD-2");
    let start = super::super::world::start_run("talk", &[]);
    world.call("PD-2", AgentCommand::Run(start)).unwrap();
    let spawn = world.state.sessions[&world.id("PD-9")].spawn.clone().unwrap();
    assert_eq!(spawn.depth, 2);
    assert_eq!(world.state.principal_name(&spawn.root), "PD-1");
}

#[test]
fn the_same_key_starts_one_run_and_anothers_key_is_no_business_of_ours() {
    let mut world = World::with(&["PD-1", "PD-2"]);
    world.knows(&[("work", WORK)]);
    assert_eq!(start_with(&mut world, "PD-1", Some("k")).unwrap(), "work-1");
    assert_eq!(start_with(&mut world, "PD-1", Some("k")).unwrap(), "work-1");
    let refusal = start_with(&mut world, "PD-2", Some("k")).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Same(Refusal::OtherKey { .. })), "{refusal:?}");
}

#[test]
fn a_client_needs_a_token_for_that() {
    let mut world = World::new();
    world.client("reader", &[TokenScope::Read]);
    world.knows(&[("work", WORK)]);
    let refusal = start(&mut world, "reader").unwrap_err();
    assert!(matches!(refusal, AgentRefusal::NoScope(TokenScope::Workflows)), "{refusal:?}");
}
