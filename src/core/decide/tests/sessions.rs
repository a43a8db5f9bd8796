use super::world::World;
use crate::{
    agent::{AgentEvent, Doing, ExitStatus, FailureKind, Held, OrderKind, RefusedPrompt},
    bridge::Mark,
    command::{Command, Refusal, Reply, Start},
    session::{Ended, Launch, Life},
};

fn interrupts(w: &World) -> usize {
    w.orders.iter().filter(|(_, order)| order.what == OrderKind::Interrupt).count()
}

#[test]
fn stop_is_not_queued_and_what_follows_goes_in_after_it() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    w.writes("[PD-285] /stop");
    assert_eq!(interrupts(&w), 1);
    w.writes("[PD-285] only run the unit tests");
    assert_eq!(w.handed("PD-285").len(), 1, "not before the interrupt is through");
    w.report("PD-285", AgentEvent::Interrupted { turn: None });
    w.doing("PD-285", Doing::Idle);
    assert_eq!(w.takes("PD-285"), "only run the unit tests");
    w.finishes("PD-285", "Unit tests pass.");
    assert!(w.said("Unit tests pass."));
    assert!(w.said("its context is kept"));
}

#[test]
fn a_prompt_handed_before_a_crash_is_told_again_under_the_same_order() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.crash();
    w.crash();
    let ids: Vec<_> = w.orders.iter().map(|(_, order)| order.id).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0]));
}

#[test]
fn a_report_that_comes_twice_counts_once() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.finishes("PD-285", "only once");
    let session = w.id("PD-285");
    let run = w.state.sessions[&session].run;
    let what = AgentEvent::Finished { turn: None, text: "only once".into(), provisional: false };
    for seq in 1..5 {
        let report = crate::agent::Report { seq, at: w.now, what: what.clone() };
        w.step(crate::decide::Event::Report { session, run, report });
    }
    assert_eq!(w.shown.iter().filter(|s| s.text() == "only once").count(), 1);
}

#[test]
fn a_crash_of_the_agent_keeps_what_waits_and_offers_to_resume() {
    let mut w = World::with(&["PD-285"]);
    let message = w.writes("[PD-285] go");
    w.report(
        "PD-285",
        AgentEvent::Exited { how: ExitStatus::Code { code: 1 }, last: vec!["boom".into()] },
    );
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words.contains("resumed"))
    );
    w.taps("Resume PD-285");
    assert_eq!(w.launched.len(), 2);
    let session = &w.state.sessions[&w.id("PD-285")];
    assert!(
        matches!(session.launching, Some(Launch::Resume { .. })),
        "with its own conversation, never a fresh one"
    );
    w.doing("PD-285", Doing::Idle);
    assert_eq!(w.handed("PD-285"), ["go"]);
}

#[test]
fn a_resume_that_fails_is_said_and_nothing_is_sent_elsewhere() {
    let mut w = World::with(&["PD-285"]);
    w.ask(Command::End { session: "PD-285".into() }).unwrap();
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Code { code: 0 }, last: vec![] });
    w.writes("[PD-285] go on with the refactor");
    w.taps("Resume PD-285 and send it");
    let last = vec!["No conversation found with session ID: x".into()];
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Code { code: 1 }, last });
    assert!(w.said("No conversation found"));
    assert!(w.handed("PD-285").is_empty());
    assert_eq!(w.state.line_of(w.id("PD-285")).count(), 1, "the prompt is kept");
    w.taps("Resume PD-285");
    let session = &w.state.sessions[&w.id("PD-285")];
    assert!(matches!(session.launching, Some(Launch::Resume { .. })), "never a fresh one");
}

#[test]
fn what_was_handed_to_a_holder_that_died_is_in_doubt_and_not_sent_twice() {
    let mut w = World::with(&["PD-285"]);
    let handed = w.writes("[PD-285] go");
    let queued = w.writes("[PD-285] then lint");
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Unknown, last: vec![] });
    assert!(w.refused(&handed).contains("died while it was handed over"));
    assert!(matches!(w.mark(&queued), Mark::Stored { .. }));
    w.taps("Resume PD-285");
    w.doing("PD-285", Doing::Idle);
    assert_eq!(w.handed("PD-285"), ["go", "then lint"]);
}

