//! What made no sound because somebody slept, was elsewhere or wanted none: nothing of it is lost, and
//! it rings once.

use chrono::TimeDelta;
use std::collections::HashSet;

use super::{
    ledger::used,
    quiet::{approves, asks, at, code, digests, evening, fails, level, nights, rang, rings, until},
    world::{Shown, World, telegram},
};
use crate::{
    account::Budgets,
    agent::{AgentEvent, Settled},
    bridge::Level,
    decide::{Event, next_deadline},
    id::{BridgeName, HumanId},
    ringing::{DigestTime, Hours, Kind, Loudness, Quiet, Urgent},
};

fn owner(w: &mut World, hours: Hours) {
    w.state.rules.ringing.people.insert(HumanId::new("owner"), hours);
}

fn quiet(times: &[&str], digest: DigestTime) -> Hours {
    let quiet = times.iter().map(|text| Quiet::parse(text).unwrap()).collect();
    Hours { quiet, digest, ..nights() }
}

#[test]
fn without_a_digest_what_failed_at_night_rings_once_in_the_morning() {
    let mut w = evening();
    owner(&mut w, quiet(&["22:00-07:00"], DigestTime::Never));
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-285", "503");
    w.crash();
    fails(&mut w, "PD-300", "504");
    let gate = asks(&mut w, "PD-300", "r1");
    w.finishes("PD-285", "Built.");
    until(&mut w, "2026-12-01T05:59:00Z");
    assert!(rings(&w, "1001").is_empty(), "{:?}", rings(&w, "1001"));
    until(&mut w, "2026-12-01T06:01:00Z");
    w.crash();
    let code = code(&w, gate);
    approves(&mut w, gate);
    w.settled("PD-300", "r1", Settled::Ours);
    until(&mut w, "2026-12-02T12:00:00Z");
    let rung = rings(&w, "1001");
    let said = format!(
        "Since Tue 00:00, while nothing was to wake you:\nWaiting for you (1):\n{code}  PD-300 asks to run a command, 6 h 59\nFailed (2):\nPD-300: failed: 504\nPD-285: failed: 503"
    );
    assert_eq!(rung, [said], "one sound for all of it, and no more");
}

#[test]
fn what_failed_over_lunch_does_not_wait_for_the_next_morning() {
    let mut w = evening();
    let digest = DigestTime::At("08:00".parse().unwrap());
    owner(&mut w, quiet(&["22:00-07:00", "16:30-17:30"], digest));
    until(&mut w, "2026-11-30T15:40:00Z");
    fails(&mut w, "PD-285", "503");
    assert!(rings(&w, "1001").is_empty());
    until(&mut w, "2026-11-30T16:31:00Z");
    assert_eq!(rang(&w, "1001"), 1, "{:?}", rings(&w, "1001"));
    until(&mut w, "2026-12-01T07:01:00Z");
    let digest = digests(&w).pop().unwrap();
    assert!(digest.text().contains("PD-285: failed: 503"), "{}", digest.text());
    assert_eq!(digest.post.level, Level::Note, "it rang already");
}

#[test]
fn a_digest_in_the_night_is_silent_and_the_morning_rings() {
    let mut w = evening();
    let digest = DigestTime::At("05:00".parse().unwrap());
    owner(&mut w, quiet(&["22:00-07:00"], digest));
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-285", "503");
    until(&mut w, "2026-12-01T05:59:00Z");
    assert_eq!(digests(&w).pop().unwrap().post.level, Level::Note);
    assert!(rings(&w, "1001").is_empty());
    until(&mut w, "2026-12-01T06:01:00Z");
    assert_eq!(rang(&w, "1001"), 1);
}

