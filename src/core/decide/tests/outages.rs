//! Accounts that are stopped: by a limit in the night, an overload, a lost login, an unpaid bill.

use chrono::TimeDelta;

use super::world::*;
use crate::{
    Timestamp,
    agent::{AgentEvent, Doing, FailureKind, OrderKind, PromptForm},
    bridge::{Level, Mark},
    caller::{Confirmed, Letter},
    command::{Command, Refusal, Reply, Start},
    id::{AccountName, AgentName, HumanId, TurnId},
    outage::{Named, Stand, Why},
    session::Life,
};

const LIMIT: &str = "You've hit your session limit · resets 4:11am (Europe/Paris)";
const GO_ON: &str = "Go on where you were cut off.";

/// 04:11 in Paris, in the night in which every world begins (01:53 there).
fn reset() -> Timestamp {
    "2026-11-30T03:11:00Z".parse().unwrap()
}

impl World {
    fn turn_fails(&mut self, name: &str, kind: FailureKind, text: &str) {
        self.report(name, AgentEvent::TurnFailed { turn: None, kind, text: text.into() });
        self.doing(name, Doing::Idle);
    }

    fn hits_limit(&mut self, name: &str) {
        self.turn_fails(name, FailureKind::Limit, LIMIT);
    }

    /// A turn that is cut off by the limit a second after it began.
    fn is_cut_off(&mut self, name: &str) {
        self.writes(&format!("[{name}] go"));
        self.takes(name);
        self.wait(TimeDelta::seconds(1));
        self.hits_limit(name);
    }

    fn until(&mut self, at: Timestamp) {
        let time = at - self.now;
        self.wait(time);
    }

    fn starts_with_agent(&mut self, name: &str, agent: &str) {
        let start = Start { name: name.into(), agent: Some(agent.into()), ..Start::default() };
        self.ask(Command::Start(start)).unwrap();
        self.comes_up(name);
    }

    /// What is said about accounts, as it stands there now.
    fn about_account(&self, account: &str) -> Vec<String> {
        let all = self.shown.iter().map(Shown::text);
        all.filter(|text| text.starts_with(&format!("{account} "))).collect()
    }

    fn account_level(&self, account: &str) -> Level {
        let about = |s: &&Shown| s.text().starts_with(&format!("{account} "));
        self.shown.iter().rev().find(about).expect("it is said").post.level
    }

    fn stand(&self) -> Option<Stand> {
        self.state.troubles.get(&AccountName::new("demo")).map(|trouble| trouble.stand)
    }

    fn limited(&mut self, name: &str) -> Option<String> {
        let id = self.id(name);
        let Ok(Reply::Sessions(views)) = self.ask(Command::Sessions) else { panic!("sessions") };
        let view = views.into_iter().find(|view| view.session.id == id).unwrap();
        view.limited.map(|limited| limited.words)
    }

    fn retries(&mut self, account: Option<&str>) -> Result<Reply, Refusal> {
        self.ask(Command::RetryAccount { account: account.map(Into::into) })
    }
}

#[test]
fn a_try_before_the_named_time_does_not_make_it_forgotten() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    let Some(Stand::Until { at, .. }) = w.stand() else { panic!("{:?}", w.stand()) };
    w.until(reset() - TimeDelta::seconds(40));
    w.retries(Some("demo")).unwrap();
    w.wait(TimeDelta::seconds(1));
    w.takes("PD-285");
    w.hits_limit("PD-285");
    let Some(Stand::Until { at: again, named: Named::ByAgent }) = w.stand() else {
        panic!("{:?}", w.stand())
    };
    assert!((again - at).abs() < TimeDelta::seconds(45), "{again} is as good as {at}");
    assert_eq!(w.about_account("demo").len(), 1, "one message, brought up to date");
    w.until(again + TimeDelta::seconds(1));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON, GO_ON]);
}

