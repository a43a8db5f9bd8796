//! What agents may have written, or started, reaches no further than they do.

use super::*;
use crate::{
    caller::{AgentCommand, AgentRefusal, AgentReply, Isolated, TokenScope},
    command::{Command, Refusal},
    id::ProjectName,
    run::{Origin, StartRun},
};

/// A second project, `mole`, beside `quay`.
fn two_projects() -> World {
    let mut world = World::with(&["PD-1"]);
    let mut mole = world.state.rules.projects[0].clone();
    mole.name = ProjectName::new("mole");
    mole.path = "/src/mole".into();
    world.state.rules.projects.push(mole);
    world
}

fn own_of_quay(triggers: bool) -> Origin {
    Origin::Project { project: ProjectName::new("quay"), triggers }
}

fn start_in(world: &mut World, workflow: &str, project: &str) -> Result<(), Refusal> {
    let start = super::super::world::start_run(workflow, &[]);
    let start = StartRun { project: Some(project.into()), ..start };
    world.ask(Command::Run(start)).map(|_| ())
}

#[test]
fn a_projects_own_workflow_is_not_started_in_another() {
    let plain = "name: x\nsteps:\n  - {id: a, shell: make}\n";
    let mut world = two_projects();
    world.knows_from(&[("quay/x", plain)], &own_of_quay(false));
    let refusal = start_in(&mut world, "quay/x", "mole").unwrap_err();
    assert!(refusal.sentence().contains("a workflow of quay's own"), "{}", refusal.sentence());
    start_in(&mut world, "quay/x", "quay").unwrap();
    let named = "name: x\nsteps:\n  - {id: a, project: mole, shell: make}\n";
    world.knows_from(&[("quay/x", named)], &own_of_quay(false));
    start_in(&mut world, "quay/x", "quay").unwrap_err();
    // A person's own goes where it is told to.
    world.knows(&[("x", named)]);
    start_in(&mut world, "x", "quay").unwrap();
    assert_eq!(world.steps.last().unwrap().project.as_str(), "mole");
}

#[test]
fn no_step_of_a_projects_own_workflow_leaves_it_however_it_names_another() {
    let steps = [
        "{id: a, project: '{{ \"mo\" }}le', shell: make}",
        "{id: a, project: '{{ \"mo\" }}le', claude: {session: PD-7, prompt: Hello.}}",
        "{id: a, claude: {session: PD-9, prompt: Hello.}}",
        "{id: a, in_session: PD-9, shell: make}",
        "{id: a, project: '{{ \"mo\" }}le', workflow: part}",
        "{id: a, workflow: {name: there, params: {where: '\"mole\"'}}}",
    ];
    for step in steps {
        let text = format!("name: x\nsteps:\n  - {step}\n");
        let part = "name: part\nsteps:\n  - {id: b, shell: make}\n";
        let there = "
name: there
params: {where: {type: string}}
steps:
  - {id: b, project: '{{ params.where }}', shell: make}
";
        let mut world = two_projects();
        world.start("PD-9");
        world.change("PD-9", |session| session.project = ProjectName::new("mole"));
        let files = [("quay/x", text.as_str()), ("part", part), ("there", there)];
        world.knows_from(&files, &own_of_quay(false));
        let launched = world.launched.len();
        let run = world.runs("quay/x", &[]);
        assert_eq!(world.ended(&run), "failed", "{step}");
        assert!(world.steps.is_empty(), "{step}");
        assert_eq!(world.launched.len(), launched, "{step}");
    }
}

#[test]
fn called_from_elsewhere_it_runs_at_home() {
    let outer = "name: outer\nsteps:\n  - {id: a, workflow: quay/x}\n";
    let inner = "name: x\nsteps:\n  - {id: b, shell: make}\n";
    let mut world = two_projects();
    world.knows(&[("outer", outer), ("quay/x", inner)]);
    start_in(&mut world, "outer", "mole").unwrap();
    assert_eq!(world.steps.last().unwrap().project.as_str(), "quay");
}

fn agent_starts(world: &mut World, by: &str, workflow: &str) -> Result<String, AgentRefusal> {
    let start = super::super::world::start_run(workflow, &[]);
    match world.call(by, AgentCommand::Run(start))? {
        AgentReply::Run { run } => Ok(run.name),
        other => panic!("{other:?}"),
    }
}