#[test]
fn a_budget_that_is_spent_at_night_rings_in_the_morning() {
    let mut w = evening();
    owner(&mut w, quiet(&["22:00-07:00"], DigestTime::Never));
    w.state.rules.budgets = Budgets { session: Some(1000), turn: 100, ..Budgets::default() };
    w.state.rules.ringing.levels.insert(Kind::Limit, Loudness::Ring);
    until(&mut w, "2026-11-30T23:00:00Z");
    w.writes("[PD-285] go on");
    w.takes("PD-285");
    w.report("PD-285", AgentEvent::Usage { entries: vec![used("a", 100)] });
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.level_of("as much again?"), Level::Note);
    until(&mut w, "2026-12-01T06:01:00Z");
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert!(rung[0].contains("Limits (1):\nPD-285: "), "{rung:?}");
}

#[test]
fn a_question_about_money_is_there_however_quiet_limits_are() {
    let mut w = evening();
    w.state.rules.budgets = Budgets { session: Some(1000), turn: 100, ..Budgets::default() };
    w.state.rules.ringing.levels.insert(Kind::Limit, Loudness::Digest);
    w.writes("[PD-285] go on");
    w.takes("PD-285");
    w.report("PD-285", AgentEvent::Usage { entries: vec![used("a", 100)] });
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.level_of("as much again?"), Level::Note);
}

#[test]
fn what_is_urgent_rang_at_night_and_is_no_news_in_the_morning() {
    let mut w = evening();
    owner(&mut w, quiet(&["22:00-07:00"], DigestTime::Never));
    w.state.rules.ringing.urgent = vec![Urgent::parse("pd-2*").unwrap()];
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-285", "503");
    assert_eq!(rang(&w, "1001"), 1);
    until(&mut w, "2026-12-01T06:01:00Z");
    assert_eq!(rang(&w, "1001"), 1);
}

#[test]
fn trouble_is_as_loud_as_it_is_set_to_be() {
    let mut w = evening();
    w.state.rules.ringing.levels.insert(Kind::Trouble, Loudness::Note);
    w.report("PD-285", AgentEvent::Degraded { what: "its hooks are gone".into() });
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.level_of("its hooks are gone"), Level::Note);
    until(&mut w, "2026-12-01T06:01:00Z");
    let digest = digests(&w).pop().unwrap().text();
    assert!(digest.contains("Trouble (1):\nPD-285: its hooks are gone"), "{digest}");
}

#[test]
fn a_card_right_after_trouble_rings_and_only_cards_share_a_sound() {
    let mut w = evening();
    w.state.rules.ringing.bundle = TimeDelta::seconds(20);
    w.report("PD-285", AgentEvent::Degraded { what: "its hooks are gone".into() });
    w.wait(TimeDelta::seconds(5));
    let gates = ["r1", "r2"].map(|request| w.asks_to_run("PD-300", request, "make"));
    fails(&mut w, "PD-285", "503");
    let levels = gates.map(|gate| level(&w, gate, "1001"));
    assert_eq!(levels, [Level::Ring, Level::Note], "whoever heard of trouble need not look");
    assert_eq!(w.level_of("PD-285 failed"), Level::Note, "news share any sound");
    let rung = rang(&w, "1001");
    w.wait(TimeDelta::hours(1));
    assert_eq!(rang(&w, "1001"), rung);
}

#[test]
fn a_card_takes_over_the_sound_of_one_that_was_answered_unsent() {
    let mut w = evening();
    w.state.rules.ringing.bundle = TimeDelta::seconds(20);
    w.down = HashSet::from([BridgeName::new("telegram")]);
    let gates =
        ["r1", "r2"].map(|request| w.asks_to_run("PD-285", request, &format!("make {request}")));
    w.writes(&format!("approve {}", code(&w, gates[0])));
    w.settled("PD-285", "r1", Settled::Ours);
    w.down.clear();
    w.wait(TimeDelta::minutes(2));
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 1, "{rung:?}");
    assert_eq!(level(&w, gates[1], "1001"), Level::Ring);
}