#[test]
fn a_try_within_the_minute_that_was_named_is_made_again_soon() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    w.until(reset() + TimeDelta::seconds(21));
    w.takes("PD-285");
    w.hits_limit("PD-285");
    assert_eq!(w.about_account("demo").len(), 1, "the same limit, not another");
    w.wait(TimeDelta::seconds(21));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON, GO_ON]);
    w.until(reset() + TimeDelta::seconds(61));
    w.takes("PD-285");
    w.hits_limit("PD-285");
    w.wait(TimeDelta::seconds(59));
    assert_eq!(w.handed("PD-285").len(), 3, "a named time that was wrong is tried more rarely");
}

#[test]
fn a_limit_in_the_night_is_said_once_and_all_of_it_goes_on_after_its_reset() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    let then = w.writes("[PD-285] then run the e2e tests");
    let said = w.about_account("demo");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("demo is at its usage limit until 04:11 (Europe/Paris).\n"),
        "{said:?}"
    );
    assert!(said[0].contains("You've hit your session limit"), "{said:?}");
    assert!(said[0].contains("Held: PD-285 (cut off, 1 message waits)."), "{said:?}");
    assert_eq!(w.account_level("demo"), Level::Note, "it passes by itself, so it wakes nobody");
    assert_eq!(w.limited("PD-285").unwrap(), "is at its usage limit until 04:11");
    let Mark::Stored { words: Some(words), .. } = w.mark(&then) else {
        panic!("{:?}", w.mark(&then))
    };
    assert_eq!(words, "kept: demo is at its usage limit until 04:11");
    // A daemon that dies, and a holder that comes back, change nothing.
    w.crash();
    w.doing("PD-285", Doing::Idle);
    w.until(reset());
    assert_eq!(w.handed("PD-285"), ["go"]);
    w.wait(TimeDelta::seconds(20));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON]);
    assert_eq!(w.form("PD-285"), PromptForm::Own, "nobody else's words");
    assert!(w.said("Vigie to PD-285: Go on where you were cut off."));
    w.takes("PD-285");
    assert_eq!(w.limited("PD-285"), None);
    w.finishes("PD-285", "It is built.");
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON, "then run the e2e tests"]);
    let said = w.about_account("demo");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("demo was at its usage limit from 01:53 to 04:11"), "{said:?}");
    assert_eq!(w.stand(), None);
    w.crash();
    assert_eq!(w.stand(), None, "that it is over is written down");
}

#[test]
fn an_agent_that_goes_on_by_itself_is_not_told_to_as_well() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    w.until(reset());
    w.report("PD-285", AgentEvent::ForeignTurn { turn: None, text: String::new() });
    w.doing("PD-285", Doing::Working);
    w.wait(TimeDelta::seconds(1));
    w.finishes("PD-285", "It is built.");
    w.wait(TimeDelta::seconds(60));
    assert_eq!(w.handed("PD-285"), ["go"]);
    assert_eq!(w.stand(), None, "it works again");
}

#[test]
fn ten_sessions_make_one_message_and_go_on_one_after_the_other() {
    let names: Vec<String> = (1..=10).map(|n| format!("PD-{n}")).collect();
    let mut w = World::with(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        w.writes(&format!("[{name}] go"));
        w.takes(name);
    }
    w.wait(TimeDelta::seconds(1));
    for name in names.iter().rev() {
        w.wait(TimeDelta::milliseconds(200));
        w.hits_limit(name);
    }
    let said = w.about_account("demo");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("Held: PD-10 (cut off), PD-9 (cut off)"), "{said:?}");
    w.until(reset());
    let mut order = Vec::new();
    for _ in 0..90 {
        w.wait(TimeDelta::seconds(1));
        let before = order.len();
        for name in &names {
            if !order.contains(name) && w.handed(name).len() == 2 {
                order.push(name.clone());
                w.takes(name);
            }
        }
        assert!(order.len() <= before + 1, "at most one a second: {order:?}");
    }
    let as_cut: Vec<_> = names.iter().rev().cloned().collect();
    assert_eq!(order, as_cut, "in the order in which they were cut off");
    assert_eq!(w.about_account("demo").len(), 1);
}

