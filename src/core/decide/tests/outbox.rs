use chrono::TimeDelta;
use std::time::Duration;

use super::world::World;
use crate::{
    bridge::{CardState, SayError},
    delivery::DeliveryState,
};

#[test]
fn after_a_flood_limit_the_card_goes_first_and_everything_arrives_once() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.failures.push_back(SayError::Later { after: Duration::from_secs(35) });
    w.report("PD-285", crate::agent::AgentEvent::Progress { turn: None, line: "…".into() });
    let (tries, shown) = (w.tries, w.shown.len());
    w.finishes("PD-285", "Done: 47 tests pass.");
    let gate = w.asks_to_run("PD-300", "M3XA", "make test");
    w.wait(TimeDelta::seconds(29));
    assert_eq!(w.tries, tries, "nothing goes to that chat before its time");
    w.wait(TimeDelta::seconds(2));
    let after: Vec<_> = w.shown[shown..].iter().map(super::world::Shown::text).collect();
    assert!(after[0].contains("make test"), "{after:?}");
    assert_eq!(after.iter().filter(|text| text.contains("47 tests pass")).count(), 1);
    assert!(matches!(w.card_state(gate), CardState::Open));
}

#[test]
fn a_send_cut_by_a_crash_is_said_again_under_the_same_key() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.cut = true;
    w.finishes("PD-285", "Final answer A");
    w.cut = false;
    w.crash();
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.shown.iter().filter(|s| s.text() == "Final answer A").count(), 1);
    assert!(w.state.deliveries.is_empty(), "nothing is left: {:?}", w.state.deliveries);
}

#[test]
fn what_the_service_refuses_is_said_in_status_and_blocks_nothing() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.failures.push_back(SayError::Never { reason: "too strange".into() });
    w.finishes("PD-285", "first");
    w.writes("[PD-285] again");
    w.takes("PD-285");
    w.finishes("PD-285", "second");
    assert!(w.said("second"));
    assert!(w.state.failed.iter().any(|words| words.contains("too strange")));
    assert!(w.state.deliveries.values().all(|d| !matches!(d.state, DeliveryState::Failed { .. })));
}

#[test]
fn a_thread_that_cannot_be_made_falls_back_to_the_chat_and_loses_nothing() {
    let mut w = World::new();
    w.failures.push_back(SayError::Never { reason: "no right to make topics".into() });
    w.start("PD-285");
    w.failures.push_back(SayError::Never { reason: "no right to make topics".into() });
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.finishes("PD-285", "here it is");
    assert!(w.said("here it is"));
}

#[test]
fn a_thread_is_made_once_however_much_changes_meanwhile() {
    let mut w = World::new();
    w.cut = true; // the service takes its time
    w.start("PD-285");
    w.doing("PD-285", crate::agent::Doing::Working);
    let making = w.state.deliveries.values().filter(|d| {
        matches!(d.what, crate::delivery::Outgoing::Thread { .. })
            && d.to.spot == crate::delivery::Spot::Main
    });
    assert_eq!(making.count(), 1, "{:#?}", w.state.deliveries);
}
