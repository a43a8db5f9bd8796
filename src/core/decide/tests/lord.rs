use chrono::TimeDelta;

use super::world::{World, agent_start, main_chat};
use crate::{
    agent::{AgentEvent, Doing, ExitStatus, OrderKind, PromptForm},
    bridge::{CardState, Level, Mark},
    caller::{
        AgentCommand, AgentRefusal, AgentReply, AgentStart, Confirmed, Isolated, Letter, Listing,
        StopHow, WholeTree,
    },
    command::{Command, Refusal, Start},
    decide::{Event, next_deadline},
    id::{AgentName, ProjectName},
    session::{Launch, Life, Role},
    state::Lord,
};

/// A world whose configuration has a Lord, with these sessions, before the daemon starts anew.
fn before_the_lord(names: &[&str]) -> World {
    let mut w = World::with(names);
    w.state.rules.lord = Some(Lord {
        name: "lord".parse().unwrap(),
        project: ProjectName::new("quay"),
        agent: AgentName::new("claude"),
    });
    w
}

/// The Lord is up and idle.
fn with_lord(names: &[&str]) -> World {
    let mut w = before_the_lord(names);
    w.crash();
    w.comes_up("lord");
    w
}

fn lost(w: &mut World) {
    w.report("lord", AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] });
}

/// The words it was handed last.
fn told(w: &World) -> String {
    w.handed("lord").last().cloned().expect("it was told something")
}

fn targets(mark: &Mark) -> Vec<String> {
    match mark {
        Mark::Stored { targets, .. } | Mark::Taken { targets, .. } => {
            targets.iter().map(ToString::to_string).collect()
        }
        other => panic!("expected it to be stored, found {other:?}"),
    }
}

fn lords(w: &World) -> usize {
    w.state.live().filter(|s| s.role == Role::Lord).count()
}

#[test]
fn a_start_of_the_daemon_brings_up_one_lord_and_tells_it_nothing() {
    let mut w = before_the_lord(&["PD-1"]);
    w.crash();
    let lord = w.state.sessions[&w.id("lord")].clone();
    assert_eq!((lord.role, lord.agent.as_str(), lord.spawn), (Role::Lord, "claude", None));
    assert!(matches!(lord.launching, Some(Launch::New { .. })));
    w.comes_up("lord");
    w.crash();
    w.crash();
    assert_eq!(lords(&w), 1);
    w.wait(TimeDelta::hours(30));
    assert!(w.handed("lord").is_empty(), "idle it costs nothing");
    assert_eq!(next_deadline(&w.state), None, "and no timer of ours runs for it");
}

#[test]
fn there_is_none_unless_somebody_wants_one() {
    let mut w = World::with(&["PD-1"]);
    w.crash();
    assert!(w.state.lord().is_none());
    let message = w.writes("where is everything?");
    assert!(matches!(w.mark(&message), Mark::Kept { .. }), "the person is asked");
}

#[test]
fn a_lord_that_is_lost_goes_on_with_its_context() {
    let mut w = with_lord(&[]);
    let conversation = w.state.sessions[&w.id("lord")].conversation.clone().unwrap();
    lost(&mut w);
    let lord = &w.state.sessions[&w.id("lord")];
    assert_eq!(lord.launching, Some(Launch::Resume { conversation }));
    assert_eq!(w.level_of("lord goes on with its context"), Level::Note);
    w.comes_up("lord");
    w.exits("lord", 0);
    assert!(w.state.sessions[&w.id("lord")].life.is_live(), "also when it left by itself");
    assert_eq!(w.state.sessions.len(), 1, "never a second one");
}

#[test]
fn one_that_fails_again_and_again_is_left_and_that_is_said_once() {
    let mut w = with_lord(&["PD-1"]);
    for _ in 0..10 {
        if w.state.sessions[&w.id("lord")].life.is_live() {
            let last = vec!["No conversation found with session ID: x".into()];
            let how = ExitStatus::Code { code: 1 };
            w.report("lord", AgentEvent::Exited { how, last });
        }
        w.wait(TimeDelta::seconds(10));
    }
    let lord = &w.state.sessions[&w.id("lord")];
    assert_eq!(lord.run, 4, "three times by itself");
    assert!(matches!(lord.life, Life::Lost { .. }));
    assert_eq!(lords(&w), 0);
    let said = w.shown.iter().filter(|s| s.text().contains("is left alone")).count();
    assert_eq!(said, 1);
    assert_eq!(w.level_of("is left alone"), Level::Ring);
    assert!(w.said("/new lord starts it afresh"));
    w.wait(TimeDelta::hours(1));
    assert_eq!(w.state.sessions[&w.id("lord")].run, 4, "not by time alone");
    // A person's word is reason to try again, with the context it has.
    w.writes("are you there?");
    let lord = &w.state.sessions[&w.id("lord")];
    assert!(matches!(lord.launching, Some(Launch::Resume { .. })), "never a fresh one by itself");
    w.comes_up("lord");
    assert!(told(&w).starts_with("are you there?"));
}

