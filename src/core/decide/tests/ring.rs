//! Two services and one person: what rings, where, and what happens when one of them is gone.

use chrono::TimeDelta;
use std::time::Duration;

use super::world::{World, matrix};
use crate::{
    agent::{AgentEvent, Settled},
    bridge::{CardState, Level, Noted, Room},
    id::{BridgeName, ChatId, GateId, MessageId},
    ringing::Order,
};

const ROOM: &str = "!room:example.org";
const INES: &str = "@ines:example.org";

/// The owner on Telegram and on Matrix, last on Telegram; the phone page is there, too.
fn both() -> World {
    let mut w = World::new();
    w.pairs_on_matrix("owner", INES, ROOM);
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    settle(&mut w);
    w
}

fn settle(w: &mut World) {
    w.wait(TimeDelta::seconds(30));
}

fn on_matrix(w: &mut World, text: &str) -> MessageId {
    w.now += TimeDelta::seconds(1);
    w.writes_as(INES, &matrix(ROOM), text, None)
}

fn asks(w: &mut World, request: &str) -> GateId {
    let gate = w.asks_to_run("PD-285", request, "make test");
    settle(w);
    gate
}

fn is_down(w: &mut World, service: &str) {
    w.down.insert(BridgeName::new(service));
    w.goes_deaf(service);
}

fn is_back(w: &mut World, service: &str) {
    w.down.remove(&BridgeName::new(service));
    w.pulse(service, TimeDelta::zero());
    w.wait(TimeDelta::minutes(1));
}

/// How loud each card of it was when it came, and how many rings there were in all.
fn levels(w: &World, gate: GateId, chat: &str) -> Vec<Level> {
    w.cards_in(gate, chat).iter().map(|shown| shown.post.level).collect()
}

fn rings(w: &World, chat: &str) -> Vec<String> {
    let here = w.shown.iter().filter(|s| s.place.chat.as_str() == chat);
    here.filter(|s| s.post.level == Level::Ring).map(super::world::Shown::text).collect()
}

fn code(w: &World, gate: GateId) -> String {
    w.state.gates[&gate].code.to_string()
}

#[test]
fn a_card_rings_where_the_person_was_last() {
    let mut w = both();
    let first = asks(&mut w, "r1");
    assert_eq!(levels(&w, first, "1001"), [Level::Ring]);
    assert_eq!(levels(&w, first, ROOM), [Level::Note], "silent, and there");
    assert_eq!(levels(&w, first, "main"), [Level::Ring], "a page is heard while it is open");

    on_matrix(&mut w, "[PD-285] go on");
    let second = asks(&mut w, "r2");
    assert_eq!(levels(&w, second, ROOM), [Level::Ring]);
    assert_eq!(levels(&w, second, "1001"), [Level::Note]);

    let (card, _) = w.card(first);
    w.now += TimeDelta::seconds(1);
    w.taps_action("owner", &card, crate::bridge::Action::Deny { gate: first });
    let third = asks(&mut w, "r3");
    assert_eq!(levels(&w, third, ROOM), [Level::Ring], "a tap on the page is nowhere else");
}

#[test]
fn other_things_that_ring_do_so_there_as_well() {
    let mut w = both();
    w.report("PD-285", AgentEvent::Degraded { what: "the probe is slow".into() });
    settle(&mut w);
    let level = |w: &World, chat: &str| {
        let slow = |s: &&super::world::Shown| {
            s.place.chat.as_str() == chat && s.text().contains("probe is slow")
        };
        w.shown.iter().rfind(slow).unwrap().post.level
    };
    assert_eq!(level(&w, "1001"), Level::Ring);
    assert_eq!((level(&w, ROOM), level(&w, "main")), (Level::Note, Level::Ring));
}

#[test]
fn strangers_are_nowhere_and_a_restart_forgets_nobody() {
    let mut w = both();
    on_matrix(&mut w, "/status");
    w.telegram("6666", "6666", None, "hello");
    w.crash();
    let gate = asks(&mut w, "r1");
    assert_eq!(levels(&w, gate, ROOM), [Level::Ring]);
    assert_eq!(levels(&w, gate, "1001"), [Level::Note]);
}