#[test]
fn a_stop_ordered_before_a_crash_is_told_after_it() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    w.writes("[PD-285] /stop");
    w.crash();
    assert_eq!(interrupts(&w), 2);
    w.report("PD-285", AgentEvent::Interrupted { turn: None });
    w.crash();
    assert_eq!(interrupts(&w), 2, "and not again once it has stopped");
}

#[test]
fn a_launch_that_died_with_the_daemon_is_done_again() {
    let mut w = World::new();
    let start = Start {
        name: "PD-1".into(),
        title: String::new(),
        project: None,
        agent: None,
        prompt: Some("hello".into()),
        ..Start::default()
    };
    assert!(matches!(w.ask(Command::Start(start)), Ok(Reply::Started(_))));
    w.crash();
    assert_eq!(w.launched.len(), 2);
    assert_eq!(w.launched[0], w.launched[1], "the same session, not a second one");
}

#[test]
fn end_and_kill_are_told_until_the_program_is_gone() {
    let mut w = World::with(&["PD-285"]);
    w.ask(Command::End { session: "PD-285".into() }).unwrap();
    w.crash();
    let ends = w.orders.iter().filter(|(_, order)| order.what == OrderKind::End).count();
    assert_eq!(ends, 2);
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Signal { signal: 15 }, last: vec![] });
    let life = &w.state.sessions[&w.id("PD-285")].life;
    assert!(matches!(life, Life::Ended { how: Ended::By { .. }, .. }), "{life:?}");
}

#[test]
fn a_prompt_that_was_typed_and_not_taken_says_so() {
    let mut w = World::with(&["PD-285"]);
    let message = w.writes("[PD-285] line one\nline two");
    let prompt = w.state.prompts.values().next().unwrap().id;
    w.report("PD-285", AgentEvent::PromptHeld { prompt, why: Held::DeskTyping });
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words.contains("desk"))
    );
    w.report("PD-285", AgentEvent::PromptRefused { prompt, why: RefusedPrompt::NoSignal });
    assert!(w.refused(&message).contains("never said it took it"));
    assert!(w.state.prompts.is_empty(), "it is not tried again by itself");
    w.report("PD-285", AgentEvent::PromptTaken { prompt, turn: None });
    assert!(
        matches!(w.mark(&message), Mark::Taken { .. }),
        "the agent's own word counts, however late"
    );
}

#[test]
fn a_compaction_in_the_middle_does_not_end_the_turn() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.report("PD-285", AgentEvent::Compacted);
    assert!(matches!(w.state.sessions[&w.id("PD-285")].life, Life::Working { .. }));
    w.finishes("PD-285", "Finished.");
    assert!(w.said("Finished."));
}

#[test]
fn progress_is_one_message_that_becomes_one_line() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    let before = w.shown.len();
    for n in 0..20 {
        w.report("PD-285", AgentEvent::Progress { turn: None, line: format!("step {n}") });
    }
    assert_eq!(w.shown.len(), before + 1);
    assert!(w.last().text().ends_with("step 19"));
    w.finishes("PD-285", "all done");
    assert!(w.shown[before].text().starts_with("worked"));
    assert!(w.shown[before].buttons().is_empty());
}

#[test]
fn an_empty_answer_still_ends_the_turn_visibly() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.finishes("PD-285", " \u{200b}\n");
    assert!(w.said("finished with no text"));
}

#[test]
fn a_request_that_is_refused_rings_and_the_session_goes_on() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.report(
        "PD-285",
        AgentEvent::TurnFailed {
            turn: None,
            kind: FailureKind::Request,
            text: "413 too large".into(),
        },
    );
    w.doing("PD-285", Doing::Idle);
    assert!(w.said("was refused by its service"));
    w.writes("[PD-285] again");
    assert_eq!(w.handed("PD-285"), ["go", "again"]);
}