#[test]
fn each_sleeps_by_the_clock_on_their_own_wall() {
    let mut w = evening();
    w.pairs("second", "1002", "1002");
    let zone = vigie_workflow::cron::zone("America/New_York").unwrap();
    let hours = Hours { zone, ..nights() };
    w.state.rules.ringing.people.insert(HumanId::new("second"), hours);
    until(&mut w, "2026-12-01T02:00:00Z"); // three in Paris, nine in the evening in New York
    let gate = asks(&mut w, "PD-285", "r1");
    assert_eq!((level(&w, gate, "1001"), level(&w, gate, "1002")), (Level::Note, Level::Ring));
    approves(&mut w, gate);
    w.settled("PD-285", "r1", Settled::Ours);
    until(&mut w, "2026-12-01T08:00:00Z"); // nine in Paris, three in New York
    let gate = asks(&mut w, "PD-285", "r2");
    assert_eq!((level(&w, gate, "1001"), level(&w, gate, "1002")), (Level::Ring, Level::Note));
    until(&mut w, "2026-12-01T12:01:00Z");
    let told = w.shown.iter().filter(|s| s.place.chat.as_str() == "1002");
    let told = told.filter(|s| s.text().starts_with("Since ")).map(Shown::text);
    assert_eq!(told.count(), 1, "the digest of a New York morning");
}

#[test]
fn a_night_in_which_clocks_are_moved_ends_by_the_clock_on_the_wall() {
    for (begins, ends) in [
        ("2027-03-27T20:00:00Z", "2027-03-28T05:00:00Z"), // an hour less
        ("2027-10-30T19:00:00Z", "2027-10-31T06:00:00Z"), // an hour more
    ] {
        let mut w = evening();
        w.now = at(begins) - TimeDelta::hours(1);
        w.wait(TimeDelta::hours(3));
        let before = digests(&w).len();
        let gate = asks(&mut w, "PD-285", "r1");
        assert_eq!(level(&w, gate, "1001"), Level::Note);
        w.wait(at(ends) - TimeDelta::seconds(1) - w.now);
        assert_eq!(digests(&w).len(), before, "{ends}");
        w.wait(TimeDelta::minutes(1));
        assert_eq!(digests(&w).len(), before + 1, "{ends}");
        assert_eq!(rang(&w, "1001"), 1, "{ends}");
    }
}

#[test]
fn a_weekend_is_one_quiet_time_with_the_nights_around_it() {
    let mut w = evening();
    owner(&mut w, quiet(&["22:00-07:00", "sat-sun 00:00-24:00"], DigestTime::Never));
    until(&mut w, "2026-12-04T20:00:00Z"); // a Friday, nine in the evening
    let friday = asks(&mut w, "PD-285", "r1");
    assert_eq!(level(&w, friday, "1001"), Level::Ring);
    approves(&mut w, friday);
    w.settled("PD-285", "r1", Settled::Ours);
    until(&mut w, "2026-12-05T11:00:00Z");
    let saturday = asks(&mut w, "PD-285", "r2");
    assert_eq!(level(&w, saturday, "1001"), Level::Note);
    let rung = rang(&w, "1001");
    until(&mut w, "2026-12-07T05:59:00Z");
    assert_eq!(rang(&w, "1001"), rung, "not on Sunday, nor in the night to Monday");
    until(&mut w, "2026-12-07T06:01:00Z");
    assert_eq!(rang(&w, "1001"), rung + 1);
    let said = rings(&w, "1001").pop().unwrap();
    assert!(said.ends_with("PD-285: asks to run a command: nobody answered in time"), "{said}");
}

#[test]
fn a_daemon_that_was_down_over_the_hour_of_the_digest_says_it_once() {
    let mut w = evening();
    until(&mut w, "2026-11-30T23:00:00Z");
    fails(&mut w, "PD-285", "503");
    let gate = asks(&mut w, "PD-300", "r1");
    w.now = at("2026-12-01T09:17:00Z"); // nothing ticks
    w.crash();
    w.wait(TimeDelta::minutes(1));
    let told = digests(&w);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].post.level, Level::Ring);
    let text = told[0].text();
    assert!(text.contains("PD-285: failed: 503") && text.contains(&code(&w, gate)), "{text}");
    w.crash();
    w.wait(TimeDelta::hours(4));
    assert_eq!((digests(&w).len(), rang(&w, "1001")), (1, 1));
}

