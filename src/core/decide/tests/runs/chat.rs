use super::*;
use crate::bridge::Body;

const DEPLOY: &str = "
name: deploy
title: Deploy the site
params:
  target: {enum: [staging, prod]}
  dry: {type: boolean}
  count: {type: integer, maximum: 5}
  note: {default: none}
steps:
  - {id: a, shell: ./deploy.sh}
";

#[test]
fn a_run_is_started_by_words_with_all_its_params() {
    let mut world = World::new();
    world.knows(&[("deploy", DEPLOY)]);
    world.writes("/run deploy target=prod dry=false count=2 note=\"before noon\"");
    assert!(world.said("deploy-1 starts."), "{:?}", world.shown);
    let params = world.view("deploy-1").params;
    assert_eq!(params["note"], "before noon");
    assert_eq!(world.view("deploy-1").started_by, "Inès Caradec");
    world.writes("/run deploy tagret=prod target=prod dry=false count=2");
    assert!(world.said("did you mean target? vigie"), "{:?}", world.last());
    world.writes("/run deploy tagret=prod");
    assert!(world.last().buttons().is_empty(), "a slip is no question: {:?}", world.last());
}

#[test]
fn what_is_missing_is_asked_one_after_the_other_each_below_the_last() {
    let mut world = World::new();
    world.knows(&[("deploy", DEPLOY)]);
    world.writes("/run");
    let first = world.last().message.clone();
    assert!(world.said("Deploy the site"));
    world.taps("deploy");
    assert_eq!(world.last().text(), "deploy: target? 1 of 3.");
    world.taps("prod");
    world.now += chrono::TimeDelta::seconds(5);
    world.writes("No");
    assert_eq!(world.last().text(), "deploy: count? (5 or less) 3 of 3. Write it here.");
    let asked = world.last().message.clone();
    let wrong = world.replies(&asked, "9");
    assert!(world.refused(&wrong).contains("more than 5"));
    world.replies(&asked, "3");
    let sum = "deploy: start it?\ntarget: prod\ndry: no\ncount: 3\nnote: none (the default)\nin the project quay";
    assert_eq!(world.last().text(), sum);
    for shown in world.shown.iter().filter(|shown| shown.message != world.last().message) {
        assert!(shown.buttons().is_empty(), "only the last one asks: {shown:?}");
    }
    assert!(world.said("deploy: count: 3") && world.said("deploy: target: prod"));
    world.taps("Change note");
    world.now += chrono::TimeDelta::seconds(5);
    world.writes("before noon");
    assert!(world.said("note: before noon\nin the project"), "{:?}", world.last());
    let last = world.last().message.clone();
    assert_ne!(last, first);
    assert_eq!(world.taps("Start"), "deploy-1 starts.");
    let form = world.shown.iter().find(|shown| shown.message == last).unwrap();
    assert_eq!(form.text(), "deploy-1 starts.");
    assert!(form.buttons().is_empty());
    assert_eq!(world.view("deploy-1").params["dry"], false);
}

#[test]
fn words_that_go_nowhere_else_answer_the_one_form_that_waits_for_words() {
    let mut world = World::new();
    world.knows(&[("deploy", DEPLOY)]);
    world.writes("/run deploy target=prod dry=false");
    world.now += chrono::TimeDelta::seconds(5);
    world.writes("3");
    assert!(world.said("dry: false\ncount: 3"), "{:?}", world.shown);
    world.writes("4 more");
    assert!(world.said("Where should it go?"), "nothing is asked any more: {:?}", world.shown);
    world.writes("/run deploy target=prod dry=false");
    world.writes("/run deploy target=staging dry=false");
    world.now += chrono::TimeDelta::seconds(5);
    world.writes("5");
    assert!(!world.said("count: 5"), "nobody knows which of two is meant: {:?}", world.shown);
}

#[test]
fn a_list_of_workflows_has_an_end() {
    let mut world = World::new();
    let names: Vec<_> = (10..30).map(|number| format!("w{number}")).collect();
    let texts: Vec<_> =
        names.iter().map(|name| format!("name: {name}\nsteps: [{{id: a, shell: ls}}]\n")).collect();
    let all = names.iter().map(String::as_str).zip(texts.iter().map(String::as_str));
    world.knows(&all.collect::<Vec<_>>());
    world.writes("/run");
    assert_eq!(world.last().buttons().len(), 13, "{:?}", world.last());
    assert!(world.said("and 8 more"), "{:?}", world.last());
}

#[test]
fn a_form_that_ended_with_the_daemon_says_so() {
    let mut world = World::new();
    world.knows(&[("deploy", DEPLOY)]);
    world.writes("/run deploy");
    world.crash();
    assert!(world.taps("prod").contains("no longer known here"));
}