#[test]
fn words_that_only_speak_of_a_limit_stop_nothing() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    let quoted = "The log says: usage limit reached, resets 04:11";
    w.report("PD-285", AgentEvent::Progress { turn: None, line: quoted.into() });
    w.finishes("PD-285", quoted);
    w.turn_fails("PD-285", FailureKind::Request, quoted);
    assert_eq!(w.stand(), None);
    w.writes("[PD-285] usage limit reached|1796008260");
    assert_eq!(w.handed("PD-285").len(), 2);
    assert_eq!(w.limited("PD-285"), None);
}

#[test]
fn without_a_time_it_is_tried_with_growing_pauses_and_still_said_once() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.turn_fails("PD-285", FailureKind::Limit, "Number of requests exceeded");
    assert!(w.said("does not say until when. It is tried again at 01:5"));
    let mut pauses = Vec::new();
    for tries in 2..=8 {
        let before = w.now;
        while w.handed("PD-285").len() < tries {
            w.wait(TimeDelta::seconds(30));
        }
        pauses.push((w.now - before).num_minutes());
        w.takes("PD-285");
        w.wait(TimeDelta::seconds(1));
        w.turn_fails("PD-285", FailureKind::Limit, "Number of requests exceeded");
    }
    assert!(pauses.windows(2).all(|two| two[0] < two[1] || two[0] >= 60), "{pauses:?}");
    assert!(pauses[6] >= 60 && pauses[6] <= 73, "{pauses:?}");
    assert_eq!(w.about_account("demo").len(), 1, "what was said is changed");
    // Nobody's limit lasts so long: then it rings, once.
    for _ in 0..300 {
        w.wait(TimeDelta::hours(1));
        if w.state.line_of(w.id("PD-285")).next().is_some() {
            w.takes("PD-285");
            w.wait(TimeDelta::seconds(1));
            w.turn_fails("PD-285", FailureKind::Limit, "Number of requests exceeded");
        }
    }
    assert_eq!(w.stand(), Some(Stand::UntilSaid));
    assert_eq!(w.about_account("demo").len(), 2);
    assert_eq!(w.account_level("demo"), Level::Ring);
    assert!(w.said("longer than any limit lasts"));
}

#[test]
fn another_limit_behind_the_first_is_said_and_the_same_is_not() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.is_cut_off("PD-285");
    w.writes("[PD-286] go");
    assert_eq!(w.handed("PD-286").len(), 0, "it went nowhere while the account was stopped");
    w.until(reset() + TimeDelta::seconds(25));
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(1));
    let weekly = "You've hit your weekly limit · resets Dec 2, 5pm (Europe/Paris)";
    w.turn_fails("PD-285", FailureKind::Limit, weekly);
    let said = w.about_account("demo");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("until Wed 17:00 (Europe/Paris)"), "{said:?}");
    w.wait(TimeDelta::days(1));
    assert_eq!(w.about_account("demo").len(), 2);
    assert_eq!(w.handed("PD-285").len(), 2);
}