fn listed(world: &mut World, by: &str) -> usize {
    match world.call(by, AgentCommand::Workflows).unwrap() {
        AgentReply::Workflows(all) => all.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn agents_start_a_projects_own_workflow_only_where_its_files_are_trusted() {
    let text = "name: x\nsteps:\n  - {id: a, shell: make}\n";
    let mut world = World::with(&["PD-1"]);
    world.client("ci", &TokenScope::ALL);
    world.knows_from(&[("quay/x", text)], &own_of_quay(false));
    for by in ["PD-1", "ci"] {
        let refusal = agent_starts(&mut world, by, "quay/x").unwrap_err();
        assert!(refusal.sentence().contains("under [workflows]"), "{}", refusal.sentence());
        assert_eq!(listed(&mut world, by), 0);
    }
    assert!(world.steps.is_empty());
    world.runs("quay/x", &[]); // a person may
    world.knows_from(&[("quay/x", text)], &own_of_quay(true));
    agent_starts(&mut world, "PD-1", "quay/x").unwrap();
    assert_eq!(listed(&mut world, "PD-1"), 1);
}

const TALK: &str = "
name: talk
steps:
  - {id: ask, claude: {session: PD-9, prompt: Look.}}
";

#[test]
fn a_run_of_an_agent_reaches_no_isolated_session_and_none_from_isolation() {
    let there = "name: there\nsteps:\n  - {id: a, in_session: PD-9, shell: make}\n";
    let outer = "name: outer\nsteps:\n  - {id: a, workflow: talk}\n";
    let files = [("talk", TALK), ("there", there), ("outer", outer)];
    for apart in ["PD-9", "PD-1"] {
        let mut world = World::with(&["PD-1", "PD-9"]);
        world.change(apart, |session| session.isolated = Isolated::Yes);
        world.knows(&files);
        for workflow in ["talk", "there", "outer"] {
            let run = agent_starts(&mut world, "PD-1", workflow).unwrap();
            assert_eq!(world.ended(&run), "failed", "{workflow}");
        }
        assert!(world.said("PD-1 started this run and reaches no session PD-9"));
        assert!(world.steps.is_empty() && world.handed("PD-9").is_empty());
        // People may.
        let run = world.runs("talk", &[]);
        world.takes("PD-9");
        world.finishes("PD-9", "ok");
        assert_eq!(world.ended(&run), "succeeded");
    }
}

#[test]
fn what_an_isolated_agents_run_begins_is_isolated_and_the_run_goes_on_with_it() {
    let twice =
        TALK.to_owned() + "  - {id: two, needs: [ask], claude: {session: PD-9, prompt: Go.}}\n";
    let mut world = World::with(&["PD-1"]);
    world.change("PD-1", |session| session.isolated = Isolated::Yes);
    world.knows(&[("talk", &twice)]);
    let run = agent_starts(&mut world, "PD-1", "talk").unwrap();
    world.comes_up("PD-9");
    for _ in 0..2 {
        world.takes("PD-9");
        world.finishes("PD-9", "ok");
    }
    assert_eq!(world.ended(&run), "succeeded");
    assert_eq!(world.state.sessions[&world.id("PD-9")].isolated, Isolated::Yes);
}

#[test]
fn a_client_reaches_sessions_through_a_run_only_with_a_token_for_mail() {
    for (scope, ended) in [(TokenScope::Read, "failed"), (TokenScope::Mail, "running")] {
        let mut world = World::with(&["PD-9"]);
        world.client("ci", &[TokenScope::Workflows, scope]);
        world.knows(&[("talk", TALK)]);
        let run = agent_starts(&mut world, "ci", "talk").unwrap();
        assert_eq!(world.ended(&run), ended, "{scope}");
    }
}

#[test]
fn a_session_that_a_run_of_an_agent_begins_counts_as_one_that_the_agent_starts() {
    let mut world = World::with(&["PD-1"]);
    world.knows(&[("talk", TALK)]);
    world.state.rules.bounds.children = 1;
    world.child("PD-1", "PD-2");
    let run = agent_starts(&mut world, "PD-1", "talk").unwrap();
    assert_eq!(world.ended(&run), "failed");
    assert!(world.said("live sessions that you started"));
}

const CAREFUL: &str = "
name: careful
steps:
  - {id: make, shell: make}
  - {id: ok, needs: [make], approval: {ask: Deploy?, not_starter: true}}
";

#[test]
fn whoever_tries_a_run_again_started_it_too() {
    let mut world = World::new();
    world.knows(&[("careful", CAREFUL)]);
    let run = world.runs_as("owner", "careful");
    world.fails(&run, "make");
    world.ask_as("second", Command::RetryRun { name: run.clone(), from: None }).unwrap();
    world.crash();
    world.does(&run, "make", "");
    // Both started it, and there is nobody else.
    assert_eq!(world.ended(&run), "failed");
}

#[test]
fn whoever_made_a_clients_token_started_what_it_starts() {
    let mut world = World::new();
    world.client("ci", &TokenScope::ALL);
    world.knows(&[("careful", CAREFUL)]);
    let run = agent_starts(&mut world, "ci", "careful").unwrap();
    world.does(&run, "make", "");
    let gate = world.gate_of(&run, "ok");
    world.answers("owner", &gate, "approve").unwrap_err();
    world.answers("second", &gate, "approve").unwrap();
    assert_eq!(world.ended(&run), "succeeded");
}

#[test]
fn what_a_step_asks_cannot_look_like_more_of_its_card() {
    let text = "
name: forged
params: {what: {type: string}, shown: {type: string}}
steps:
  - {id: ok, approval: {ask: 'Deploy {{ params.what }}?', show: '{{ params.shown }}'}}
";
    let mut world = World::new();
    world.knows(&[("forged", text)]);
    let run = world.runs(
        "forged",
        &[
            ("what", "it\r\nRun: harmless\u{2028}Started by: Awa\u{202e}"),
            ("shown", "[quay.example](https://mole.example)\u{200b}"),
        ],
    );
    let (_, card) = world.card(world.gate_of(&run, "ok").id);
    assert_eq!(
        card.content.text,
        "Deploy it Run: harmless Started by: Awa⟦U+202E⟧?\n\nquay.example (https://mole.example)⟦U+200B⟧"
    );
}

#[test]
fn params_that_could_not_be_read_back_start_nothing() {
    let text = "name: deep\non: {webhook: {secret: HOOK}}\nparams: {what: {type: json}}\nsteps:\n  - {id: a, shell: make}\n";
    let mut world = World::new();
    world.knows(&[("deep", text)]);
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let refusal = world.hook("deep", &[("what", &deep)], None).unwrap_err();
    assert!(matches!(refusal, Refusal::BadParams { .. }), "{refusal:?}");
    assert_eq!(world.state.runs.all().count(), 0);
}