#[test]
fn names_are_checked_and_near_misses_named() {
    let mut w = World::with(&["PD-285"]);
    let unknown = w.ask(Command::Stop { session: "PD-258".into() }).unwrap_err();
    assert_eq!(unknown.sentence(), "there is no session PD-258. Did you mean PD-285?");
    let start = |agent: Option<&str>, project: Option<&str>| {
        Command::Start(Start {
            name: "PD-1".into(),
            title: String::new(),
            project: project.map(Into::into),
            agent: agent.map(Into::into),
            prompt: None,
            ..Start::default()
        })
    };
    let agent = w.ask(start(Some("cluade"), None)).unwrap_err();
    assert_eq!(agent.sentence(), "no agent is called `cluade`. Did you mean claude?");
    let project = w.ask(start(None, Some("quai"))).unwrap_err();
    assert_eq!(project.sentence(), "no project is called `quai`. Did you mean quay?");
    let running = w.ask(Command::Start(Start {
        name: "pd-285".into(),
        title: String::new(),
        project: None,
        agent: None,
        prompt: None,
        ..Start::default()
    }));
    assert!(matches!(running, Err(Refusal::StillLive { .. })));
}

#[test]
fn a_line_that_is_too_long_is_refused_openly() {
    let mut w = World::with(&["PD-285"]);
    w.doing("PD-285", Doing::Working);
    for n in 0..200 {
        w.writes(&format!("[PD-285] message {n}"));
    }
    let message = w.writes("[PD-285] one more");
    assert!(w.refused(&message).contains("200 messages waiting"));
}

#[test]
fn a_session_is_started_from_the_chat_and_named_after_its_first_words() {
    let mut w = World::with(&[]);
    w.writes("/new PD-7 in quay with claude count the ferries");
    let session = &w.state.sessions[&w.id("PD-7")];
    assert_eq!((session.agent.as_str(), session.title.as_str()), ("claude", "count the ferries"));
    assert_eq!(w.state.line_of(w.id("PD-7")).next().unwrap().text, "count the ferries");
    w.writes("/new PD-8 in quai count again");
    assert!(w.said("No project is called `quai`. Did you mean quay?"));
    assert!(w.state.session_named("PD-8").is_none());
    w.writes("/new");
    assert!(w.said("Give it a name: /new NAME what to do."));
}

#[test]
fn a_chat_is_told_the_commands_that_a_chat_takes() {
    let mut w = World::with(&["PD-285"]);
    w.writes("/end nosuch");
    assert!(w.said("There is no session nosuch. /sessions lists them; /new NAME starts one."));
    w.writes("/resume PD-285");
    assert!(w.said("vigie attach PD-285 shows it, /end PD-285 ends it."));
}

#[test]
fn a_command_without_a_session_names_those_that_run() {
    let mut w = World::with(&["PD-285", "docs"]);
    w.writes("/screen");
    assert!(w.said("Which one? /screen "));
    assert!(w.said("These run: "));
}

#[test]
fn a_turn_without_a_word_is_shown_after_a_while_and_can_be_stopped() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] slow");
    w.takes("PD-285");
    let before = w.shown.len();
    w.wait(chrono::TimeDelta::seconds(2));
    assert_eq!(w.shown.len(), before, "a quick turn needs no message of its own");
    w.wait(chrono::TimeDelta::seconds(2));
    w.taps("Stop");
    assert_eq!(interrupts(&w), 1);
}

#[test]
fn the_thread_shows_what_the_command_line_told_its_session() {
    let mut w = World::with(&["PD-285"]);
    let form = crate::agent::PromptForm::Text;
    w.ask(Command::Send { session: "PD-285".into(), text: "count the ferries".into(), form })
        .unwrap();
    assert!(w.said("Inès Caradec to PD-285 at the command line: count the ferries"));
}

