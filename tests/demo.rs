//! Stories with the demo agent: the whole path from an order to the hook and back, in a real
//! holder, without any other program.

#![allow(clippy::unwrap_used, reason = "a story that cannot go on fails there")]

mod support {
    pub(crate) mod confinement;
    pub(crate) mod session;
}

use std::{collections::BTreeMap, fs, path::Path};
use support::session::{BINARY, Session, spec};
use tempfile::TempDir;
use vigie::agents::{AgentKind, Conversation};
use vigie_core::{
    agent::{
        AcceptEdits, AgentEvent, Asked, AtDesk, Decision, Doing, ExitStatus, FailureKind,
        OrderKind, RefusedPrompt, Scope, Settled,
    },
    policy::{Catastrophic, Effect, Glob, Policy},
};

const ALLOW: Decision = Decision::Allow { scope: Scope::Once };

/// The home comes first, so that it is dropped last: the session is ended by what lies in it.
async fn start() -> (TempDir, Session) {
    let home = tempfile::tempdir().unwrap();
    let env = BTreeMap::from([("VIGIE_DEMO_PACE".to_owned(), "20".to_owned())]);
    let spec = spec(AgentKind::Demo, Path::new(BINARY), home.path(), env);
    let mut session = Session::start(spec, home.path().join("session")).await;
    session.idle().await;
    (home, session)
}

#[tokio::test]
async fn a_task_asks_first_and_ends_with_an_answer() {
    let (home, mut session) = start().await;
    let prompt = session.prompt("tidy the desk").await;
    session.taken(prompt).await;
    let (request, ask) = session.asked().await;
    let Asked::Permission { tool, can_remember, .. } = ask else { panic!("{ask:?}") };
    assert_eq!((tool.as_str(), can_remember), ("Bash", true));
    assert!(!home.path().join("vigie-demo.txt").exists(), "nothing ran yet");
    session.answer(&request, ALLOW).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert!(session.finished().await.contains("“tidy the desk”"));
    assert!(home.path().join("vigie-demo.txt").exists());
    let progress =
        session.seen().iter().filter(|event| matches!(event, AgentEvent::Progress { .. }));
    assert_eq!(progress.count(), 3);
}

#[tokio::test]
async fn what_others_write_is_read_beside_the_work_or_by_itself() {
    let (_home, mut session) = start().await;
    session.prompt("tidy").await;
    let (request, _) = session.asked().await;
    let mail = session.mail("PD-286 asks which store").await;
    session.answer(&request, ALLOW).await;
    assert_eq!(session.settled_mail(mail).await, AgentEvent::MailTaken { mail });
    let said = session.finished().await;
    assert!(said.ends_with("Meanwhile I read:\n\n[mail] PD-286 asks which store"), "{said}");

    session.others("From PD-286:\n<vigie-mail id=\"1\">\nhello\n</vigie-mail>").await;
    let said = session.finished().await;
    assert!(said.starts_with("I read:") && said.contains("\nhello\n"), "{said}");

    session.others("From PD-286, which started you:\n\nstream 2").await;
    assert_eq!(session.finished().await, "2 lines printed.");
}

#[tokio::test]
async fn no_means_no_and_the_reason_arrives() {
    let (home, mut session) = start().await;
    session.prompt("tidy").await;
    let (request, _) = session.asked().await;
    session.answer(&request, Decision::Deny { reason: Some("not today".into()) }).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    assert!(session.finished().await.contains("not today"));
    assert!(!home.path().join("vigie-demo.txt").exists());
}

#[tokio::test]
async fn a_yes_for_the_session_is_not_asked_again() {
    let (_home, mut session) = start().await;
    session.prompt("one").await;
    let (request, _) = session.asked().await;
    session.answer(&request, Decision::Allow { scope: Scope::Session }).await;
    session.finished().await;
    session.prompt("two").await;
    assert!(session.finished().await.contains("“two”"));
    let asked = session.seen().iter().filter(|event| matches!(event, AgentEvent::Asked { .. }));
    assert_eq!(asked.count(), 1);
}

