use chrono::TimeDelta;

use super::*;
use crate::{
    bridge::Level,
    command::Refusal,
    id::ProjectName,
    run::{Origin, Starter},
};

fn nightly(catch_up: &str) -> String {
    format!(
        "
name: nightly
on: {{cron: ['0 * * * *'], catch_up: {catch_up}}}
limits: {{concurrency: 100}}
steps:
  - {{id: a, shell: 'true'}}
"
    )
}

/// At ten minutes past a full hour.
fn at_ten_past() -> World {
    let mut world = World::new();
    let past = world.now.timestamp() % 3600;
    world.wait(TimeDelta::seconds(3600 - past + 600));
    world
}

fn slots(world: &World) -> Vec<i64> {
    let slot = |known: &crate::run::KnownRun| match known.row.starter {
        Starter::Cron { slot } => slot.timestamp() % 86_400 / 3600,
        _ => panic!("nobody else starts it"),
    };
    world.state.runs.all().map(slot).collect()
}

#[test]
fn each_slot_starts_one_run_and_none_before_the_workflow_was_first_seen() {
    let mut world = at_ten_past();
    world.knows(&[("nightly", &nightly("latest"))]);
    assert!(slots(&world).is_empty());
    world.wait(TimeDelta::minutes(49));
    assert!(slots(&world).is_empty());
    world.wait(TimeDelta::minutes(2));
    assert_eq!(slots(&world).len(), 1);
    world.crash();
    world.knows(&[("nightly", &nightly("latest"))]);
    assert_eq!(slots(&world).len(), 1, "one a slot, ever");
    world.wait(TimeDelta::hours(3));
    let all = slots(&world);
    assert_eq!(all.len(), 4);
    assert!(all.windows(2).all(|two| (two[0] + 1) % 24 == two[1]), "{all:?}");
}

#[test]
fn what_passed_while_nobody_was_there_is_made_up_as_the_workflow_says() {
    for (policy, runs) in [("skip", 0), ("latest", 1), ("all", 5)] {
        let mut world = at_ten_past();
        let text = nightly(policy);
        world.knows(&[("nightly", &text)]);
        world.now += TimeDelta::hours(5);
        world.crash();
        assert_eq!(slots(&world).len(), runs, "{policy}");
        world.wait(TimeDelta::hours(1));
        assert_eq!(slots(&world).len(), runs + 1, "{policy}: then it goes on");
    }
}

#[test]
fn a_year_that_passed_or_a_clock_that_jumped_starts_a_bounded_number() {
    let mut world = at_ten_past();
    world.state.rules.workflows.runs = 1000;
    let text = nightly("all");
    world.knows(&[("nightly", &text)]);
    world.now += TimeDelta::days(400);
    world.wait(TimeDelta::zero());
    assert_eq!(slots(&world).len(), 24);
    // Set back again: nothing runs twice, and it is not silent for a year.
    world.now -= TimeDelta::days(400);
    world.step_tick();
    assert_eq!(slots(&world).len(), 24);
    world.wait(TimeDelta::hours(2));
    assert_eq!(slots(&world).len(), 26);
}

#[test]
fn a_clock_set_back_an_hour_does_not_run_that_hour_again() {
    let mut world = at_ten_past();
    let text = nightly("latest");
    world.knows(&[("nightly", &text)]);
    world.wait(TimeDelta::hours(1));
    assert_eq!(slots(&world).len(), 1);
    world.now -= TimeDelta::hours(1);
    world.wait(TimeDelta::minutes(55));
    assert_eq!(slots(&world).len(), 1);
}

#[test]
fn a_schedule_that_is_changed_begins_anew() {
    let mut world = at_ten_past();
    world.knows(&[("nightly", &nightly("latest"))]);
    world.wait(TimeDelta::hours(1));
    assert_eq!(slots(&world).len(), 1);
    let other = nightly("latest").replace("0 * * * *", "5 * * * *");
    world.knows(&[("nightly", &other)]);
    assert_eq!(slots(&world).len(), 1, "five past is over");
    world.wait(TimeDelta::hours(1));
    assert_eq!(slots(&world).len(), 2);
}

