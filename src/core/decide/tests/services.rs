//! What chat services do to us: limits, lost topics, moved and shut chats, silence.

use chrono::TimeDelta;
use std::{collections::BTreeSet, time::Duration};

use super::world::{World, telegram};
use crate::{
    agent::AgentEvent,
    bridge::{CardState, Health, Mark, Noted, Room, SayError},
    decide::Event,
    delivery::DeliveryState,
    id::{BridgeName, ChatId, SessionName, ThreadId},
    state::ChatState,
};

fn forum() -> World {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new("-100"), Room::Forum);
    w.pairs("owner", "1001", "-100");
    w
}

fn private() -> World {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w
}

fn name(text: &str) -> SessionName {
    text.parse().unwrap()
}

/// Most calls to a chat in any window.
fn busiest(w: &World, chat: &str, window: TimeDelta) -> usize {
    let times: Vec<_> =
        w.calls.iter().filter(|(_, c)| c.as_str() == chat).map(|(at, _)| *at).collect();
    let within = |from| times.iter().filter(|at| **at >= from && **at < from + window).count();
    times.iter().map(|from| within(*from)).max().unwrap_or_default()
}

#[test]
fn eight_sessions_that_work_leave_room_for_a_card_and_an_answer() {
    let mut w = forum();
    let names: Vec<_> = (285..=292).map(|number| format!("PD-{number}")).collect();
    for name in &names {
        w.start(name);
    }
    w.wait(TimeDelta::minutes(2));
    for name in &names {
        w.doing(name, crate::agent::Doing::Working);
    }
    for chunk in 0..160 {
        let name = &names[chunk % names.len()];
        w.report(name, AgentEvent::Progress { turn: None, line: format!("chunk {chunk}") });
        w.wait(TimeDelta::milliseconds(500));
    }
    let asked = w.now;
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    w.wait(TimeDelta::seconds(1));
    let (message, _) = w.card(gate);
    let card = w.shown.iter().find(|s| s.message == message).unwrap();
    assert!(card.at - asked <= TimeDelta::milliseconds(3_500), "{}", card.at - asked);
    let ended = w.now;
    w.finishes("PD-290", "done");
    w.wait(TimeDelta::minutes(1));
    let answer = w.shown.iter().find(|s| s.text() == "done").unwrap();
    assert!(answer.at - ended <= TimeDelta::seconds(7), "{}", answer.at - ended);
    assert!(busiest(&w, "-100", TimeDelta::minutes(1)) <= 20);
}

#[test]
fn much_that_is_said_at_once_does_not_hold_up_the_cards_after_it() {
    let mut w = forum();
    let names: Vec<_> = (1..=9).map(|number| format!("PD-{number}")).collect();
    for name in &names {
        w.start(name);
    }
    w.wait(TimeDelta::minutes(2));
    for round in 0..30 {
        if round % 10 == 0 {
            for answer in 0..24 {
                w.finishes(&names[answer % 8], &format!("answer {answer} of {round}"));
            }
        }
        let request = format!("r{round}");
        let gate = w.asks_to_run("PD-9", &request, "make test");
        let asked = w.now;
        w.wait(TimeDelta::seconds(3));
        assert!(matches!(w.card_state(gate), CardState::Open), "round {round}");
        let (message, _) = w.card(gate);
        assert!(w.shown.iter().any(|s| s.message == message), "round {round}");
        w.taps("Approve");
        w.settled("PD-9", &request, crate::agent::Settled::Ours);
        w.wait(asked + TimeDelta::seconds(10) - w.now);
    }
    assert!(busiest(&w, "-100", TimeDelta::minutes(1)) <= 20);
}