#[tokio::test]
async fn the_desk_may_answer_first() {
    let (_home, mut session) = start().await;
    session.prompt("one").await;
    let (request, _) = session.asked().await;
    session.shows("1. Yes").await;
    session.keys("1").await;
    assert_eq!(session.settled(&request).await, Settled::AtDesk { allowed: AtDesk::Allowed });
    session.answer(&request, Decision::Deny { reason: None }).await;
    session.finished().await;

    session.prompt("two").await;
    let (request, _) = session.asked().await;
    session.shows("1. Yes").await;
    session.keys("\x1b").await;
    assert_eq!(session.settled(&request).await, Settled::AtDesk { allowed: AtDesk::Denied });
    session.interrupted().await;
}

#[tokio::test]
async fn prompts_during_work_and_dialogs_wait_and_answer_nothing() {
    let (_home, mut session) = start().await;
    session.prompt("one").await;
    let (request, _) = session.asked().await;
    let two = session.prompt("two").await;
    let three = session.prompt("recall").await;
    session
        .until("held", |event| match event {
            AgentEvent::PromptHeld { prompt, .. } if *prompt == three => Some(()),
            _ => None,
        })
        .await;
    session.answer(&request, Decision::Allow { scope: Scope::Session }).await;
    assert_eq!(session.settled(&request).await, Settled::Ours);
    session.taken(two).await;
    session.taken(three).await;
    assert_eq!(session.finished().await, "- one\n- two");
}

#[tokio::test]
async fn every_text_arrives_as_it_is() {
    let (_home, mut session) = start().await;
    let long = "x🙂 ".repeat(4000);
    for text in [
        "recall",
        "!ls",
        "/exit",
        "#a",
        "-x $HOME `ls` 'q' \"q\" \\",
        "a\nb\n\nc\td",
        "漢字 é\u{301} 👩‍💻",
        &long,
    ] {
        let text = format!("fail {text}");
        let prompt = session.prompt(&text).await;
        session.taken(prompt).await;
        let failed = session.until("failed", |event| match event {
            AgentEvent::TurnFailed { kind, .. } => Some(*kind),
            _ => None,
        });
        assert_eq!(failed.await, FailureKind::Other);
    }
    for text in ["!fail", "/exit"] {
        let prompt = session.prompt(text).await;
        session.taken(prompt).await;
        let (request, _) = session.asked().await;
        session.answer(&request, Decision::Deny { reason: None }).await;
        assert!(session.finished().await.contains(text));
    }
    let nothing = session.prompt("\u{200b}\n").await;
    let why = session.until("refused", |event| match event {
        AgentEvent::PromptRefused { prompt, why } if *prompt == nothing => Some(why.clone()),
        _ => None,
    });
    assert_eq!(why.await, RefusedPrompt::Empty);
}

#[tokio::test]
async fn a_question_and_a_plan_are_answered() {
    let (_home, mut session) = start().await;
    session.prompt("ask the lamp").await;
    let (request, ask) = session.asked().await;
    let Asked::Questions { questions } = ask else { panic!("{ask:?}") };
    assert_eq!(questions[0].options.len(), 3);
    session.answer(&request, Decision::Answers { answers: vec!["Mauve".into()] }).await;
    assert_eq!(session.finished().await, "You chose: Mauve");

    session.prompt("plan the move").await;
    let (request, ask) = session.asked().await;
    let Asked::Plan { plan } = ask else { panic!("{ask:?}") };
    assert!(plan.contains("the move"));
    session.answer(&request, Decision::Deny { reason: Some("mind the cat".into()) }).await;
    let (request, ask) = session.asked().await;
    let Asked::Plan { plan } = ask else { panic!("{ask:?}") };
    assert!(plan.contains("mind the cat"));
    session.answer(&request, Decision::Plan { accept_edits: AcceptEdits::No }).await;
    assert!(session.finished().await.contains("Plan 2"));
}

#[tokio::test]
async fn a_stop_and_a_prompt_right_after_it() {
    let (_home, mut session) = start().await;
    session.prompt("slow 600").await;
    session.working().await;
    session.order(OrderKind::Interrupt).await;
    let next = session.prompt("recall").await;
    session.interrupted().await;
    session.taken(next).await;
    assert_eq!(session.finished().await, "Nothing was said before.");
}