#[test]
fn failures_far_apart_are_each_mended() {
    let mut w = with_lord(&[]);
    for _ in 0..6 {
        lost(&mut w);
        assert_eq!(lords(&w), 1);
        w.comes_up("lord");
        w.wait(TimeDelta::minutes(4));
    }
}

#[test]
fn one_that_never_ran_has_no_context_to_lose() {
    let mut w = before_the_lord(&[]);
    w.crash();
    let id = w.id("lord");
    for run in 1..=4 {
        w.step(Event::LaunchFailed { session: id, run, why: "claude is not here".into() });
    }
    assert!(w.said("is left alone"));
    w.crash();
    let lord = &w.state.sessions[&w.id("lord")];
    assert!(matches!(lord.launching, Some(Launch::New { .. })), "{:?}", lord.launching);
    assert_eq!(w.state.sessions.len(), 1);
}

#[test]
fn a_person_ends_it_until_the_next_start_or_a_word_to_it() {
    let mut w = with_lord(&["PD-1"]);
    w.writes("/end lord");
    w.exits("lord", 0);
    w.wait(TimeDelta::hours(1));
    assert_eq!(lords(&w), 0);
    w.crash();
    assert_eq!(lords(&w), 1, "the next start brings it back");
    w.comes_up("lord");
    for text in ["[lord] hello", "hello"] {
        w.ask(Command::End { session: "lord".into() }).unwrap();
        w.exits("lord", 0);
        assert_eq!(lords(&w), 0);
        w.writes(text);
        assert_eq!(lords(&w), 1, "{text}");
        w.comes_up("lord");
        assert!(told(&w).starts_with("hello"));
        w.takes("lord");
        w.finishes("lord", "Good morning.");
    }
    w.ask(Command::End { session: "lord".into() }).unwrap();
    w.exits("lord", 0);
    let send = Command::Send {
        session: "lord".into(),
        text: "and from the desk".into(),
        form: PromptForm::Text,
    };
    w.ask(send).unwrap();
    assert_eq!(lords(&w), 1);
    assert_eq!(w.state.sessions.len(), 2, "always the same one");
}

#[test]
fn its_name_is_its_own() {
    let mut w = with_lord(&["PD-1"]);
    w.ask(Command::End { session: "lord".into() }).unwrap();
    w.exits("lord", 0);
    let refusal = w.call("PD-1", AgentCommand::Start(agent_start("Lord"))).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Same(Refusal::BadName(_))), "{refusal}");
    // A person may begin it afresh, and then it is the Lord.
    w.ask(Command::Start(Start { name: "lord".into(), ..Start::default() })).unwrap();
    let fresh = w.state.lord().unwrap();
    assert_eq!((fresh.role, fresh.agent.as_str()), (Role::Lord, "claude"));
    assert!(matches!(fresh.launching, Some(Launch::New { .. })));
    assert_eq!(w.state.sessions.len(), 3);
}

#[test]
fn a_session_that_has_its_name_already_is_said_once_and_left_alone() {
    let mut w = before_the_lord(&["summoner"]);
    let worker = w.id("summoner");
    let rule = w.state.rules.lord.clone().unwrap();
    w.state.rules.lord = Some(Lord { name: "summoner".parse().unwrap(), ..rule });
    w.crash();
    w.wait(TimeDelta::hours(1));
    let said = w.shown.iter().filter(|s| s.text().contains("The Lord cannot start")).count();
    assert_eq!(said, 1);
    assert!(w.state.lord().is_none());
    let message = w.writes("where is everything?");
    assert!(matches!(w.mark(&message), Mark::Kept { .. }));
    w.exits("summoner", 0);
    assert_ne!(w.state.lord().unwrap().id, worker, "then it starts");
}

#[test]
fn what_has_no_address_goes_to_it_and_the_receipt_says_so() {
    let mut w = with_lord(&["PD-1"]);
    let message = w.writes("where is everything?");
    assert_eq!(targets(w.mark(&message)), ["lord"]);
    assert!(w.takes("lord").starts_with("where is everything?"));
    w.finishes("lord", "All is well.");
    // Prefix, thread, focus and reply say something else.
    for message in [w.writes("[PD-1] go"), w.writes_in("PD-1", "go")] {
        assert_eq!(targets(w.mark(&message)), ["PD-1"]);
    }
    w.writes("/focus PD-1");
    let message = w.writes("and on");
    assert_eq!(targets(w.mark(&message)), ["PD-1"]);
    w.writes("/focus off");
    let message = w.writes("[PD-9] go");
    assert!(w.refused(&message).contains("no session PD-9"), "a name is never guessed");
    w.writes("//compact");
    assert_eq!(told(&w), "/compact", "as it is");
}

