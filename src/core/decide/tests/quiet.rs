//! Nights, levels, digests, mutes and reminders: what rings when, and that nothing is dropped.

use chrono::TimeDelta;

use super::world::{Shown, World, telegram};
use crate::{
    Timestamp,
    agent::{AgentEvent, FailureKind, Settled},
    bridge::Level,
    command::{Command, Reply},
    id::{GateId, HumanId, ProjectName},
    ringing::{DigestTime, Hours, Kind, Loudness, Order, Quiet, Urgent},
};

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn nights() -> Hours {
    Hours {
        zone: vigie_workflow::cron::zone("Europe/Paris").unwrap(),
        quiet: vec![Quiet::parse("22:00-07:00").unwrap()],
        digest: DigestTime::AfterQuiet,
    }
}

/// The owner on Telegram, in Paris, at four in the afternoon; nothing rings for them at night.
pub(super) fn evening() -> World {
    let mut w = World::new();
    w.now = at("2026-11-30T15:00:00Z");
    w.pairs("owner", "1001", "1001");
    for human in ["owner", "mate", "second"] {
        sleeps_at_night(&mut w, human);
    }
    w.start("PD-285");
    w.start("PD-300");
    w.wait(TimeDelta::minutes(1));
    w
}

fn sleeps_at_night(w: &mut World, human: &str) {
    w.state.rules.ringing.people.insert(HumanId::new(human), nights());
}

pub(super) fn until(w: &mut World, text: &str) {
    let time = at(text) - w.now;
    assert!(time > TimeDelta::zero(), "{text} is over");
    w.wait(time);
}

pub(super) fn asks(w: &mut World, name: &str, request: &str) -> GateId {
    let gate = w.asks_to_run(name, request, "make test");
    w.wait(TimeDelta::seconds(10));
    gate
}

pub(super) fn rings(w: &World, chat: &str) -> Vec<String> {
    let rang = |s: &&Shown| s.place.chat.as_str() == chat && s.post.level == Level::Ring;
    w.shown.iter().filter(rang).map(Shown::text).collect()
}

/// How often it rang there, whatever became of it since.
pub(super) fn rang(w: &World, chat: &str) -> usize {
    let here = |(_, at, level): &&(_, crate::id::ChatId, Level)| {
        at.as_str() == chat && *level == Level::Ring
    };
    w.came.iter().filter(here).count()
}

pub(super) fn level(w: &World, gate: GateId, chat: &str) -> Level {
    w.card_in(gate, chat).post.level
}

pub(super) fn code(w: &World, gate: GateId) -> String {
    w.state.gates[&gate].code.to_string()
}

pub(super) fn approves(w: &mut World, gate: GateId) {
    let words = format!("approve {}", code(w, gate));
    w.writes_as("1001", &telegram("1001", None), &words, None);
}

pub(super) fn fails(w: &mut World, name: &str, text: &str) {
    let (kind, text) = (FailureKind::Other, text.to_owned());
    w.report(name, AgentEvent::TurnFailed { turn: None, kind, text });
    w.wait(TimeDelta::seconds(10));
}

pub(super) fn digests(w: &World) -> Vec<Shown> {
    let is_one = |s: &&Shown| s.place.chat.as_str() == "1001" && s.text().starts_with("Since ");
    w.shown.iter().filter(is_one).cloned().collect()
}