#[test]
fn a_day_of_work_stays_within_the_budget_and_loses_nothing() {
    let mut w = forum();
    let names: Vec<_> = (1..=9).map(|number| format!("PD-{number}")).collect();
    for name in &names {
        w.start(name);
    }
    let mut answers = BTreeSet::new();
    for minute in 0..480 {
        let name = &names[minute % names.len()];
        w.report(name, AgentEvent::Progress { turn: None, line: format!("minute {minute}") });
        w.wait(TimeDelta::seconds(20));
        if minute % 5 == 0 {
            let request = format!("r{minute}");
            let gate = w.asks_to_run(name, &request, "make test");
            w.wait(TimeDelta::seconds(3));
            assert!(matches!(w.card_state(gate), CardState::Open), "minute {minute}");
            w.taps("Approve");
            w.settled(name, &request, crate::agent::Settled::Ours);
        }
        let answer = format!("answer {minute}");
        w.finishes(name, &answer);
        answers.insert(answer);
        w.wait(TimeDelta::seconds(30));
    }
    w.wait(TimeDelta::minutes(5));
    let shown: BTreeSet<_> = w.shows("-100").into_iter().collect();
    assert!(answers.is_subset(&shown), "{:?}", answers.difference(&shown).collect::<Vec<_>>());
    assert!(busiest(&w, "-100", TimeDelta::minutes(1)) <= 20);
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

#[test]
fn a_turn_of_half_a_minute_takes_four_calls() {
    let mut w = private();
    w.start("PD-285");
    w.telegram("1001", "1001", None, "[PD-285] go");
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(30));
    let before = w.calls.len();
    w.report("PD-285", AgentEvent::Progress { turn: None, line: "step 0".into() });
    for step in 1..10 {
        w.wait(TimeDelta::milliseconds(2_800));
        w.report("PD-285", AgentEvent::Progress { turn: None, line: format!("step {step}") });
    }
    w.wait(TimeDelta::milliseconds(2_800));
    w.finishes("PD-285", "All ten steps.");
    w.wait(TimeDelta::minutes(1));
    assert!(w.calls.len() - before <= 4, "{}", w.calls.len() - before);
    assert!(
        w.shows("1001").iter().any(|text| text.starts_with("worked")),
        "the last frame is shown"
    );
}

#[test]
fn a_quick_turn_with_a_question_takes_three_calls() {
    let mut w = private();
    w.start("PD-285");
    w.telegram("1001", "1001", None, "[PD-285] go");
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(30));
    let before = w.calls.len();
    w.report("PD-285", AgentEvent::ForeignTurn { turn: None, text: String::new() });
    w.report("PD-285", AgentEvent::Progress { turn: None, line: "looks around".into() });
    let session = w.id("PD-285");
    let ask = crate::agent::AgentEvent::Asked {
        request: crate::id::RequestId::new("r1"),
        ask: crate::agent::Asked::Plan { plan: "Do it.".into() },
    };
    w.report("PD-285", ask);
    w.wait(TimeDelta::milliseconds(800));
    w.taps("Approve");
    w.settled("PD-285", "r1", crate::agent::Settled::Ours);
    w.finishes("PD-285", "Done it.");
    w.wait(TimeDelta::minutes(1));
    assert_eq!(w.calls.len() - before, 3, "card, card decided, answer: {:?}", w.shows("1001"));
    assert!(w.state.open_gates_of(session).next().is_none());
}

#[test]
fn that_a_message_waits_is_said_once_it_has_waited_a_while() {
    let mut w = private();
    w.start("PD-285");
    w.telegram("1001", "1001", None, "[PD-285] first");
    w.takes("PD-285");
    let second = w.telegram("1001", "1001", None, "[PD-285] second");
    assert_eq!(w.marks[&second], Mark::Stored { targets: vec![name("PD-285")], words: None });
    w.wait(TimeDelta::seconds(5));
    assert!(matches!(&w.marks[&second], Mark::Stored { words: Some(_), .. }));
    w.finishes("PD-285", "one");
    w.takes("PD-285");
    assert!(matches!(w.marks[&second], Mark::Taken { .. }));
    let third = w.telegram("1001", "1001", None, "[PD-285] third");
    w.finishes("PD-285", "two");
    w.takes("PD-285");
    w.wait(TimeDelta::minutes(1));
    assert!(matches!(w.marks[&third], Mark::Taken { .. }), "nothing outdated comes after it");
}