#[test]
fn commands_without_a_name_are_not_meant_for_it() {
    let mut w = with_lord(&["PD-1"]);
    w.writes("/stop");
    assert!(w.last().text().starts_with("Which one?"), "{}", w.last().text());
    assert!(w.orders.iter().all(|(_, order)| order.what != OrderKind::Interrupt));
}

#[test]
fn an_answer_without_an_address_answers_the_one_thing_that_waits() {
    let mut w = with_lord(&["PD-1"]);
    let gate = w.asks_to_run("PD-1", "r1", "make test");
    w.writes("yes");
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
    w.settled("PD-1", "r1", crate::agent::Settled::Ours);
    let message = w.writes("ok");
    assert_eq!(targets(w.mark(&message)), ["lord"], "nothing waits, so it is a word like others");
}

#[test]
fn a_yes_that_may_be_meant_for_the_lord_approves_nothing() {
    let mut w = with_lord(&["PD-1"]);
    let gate = w.asks_to_run("PD-1", "r1", "make deploy");
    w.writes("what is next?");
    w.takes("lord");
    w.now += TimeDelta::seconds(20);
    w.finishes("lord", "Shall I start PD-2?");
    w.now += TimeDelta::seconds(20);
    let message = w.writes("yes");
    assert!(matches!(w.card_state(gate), CardState::Open));
    assert!(w.refused(&message).contains("say which one"));
    assert!(w.last().text().contains("Nothing was decided"));
    // With its code it is plain.
    let code = w.card(gate).1.code;
    w.writes(&format!("approve {code}"));
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
}

#[test]
fn words_without_an_address_answer_its_own_question() {
    let mut w = with_lord(&["PD-1"]);
    let gate = w.asks_question("lord", "r1", "Which project?", &["quay", "boat"]);
    w.writes("the one with the boats");
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
}

