//! What all chats of one service share.

use chrono::TimeDelta;
use proptest::prelude::*;
use std::time::Duration;

use super::world::{World, matrix};
use crate::{
    agent::{AgentEvent, Doing, Settled},
    bridge::{Body, Level, SayError},
    delivery::{DeliveryState, Rank},
    id::GateId,
};

const ROOMS: [&str; 4] = ["!a:example.org", "!b:example.org", "!c:example.org", "!d:example.org"];
const CALLS: usize = 10;
const EACH: TimeDelta = TimeDelta::seconds(5);

/// Four rooms of one account, which bears ten calls at once and then one each five seconds.
fn rooms() -> World {
    let mut w = World::on_telegram();
    for room in ROOMS {
        w.pairs_on_matrix("owner", "@ines:example.org", room);
    }
    for name in ["PD-1", "PD-2"] {
        w.start(name);
        w.doing(name, Doing::Working);
    }
    w.wait(TimeDelta::minutes(2));
    w
}

/// Calls to all rooms together that Synapse would have refused, by its own reckoning.
/// Source: Synapse 1.163.2, `Ratelimiter.can_do_action`.
fn refused(w: &World) -> usize {
    let burst = f64::from(u32::try_from(CALLS).unwrap());
    let (mut count, mut since, mut refused) = (0.0, w.calls[0].0, 0);
    for (at, _) in &w.calls {
        let passed = (*at - since).as_seconds_f64() / EACH.as_seconds_f64();
        if count - passed < 0.0 {
            (count, since) = (0.0, *at);
        }
        let passed = (*at - since).as_seconds_f64() / EACH.as_seconds_f64();
        if count - passed > burst - 1.0 {
            refused += 1;
        } else {
            count += 1.0;
        }
    }
    refused
}

fn flying(w: &World) -> usize {
    let all = w.state.deliveries.values();
    all.filter(|d| matches!(d.state, DeliveryState::InFlight { .. })).count()
}

#[test]
fn what_is_under_way_counts_for_all_chats_of_the_service() {
    let mut w = rooms();
    // Two posts to each of four rooms: as much as anything but a card may take.
    for n in 0..2 {
        w.report("PD-1", AgentEvent::Degraded { what: format!("news {n}") });
    }
    let spent = w.calls.iter().filter(|(at, _)| *at > w.now - EACH).count();
    assert_eq!(spent, 8);
    w.cut = true;
    w.asks_to_run("PD-1", "r1", "make test");
    assert_eq!(flying(&w), CALLS - spent, "four rooms are free, and two calls are left");
}

#[test]
fn one_room_that_must_wait_makes_the_whole_service_wait() {
    let mut w = rooms();
    w.failures.push_back(SayError::Later { after: Duration::from_secs(35) });
    w.report("PD-1", AgentEvent::Degraded { what: "the probe is slow".into() });
    let tries = w.tries;
    w.wait(TimeDelta::seconds(25));
    let help = w.writes_as("@ines:example.org", &matrix(ROOMS[3]), "/help", None);
    w.crash();
    w.wait(TimeDelta::seconds(5));
    assert_eq!(w.tries, tries, "it counts for the account, also after a restart");
    assert!(!w.marks.contains_key(&help));
    w.wait(TimeDelta::minutes(1));
    for room in ROOMS {
        let slow = w.shows(room).iter().filter(|text| text.contains("slow")).count();
        assert_eq!(slow, 1, "{room}");
    }
}

#[test]
fn a_card_of_one_room_goes_before_all_else_of_the_others() {
    let mut w = rooms();
    for answer in 0..6 {
        w.finishes("PD-1", &format!("answer {answer}"));
    }
    let asked = w.now;
    let gate = w.asks_to_run("PD-2", "r1", "make test");
    w.wait(TimeDelta::minutes(1));
    let came = ROOMS.map(|room| w.card_in(gate, room).at);
    let last = *came.iter().max().unwrap();
    // Two calls are kept for it whatever else is said; each of the others comes as soon as one is free.
    assert_eq!(came.iter().filter(|at| **at == asked).count(), 2, "{came:?}");
    assert!(last - asked <= EACH * 2, "{}", last - asked);
    let between = w.shown.iter().filter(|s| s.at > asked && s.at < last);
    assert!(between.clone().all(|s| matches!(s.post.body, Body::Card(_))), "{:?}", between.count());
    assert_eq!(refused(&w), 0);
}