#[test]
fn a_night_holds_the_ring_and_the_morning_rings_once_for_all_that_waits() {
    let mut w = evening();
    let day = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, day, "1001"), Level::Ring);
    approves(&mut w, day);
    w.settled("PD-285", "r1", Settled::Ours);
    until(&mut w, "2026-11-30T21:30:00Z");
    let before = rings(&w, "1001").len();
    let gates = [asks(&mut w, "PD-285", "r2"), asks(&mut w, "PD-300", "r3")];
    assert_eq!(gates.map(|gate| level(&w, gate, "1001")), [Level::Note; 2], "silent, and there");
    assert_eq!(gates.map(|gate| level(&w, gate, "main")), [Level::Note; 2], "on the page as well");
    until(&mut w, "2026-12-01T05:59:00Z");
    assert_eq!(rings(&w, "1001").len(), before, "{:?}", rings(&w, "1001"));
    until(&mut w, "2026-12-01T06:00:30Z");
    let rung = rings(&w, "1001")[before..].to_vec();
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(gates.iter().all(|gate| rung[0].contains(&code(&w, *gate))), "{rung:?}");
    assert_eq!(digests(&w).len(), 1, "the ring is the digest");
    until(&mut w, "2026-12-01T12:00:00Z");
    assert_eq!(rings(&w, "1001").len(), before + 1);
}

#[test]
fn what_was_answered_in_the_night_rings_nobody_in_the_morning() {
    let mut w = evening();
    until(&mut w, "2026-11-30T23:00:00Z");
    let gate = asks(&mut w, "PD-285", "r1");
    approves(&mut w, gate);
    w.settled("PD-285", "r1", Settled::Ours);
    until(&mut w, "2026-12-01T06:01:00Z");
    assert!(rings(&w, "1001").is_empty(), "{:?}", rings(&w, "1001"));
    let digest = &digests(&w)[0];
    assert_eq!(digest.post.level, Level::Note);
}

#[test]
fn a_night_without_a_digest_ends_with_a_ring_below_the_card() {
    let mut w = evening();
    let hours = Hours { digest: DigestTime::Never, ..nights() };
    w.state.rules.ringing.people.insert(HumanId::new("owner"), hours);
    until(&mut w, "2026-11-30T23:00:00Z");
    let gate = asks(&mut w, "PD-285", "r1");
    w.crash();
    until(&mut w, "2026-12-01T06:01:00Z");
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(rung[0].starts_with("This waits for you:") && rung[0].contains(&code(&w, gate)));
    let loud = w.shown.iter().find(|s| s.text() == rung[0]).unwrap();
    assert_eq!(loud.reply_to, Some(w.card_in(gate, "1001").message.clone()));
    assert!(digests(&w).is_empty());
}

#[test]
fn what_is_urgent_rings_through_the_night() {
    for rule in [
        Urgent::Kind(Kind::Permission),
        Urgent::Project(ProjectName::new("quay")),
        Urgent::parse("PD-2*").unwrap(),
    ] {
        let mut w = evening();
        w.state.rules.ringing.urgent = vec![rule];
        until(&mut w, "2026-11-30T23:00:00Z");
        let gate = asks(&mut w, "PD-285", "r1");
        assert_eq!(level(&w, gate, "1001"), Level::Ring);
        let rung = rings(&w, "1001").len();
        until(&mut w, "2026-12-01T06:01:00Z");
        assert_eq!(rings(&w, "1001").len(), rung, "it rang already");
    }
}

#[test]
fn one_sleeps_and_the_other_is_rung() {
    let mut w = evening();
    w.state.rules.ringing.people.remove(&HumanId::new("second"));
    w.pairs("second", "1002", "1002");
    until(&mut w, "2026-11-30T23:00:00Z");
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!((level(&w, gate, "1001"), level(&w, gate, "1002")), (Level::Note, Level::Ring));
    until(&mut w, "2026-12-01T06:01:00Z");
    assert_eq!(rings(&w, "1001").len(), 1, "and the first in the morning");
    assert_eq!(rings(&w, "1002").len(), 1);
}

#[test]
fn a_failure_of_the_night_comes_silently_and_rings_with_the_digest() {
    let mut w = evening();
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-285", "503");
    assert_eq!(w.level_of("PD-285 failed. The session goes on"), Level::Note);
    until(&mut w, "2026-12-01T06:01:00Z");
    let digest = digests(&w).pop().unwrap();
    assert_eq!(digest.post.level, Level::Ring);
    assert!(digest.text().contains("Failed (1):\nPD-285: failed: 503"));
}

