use chrono::TimeDelta;
use std::time::Duration;

use super::world::World;
use crate::{
    agent::AgentEvent,
    bridge::{CardState, SayError},
    delivery::DeliveryState,
    state::Sending,
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
fn what_may_have_arrived_before_a_crash_is_still_on_its_way() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.cut = true;
    w.finishes("PD-285", "Final answer A");
    let to = w.state.deliveries.values().next().unwrap().to.clone();
    let place = w.state.place_of(&to).unwrap();
    assert_eq!(w.state.sending_in(&place), Some(Sending::Now));
    w.cut = false;
    w.crash();
    assert_eq!(w.state.sending_in(&place), Some(Sending::InDoubt));
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.state.sending_in(&place), None);
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
    assert!(w.state.undelivered(w.now).iter().any(|it| it.words.contains("too strange")));
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

#[test]
fn a_thread_that_nobody_saw_made_is_made_under_its_own_key_and_no_other() {
    let mut w = World::new();
    w.cut = true; // the service makes it, and the daemon dies before it hears so
    w.start("PD-285");
    let roots = |w: &World| {
        let threads = w.state.deliveries.values().filter(|d| {
            matches!(d.what, crate::delivery::Outgoing::Thread { .. })
                && d.to.spot == crate::delivery::Spot::Main
        });
        threads.map(|d| d.id).collect::<Vec<_>>()
    };
    let made = roots(&w);
    assert_eq!(made.len(), 1);
    w.crash();
    w.doing("PD-285", crate::agent::Doing::Working);
    assert_eq!(roots(&w), made, "also when a start and its state would show it anew");
    w.cut = false;
    w.wait(TimeDelta::minutes(2));
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

#[test]
fn a_flood_limit_holds_everything_of_one_chat_and_nothing_of_another() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.pairs("mate", "1002", "1002");
    w.start("PD-285");
    w.wait(TimeDelta::minutes(1));
    w.failures.push_back(SayError::Later { after: Duration::from_secs(35) });
    w.report("PD-285", AgentEvent::Degraded { what: "the probe is slow".into() });
    w.wait(TimeDelta::seconds(1));
    let (silent, other) = if w.shows("1001").iter().any(|t| t.contains("slow")) {
        ("1002", "1001")
    } else {
        ("1001", "1002")
    };
    assert!(w.shows(other).iter().any(|text| text.contains("slow")), "the other chat goes on");
    let (tries, seen) = (w.tries, w.shows(silent).len());
    let message = w.telegram(silent, silent, None, "/help");
    w.wait(TimeDelta::seconds(30));
    assert!(!w.marks.contains_key(&message), "not even a receipt");
    assert_eq!((w.tries, w.shows(silent).len()), (tries, seen));
    w.wait(TimeDelta::seconds(10));
    assert!(w.marks.contains_key(&message));
    assert_eq!(w.shows(silent).iter().filter(|text| text.contains("slow")).count(), 1);
}

#[test]
fn an_answer_nobody_saw_arrive_is_never_said_a_third_time() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    w.wait(TimeDelta::minutes(1));
    let before = w.tries;
    w.failures.extend([SayError::InDoubt, SayError::InDoubt]);
    w.finishes("PD-285", "The rota is done.");
    w.wait(TimeDelta::hours(1));
    assert_eq!(w.tries, before + 2);
    assert!(
        w.state
            .undelivered(w.now)
            .iter()
            .any(|it| it.words.contains("not known whether it arrived"))
    );
    w.crash();
    w.wait(TimeDelta::hours(1));
    assert_eq!(w.tries, before + 2, "nor after a restart");
}

#[test]
fn two_hours_without_a_network_lose_nothing_and_the_card_comes_first() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    for name in ["PD-285", "PD-300", "PD-310"] {
        w.start(name);
    }
    w.wait(TimeDelta::minutes(1));
    let shown = w.shows("1001").len();
    let down =
        |w: &mut World| w.failures.push_back(SayError::Later { after: Duration::from_secs(20) });
    for step in 0..14 {
        down(&mut w);
        w.finishes(["PD-285", "PD-300", "PD-310"][step % 3], &format!("step {step} done"));
        for _ in 0..25 {
            down(&mut w);
            w.wait(TimeDelta::seconds(20));
        }
        if step == 7 {
            w.crash();
        }
    }
    let gate = w.asks_to_run("PD-300", "M3XA", "make deploy");
    assert_eq!(w.shows("1001").len(), shown, "nothing came through");
    w.failures.clear();
    w.wait(TimeDelta::minutes(2));
    let came = &w.shows("1001")[shown..];
    assert!(came[0].contains("make deploy"), "{came:?}");
    assert!(matches!(w.card_state(gate), CardState::Open));
    let steps: Vec<_> = came.iter().filter(|text| text.starts_with("step")).collect();
    let expected: Vec<_> = (0..14).map(|step| format!("step {step} done")).collect();
    assert_eq!(steps, expected.iter().collect::<Vec<_>>());
}