#[tokio::test]
async fn a_crash_is_seen_and_what_waited_is_refused() {
    let (_home, mut session) = start().await;
    session.prompt("slow 0.5").await;
    session.working().await;
    session.prompt("crash").await;
    let how = session.until("exited", |event| match event {
        AgentEvent::Exited { how, .. } => Some(*how),
        _ => None,
    });
    assert_eq!(how.await, ExitStatus::Code { code: 3 });
}

#[tokio::test]
async fn a_killed_session_goes_on_with_its_whole_context() {
    let (_home, mut session) = start().await;
    for text in ["ask about red", "ask about blue"] {
        session.prompt(text).await;
        let (request, _) = session.asked().await;
        session.answer(&request, Decision::Answers { answers: vec!["Red".into()] }).await;
        session.finished().await;
    }
    let (spec, folder) = session.die().await;
    let mut session = Session::start(spec, folder).await;
    session.idle().await;
    session.prompt("recall").await;
    assert_eq!(session.finished().await, "- ask about red\n- ask about blue");
}

#[tokio::test]
async fn an_unknown_conversation_is_never_a_fresh_one() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = spec(AgentKind::Demo, Path::new(BINARY), home.path(), BTreeMap::new());
    spec.conversation = Conversation::Resume { id: "nobody-knows".into() };
    let mut session = Session::start(spec, home.path().join("session")).await;
    let last = session.until("exited", |event| match event {
        AgentEvent::Exited { how, last } => Some((*how, last.join("\n"))),
        _ => None,
    });
    let (how, last) = last.await;
    assert_eq!(how, ExitStatus::Code { code: 1 });
    assert!(last.contains("No conversation found with session ID: nobody-knows"), "{last}");
}

#[tokio::test]
async fn streams_and_long_answers_lose_nothing() {
    let (_home, mut session) = start().await;
    session.prompt("stream 5000").await;
    assert_eq!(session.finished().await, "5000 lines printed.");
    session.prompt("long").await;
    let answer = session.finished().await;
    assert!(answer.len() > 20_000 && answer.contains("Part 90"), "{}", answer.len());
    session.idle().await;
    let doing = session.seen().iter().rfind(|event| matches!(event, AgentEvent::Now { .. }));
    assert_eq!(doing, Some(&AgentEvent::Now { doing: Doing::Idle }));
}

#[tokio::test]
async fn a_session_that_is_ended_leaves_in_its_own_way() {
    let (home, mut session) = start().await;
    session.order(OrderKind::End).await;
    let how = session.until("exited", |event| match event {
        AgentEvent::Exited { how, .. } => Some(*how),
        _ => None,
    });
    assert_eq!(how.await, ExitStatus::Code { code: 143 });
    assert!(fs::read_dir(home.path().join("session")).unwrap().count() > 0, "its memory stays");
}

#[tokio::test]
async fn a_policy_stops_it_before_a_tool_and_makes_it_ask() {
    let home = tempfile::tempdir().unwrap();
    let env = BTreeMap::from([("VIGIE_DEMO_PACE".to_owned(), "20".to_owned())]);
    let mut spec = spec(AgentKind::Demo, Path::new(BINARY), home.path(), env);
    let policy = |effect, tool: &str| Policy {
        name: tool.into(),
        line: 1,
        effect,
        reason: None,
        tools: vec![Glob::new(tool)],
        commands: vec![],
        paths: vec![],
        projects: vec![],
        sessions: vec![],
        hours: None,
        catastrophic: Catastrophic::Asked,
    };
    spec.guard.policies = vec![
        policy(Effect::Deny, "Read"),
        policy(Effect::Ask, "Glob"),
        policy(Effect::Deny, "Bash"),
    ];
    let mut session = Session::start(spec, home.path().join("session")).await;
    session.idle().await;
    session.prompt("tidy").await;
    let (request, ask) = session.asked().await;
    assert!(matches!(ask, Asked::Permission { tool, .. } if tool == "Glob"), "never asked for");
    session.answer(&request, ALLOW).await;
    let answer = session.finished().await;
    assert!(answer.contains("policy `Bash` (line 1) does not allow this"), "{answer}");
    assert!(!home.path().join("vigie-demo.txt").exists());
    let denied = session.seen().iter().filter_map(|event| match event {
        AgentEvent::Denied { call } => Some(call.tool.as_str()),
        _ => None,
    });
    assert_eq!(denied.collect::<Vec<_>>(), ["Read", "Bash"]);
}