#[test]
fn there_is_one_digest_a_day_over_restarts_and_after_a_long_sleep() {
    let mut w = evening();
    w.report(
        "PD-300",
        AgentEvent::Cost { micro_usd: 1_230_000, input_tokens: 1, output_tokens: 1 },
    );
    w.finishes("PD-300", "The pier is built.");
    w.finishes("PD-300", "And painted.");
    until(&mut w, "2026-12-01T06:01:00Z");
    w.crash();
    until(&mut w, "2026-12-01T20:00:00Z");
    w.crash();
    let told = digests(&w);
    assert_eq!(told.len(), 1, "{told:?}");
    let text = told[0].text();
    assert!(text.contains("Done (1):\nPD-300 (2 times): And painted."), "{text}");
    assert!(text.contains("Cost: $1.23"), "{text}");

    // The machine sleeps over three mornings.
    w.now = at("2026-12-04T14:00:00Z");
    w.wait(TimeDelta::minutes(1));
    until(&mut w, "2026-12-04T22:00:00Z");
    let told = digests(&w);
    assert_eq!(told.len(), 2, "one for all that was missed");
    assert!(told[1].text().ends_with("nothing happened, and nothing waits for you."));
    assert!(!told[1].text().contains("painted"), "nothing is told twice");
    until(&mut w, "2026-12-05T06:01:00Z");
    assert_eq!(digests(&w).len(), 3);
}

#[test]
fn a_digest_can_be_asked_for_in_a_chat_and_at_the_desk() {
    let mut w = evening();
    w.finishes("PD-300", "The pier is built.");
    let gate = asks(&mut w, "PD-285", "r1");
    w.writes_as("1001", &telegram("1001", None), "/digest", None);
    w.wait(TimeDelta::seconds(5));
    let said = digests(&w).pop().unwrap();
    assert_eq!(said.post.level, Level::Note);
    assert!(said.text().contains(&code(&w, gate)) && said.text().contains("The pier is built."));
    match w.ask(Command::Digest).unwrap() {
        Reply::Done { words } => assert!(words.contains("The pier is built."), "{words}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_is_as_loud_as_it_is_set_to_be() {
    let mut w = evening();
    let levels = &mut w.state.rules.ringing.levels;
    levels.insert(Kind::Permission, Loudness::Note);
    levels.insert(Kind::Failure, Loudness::Digest);
    levels.insert(Kind::Done, Loudness::Ring);
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, gate, "1001"), Level::Note, "a card is there, however quiet");
    fails(&mut w, "PD-285", "503");
    assert!(!w.said("PD-285 failed. The session goes on"));
    w.finishes("PD-300", "The pier is built.");
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.level_of("The pier is built."), Level::Ring);
    until(&mut w, "2026-12-01T06:01:00Z");
    let digest = digests(&w).pop().unwrap().text();
    assert!(digest.contains("Failed (1):") && digest.contains(&code(&w, gate)), "{digest}");
    assert!(rings(&w, "1001").iter().all(|text| !text.contains("asks to run")));
}

#[test]
fn whoever_asked_has_the_answer_though_done_is_for_the_digest() {
    let mut w = evening();
    w.state.rules.ringing.levels.insert(Kind::Done, Loudness::Digest);
    w.finishes("PD-300", "Nobody asked.");
    w.writes_as("1001", &telegram("1001", None), "[PD-300] build it", None);
    w.takes("PD-300");
    w.finishes("PD-300", "Built.");
    w.wait(TimeDelta::seconds(10));
    assert!(!w.said("Nobody asked.") && w.said("Built."));
}

