//! Sessions that give no sign, and those that only seem to.

use chrono::TimeDelta;

use super::world::{World, main_chat};
use crate::{
    agent::{AgentEvent, OrderKind, Running, Settled},
    bridge::{Body, Level},
};

fn works() -> World {
    let mut w = World::with(&["PD-285"]);
    w.state.rules.ringing.stuck_after = Some(TimeDelta::minutes(10));
    w.writes("[PD-285] run the tests");
    w.takes("PD-285");
    w
}

fn is_silent(w: &mut World, running: Option<&str>) {
    let running = running.map(|name| Running { name: name.into(), since: w.now });
    w.report("PD-285", AgentEvent::Silent { since: w.now, running, call: None });
}

fn told(w: &World) -> Vec<String> {
    let texts = w.shown.iter().map(super::world::Shown::text);
    texts.filter(|text| text.contains("gives no sign")).collect()
}

#[test]
fn a_session_that_gives_no_sign_is_told_of_once_with_the_reason() {
    let mut w = works();
    let line = "Bash: npm test".to_owned();
    w.report("PD-285", AgentEvent::Progress { turn: None, line });
    w.now += TimeDelta::seconds(1);
    is_silent(&mut w, Some("npm"));
    w.wait(TimeDelta::minutes(9));
    assert!(told(&w).is_empty());
    w.crash();
    w.wait(TimeDelta::minutes(2));
    let said = "PD-285 gives no sign: npm (Bash: npm test) runs for 10 min and has done nothing for 10 min. /screen PD-285 shows its terminal.";
    assert_eq!(told(&w), [said]);
    assert_eq!(w.level_of("gives no sign"), Level::Ring);
    w.crash();
    w.wait(TimeDelta::hours(3));
    assert_eq!(told(&w).len(), 1, "once");

    w.report("PD-285", AgentEvent::Stirs);
    assert!(w.said("PD-285 goes on, after 3 h"));
    assert_eq!(w.level_of("goes on, after"), Level::Note);
    is_silent(&mut w, None);
    w.wait(TimeDelta::minutes(11));
    assert_eq!(told(&w).len(), 2, "and anew when it happens anew");
    assert!(told(&w)[1].contains("it has waited for its model for 10 min"), "{:?}", told(&w));
}

#[test]
fn who_waited_for_a_person_gives_a_sign_again_from_the_answer_on() {
    let mut w = works();
    is_silent(&mut w, None);
    w.asks_to_run("PD-285", "r-1", "npm publish");
    w.wait(TimeDelta::minutes(25));
    w.writes("approve");
    w.wait(TimeDelta::minutes(9));
    assert!(told(&w).is_empty(), "it was a person who took their time");
    w.wait(TimeDelta::minutes(2));
    assert_eq!(told(&w).len(), 1);
}

#[test]
fn a_server_of_the_agents_own_is_no_command_that_runs() {
    let mut w = World::with(&["PD-285"]);
    w.state.rules.ringing.stuck_after = Some(TimeDelta::minutes(10));
    is_silent(&mut w, Some("mcp-server"));
    w.now += TimeDelta::hours(1);
    w.writes("[PD-285] think");
    w.takes("PD-285");
    w.wait(TimeDelta::minutes(11));
    assert_eq!(told(&w).len(), 1);
    assert!(told(&w)[0].contains("nothing runs"), "{:?}", told(&w));
}

#[test]
fn a_tool_without_a_program_is_named_as_what_it_is() {
    let mut w = works();
    let line = "WebFetch: https://example.org".to_owned();
    w.report("PD-285", AgentEvent::Progress { turn: None, line });
    let call = Some(w.now);
    w.report("PD-285", AgentEvent::Silent { since: w.now, running: None, call });
    w.wait(TimeDelta::minutes(11));
    let said = "WebFetch: https://example.org runs for 10 min and shows nothing of it.";
    assert!(told(&w)[0].contains(said), "{:?}", told(&w));
}

#[test]
fn whoever_is_busy_idle_or_waits_for_a_person_is_not_stuck() {
    let mut w = works();
    w.wait(TimeDelta::hours(2)); // a command that works, as far as its holder says
    assert!(told(&w).is_empty());

    let gate = w.asks_to_run("PD-285", "r1", "make");
    is_silent(&mut w, None);
    w.wait(TimeDelta::hours(2));
    assert!(told(&w).is_empty(), "it waits for a person");
    let words = format!("approve {}", w.state.gates[&gate].code);
    w.writes(&words);
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::minutes(9));
    assert!(told(&w).is_empty(), "its time begins with the answer");
    w.finishes("PD-285", "Done.");
    w.wait(TimeDelta::hours(2));
    assert!(told(&w).is_empty(), "it is idle");
}

#[test]
fn a_session_that_ends_its_turn_says_no_more_than_that() {
    let mut w = works();
    is_silent(&mut w, None);
    w.wait(TimeDelta::minutes(11));
    assert_eq!(told(&w).len(), 1);
    w.finishes("PD-285", "Done.");
    assert!(!w.said("goes on, after"));
    w.state.rules.ringing.stuck_after = None;
    w.writes("[PD-285] again");
    w.takes("PD-285");
    w.wait(TimeDelta::hours(1));
    assert_eq!(told(&w).len(), 1, "nobody wants to know");
}

#[test]
fn the_case_of_a_laptop_that_sleeps() {
    let mut w = works();
    let line = "Bash: make".to_owned();
    w.report("PD-285", AgentEvent::Progress { turn: None, line });
    w.wait(TimeDelta::seconds(58));
    is_silent(&mut w, None);
    w.wait(TimeDelta::seconds(2));
    w.now += TimeDelta::hours(5); // and nothing ticked meanwhile
    w.wait(TimeDelta::seconds(65));
    assert!(told(&w).is_empty(), "{:?}", told(&w));
    let progress = w.shown.iter().rfind(|s| matches!(s.post.body, Body::Progress(_))).unwrap();
    let message = progress.message.clone();
    w.writes_as("owner", &main_chat(), "/stop", Some(message));
    let stops = |(_, order): &&(_, crate::agent::Order)| order.what == OrderKind::Interrupt;
    assert_eq!(w.orders.iter().filter(stops).count(), 1, "the turn that is there");
    w.wait(TimeDelta::minutes(11));
    assert_eq!(told(&w).len(), 1, "and its silence counts from then on");
}