#[test]
fn one_message_shows_how_a_run_goes_and_another_how_it_ended() {
    let text = "
name: chain
steps:
  - {id: a, shell: echo one}
  - {id: b, needs: [a], shell: echo two}
";
    let mut world = World::new();
    world.knows(&[("chain", text)]);
    world.writes("/run chain");
    world.wait(chrono::TimeDelta::seconds(3));
    let progress = |world: &World| {
        let all = world.shown.iter().filter(|s| matches!(s.post.body, Body::Progress(_)));
        all.map(super::super::world::Shown::text).collect::<Vec<_>>()
    };
    assert_eq!(progress(&world).len(), 1);
    assert!(progress(&world)[0].contains("chain-1 runs since"), "{:?}", progress(&world));
    world.does("chain-1", "a", "");
    world.wait(chrono::TimeDelta::seconds(3));
    world.crash();
    world.does("chain-1", "b", "");
    assert_eq!(progress(&world), ["chain-1 succeeded after 6 s"]);
    assert!(world.said("chain-1 succeeded after 6 s."));
    world.writes("/runs");
    assert!(world.last().text().contains("chain-1 succeeded after 6 s"));
}

#[test]
fn runs_are_cancelled_and_tried_again_by_their_name() {
    let text = "
name: chain
steps:
  - {id: a, shell: echo one}
  - {id: b, needs: [a], shell: echo two}
";
    let mut world = World::new();
    world.knows(&[("chain", text)]);
    world.writes("/run chain");
    world.writes("/cancel");
    assert_eq!(world.last().text(), "Cancel chain-1?");
    assert_eq!(world.taps("Cancel chain-1"), "Stopping chain-1.");
    world.stops("chain-1", "a");
    assert!(world.said("chain-1 was cancelled by Inès Caradec after"), "{:?}", world.last());
    world.writes("/cancel chain-1");
    assert_eq!(world.last().text(), "chain-1 is over already.", "a name is written as it is");
    world.writes("/retry chain-1");
    world.does("chain-1", "a", "");
    world.does("chain-1", "b", "");
    world.writes("/retry chain-1 b");
    assert_eq!(world.at_work(), ["chain-1 b"]);
    world.writes("/cancel chain-7");
    assert!(world.said("No run is called chain-7"), "{:?}", world.last());
}

#[test]
fn whoever_may_only_look_starts_nothing() {
    let mut world = World::new();
    world.state.rules.people.get_mut(&crate::id::HumanId::new("mate")).unwrap().role =
        crate::state::Role::Viewer;
    world.knows(&[("deploy", DEPLOY)]);
    world.writes_as("mate", &super::super::world::main_chat(), "/run deploy", None);
    assert_eq!(world.state.runs.all().count(), 0);
}

#[test]
fn a_question_of_a_run_also_comes_where_it_was_started() {
    let text = "
name: release
steps:
  - {id: ok, approval: Deploy?}
";
    let mut world = World::on_telegram();
    world.knows(&[("release", text)]);
    world.pairs("owner", "1001", "1001");
    world.telegram("1001", "1001", None, "/run release");
    let shows = world.shows("1001");
    assert!(
        shows.iter().any(|text| text.contains("release-1 asks for approval (ok)")),
        "{shows:?}"
    );
    world.now += chrono::TimeDelta::seconds(5);
    world.taps("Approve");
    assert_eq!(world.ended("release-1"), "succeeded");
    assert_eq!(world.shows("1001").iter().filter(|text| text.contains("asks for")).count(), 1);
}

#[test]
fn a_run_that_waits_says_for_whom_or_for_what() {
    let text = "
name: release
steps:
  - {id: ok, approval: Deploy?}
  - {id: deploy, needs: [ok], shell: ./deploy.sh}
";
    let mut world = World::new();
    world.knows(&[("release", text)]);
    world.writes("/run release");
    world.writes("/run release");
    assert!(world.said("release-2 waits until release-1 is over."), "{:?}", world.last());
    world.writes("/run release");
    assert!(world.said("release-3 waits until release-1, release-2 are over."));
    world.wait(chrono::TimeDelta::minutes(9));
    let code = world.gate_of("release-1", "ok").code;
    let progress = |world: &World, name: &str| {
        let all = world.shown.iter().filter(|s| matches!(s.post.body, Body::Progress(_)));
        let texts = all.map(super::super::world::Shown::text);
        texts.filter(|text| text.starts_with(name)).collect::<Vec<_>>().join("|")
    };
    assert!(
        progress(&world, "release-1")
            .starts_with(&format!("release-1 waits for you: {code}\n? ok")),
        "{}",
        progress(&world, "release-1")
    );
    let queued = progress(&world, "release-2");
    assert!(!queued.contains('✓') && queued.contains("◌ ok"), "{queued}");
    world.writes("/runs");
    assert!(world.last().text().contains(&format!("release-1 waits for you: {code}")));
    world.writes(&format!("deny {code}"));
    world.wait(chrono::TimeDelta::seconds(4));
    assert!(progress(&world, "release-3").starts_with("release-3 waits until release-2 is over"));
    let code = world.gate_of("release-2", "ok").code;
    world.writes(&format!("approve {code}"));
    world.wait(chrono::TimeDelta::seconds(4));
    let again = progress(&world, "release-2");
    assert!(
        again.starts_with("release-2 runs since 5 s"),
        "without its nine minutes in line: {again}"
    );
}