#[test]
fn a_muted_session_is_silent_until_that_is_over_and_rings_then() {
    let mut w = evening();
    w.writes_as("1001", &telegram("1001", None), "/mute pd-285 2h", None);
    let gate = asks(&mut w, "PD-285", "r1");
    let other = asks(&mut w, "PD-300", "r2");
    assert_eq!((level(&w, gate, "1001"), level(&w, other, "1001")), (Level::Note, Level::Ring));
    fails(&mut w, "PD-285", "503");
    assert_eq!(w.level_of("PD-285 failed. The session goes on"), Level::Note);
    w.writes_as("1001", &telegram("1001", None), "/mute", None);
    w.wait(TimeDelta::seconds(5));
    assert!(w.said("Muted for you:\nPD-285 until Mon 18:"), "{:?}", w.shows("1001"));
    w.crash();
    let before = rings(&w, "1001").len();
    w.wait(TimeDelta::hours(2));
    let rung = rings(&w, "1001")[before..].to_vec();
    assert!(w.said("PD-285 is no longer muted for you."));
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(rung[0].contains(&code(&w, gate)), "{rung:?}");
}

#[test]
fn what_is_no_longer_muted_rings_at_once() {
    let mut w = evening();
    w.ask(Command::Mute { words: "all 1d".into() }).unwrap();
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, gate, "1001"), Level::Note);
    w.ask(Command::Unmute { name: "all".into() }).unwrap();
    w.wait(TimeDelta::seconds(5));
    assert_eq!(rings(&w, "1001").len(), 1);
    let refused = w.ask(Command::Mute { words: "PD-285 9d".into() }).unwrap_err();
    assert!(refused.to_string().contains("at most 7d"), "{refused}");
    assert!(w.ask(Command::Mute { words: "PD-999 1h".into() }).is_err());
}

#[test]
fn what_nobody_answers_is_said_again_a_few_times_further_and_further() {
    let mut w = evening();
    w.pairs_on_matrix("owner", "@ines:example.org", "!room:example.org");
    w.now += TimeDelta::seconds(1);
    w.writes_as("1001", &telegram("1001", None), "/status", None);
    w.state.rules.ringing.remind = Some(TimeDelta::minutes(30));
    let gate = asks(&mut w, "PD-285", "r1");
    let said = |w: &World, chat: &str| {
        rings(w, chat).iter().filter(|text| text.starts_with("This still waits")).count()
    };
    w.wait(TimeDelta::minutes(31));
    assert_eq!((said(&w, "1001"), said(&w, "!room:example.org")), (1, 0));
    let again = w.shown.iter().rfind(|s| s.text().starts_with("This still waits")).unwrap();
    assert_eq!(again.reply_to, Some(w.card_in(gate, "1001").message.clone()));
    w.crash();
    w.wait(TimeDelta::minutes(30));
    assert_eq!((said(&w, "1001"), said(&w, "!room:example.org")), (1, 1), "the other service");
    w.wait(TimeDelta::minutes(30));
    assert_eq!(said(&w, "1001") + said(&w, "!room:example.org"), 3);
    until(&mut w, "2026-11-30T20:50:00Z");
    assert_eq!(said(&w, "1001") + said(&w, "!room:example.org"), 3, "and then no more");
}

#[test]
fn a_reminder_ends_with_the_answer_and_never_comes_at_night() {
    let mut w = evening();
    w.state.rules.ringing.remind = Some(TimeDelta::minutes(30));
    let gate = asks(&mut w, "PD-285", "r1");
    approves(&mut w, gate);
    w.settled("PD-285", "r1", Settled::Ours);
    w.wait(TimeDelta::hours(2));
    let of_the_day = rings(&w, "1001").len();
    assert_eq!(of_the_day, 0, "its card alone rang, and is answered");
    until(&mut w, "2026-11-30T20:45:00Z");
    asks(&mut w, "PD-300", "r2"); // a quarter of an hour before the night
    until(&mut w, "2026-12-01T05:59:00Z");
    assert_eq!(rings(&w, "1001").len(), of_the_day + 1, "{:?}", rings(&w, "1001"));
    until(&mut w, "2026-12-01T06:20:00Z");
    assert_eq!(rings(&w, "1001").len(), of_the_day + 2, "once, in the morning");
}