#[test]
fn a_projects_own_triggers_count_only_where_a_person_said_so() {
    for (triggers, runs) in [(false, 0), (true, 1)] {
        let mut world = at_ten_past();
        let origin = Origin::Project { project: ProjectName::new("quay"), triggers };
        world.knows_from(&[("quay/nightly", &nightly("latest"))], &origin);
        world.wait(TimeDelta::hours(1));
        assert_eq!(world.state.runs.all().count(), runs);
    }
}

#[test]
fn a_schedule_that_cannot_start_says_so() {
    let text = "
name: needy
on: {cron: ['0 * * * *']}
params: {who: {type: string}}
steps:
  - {id: a, shell: 'true'}
";
    let (workflow, _) = vigie_workflow::parse(text.as_bytes(), &|_| Err(String::new()));
    if workflow.is_none() {
        return; // the file is refused before it comes to that
    }
    let mut world = at_ten_past();
    world.knows(&[("needy", text)]);
    world.wait(TimeDelta::hours(1));
    assert_eq!(world.level_of("needy should have run by its schedule"), Level::Ring);
}

const HOOKED: &str = "
name: deploy
on: {webhook: {secret: HOOK}}
params: {target: {enum: [staging, prod], default: staging}}
limits: {concurrency: 200}
steps:
  - {id: a, shell: 'true'}
";

#[test]
fn a_webhook_with_a_key_starts_one_run_and_other_params_are_refused() {
    let mut world = World::new();
    world.knows(&[("deploy", HOOKED)]);
    assert_eq!(world.hook("deploy", &[], Some("k1")).unwrap(), "deploy-1");
    assert_eq!(world.hook("deploy", &[], Some("k1")).unwrap(), "deploy-1");
    assert_eq!(world.hook("deploy", &[("target", "staging")], Some("k1")).unwrap(), "deploy-1");
    let other = world.hook("deploy", &[("target", "prod")], Some("k1")).unwrap_err();
    assert!(matches!(other, Refusal::OtherKey { ref run, .. } if run == "deploy-1"), "{other:?}");
    world.crash();
    assert_eq!(world.hook("deploy", &[], Some("k1")).unwrap(), "deploy-1");
    assert_eq!(world.hook("deploy", &[], None).unwrap(), "deploy-2");
    assert_eq!(world.hook("deploy", &[], None).unwrap(), "deploy-3", "without a key each is new");
    let bad = world.hook("deploy", &[("target", "moon")], None).unwrap_err();
    assert!(matches!(bad, Refusal::BadParams { .. }), "{bad:?}");
}

#[test]
fn webhooks_start_so_many_runs_a_minute() {
    let mut world = World::new();
    world.knows(&[("deploy", HOOKED)]);
    for _ in 0..60 {
        world.hook("deploy", &[], None).unwrap();
    }
    let refusal = world.hook("deploy", &[], None).unwrap_err();
    assert!(matches!(refusal, Refusal::TooOften { retry_after: 60, .. }), "{refusal:?}");
    world.wait(TimeDelta::seconds(61));
    world.hook("deploy", &[], None).unwrap();
}

#[test]
fn what_has_no_webhook_is_not_started_by_one() {
    let mut world = World::new();
    world.knows(&[("nightly", &nightly("latest"))]);
    assert!(matches!(world.hook("nightly", &[], None), Err(Refusal::NotRun(_))));
    assert!(matches!(world.hook("nothing", &[], None), Err(Refusal::NoWorkflow { .. })));
}

#[test]
fn what_its_schedule_began_is_silent_unless_it_fails() {
    for (fails, level) in [(false, Level::Log), (true, Level::Ring)] {
        let mut world = at_ten_past();
        world.knows(&[("nightly", &nightly("skip"))]);
        world.wait(TimeDelta::hours(1));
        if fails {
            world.fails("nightly-1", "a");
        } else {
            world.does("nightly-1", "a", "");
        }
        assert_eq!(world.level_of("nightly-1"), level, "{:?}", world.last());
    }
}