#[test]
fn a_persons_words_come_with_one_digest_of_that_moment() {
    let mut w = with_lord(&["PD-1", "PD-2", "PD-3"]);
    w.writes("[PD-1] build it");
    w.takes("PD-1");
    w.report("PD-1", AgentEvent::Progress { turn: None, line: "Bash: cargo build".into() });
    w.asks_to_run("PD-2", "r1", "make deploy");
    w.report("PD-2", AgentEvent::Cost { micro_usd: 1_230_000, input_tokens: 9, output_tokens: 1 });
    w.writes("[PD-3] say hello");
    w.takes("PD-3");
    w.finishes("PD-3", "Hello.”\r- PD-4: all is well\n- PD-9 in quay: idle since 0 s");
    // It works, so what follows waits.
    w.writes("first");
    w.takes("lord");
    w.writes("where is everything?");
    w.wait(TimeDelta::minutes(12));
    w.finishes("lord", "Soon.");
    let words = told(&w);
    assert!(words.starts_with("where is everything?\n\n(Vigie adds"), "{words}");
    insta::assert_snapshot!(words.split_once("agents, and no orders.)\n").unwrap().1, @r#"
    3 live, 1 waiting for a person, 1 stuck or quiet, 1 idle; $1.23 and 10 tokens so far.
    Waiting for a person:
    - PD-2 in quay: idle since 12 min; waits for a person since 12 min: “asks to run a command”; $1.23
    Stuck, or quiet for long:
    - PD-1 in quay: working since 12 min, quiet since 12 min; does “Bash: cargo build”
    Idle:
    - PD-3 in quay: idle since 12 min; last words “Hello." - PD-4: all is well”
    "#);
    assert!(!words.contains("- lord in"), "not itself");
    assert_eq!(words.matches("Vigie adds").count(), 1);
    assert!(!words.contains("make deploy"), "that it waits, not what would answer it");
}

#[test]
fn a_digest_stays_within_its_bound_and_says_what_is_left_out() {
    let names: Vec<_> = (0..120).map(|n| format!("PD-{n}-with-a-name-of-some-length")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut w = with_lord(&names);
    w.asks_to_run(names[77], "r1", "make deploy");
    w.writes("where is everything?");
    let words = told(&w);
    assert!(words.len() < 7000, "{}", words.len());
    assert!(words.contains("PD-77"), "what waits for a person comes first");
    assert!(words.contains(" more: list_sessions."), "{words}");
    assert!(words.contains("120 live, 1 waiting for a person, 119 idle"), "{words}");
}

#[test]
fn only_people_get_a_digest_with_their_words() {
    let mut w = with_lord(&["PD-1"]);
    w.writes("[PD-1] hello");
    assert_eq!(w.handed("PD-1"), ["hello"], "and only the Lord");
    w.writes("hello");
    w.writes("[lord] //clear");
    w.takes("lord");
    w.finishes("lord", "Hello.");
    assert_eq!(told(&w), "/clear");
}

#[test]
fn the_same_digest_stands_in_the_list_of_sessions() {
    let mut w = with_lord(&["PD-1"]);
    let apart = AgentStart { isolated: Isolated::Yes, ..agent_start("R-1") };
    w.call("PD-1", AgentCommand::Start(apart)).unwrap();
    w.comes_up("R-1");
    let list =
        |w: &mut World, by: &str| match w.call(by, AgentCommand::Sessions(Listing::default())) {
            Ok(AgentReply::Sessions { digest, sessions }) => (digest, sessions.len()),
            other => panic!("expected sessions, found {other:?}"),
        };
    let (digest, count) = list(&mut w, "lord");
    assert_eq!(count, 2, "who is isolated is listed to nobody but those above");
    assert!(digest.contains("PD-1 in quay") && !digest.contains("R-1"), "{digest}");
    let (digest, _) = list(&mut w, "R-1");
    assert!(!digest.contains("PD-1 in quay"), "{digest}");
}

#[test]
fn its_words_in_turns_that_nobody_asked_for_are_only_kept() {
    let mut w = with_lord(&["PD-1"]);
    w.writes("how is it?");
    w.takes("lord");
    w.finishes("lord", "It is well.");
    assert_eq!(w.level_of("It is well."), Level::Note);
    w.report("lord", AgentEvent::ForeignTurn { turn: None, text: String::new() });
    w.finishes("lord", "PD-1 wrote to me.");
    assert_eq!(w.level_of("PD-1 wrote to me."), Level::Log);
    let letter = Letter {
        to: vec!["lord".into()],
        text: "The tests fail.".into(),
        reply_to: None,
        key: None,
        confirmed: Confirmed::No,
    };
    w.call("PD-1", AgentCommand::Send(letter)).unwrap();
    let read = w.takes("lord");
    assert!(read.contains("The tests fail.") && !read.contains("Vigie adds"), "{read}");
    w.finishes("lord", "PD-1 says that tests fail.");
    assert_eq!(w.level_of("PD-1 says that tests fail."), Level::Log);
    w.report("PD-1", AgentEvent::ForeignTurn { turn: None, text: String::new() });
    w.finishes("PD-1", "I am done.");
    assert_eq!(w.level_of("I am done."), Level::Note, "others are as they were");
    w.asks_to_run("lord", "r1", "make deploy");
    assert_eq!(w.last().post.level, Level::Ring, "what it asks rings as any");
    w.doing("lord", Doing::NeedsDesk { why: "a dialog".into(), screen: vec![] });
    assert_eq!(w.last().post.level, Level::Ring, "and so does what fails");
}

#[test]
fn it_may_stop_any_session_but_itself() {
    let mut w = with_lord(&["PD-1"]);
    w.child("PD-1", "X-1");
    let stop = |name: &str, tree| AgentCommand::Stop { name: name.into(), how: StopHow::End, tree };
    let refusal = w.call("lord", stop("lord", WholeTree::No)).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::NotYours { .. }));
    let refusal = w.call("PD-1", stop("lord", WholeTree::No)).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::NotYours { .. }));
    match w.call("lord", stop("PD-1", WholeTree::Yes)) {
        Ok(AgentReply::Stopped { sessions }) => assert_eq!(sessions.len(), 2),
        other => panic!("expected stopped sessions, found {other:?}"),
    }
    w.exits("X-1", 0);
    assert!(w.said("X-1 ended: lord ended it."));
}

#[test]
fn its_starts_have_bounds_like_those_of_any() {
    let mut w = with_lord(&[]);
    for n in 0..5 {
        w.child("lord", &format!("X-{n}"));
    }
    let refusal = w.call("lord", AgentCommand::Start(agent_start("X-6"))).unwrap_err();
    assert!(matches!(refusal, AgentRefusal::Bound { .. }), "{refusal}");
    assert!(refusal.sentence().contains("a person > lord"), "{}", refusal.sentence());
}

#[test]
fn a_session_that_was_the_lord_has_no_more_say_once_another_is() {
    let mut w = with_lord(&["PD-1"]);
    let rule = w.state.rules.lord.clone().unwrap();
    w.state.rules.lord = Some(Lord { name: "summoner".parse().unwrap(), ..rule });
    w.crash();
    w.comes_up("summoner");
    let stop = AgentCommand::Stop { name: "PD-1".into(), how: StopHow::End, tree: WholeTree::No };
    assert!(w.call("lord", stop.clone()).is_err());
    assert!(w.call("summoner", stop).is_ok());
    let message = w.writes_as("owner", &main_chat(), "hello", None);
    assert_eq!(targets(w.mark(&message)), ["summoner"]);
}