#[test]
fn one_after_the_other_is_called_in_their_order() {
    let mut w = evening();
    w.pairs("second", "1002", "1002");
    w.state.rules.ringing.order = Order::Named(vec![HumanId::new("second"), HumanId::new("owner")]);
    w.state.rules.ringing.remind = Some(TimeDelta::minutes(30));
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!((level(&w, gate, "1001"), level(&w, gate, "1002")), (Level::Note, Level::Ring));
    w.wait(TimeDelta::minutes(31));
    assert_eq!((rings(&w, "1001").len(), rings(&w, "1002").len()), (0, 2));
    w.wait(TimeDelta::minutes(30));
    assert_eq!((rings(&w, "1001").len(), rings(&w, "1002").len()), (1, 2), "the next person");
}

#[test]
fn what_comes_together_is_one_sound() {
    let mut w = evening();
    w.state.rules.ringing.bundle = TimeDelta::seconds(20);
    let mut gates = Vec::new();
    for request in ["r1", "r2", "r3"] {
        gates.push(w.asks_to_run("PD-285", request, "make test"));
    }
    w.wait(TimeDelta::seconds(10));
    let levels: Vec<_> = gates.iter().map(|gate| level(&w, *gate, "1001")).collect();
    assert_eq!(levels, [Level::Ring, Level::Note, Level::Note]);
    assert!(w.cards_in(gates[2], "1001")[0].at - w.now < TimeDelta::seconds(10));
    w.wait(TimeDelta::seconds(20));
    let later = asks(&mut w, "PD-300", "r4");
    assert_eq!(level(&w, later, "1001"), Level::Ring);
}

#[test]
fn the_case_of_what_was_begun_at_the_desk() {
    let mut w = evening();
    w.state.rules.ringing.desk_delay = TimeDelta::minutes(2);
    let text = "push it".to_owned();
    w.report("PD-285", AgentEvent::ForeignTurn { turn: None, text });
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, gate, "1001"), Level::Note, "whoever began it sits there");
    w.settled("PD-285", "r1", Settled::AtDesk { allowed: crate::agent::AtDesk::Allowed });
    w.wait(TimeDelta::minutes(5));
    assert!(rings(&w, "1001").is_empty(), "{:?}", rings(&w, "1001"));

    let gate = asks(&mut w, "PD-285", "r2");
    w.wait(TimeDelta::minutes(1));
    assert!(rings(&w, "1001").is_empty());
    w.crash();
    w.wait(TimeDelta::minutes(1));
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(rung[0].contains(&code(&w, gate)), "{rung:?}");

    // A turn of the phone's own rings at once.
    w.settled("PD-285", "r2", Settled::Gone);
    w.finishes("PD-285", "ok");
    w.writes_as("1001", &telegram("1001", None), "[PD-285] go on", None);
    w.takes("PD-285");
    let third = asks(&mut w, "PD-285", "r3");
    assert_eq!(level(&w, third, "1001"), Level::Ring);
}

#[test]
fn in_a_chat_for_all_each_has_their_own_quiet_hours_and_mutes() {
    let mut w = evening();
    let phone = crate::id::BridgeName::new("phone");
    let pd = "PD-285".parse::<crate::id::SessionName>().unwrap();
    let hushed = |w: &World, who: &str, session| w.state.is_hushed_on(&phone, who, session, w.now);
    assert!(!hushed(&w, "owner", Some(&pd)) && !hushed(&w, "nobody", None));
    w.ask(Command::Mute { words: "PD-285 1h".into() }).unwrap();
    assert!(hushed(&w, "owner", Some(&pd)), "whoever muted it");
    assert!(!hushed(&w, "owner", None) && !hushed(&w, "mate", Some(&pd)));
    until(&mut w, "2026-11-30T23:00:00Z");
    assert!(hushed(&w, "owner", None) && hushed(&w, "mate", None), "at night");
    w.state.rules.ringing.urgent.push(Urgent::Named("pd-2*".into()));
    assert!(hushed(&w, "mate", None) && !hushed(&w, "mate", Some(&pd)));
    w.state.rules.ringing.urgent.push(Urgent::Kind(Kind::Failure));
    assert!(!hushed(&w, "mate", None), "it could be a failure");
}