#[test]
fn a_login_that_is_lost_rings_once_and_a_turn_that_works_brings_all_back() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.writes("[PD-286] go");
    w.takes("PD-286");
    w.wait(TimeDelta::seconds(1));
    w.turn_fails("PD-285", FailureKind::Account, "Not logged in · Please run /login");
    w.wait(TimeDelta::milliseconds(10));
    w.turn_fails("PD-286", FailureKind::Account, "Not logged in · Please run /login");
    w.writes("[PD-286] and the docs");
    let said = w.about_account("demo");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("At the desk: vigie attach PD-285, log in there"), "{said:?}");
    assert!(said[0].contains("PD-286 (cut off, 1 message waits)"), "{said:?}");
    assert_eq!(w.account_level("demo"), Level::Ring);
    assert_eq!(w.limited("PD-286").unwrap(), "is not logged in");
    w.wait(TimeDelta::days(2));
    assert_eq!(w.handed("PD-285"), ["go"], "nothing is tried by itself");
    // Somebody logs in at the desk and goes on there.
    let turn = Some(TurnId::new("desk"));
    w.report("PD-285", AgentEvent::ForeignTurn { turn, text: "go on".into() });
    w.wait(TimeDelta::seconds(2));
    assert_eq!(w.handed("PD-286"), ["go"]);
    w.finishes("PD-285", "Done.");
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.handed("PD-285"), ["go"], "whoever wrote there went on with it");
    assert_eq!(w.handed("PD-286"), ["go", GO_ON]);
    w.takes("PD-286");
    w.finishes("PD-286", "Done.");
    w.wait(TimeDelta::seconds(10));
    assert_eq!(w.handed("PD-286"), ["go", GO_ON, "and the docs"]);
    assert!(w.about_account("demo")[0].contains("was not logged in"));
}

#[test]
fn a_person_may_say_that_it_is_tried_again() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(1));
    w.turn_fails("PD-285", FailureKind::Billing, "Your credit balance is too low");
    assert!(w.said("demo has no credit left."));
    for (name, words) in [
        ("claude", "nothing is wrong with claude. Accounts that are stopped: demo."),
        ("dmeo", "no account is called `dmeo`. Did you mean demo?"),
        ("other", "no account is called `other`. Accounts: claude, demo, shell."),
    ] {
        assert_eq!(w.retries(Some(name)).unwrap_err().sentence(), words);
    }
    let viewer = crate::state::Role::Viewer;
    w.state.rules.people.get_mut(&HumanId::new("mate")).unwrap().role = viewer;
    w.writes_as("mate", &main_chat(), "/retry demo", None);
    assert_eq!(w.handed("PD-285"), ["go"], "whoever may only look tries nothing");
    w.writes("/retry demo");
    assert!(w.said("Trying demo again; what waits goes in now."));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON]);
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(1));
    w.turn_fails("PD-285", FailureKind::Billing, "Your credit balance is too low");
    assert_eq!(w.about_account("demo").len(), 1, "said before");
    assert_eq!(w.stand(), Some(Stand::UntilSaid));
    w.writes("/retry");
    assert_eq!(w.handed("PD-285").len(), 3);
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(1));
    w.report("PD-285", AgentEvent::Progress { turn: None, line: "compiling".into() });
    assert_eq!(w.stand(), None, "what answers works");
    let well = w.retries(None).unwrap_err();
    assert_eq!(well.sentence(), "no account is stopped");
}

#[test]
fn a_short_overload_is_nobodys_business_and_a_long_one_is_said_once() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.wait(TimeDelta::seconds(1));
    w.turn_fails("PD-285", FailureKind::Service, "529 overloaded");
    assert!(w.about_account("demo").is_empty());
    assert_eq!(w.limited("PD-286"), None);
    assert!(w.limited("PD-285").unwrap().starts_with("cannot reach its service, next try 01:5"));
    w.wait(TimeDelta::seconds(40));
    assert_eq!(w.handed("PD-285"), ["go", GO_ON]);
    let mut tries = 0;
    while w.stand() != Some(Stand::UntilSaid) {
        if w.state.line_of(w.id("PD-285")).next().is_some() {
            w.takes("PD-285");
            w.wait(TimeDelta::seconds(1));
            w.turn_fails("PD-285", FailureKind::Service, "529 overloaded");
            tries += 1;
        }
        w.wait(TimeDelta::minutes(1));
        assert!(w.about_account("demo").len() <= 2);
    }
    assert!((40..60).contains(&tries), "{tries} in half a day");
    let said = w.about_account("demo");
    assert_eq!(said.len(), 2, "once when it lasted, and once when it is given up: {said:?}");
    assert_eq!(w.account_level("demo"), Level::Ring);
    assert!(said[1].contains("It is not tried again by itself."), "{said:?}");
}