#[test]
fn a_restart_does_not_forget_what_was_sent_a_moment_ago() {
    let mut w = private();
    w.start("PD-285");
    for number in 0..12 {
        w.report("PD-285", AgentEvent::Degraded { what: format!("news {number}") });
        w.crash();
    }
    w.wait(TimeDelta::minutes(1));
    assert_eq!(w.shows("1001").iter().filter(|text| text.contains("news")).count(), 12);
    assert!(busiest(&w, "1001", TimeDelta::seconds(5)) <= 5, "{:?}", w.calls);
}

#[test]
fn a_deleted_topic_is_made_again_and_the_answer_arrives_there() {
    let mut w = forum();
    w.start("PD-285");
    w.telegram("1001", "-100", Some("pd-285"), "go");
    w.takes("PD-285");
    w.wait(TimeDelta::minutes(1));
    let threads = |w: &World| w.state.threads.len();
    assert_eq!(threads(&w), 1);
    w.failures.push_back(SayError::NoThread);
    w.finishes("PD-285", "The migration is finished.");
    w.wait(TimeDelta::minutes(1));
    assert_eq!(w.shows("-100").iter().filter(|text| text.contains("migration")).count(), 1);
    let shown = w.shown.iter().find(|s| s.text().contains("migration")).unwrap();
    assert!(shown.place.thread.is_some(), "never silently in General");
    assert_eq!(threads(&w), 1);
}

#[test]
fn where_no_topic_can_be_made_it_is_said_once_and_every_message_names_its_session() {
    let mut w = forum();
    w.failures
        .push_back(SayError::NoThreads { reason: Some("the bot is no administrator".into()) });
    w.start("PD-285");
    w.start("PD-286");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", "Done here.");
    let said: Vec<_> =
        w.shows("-100").into_iter().filter(|t| t.contains("no administrator")).collect();
    assert_eq!(said.len(), 1);
    let shown = w.shown.iter().find(|s| s.text() == "Done here.").unwrap();
    assert_eq!((shown.place.thread.clone(), shown.post.from.is_some()), (None, true));
    w.notes(Noted::Open { chat: ChatId::new("-100"), room: Room::Forum });
    assert_eq!(w.state.threads.len(), 2, "topics come once the right is given");
}

#[test]
fn where_no_topics_are_wanted_nobody_is_told_and_every_message_names_its_session() {
    let mut w = forum();
    w.failures.push_back(SayError::NoThreads { reason: None });
    w.start("PD-285");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", "Done here.");
    assert!(!w.said("No topic can be made"), "{:?}", w.shows("-100"));
    let shown = w.shown.iter().find(|s| s.text() == "Done here.").unwrap();
    assert_eq!((shown.place.thread.clone(), shown.post.from.is_some()), (None, true));
    let crate::command::Reply::Status(status) = w.ask(crate::command::Command::Status).unwrap()
    else {
        panic!("no status")
    };
    assert!(status.bridges.iter().all(|bridge| bridge.trouble.is_none()));
}

#[test]
fn a_group_that_becomes_a_supergroup_takes_everything_along() {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new("-5001"), Room::Group);
    w.rooms.insert(ChatId::new("-1002"), Room::Group);
    w.pairs("owner", "1001", "-5001");
    w.start("PD-285");
    w.failures.push_back(SayError::Moved { to: ChatId::new("-1002") });
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", "Still here.");
    assert!(w.shows("-1002").contains(&"Still here.".to_owned()), "{:?}", w.shown);
    w.notes(Noted::Moved { from: ChatId::new("-5001"), to: ChatId::new("-1002") });
    w.telegram("1001", "-1002", None, "[PD-285] go");
    assert_eq!(w.handed("PD-285"), ["go"]);
    w.crash();
    let left = w.state.chats.values().filter(|row| row.state == ChatState::Left).count();
    assert_eq!(left, 1);
}