#[test]
fn each_who_may_answer_is_rung_where_they_are() {
    let mut w = both();
    w.pairs_on_matrix("second", "@awa:example.org", "!awa:example.org");
    w.pairs("mate", "1002", "1002"); // may not answer
    w.state.rules.ringing.order = Order::Everybody;
    w.now += TimeDelta::seconds(1);
    let gate = asks(&mut w, "r1");
    assert_eq!(levels(&w, gate, "1001"), [Level::Ring]);
    assert_eq!(levels(&w, gate, "!awa:example.org"), [Level::Ring]);
    assert_eq!(levels(&w, gate, ROOM), [Level::Note]);
    assert_eq!(levels(&w, gate, "1002"), [Level::Note], "and is not woken for it");
}

#[test]
fn whoever_said_nothing_yet_is_rung_wherever_they_are() {
    let mut w = both();
    w.state.last_heard.clear(); // as after an older Vigie
    let gate = asks(&mut w, "r1");
    assert_eq!(levels(&w, gate, "1001"), [Level::Ring]);
    assert_eq!(levels(&w, gate, ROOM), [Level::Ring]);
}

#[test]
fn in_a_group_it_is_the_group_that_rings() {
    let mut w = World::on_telegram();
    w.pairs_on_matrix("owner", INES, ROOM);
    w.rooms.insert(ChatId::new("-100"), Room::Forum);
    w.pairs("owner", "1001", "-100");
    w.telegram("1001", "1001", None, "/status"); // beside it, in their own chat
    w.start("PD-285");
    let gate = asks(&mut w, "r1");
    assert_eq!(levels(&w, gate, "-100"), [Level::Ring]);
    assert_eq!(levels(&w, gate, ROOM), [Level::Note]);
}

#[test]
fn an_open_card_rings_once_more_where_its_service_went_deaf() {
    let mut w = both();
    on_matrix(&mut w, "/status");
    let gate = asks(&mut w, "r1");
    let before = w.shows("1001").len();
    is_down(&mut w, "matrix");
    settle(&mut w);

    let said = &w.shows("1001")[before..];
    assert_eq!(said.len(), 2, "the news, and what waits: {said:?}");
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(rung[0].starts_with("Matrix is not heard, so this waits for you here:"), "{rung:?}");
    assert!(rung[0].contains(&code(&w, gate)) && rung[0].contains("PD-285"), "{rung:?}");
    let loud = w.shown.iter().find(|s| s.text() == rung[0]).unwrap().clone();
    assert_eq!(loud.reply_to, Some(w.card_in(gate, "1001").message.clone()), "below its card");

    w.pulse("matrix", TimeDelta::minutes(2));
    is_down(&mut w, "matrix");
    let waits = rings(&w, "1001").into_iter().filter(|t| t.contains("this waits")).count();
    assert_eq!(waits, 1, "once");

    // A reply to either means the same.
    w.writes_as("1001", &super::world::telegram("1001", None), "approve", Some(loud.message));
    settle(&mut w);
    assert!(!w.state.gates[&gate].is_open());
    w.settled("PD-285", "r1", Settled::Ours);

    let there = w.shows(ROOM).len();
    is_back(&mut w, "matrix");
    assert_eq!(w.cards_in(gate, ROOM).len(), 1, "nothing is said twice");
    assert!(matches!(card_state(&w, gate, ROOM), CardState::Taken { .. }));
    assert_eq!(w.shows(ROOM).len(), there, "{:?}", w.shows(ROOM));
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

fn card_state(w: &World, gate: GateId, chat: &str) -> CardState {
    let crate::bridge::Body::Card(card) = &w.card_in(gate, chat).post.body else {
        panic!("a card")
    };
    card.state.clone()
}

#[test]
fn several_that_wait_are_one_message() {
    let mut w = both();
    let gates = [asks(&mut w, "r1"), asks(&mut w, "r2"), asks(&mut w, "r3")];
    is_down(&mut w, "telegram");
    settle(&mut w);
    let rung = rings(&w, ROOM);
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(gates.iter().all(|gate| rung[0].contains(&code(&w, *gate))), "{rung:?}");
}

#[test]
fn a_card_of_a_deaf_service_rings_elsewhere_from_the_beginning() {
    let mut w = both();
    is_down(&mut w, "telegram");
    let gate = asks(&mut w, "r1");
    assert_eq!(levels(&w, gate, ROOM), [Level::Ring]);
    let code = code(&w, gate);
    on_matrix(&mut w, &format!("approve {code}"));
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::minutes(10));
    is_back(&mut w, "telegram");
    assert_eq!(levels(&w, gate, "1001"), [Level::Log], "it comes once, and as it is");
    assert!(matches!(card_state(&w, gate, "1001"), CardState::Taken { .. }));
    assert!(rings(&w, "1001").is_empty(), "{:?}", rings(&w, "1001"));
}