#[test]
fn agents_on_one_account_stop_together_and_others_do_not() {
    let mut w = World::with(&["PD-1"]);
    let team = AccountName::new("team");
    let of = &mut w.state.rules.accounts.of;
    of.insert(AgentName::new("demo"), team.clone());
    of.insert(AgentName::new("claude"), team);
    w.starts_with_agent("PD-2", "claude");
    w.is_cut_off("PD-1");
    w.writes("[PD-2] go");
    assert!(w.handed("PD-2").is_empty());
    assert_eq!(w.limited("PD-2").unwrap(), "is at its usage limit until 04:11");
    assert!(w.about_account("team")[0].contains("PD-1 (cut off), PD-2 (1 message waits)"));
    w.state.rules.accounts.of.clear();
    w.crash();
    w.doing("PD-2", Doing::Idle);
    w.wait(TimeDelta::seconds(1));
    assert_eq!(w.handed("PD-2"), ["go"]);
}

#[test]
fn what_waits_can_be_changed_stopped_and_given_back() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    let message = w.writes("[PD-285] then the docs");
    w.edits(&message, "[PD-285] then the tests");
    w.writes("/stop PD-285");
    assert!(w.said(
        "PD-285 does not go on where it was cut off; its context is kept. 1 message is kept: demo is at its usage limit until 04:11."
    ));
    w.until(reset() + TimeDelta::seconds(25));
    assert_eq!(w.handed("PD-285"), ["go", "then the tests"]);

    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    let message = w.writes("[PD-285] then the docs");
    w.writes("/end PD-285");
    w.exits("PD-285", 0);
    let Mark::Stored { words: Some(words), .. } = w.mark(&message) else { panic!() };
    assert_eq!(words, "PD-285 takes it when it is resumed");
    assert!(w.about_account("demo")[0].contains("Nothing waits for it."));
    w.until(reset() + TimeDelta::seconds(60));
    assert_eq!(w.handed("PD-285"), ["go"]);
    assert_eq!(w.stand(), None);
    w.ask(Command::Resume { session: "PD-285".into() }).unwrap();
    w.comes_up("PD-285");
    assert_eq!(w.handed("PD-285"), ["go", "then the docs"], "whoever ended it starts nothing over");
}

#[test]
fn what_dies_while_it_waits_goes_on_when_it_is_resumed() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    w.dies("PD-285");
    assert!(matches!(w.state.session_named("PD-285").unwrap().life, Life::Lost { .. }));
    w.until(reset() + TimeDelta::seconds(25));
    w.ask(Command::Resume { session: "PD-285".into() }).unwrap();
    w.comes_up("PD-285");
    assert_eq!(w.handed("PD-285"), ["go", GO_ON]);
    // Once more, with those words on their way.
    w.dies("PD-285");
    w.ask(Command::Resume { session: "PD-285".into() }).unwrap();
    w.comes_up("PD-285");
    assert_eq!(w.handed("PD-285"), ["go", GO_ON, GO_ON]);
}

#[test]
fn messages_of_other_sessions_wait_as_well() {
    let mut w = World::with(&["PD-285"]);
    w.starts_with_agent("PD-300", "claude");
    w.is_cut_off("PD-285");
    let letter = |to: &str| Letter {
        to: vec![to.into()],
        text: "look".into(),
        reply_to: None,
        key: None,
        confirmed: Confirmed::No,
    };
    let sent = w.call("PD-300", crate::caller::AgentCommand::Send(letter("PD-285")));
    assert!(
        format!("{sent:?}").contains("reads it later: demo is at its usage limit until 04:11"),
        "{sent:?}"
    );
    w.until(reset() + TimeDelta::seconds(25));
    let given = |w: &World| {
        w.orders.iter().filter(|(_, order)| matches!(order.what, OrderKind::Mail { .. })).count()
    };
    assert_eq!(given(&w), 0);
    w.takes("PD-285");
    assert_eq!(given(&w), 1, "beside the turn that goes on");

    // Where nothing but messages waits, they stir it after the reset.
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.starts_with_agent("PD-300", "claude");
    w.is_cut_off("PD-285");
    w.call("PD-300", crate::caller::AgentCommand::Send(letter("PD-286"))).unwrap();
    assert!(w.handed("PD-286").is_empty());
    w.until(reset() + TimeDelta::seconds(25));
    assert!(w.handed("PD-286")[0].contains("look"));
}

