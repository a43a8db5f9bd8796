//! What agents may have written, or started, reaches no further than they do.

use super::*;
use crate::{
    caller::{AgentCommand, AgentRefusal, AgentReply, TokenScope},
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