#[test]
fn what_still_waits_comes_without_a_sound_where_it_rang_elsewhere() {
    let mut w = both();
    w.down.insert(BridgeName::new("telegram"));
    let gate = asks(&mut w, "r1"); // nobody knows yet that it does not arrive
    assert!(w.cards_in(gate, "1001").is_empty());
    assert_eq!(levels(&w, gate, ROOM), [Level::Note]);
    w.goes_deaf("telegram");
    settle(&mut w);
    assert_eq!(rings(&w, ROOM).len(), 1);
    is_back(&mut w, "telegram");
    assert_eq!(levels(&w, gate, "1001"), [Level::Note], "it rang once already");
    assert_eq!(w.cards_in(gate, ROOM).len(), 1);
    assert_eq!(rings(&w, ROOM).len(), 1);
    w.writes_as("1001", &super::world::telegram("1001", None), "approve", None);
    settle(&mut w);
    let state = card_state(&w, gate, ROOM);
    assert!(matches!(state, CardState::Answered(ref by) if by.via == "Telegram"), "{state:?}");
}

#[test]
fn with_both_deaf_it_rings_where_it_comes_through_first() {
    let mut w = both();
    is_down(&mut w, "telegram");
    is_down(&mut w, "matrix");
    let gate = asks(&mut w, "r1");
    assert!(w.cards_in(gate, "1001").is_empty() && w.cards_in(gate, ROOM).is_empty());
    is_back(&mut w, "matrix");
    assert_eq!(levels(&w, gate, ROOM), [Level::Ring]);
    is_back(&mut w, "telegram");
    assert_eq!(levels(&w, gate, "1001"), [Level::Note]);
    assert!(rings(&w, "1001").is_empty(), "{:?}", rings(&w, "1001"));
}

#[test]
fn what_rang_where_it_never_arrived_rings_where_somebody_is_heard_again() {
    let mut w = both();
    is_down(&mut w, "telegram");
    w.down.insert(BridgeName::new("matrix"));
    let gate = asks(&mut w, "r1"); // to ring on Matrix, which is down as well
    w.goes_deaf("matrix");
    is_back(&mut w, "telegram");
    assert_eq!(levels(&w, gate, "1001"), [Level::Ring]);
    is_back(&mut w, "matrix");
    assert_eq!(levels(&w, gate, ROOM), [Level::Note]);
    assert!(rings(&w, ROOM).iter().all(|text| text.starts_with("telegram has not been heard")));
}