const TALK: &str = "
name: talk
steps:
  - {id: ask, timeout: 6h, claude: {session: PD-9, prompt: What is left to do?}}
";

#[test]
fn a_step_waits_for_the_reset_and_ends_with_the_turn_that_goes_on() {
    let mut w = World::with(&["PD-9"]);
    w.knows(&[("talk", TALK)]);
    let run = w.runs("talk", &[]);
    w.takes("PD-9");
    w.wait(TimeDelta::seconds(1));
    w.hits_limit("PD-9");
    assert_eq!(w.step_state(&run, "ask"), "running");
    w.crash();
    w.doing("PD-9", Doing::Idle);
    w.until(reset() + TimeDelta::seconds(25));
    assert_eq!(w.handed("PD-9")[1], GO_ON);
    w.takes("PD-9");
    w.finishes("PD-9", "Two things.");
    assert_eq!(w.ended(&run), "succeeded");

    // Its own deadline ends it all the same, and then nothing goes on for it.
    let mut w = World::with(&["PD-9"]);
    w.knows(&[("talk", &TALK.replace("6h", "10m"))]);
    let run = w.runs("talk", &[]);
    w.takes("PD-9");
    w.wait(TimeDelta::seconds(1));
    w.hits_limit("PD-9");
    w.wait(TimeDelta::minutes(11));
    assert_eq!(w.step_state(&run, "ask"), "timed_out");
    w.until(reset() + TimeDelta::minutes(1));
    assert_eq!(w.handed("PD-9").len(), 1);
}

#[test]
fn of_several_troubles_the_one_that_needs_somebody_counts() {
    let mut w = World::with(&["PD-1", "PD-2", "PD-3"]);
    for name in ["PD-1", "PD-2", "PD-3"] {
        w.writes(&format!("[{name}] go"));
        w.takes(name);
    }
    w.wait(TimeDelta::seconds(1));
    w.hits_limit("PD-1");
    w.turn_fails("PD-2", FailureKind::Service, "529 overloaded");
    let account = AccountName::new("demo");
    assert_eq!(w.state.troubles[&account].why, Why::Limit);
    assert_eq!(w.limited("PD-2").unwrap(), "is at its usage limit until 04:11");
    w.turn_fails("PD-3", FailureKind::Account, "401");
    assert_eq!(w.state.troubles[&account].why, Why::Login);
    assert_eq!(w.about_account("demo").len(), 2);
}

#[test]
fn whoever_is_started_during_a_limit_waits_for_its_end_like_all_others() {
    let mut w = World::with(&["PD-285"]);
    w.is_cut_off("PD-285");
    for number in 1..=3 {
        let start = super::world::agent_start(&format!("X-{number}"));
        w.call("PD-285", crate::caller::AgentCommand::Start(start)).unwrap();
        w.comes_up(&format!("X-{number}"));
    }
    w.wait(TimeDelta::minutes(30));
    let handed = |w: &World| (1..=3).map(|n| w.handed(&format!("X-{n}")).len()).sum::<usize>();
    assert_eq!(handed(&w), 0, "nothing is spent on what would fail");
    assert_eq!(w.about_account("demo").len(), 1, "and nothing more is said");
    w.until(reset());
    w.wait(TimeDelta::seconds(20));
    w.takes("PD-285");
    w.finishes("PD-285", "It is built.");
    w.wait(TimeDelta::minutes(1));
    assert_eq!(handed(&w), 3, "each has its brief, once");
}