#[test]
fn a_mute_that_ends_says_what_came_meanwhile() {
    let mut w = evening();
    w.writes_as("1001", &telegram("1001", None), "/mute pd-285 2h", None);
    fails(&mut w, "PD-285", "503");
    fails(&mut w, "PD-300", "504");
    w.wait(TimeDelta::hours(2));
    let said = w.shows("1001").into_iter().find(|text| text.contains("no longer muted"));
    let expected = "PD-285 is no longer muted for you.\nFailed (1):\nPD-285: failed: 503";
    assert_eq!(said.as_deref(), Some(expected));
    assert!(rings(&w, "1001").iter().all(|text| !text.contains("PD-285")));

    w.writes_as("1001", &telegram("1001", None), "/mute all 1h", None);
    fails(&mut w, "PD-300", "505");
    w.writes_as("1001", &telegram("1001", None), "/unmute all", None);
    w.wait(TimeDelta::seconds(10));
    assert!(w.said("Everything is heard again.\nFailed (1):\nPD-300: failed: 505"));
}

#[test]
fn whoever_is_muted_and_asleep_misses_nothing_that_others_hear() {
    let mut w = evening();
    owner(&mut w, quiet(&["22:00-07:00"], DigestTime::Never));
    w.writes_as("1001", &telegram("1001", None), "/mute pd-285 7d", None);
    until(&mut w, "2026-11-30T23:00:00Z");
    let gate = asks(&mut w, "PD-285", "r1");
    until(&mut w, "2026-12-01T12:00:00Z");
    assert!(rings(&w, "1001").is_empty(), "muted is silent by day as well");
    until(&mut w, "2026-12-07T15:02:00Z");
    let rung = rings(&w, "1001");
    assert_eq!(rung.len(), 0, "it lapsed after a day: {rung:?}");
    assert!(!w.state.gates[&gate].is_open());
}

/// Whatever write of a night the daemon dies after, the next one says the same, once.
#[test]
fn a_death_after_any_write_of_the_night_loses_and_doubles_nothing() {
    let night = |dies_after: Option<usize>| {
        let mut w = evening();
        owner(&mut w, quiet(&["22:00-07:00"], DigestTime::Never));
        w.writes_as("1001", &telegram("1001", None), "/mute pd-300 10h", None);
        let begun = w.commits;
        w.dies_after.extend(dies_after.map(|after| begun + after));
        until(&mut w, "2026-11-30T23:00:00Z");
        fails(&mut w, "PD-285", "503");
        let gate = asks(&mut w, "PD-285", "r1");
        until(&mut w, "2026-12-01T07:00:00Z");
        approves(&mut w, gate);
        w.settled("PD-285", "r1", Settled::Ours);
        w.wait(TimeDelta::minutes(5));
        assert!(next_deadline(&w.state).is_none_or(|at| at > w.now), "{dies_after:?}");
        w.step(Event::Tick);
        // Ids are others after a death.
        let own = code(&w, gate);
        let same = |text: String| text.replace(&own, "CODE").replace("\n(may be a repeat)", "");
        let texts: Vec<_> = w.shows("1001").into_iter().map(same).collect();
        let rung: Vec<_> = rings(&w, "1001").into_iter().map(same).collect();
        assert_eq!(rang(&w, "1001"), rung.len());
        (texts, rung, w.commits - begun)
    };
    let (texts, rung, commits) = night(None);
    assert!(rung.len() == 1 && commits > 10, "{rung:?}, {commits}");
    for after in 1..=commits {
        let (then, rings, _) = night(Some(after));
        assert_eq!(rings, rung, "after write {after}");
        assert_eq!(then, texts, "after write {after}");
    }
}