#[test]
fn what_matters_waits_for_a_chat_that_is_shut_and_comes_when_it_opens() {
    let mut w = private();
    w.start("PD-285");
    w.failures.push_back(SayError::Shut { reason: "the bot was blocked".into() });
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", "Nobody reads this yet.");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    let before = w.tries;
    w.wait(TimeDelta::hours(2));
    assert_eq!(w.tries, before, "a shut chat is left alone");
    w.crash();
    w.notes(Noted::Open { chat: ChatId::new("1001"), room: Room::Direct });
    w.wait(TimeDelta::seconds(20));
    assert!(w.shows("1001").contains(&"Nobody reads this yet.".to_owned()));
    assert!(matches!(w.card_state(gate), CardState::Open));
}

#[test]
fn a_chat_that_stays_shut_gathers_a_bounded_number_of_what_is_worth_it() {
    let mut w = private();
    w.start("PD-285");
    w.failures.push_back(SayError::Shut { reason: "the bot was blocked".into() });
    for number in 0..700 {
        w.report("PD-285", AgentEvent::Progress { turn: None, line: format!("step {number}") });
        w.finishes("PD-285", &format!("answer {number}"));
    }
    assert!(w.state.deliveries.len() <= 500, "{}", w.state.deliveries.len());
    w.notes(Noted::Open { chat: ChatId::new("1001"), room: Room::Direct });
    w.wait(TimeDelta::hours(1));
    let shown = w.shows("1001");
    assert!(shown.contains(&"answer 699".to_owned()));
    assert!(!shown.iter().any(|text| text.starts_with("step")), "{shown:?}");
}

#[test]
fn an_edit_never_follows_its_message_into_the_chat_that_took_its_place() {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new("-5001"), Room::Group);
    w.pairs("owner", "1001", "-5001");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    w.wait(TimeDelta::minutes(2));
    let (old, _) = w.card(gate);
    w.failures.push_back(SayError::Moved { to: ChatId::new("-1002") });
    w.taps("Approve");
    w.wait(TimeDelta::minutes(2));
    let shown = w.shown.iter().find(|s| s.message == old).unwrap();
    assert!(!shown.buttons().is_empty(), "its number may be another message's there");
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}

#[test]
fn after_a_long_silence_open_cards_are_asked_again() {
    let mut w = private();
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    w.wait(TimeDelta::minutes(10));
    let cards = |w: &World| w.shows("1001").iter().filter(|t| t.contains("make test")).count();
    assert_eq!(cards(&w), 1);
    w.notes(Noted::Back { after: Duration::from_mins(10) });
    w.wait(TimeDelta::seconds(10));
    assert_eq!(cards(&w), 2);
    w.taps("Approve");
    w.wait(TimeDelta::minutes(1));
    assert!(!w.state.gates[&gate].is_open());
    let open = w.shown.iter().filter(|s| s.buttons().iter().any(|b| b.label == "Approve")).count();
    assert_eq!(open, 0, "both lost their buttons");
}