#[test]
fn what_waits_for_a_session_is_read_in_its_order_and_nobody_elses() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    for text in ["then the docs", "then the changelog"] {
        w.writes(&format!("[PD-285] {text}"));
    }
    w.writes("[PD-300] something else");
    let session = w.id("PD-285");
    let Ok(Reply::Prompts(line)) = w.ask(Command::Prompts { session }) else { panic!("no line") };
    let texts: Vec<_> = line.iter().map(|prompt| prompt.text.as_str()).collect();
    assert_eq!(texts, ["then the docs", "then the changelog"]);
}

#[test]
fn a_stop_for_one_of_several_is_asked_about_and_all_is_one_tap() {
    let mut w = World::with(&["PD-285", "PD-300", "PD-310"]);
    for name in ["PD-285", "PD-300"] {
        w.writes(&format!("[{name}] cargo test"));
        w.takes(name);
    }
    w.writes("/STOP");
    assert_eq!(interrupts(&w), 0);
    let labels: Vec<_> = w.last().buttons().iter().map(|b| b.label.clone()).collect();
    assert_eq!(labels.len(), 4, "{labels:?}");
    assert_eq!(w.taps("Stop PD-300"), "Stopping PD-300; its context is kept.");
    assert_eq!(interrupts(&w), 1);
    w.report("PD-300", AgentEvent::Interrupted { turn: None });
    w.doing("PD-300", Doing::Idle);
    assert_eq!(w.taps("Stop all"), "Stopping PD-285; their context is kept.");
    assert_eq!(interrupts(&w), 2, "what is idle is left alone");
    w.report("PD-285", AgentEvent::Interrupted { turn: None });
    w.doing("PD-285", Doing::Idle);
    assert!(w.taps("Stop all").contains("Nothing was stopped"));
}

#[test]
fn a_stop_hits_what_runs_and_not_what_waits_behind_it() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    w.writes("[PD-285] cargo test");
    w.takes("PD-285");
    w.report("PD-285", AgentEvent::Progress { turn: None, line: "compiling".into() });
    let progress = w.last().message.clone();
    w.writes("[PD-285] and then the docs");
    w.wait(chrono::TimeDelta::hours(5)); // the machine slept
    w.replies(&progress, "/stop");
    assert_eq!(interrupts(&w), 1);
    w.report("PD-285", AgentEvent::Interrupted { turn: None });
    w.doing("PD-285", Doing::Idle);
    assert_eq!(w.takes("PD-285"), "and then the docs");
    assert_eq!(interrupts(&w), 1);
}

#[test]
fn each_trouble_of_a_turn_is_said_and_keeps_what_waits() {
    for (kind, words) in [
        (FailureKind::Account, "is not logged in"),
        (FailureKind::Limit, "usage limit"),
        (FailureKind::Request, "refused by its service"),
    ] {
        let mut w = World::with(&["PD-285"]);
        w.writes("[PD-285] go");
        w.takes("PD-285");
        w.writes("[PD-285] next");
        let text = "the service's own words".into();
        w.report("PD-285", AgentEvent::TurnFailed { turn: None, kind, text });
        assert!(w.said(words) && w.said("the service's own words"), "{words}");
        assert_eq!(w.state.line_of(w.id("PD-285")).count(), 1);
    }
}

#[test]
fn secrets_are_masked_once_and_the_mask_is_seen() {
    let mut w = World::with(&["PD-285"]);
    let key = ["sk-", "ant-api03-", "INVENTEDinvented0000INVENTED"].concat();
    let address = ["postgres://quay:", "hunter2invented", "@db.example.org/quay"].concat();
    w.finishes("PD-285", &format!("KEY={key}\n{address} **and** {address}"));
    let said = w.last().text();
    assert!(!said.contains("INVENTED") && !said.contains("hunter2"), "{said}");
    assert_eq!(said.matches("•••").count(), 3, "{said}");
    assert!(said.contains("quay:•••@db.example.org") && said.contains("3 secrets were masked"));
}