#[test]
fn signs_on_what_people_wrote_leave_enough_for_a_card() {
    let mut w = rooms();
    w.doing("PD-1", Doing::Idle);
    for n in 0..12 {
        let text = format!("[PD-1] line {n}");
        w.writes_as("@ines:example.org", &matrix(ROOMS[0]), &text, None);
        w.takes("PD-1");
        w.doing("PD-1", Doing::Idle);
    }
    let asked = w.now;
    let gate = w.asks_to_run("PD-2", "r1", "make test");
    w.wait(TimeDelta::minutes(1));
    let came = ROOMS.map(|room| w.card_in(gate, room).at);
    assert!(came.iter().filter(|at| **at == asked).count() >= 2, "{came:?}, asked at {asked}");
    w.wait(TimeDelta::minutes(20));
    assert_eq!(refused(&w), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Answer { of: usize },
    Note { of: usize },
    Progress { of: usize },
    Ask { of: usize },
    Later,
    Crash,
    Wait { tenths: i64 },
}

fn step() -> impl Strategy<Value = Step> {
    let of = || 0..2_usize;
    prop_oneof![
        4 => of().prop_map(|of| Step::Answer { of }),
        3 => of().prop_map(|of| Step::Note { of }),
        6 => of().prop_map(|of| Step::Progress { of }),
        2 => of().prop_map(|of| Step::Ask { of }),
        1 => Just(Step::Later),
        1 => Just(Step::Crash),
        6 => (1_i64..80).prop_map(|tenths| Step::Wait { tenths }),
    ]
}

/// What was said, so that nothing of it is missing.
#[derive(Default)]
struct Said {
    texts: Vec<String>,
    gates: Vec<GateId>,
    /// How often the service asked to wait.
    refusals: usize,
}

fn does(w: &mut World, said: &mut Said, number: usize, step: &Step) {
    let name = |of: &usize| ["PD-1", "PD-2"][*of];
    let text = format!("line {number}");
    match step {
        Step::Answer { of } => {
            w.finishes(name(of), &text);
            said.texts.push(text);
        }
        Step::Note { of } => {
            w.report(name(of), AgentEvent::Degraded { what: text.clone() });
            said.texts.push(text);
        }
        Step::Progress { of } => {
            w.report(name(of), AgentEvent::Progress { turn: None, line: text });
        }
        Step::Ask { of } => {
            let request = format!("r{number}");
            let gate = w.asks_to_run(name(of), &request, "make test");
            let came = |w: &World| ROOMS.iter().all(|room| w.cards_in(gate, room).len() == 1);
            let waits = w.state.deliveries.values().filter(|d| d.rank == Rank::Gate).count();
            for _ in 0..waits {
                if !came(w) {
                    w.wait(EACH);
                }
            }
            assert!(came(w) || said.refusals > 0, "nothing but what rings as well goes before it");
            w.wait(TimeDelta::seconds(2));
            said.gates.push(gate);
            w.settled(name(of), &request, Settled::Gone);
        }
        Step::Later => {
            w.failures.push_back(SayError::Later { after: Duration::from_secs(7) });
            said.refusals += 1;
        }
        Step::Crash => w.crash(),
        Step::Wait { tenths } => w.wait(TimeDelta::milliseconds(tenths * 100)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn whatever_is_said_stays_within_what_the_homeserver_takes(
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let (mut w, mut said) = (rooms(), Said::default());
        for (number, step) in steps.iter().enumerate() {
            does(&mut w, &mut said, number, step);
            prop_assert!(no_card_waits_for_less(&w));
        }
        w.failures.clear();
        w.wait(TimeDelta::minutes(20));
        prop_assert_eq!(refused(&w), 0);
        prop_assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
        for room in ROOMS {
            for text in &said.texts {
                let ends = |shown: &String| shown.ends_with(text.as_str());
                prop_assert_eq!(w.shows(room).iter().filter(|s| ends(s)).count(), 1, "{}", text);
            }
            for gate in &said.gates {
                let cards = w.cards_in(*gate, room);
                prop_assert_eq!(cards.len(), 1);
                prop_assert!(cards[0].post.level != Level::Ring, "it is over");
            }
        }
    }
}

/// While a card could go and does not, nothing else is under way.
fn no_card_waits_for_less(w: &World) -> bool {
    let card_waits = w.state.deliveries.values().any(|d| {
        d.rank == Rank::Gate && matches!(d.state, DeliveryState::Due { not_before: None, .. })
    });
    let all = w.state.deliveries.values();
    let mut less = all.filter(|d| d.rank > Rank::Gate);
    !card_waits || !less.any(|d| matches!(d.state, DeliveryState::InFlight { .. }))
}