#[test]
fn a_restart_in_the_middle_rings_nothing_twice() {
    let mut w = both();
    let gate = asks(&mut w, "r1");
    is_down(&mut w, "telegram");
    settle(&mut w);
    assert_eq!(rings(&w, ROOM).len(), 1);
    w.crash();
    // It has not answered since the start, and says why.
    let trouble = Some("no connection".into());
    let health = crate::bridge::Health { heard: None, trouble };
    let pulse = |w: &mut World| {
        let bridge = BridgeName::new("telegram");
        w.step(crate::decide::Event::Pulse { bridge, health: health.clone() });
    };
    pulse(&mut w);
    w.wait(TimeDelta::seconds(46));
    pulse(&mut w);
    settle(&mut w);
    let waits: Vec<_> = rings(&w, ROOM).into_iter().filter(|t| t.contains("waits for")).collect();
    assert_eq!(waits.len(), 1, "{waits:?}");
    let second = asks(&mut w, "r2");
    assert_eq!(levels(&w, second, ROOM), [Level::Ring], "deaf since the start is deaf");
    is_back(&mut w, "telegram");
    assert_eq!(w.cards_in(gate, "1001").len(), 1);
    assert_eq!(w.cards_in(second, "1001").len(), 1);
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

#[test]
fn a_chat_that_is_shut_rings_elsewhere_and_says_nothing_twice_when_it_opens() {
    let mut w = both();
    on_matrix(&mut w, "/status");
    let gate = asks(&mut w, "r1");
    let (chat, reason) = (ChatId::new(ROOM), "it was thrown out".to_owned());
    w.notes_of("matrix", Noted::Shut { chat: chat.clone(), reason });
    settle(&mut w);
    assert_eq!(rings(&w, "1001").len(), 1, "{:?}", rings(&w, "1001"));
    assert!(rings(&w, "1001")[0].contains("lets nothing into"), "{:?}", rings(&w, "1001"));
    let second = asks(&mut w, "r2");
    assert_eq!(levels(&w, second, "1001"), [Level::Ring]);
    w.notes_of("matrix", Noted::Open { chat, room: Room::Direct });
    settle(&mut w);
    assert_eq!(w.cards_in(gate, ROOM).len(), 1, "what was sent there stays there");
    assert_eq!(levels(&w, second, ROOM), [Level::Note]);
}

#[test]
fn cards_are_said_anew_only_where_taps_are_lost() {
    let mut w = both();
    on_matrix(&mut w, "/status");
    let gate = asks(&mut w, "r1");
    let after = Duration::from_mins(10);
    w.wait(TimeDelta::from_std(after).unwrap());
    w.notes_of("matrix", Noted::Back { after });
    w.notes_of("telegram", Noted::Back { after });
    settle(&mut w);
    assert_eq!(w.cards_in(gate, ROOM).len(), 1);
    assert_eq!(levels(&w, gate, "1001"), [Level::Note; 2], "it rings on Matrix");
    let moved = ChatId::new("!new:example.org");
    w.notes_of("matrix", Noted::Moved { from: ChatId::new(ROOM), to: moved.clone() });
    settle(&mut w);
    assert_eq!(w.cards_in(gate, moved.as_str()).len(), 1, "nothing of it is in the new room");
    let next = asks(&mut w, "r2");
    assert_eq!(levels(&w, next, moved.as_str()), [Level::Ring], "and they are there now");
}

#[test]
fn a_card_that_came_as_its_service_came_back_is_not_said_anew() {
    let mut w = both();
    is_down(&mut w, "telegram");
    let gate = asks(&mut w, "r1");
    w.down.clear();
    w.pulse("telegram", TimeDelta::zero());
    w.wait(TimeDelta::seconds(25));
    assert_eq!(levels(&w, gate, "1001"), [Level::Note]);
    w.notes(Noted::Back { after: Duration::from_mins(10) });
    settle(&mut w);
    assert_eq!(levels(&w, gate, "1001"), [Level::Note]);
}

#[test]
fn a_card_that_breaks_off_on_its_way_to_a_deaf_service_is_silent_at_its_next_try() {
    let mut w = both();
    w.cut = true; // in flight everywhere
    let gate = asks(&mut w, "r1");
    w.cut = false;
    w.goes_deaf("telegram");
    w.crash();
    w.wait(TimeDelta::minutes(1));
    assert_eq!(levels(&w, gate, "1001"), [Level::Note], "{:?}", w.shows("1001"));
    let waits = rings(&w, ROOM).len();
    assert_eq!(waits, 1, "{:?}", rings(&w, ROOM));
}

#[test]
fn a_card_on_its_way_into_a_room_that_moves_goes_along_once() {
    let mut w = both();
    w.down.insert(BridgeName::new("matrix"));
    let gate = asks(&mut w, "r1");
    let moved = ChatId::new("!new:example.org");
    w.notes_of("matrix", Noted::Moved { from: ChatId::new(ROOM), to: moved.clone() });
    w.down.clear();
    w.wait(TimeDelta::minutes(1));
    assert_eq!(w.cards_in(gate, moved.as_str()).len(), 1);
    w.writes_as("1001", &super::world::telegram("1001", None), "approve", None);
    settle(&mut w);
    assert!(!matches!(card_state(&w, gate, moved.as_str()), CardState::Open), "and is found there");
}

#[test]
fn a_run_that_failed_rings_where_it_was_started_and_elsewhere_once_that_is_deaf() {
    let mut w = both();
    w.knows(&[("deploy", "name: deploy\nsteps:\n  - {id: a, shell: ./deploy.sh}\n")]);
    for (run, elsewhere) in [("deploy-1", 0), ("deploy-2", 1)] {
        on_matrix(&mut w, "/run deploy");
        if elsewhere > 0 {
            is_down(&mut w, "matrix");
        }
        w.fails(run, "a");
        settle(&mut w);
        let said = rings(&w, "1001").into_iter().filter(|text| text.starts_with(run)).count();
        assert_eq!(said, elsewhere, "{run}: {:?}", w.shows("1001"));
    }
    assert!(rings(&w, ROOM).iter().any(|text| text.starts_with("deploy-1 failed")));
}

#[test]
fn that_a_service_is_deaf_rings_and_that_it_is_heard_again_does_not() {
    let mut w = both();
    is_down(&mut w, "matrix");
    assert_eq!(w.level_of("has not been heard since"), Level::Ring);
    is_back(&mut w, "matrix");
    assert_eq!(w.level_of("is heard again"), Level::Note);
}