#[test]
fn a_service_that_went_deaf_is_said_where_one_still_hears() {
    let mut w = World::new(); // the phone page is there, too
    let bridge = BridgeName::new("telegram");
    w.pairs("owner", "1001", "1001");
    let pulse = |w: &mut World, heard, trouble: Option<&str>| {
        let health = Health { heard: Some(heard), trouble: trouble.map(Into::into) };
        w.step(Event::Pulse { bridge: bridge.clone(), health });
    };
    let last = w.now;
    pulse(&mut w, last, None);
    w.wait(TimeDelta::seconds(50));
    pulse(&mut w, last, Some("no connection to the internet"));
    pulse(&mut w, last, Some("no connection to the internet"));
    let said: Vec<_> =
        w.shows("main").into_iter().filter(|t| t.contains("no connection")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    w.wait(TimeDelta::minutes(10));
    let now = w.now;
    pulse(&mut w, now, None);
    assert!(w.shows("main").last().unwrap().contains("heard again"));
}

#[test]
fn a_card_in_doubt_is_asked_again_and_an_answer_is_repeated_once_and_marked() {
    let mut w = private();
    w.start("PD-285");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.failures.push_back(SayError::InDoubt);
    w.finishes("PD-285", "All tests pass.");
    w.wait(TimeDelta::seconds(5));
    assert!(
        w.shows("1001").iter().any(|t| t.starts_with("All tests pass.") && t.contains("repeat"))
    );
    for _ in 0..4 {
        w.failures.push_back(SayError::InDoubt);
    }
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    w.wait(TimeDelta::minutes(1));
    assert!(matches!(w.card_state(gate), CardState::Open));
    assert!(
        w.state.deliveries.values().all(|d| !matches!(d.state, DeliveryState::InFlight { .. }))
    );
}

#[test]
fn an_answer_in_parts_goes_on_where_it_was_cut_over_a_wait_and_a_crash() {
    let mut w = private();
    for limits in w.state.rules.limits.values_mut() {
        limits.parts = 10;
    }
    w.start("PD-285");
    w.start("PD-300");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.doing("PD-300", crate::agent::Doing::Working);
    w.wait(TimeDelta::minutes(1));
    w.cut = true;
    let paragraph = |n: usize| format!("part-{n} {}", "word ".repeat(700));
    w.finishes("PD-285", &(1..=4).map(paragraph).collect::<Vec<_>>().join("\n\n"));
    w.finishes("PD-300", "short answer");
    w.cut = false;
    let parts = |w: &World| -> Vec<String> {
        let shown = w.shows("1001");
        shown.iter().filter(|t| t.contains("part-") || t.contains("short")).cloned().collect()
    };
    let flying =
        w.state.deliveries.values().find(|d| matches!(d.state, DeliveryState::InFlight { .. }));
    let first = flying.unwrap().id;
    w.failures.push_back(SayError::Later { after: Duration::from_secs(17) });
    let said = w.says_now(first);
    w.step(Event::Delivered { delivery: first, outcome: Ok(said) });
    let (tries, at) = (w.tries, w.now);
    w.crash();
    assert_eq!(w.tries, tries, "the wait outlives the crash");
    w.failures.push_back(SayError::InDoubt);
    w.wait(TimeDelta::minutes(1));
    assert!(w.now - at >= TimeDelta::seconds(17));
    let order: Vec<_> = parts(&w).iter().map(|t| t.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(order, ["part-1", "part-2", "part-3", "part-4", "short"]);
    let marked: Vec<_> = parts(&w).into_iter().filter(|t| t.contains("may be a repeat")).collect();
    assert_eq!(marked.len(), 1, "only the one whose end nobody saw");
}

#[test]
fn while_something_is_in_doubt_nothing_else_goes_into_its_chat() {
    let mut w = private();
    w.start("PD-285");
    w.start("PD-300");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.wait(TimeDelta::seconds(20));
    w.failures.push_back(SayError::InDoubt);
    w.finishes("PD-285", "All tests pass.");
    let tries = w.tries;
    let gate = w.asks_to_run("PD-300", "K7Q2", "make test"); // five seconds go by in here
    assert_eq!(w.tries, tries, "what is found next in that chat must be what is in doubt");
    w.wait(TimeDelta::seconds(5));
    let texts = w.shows("1001");
    let at = |words: &str| texts.iter().position(|text| text.contains(words)).unwrap();
    assert!(at("All tests pass.") < at("make test"), "{texts:?}");
    assert!(matches!(w.card_state(gate), CardState::Open));
}

#[test]
fn a_group_without_the_right_stays_without_topics_whatever_its_messages_say() {
    let mut w = forum();
    w.failures
        .push_back(SayError::NoThreads { reason: Some("the bot is no administrator".into()) });
    w.start("PD-285");
    for _ in 0..3 {
        w.telegram("1001", "-100", None, "/status");
    }
    w.start("PD-286");
    w.wait(TimeDelta::minutes(5));
    let said = w.shows("-100").into_iter().filter(|t| t.contains("no administrator")).count();
    assert!(said >= 1 && w.state.threads.is_empty(), "{:?}", w.shows("-100"));
    let told =
        w.shows("-100").into_iter().filter(|t| t.starts_with("No topic can be made")).count();
    assert_eq!(told, 1, "once");
    let crate::command::Reply::Status(status) = w.ask(crate::command::Command::Status).unwrap()
    else {
        panic!("no status")
    };
    let telegram = status.bridges.iter().find(|b| b.name.as_str() == "telegram").unwrap();
    assert!(telegram.trouble.as_deref().is_some_and(|why| why.contains("no administrator")));
    w.notes(Noted::Open { chat: ChatId::new("-100"), room: Room::Forum });
    assert_eq!(w.state.threads.len(), 2);
}

#[test]
fn an_edit_that_names_another_session_goes_there_instead() {
    let mut w = private();
    w.start("PD-285");
    w.start("PD-286");
    w.telegram("1001", "1001", None, "[PD-285] first");
    w.takes("PD-285");
    let message = w.telegram("1001", "1001", None, "[PD-285] look at the login");
    let what =
        crate::bridge::HeardKind::Edited { message, text: "[PD-286] look at the login".into() };
    w.hears("1001", super::world::telegram("1001", None), "e1".into(), w.now, what);
    assert_eq!(w.handed("PD-286"), ["look at the login"]);
    w.finishes("PD-285", "one");
    assert_eq!(w.handed("PD-285"), ["first"], "and not to the first as well");
}

#[test]
fn that_a_turn_failed_comes_after_what_was_answered_before() {
    let mut w = private();
    w.start("PD-285");
    w.doing("PD-285", crate::agent::Doing::Working);
    w.wait(TimeDelta::seconds(20));
    w.failures.push_back(SayError::Later { after: Duration::from_secs(10) });
    w.finishes("PD-285", "Half of it is done.");
    w.report(
        "PD-285",
        AgentEvent::TurnFailed {
            turn: None,
            kind: crate::agent::FailureKind::Other,
            text: "overloaded".into(),
        },
    );
    w.wait(TimeDelta::minutes(1));
    let texts = w.shows("1001");
    let at = |words: &str| texts.iter().position(|text| text.contains(words)).unwrap();
    assert!(at("Half of it") < at("overloaded"), "{texts:?}");
}

#[test]
fn two_topics_of_one_name_are_never_mixed_up_after_one_is_gone() {
    let mut w = forum();
    w.start("PD-285");
    w.start("PD-300");
    w.notes(Noted::ThreadGone { chat: ChatId::new("-100"), thread: ThreadId::new("pd-285") });
    w.telegram("1001", "-100", Some("pd-300"), "go");
    assert_eq!(w.handed("PD-300"), ["go"]);
    assert!(w.handed("PD-285").is_empty());
    assert_eq!(telegram("-100", None).chat, ChatId::new("-100"));
}

#[test]
fn what_needs_the_desk_rings_in_every_chat() {
    let mut w = private();
    let words =
        "@ines:example.org asks over Matrix to be verified. At the desk: vigie matrix verify.";
    w.notes(Noted::NeedsDesk { words: words.into() });
    w.wait(TimeDelta::minutes(1));
    let shown = w.shown.iter().find(|shown| shown.text() == words).expect("it is said");
    assert_eq!(shown.post.level, crate::bridge::Level::Ring);
}
