use chrono::TimeDelta;

use super::world::{World, main_chat};
use crate::{
    agent::{
        AcceptEdits, AgentEvent, Asked, AtDesk, Choice, Decision, ExitStatus, Question, Scope,
        Settled,
    },
    bridge::{Action, CardState, Level, Mark, Place, TextOrigin},
    command::{Command, Refusal},
    id::ThreadId,
};

const ALLOW: Decision = Decision::Allow { scope: Scope::Once };

#[test]
fn a_tap_approves_once_and_the_card_says_who_and_when_the_agent_has_it() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    assert_eq!(w.last().post.level, Level::Ring);
    assert_eq!(w.taps("Approve"), "Approved");
    assert!(matches!(w.card_state(gate), CardState::Answered(_)));
    w.settled("PD-285", "r1", Settled::Ours);
    let CardState::Taken { decided, .. } = w.card_state(gate) else { panic!("the agent has it") };
    assert_eq!((decided.by.as_str(), decided.via.as_str()), ("Inès Caradec", "the phone page"));
    assert_eq!(w.decisions().len(), 1);
    assert_eq!(w.decisions()[0].1, ALLOW);
}

#[test]
fn the_first_answer_wins_and_later_ones_learn_who_decided() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let (message, card) = w.card(gate);
    let deny = Action::Deny { gate };
    w.taps("Approve");
    let late = w.taps_action("owner", &message, deny);
    assert!(late.contains("Already approved by Inès Caradec"), "{late}");
    let code = card.code.to_string();
    let refusal = w.ask(Command::Answer { code, choice: "deny".into() }).unwrap_err();
    assert!(matches!(refusal, Refusal::AlreadyDecided(_)));
    assert_eq!(w.decisions().len(), 1);
}

#[test]
fn a_stale_button_never_decides_another_request() {
    let mut w = World::with(&["PD-285"]);
    let first = w.asks_to_run("PD-285", "A111", "ls");
    let (message, _) = w.card(first);
    w.writes("deny");
    w.settled("PD-285", "A111", Settled::Ours);
    assert!(w.card(first).1.buttons.is_empty());
    let second = w.asks_to_run("PD-285", "B222", "ls -l");
    let notice = w.taps_action("owner", &message, Action::Allow { gate: first });
    assert!(notice.contains("Already denied"), "{notice}");
    assert!(matches!(w.card_state(second), CardState::Open));
}

#[test]
fn a_tap_that_comes_before_the_card_is_known_to_be_sent_counts() {
    let mut w = World::with(&["PD-285"]);
    w.cut = true;
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let never_seen = crate::id::MessageId::new("v99");
    assert_eq!(w.taps_action("owner", &never_seen, Action::Allow { gate }), "Approved");
    assert_eq!(w.decisions().len(), 1);
}

#[test]
fn an_answer_given_before_a_crash_reaches_the_agent_after_it_and_once() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    w.crash();
    assert!(matches!(w.card_state(gate), CardState::Open));
    w.taps("Approve");
    w.crash();
    let orders: Vec<_> = w.orders.iter().map(|(_, order)| order.id).collect();
    assert_eq!(orders.len(), 2, "told again");
    assert_eq!(orders[0], orders[1], "under the same id, so that the holder carries it out once");
}

#[test]
fn a_request_whose_asker_is_gone_is_closed_and_a_late_tap_only_learns_so() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    let (message, _) = w.card(gate);
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Signal { signal: 9 }, last: vec![] });
    assert!(w.card(gate).1.buttons.is_empty());
    let CardState::Closed { why, .. } = w.card_state(gate) else { panic!("closed") };
    assert!(why.contains("PD-285 ended (signal 9)"), "{why}");
    let notice = w.taps_action("owner", &message, Action::Allow { gate });
    assert!(notice.contains("changed nothing"), "{notice}");
    assert!(w.decisions().is_empty());
    assert!(w.state.open_gates().next().is_none(), "nothing waits");
}

#[test]
fn a_gate_waits_for_hours_and_then_denies_itself() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::minutes(33));
    assert!(matches!(w.card_state(gate), CardState::Open));
    w.wait(TimeDelta::hours(23));
    assert!(matches!(w.decisions().as_slice(), [(_, Decision::Deny { .. })]));
    assert!(!matches!(w.card_state(gate), CardState::Open));
}

#[test]
fn an_answer_at_the_desk_shows_on_the_card() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.settled("PD-285", "r1", Settled::AtDesk { allowed: AtDesk::Allowed });
    assert!(
        matches!(w.card_state(gate), CardState::Closed { why, .. } if why == "Approved at the desk")
    );
}

#[test]
fn only_a_whole_message_decides() {
    for text in [
        "no, that is not ok",
        "please don't approve this",
        "is it ok to wait?",
        "ok wait",
        "yes but first show me the plan",
    ] {
        let mut w = World::with(&["PD-285"]);
        let gate = w.asks_to_run("PD-285", "r1", "make test");
        w.writes(&format!("[PD-285] {text}"));
        assert!(matches!(w.card_state(gate), CardState::Open), "{text}");
        assert!(w.decisions().is_empty(), "{text}");
        w.taps("Approve");
        w.settled("PD-285", "r1", Settled::Ours);
        w.finishes("PD-285", "done");
        assert_eq!(w.handed("PD-285"), [text], "it goes to the session as a message");
    }
    for text in ["okay", "OK.", "Approve", "approve ", "Yes!", "y", "👍", "oui"] {
        let mut w = World::with(&["PD-285"]);
        w.asks_to_run("PD-285", "r1", "make test");
        w.writes(text);
        assert_eq!(w.decisions().len(), 1, "{text}");
    }
}

#[test]
fn a_slip_of_the_thumb_is_asked_back() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "make test");
    let message = w.writes("aprove");
    assert!(w.refused(&message).contains("did you mean"));
    assert!(w.decisions().is_empty());
}

#[test]
fn without_a_code_it_counts_only_when_one_waits() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let first = w.asks_to_run("PD-285", "r1", "make test");
    let second = w.asks_to_run("PD-286", "r1", "make lint");
    w.writes("ok");
    assert!(w.decisions().is_empty());
    assert!(w.said("More than one thing waits"));
    w.writes("[PD-286] approve");
    assert!(matches!(w.card_state(first), CardState::Open));
    assert!(matches!(w.card_state(second), CardState::Answered(_)));
    let code = w.card(first).1.code.to_string().to_lowercase();
    w.writes(&format!("deny {code} use a dry run"));
    assert_eq!(w.decisions()[1].1, Decision::Deny { reason: Some("use a dry run".into()) });
}

#[test]
fn what_destroys_needs_its_code() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "rm -rf ./data");
    let (message, card) = w.card(gate);
    assert!(card.buttons.iter().all(|b| !matches!(b.action, Action::Allow { .. })));
    let bare = w.replies(&message, "yes");
    assert!(w.refused(&bare).contains(card.code.as_str()));
    w.taps_action("owner", &message, Action::Allow { gate });
    assert!(w.decisions().is_empty());
    w.writes(&format!("approve {}", card.code));
    assert_eq!(w.decisions()[0].1, ALLOW);
}

#[test]
fn hidden_characters_are_shown_and_need_the_code() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "cat \u{202e}gpj.exe");
    let (_, card) = w.card(gate);
    assert!(card.content.text.contains("U+202E"), "{}", card.content.text);
    assert!(!card.warnings.is_empty());
    w.writes("y");
    assert!(w.decisions().is_empty());
}

#[test]
fn who_may_talk_may_not_approve() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let (message, _) = w.card(gate);
    let notice = w.taps_action("mate", &message, Action::Allow { gate });
    assert!(notice.contains("may not answer"), "{notice}");
    w.writes_as("mate", &main_chat(), "approve", None);
    w.taps_action("6666", &message, Action::Allow { gate });
    assert!(w.decisions().is_empty());
}

#[test]
fn somebody_elses_words_decide_nothing() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "git push origin main");
    let message = w.writes_at("owner", &main_chat(), "approve", None, w.now, TextOrigin::Forwarded);
    assert!(w.refused(&message).contains("decide nothing"));
    w.writes("> approve\nwhat does this do?");
    w.writes("He wrote: approve PD-285");
    assert!(w.decisions().is_empty());
}

#[test]
fn an_edit_decides_nothing_that_its_time_does_not_allow() {
    let mut w = World::with(&["PD-285", "PD-290"]);
    let old = w.writes("hm");
    let quick = w.writes("well");
    assert!(matches!(w.mark(&old), Mark::Kept { .. }));
    let before = w.now;
    let gate = w.asks_to_run("PD-285", "r1", "git push origin main");
    w.edits_at(&quick, "yes", before);
    assert!(matches!(w.card_state(gate), CardState::Open), "it was written before the card");
    w.edits_at(&old, "yes", w.now - TimeDelta::minutes(20));
    assert!(matches!(w.card_state(gate), CardState::Open), "it was written long ago");
    assert!(w.decisions().is_empty());
}

#[test]
fn a_question_is_answered_by_tap_number_or_own_words() {
    let ask = |w: &mut World| w.asks_question("PD-285", "r1", "Which store?", &["SQLite", "Files"]);
    let answers = |w: &World| match &w.decisions()[0].1 {
        Decision::Answers { answers } => answers.clone(),
        other => panic!("{other:?}"),
    };
    let mut w = World::with(&["PD-285"]);
    ask(&mut w);
    w.taps("Files");
    assert_eq!(answers(&w), ["Files"]);
    let mut w = World::with(&["PD-285"]);
    ask(&mut w);
    w.writes_in("PD-285", "1");
    assert_eq!(answers(&w), ["SQLite"]);
    let mut w = World::with(&["PD-285"]);
    let gate = ask(&mut w);
    let message = w.card(gate).0;
    w.replies(&message, "neither, use Postgres");
    assert_eq!(answers(&w), ["neither, use Postgres"]);
    assert!(w.handed("PD-285").is_empty(), "it is the answer, not a prompt");
}

#[test]
fn but_to_a_plan_is_feedback_and_not_an_approval() {
    let mut w = World::with(&["PD-285"]);
    let plan = format!("# Plan\n{}", "1. a step that does something\n".repeat(600));
    let gate = w.asks("PD-285", "P1", Asked::Plan { plan });
    let (message, card) = w.card(gate);
    assert!(
        w.shown.iter().any(|s| s.text().len() > 15_000),
        "the whole plan is there as a document"
    );
    assert!(card.content.text.len() < 4096);
    w.replies(&message, "approve, but skip step 4");
    assert_eq!(
        w.decisions()[0].1,
        Decision::Deny { reason: Some("approve, but skip step 4".into()) }
    );
    let notice = w.taps_action("owner", &message, Action::Allow { gate });
    assert!(notice.contains("changed nothing"));
}

#[test]
fn what_no_card_can_hold_goes_before_it_whole_diffs_too() {
    let old = "a line of the timetable\n".repeat(120);
    let edit = |old: &str| Asked::Permission {
        tool: "Edit".into(),
        input: serde_json::json!({ "file_path": "/src/quay/a.rs", "old_string": old, "new_string": "" }),
        cwd: "/src/quay".into(),
        can_remember: false,
    };
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks("PD-285", "r1", edit(&old));
    let (_, card) = w.card(gate);
    assert!(card.diff.unwrap().len() > 2_800, "it fits");
    let gate = w.asks("PD-285", "r2", edit(&old.repeat(2)));
    let (_, card) = w.card(gate);
    assert_eq!(card.diff, None);
    assert!(card.warnings.last().unwrap().contains("the document above"), "{:?}", card.warnings);
    let document = w.shown.iter().any(|shown| shown.text().matches("-a line").count() == 240);
    assert!(document, "all of it is there");

    let command = format!("cat {}", "x".repeat(4_000));
    let ask = |description: &str| Asked::Permission {
        tool: "Bash".into(),
        input: serde_json::json!({ "command": command, "description": description }),
        cwd: "/src/quay".into(),
        can_remember: false,
    };
    let gate = w.asks("PD-285", "r3", ask("looks"));
    assert!(w.card(gate).1.content.text.len() > 4_000);
    let gate = w.asks("PD-285", "r4", ask(&"looks at it ".repeat(60)));
    assert!(w.card(gate).1.content.text.len() < 4_000);
}

#[test]
fn a_plan_can_be_approved_with_its_edits() {
    let mut w = World::with(&["PD-285"]);
    w.asks("PD-285", "P1", Asked::Plan { plan: "1. do it".into() });
    w.taps("Approve, and accept its edits");
    assert_eq!(w.decisions()[0].1, Decision::Plan { accept_edits: AcceptEdits::Yes });
}

#[test]
fn ok_to_a_session_that_asked_nothing_is_a_message() {
    let mut w = World::with(&["PD-285"]);
    w.writes_in("PD-285", "ok");
    assert_eq!(w.handed("PD-285"), ["ok"]);
    let nothing = w.writes("ok");
    assert!(w.refused(&nothing).contains("nothing waits"));
}

#[test]
fn an_answer_in_a_thread_is_about_that_session() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let first = w.asks_to_run("PD-285", "r1", "make test");
    let second = w.asks_to_run("PD-286", "r1", "make lint");
    let place = Place { thread: Some(ThreadId::new("pd-285")), ..main_chat() };
    let message = w.writes_as("owner", &place, "yes", None);
    assert!(matches!(w.card_state(first), CardState::Answered(_)));
    assert!(matches!(w.card_state(second), CardState::Open));
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words == "Approved")
    );
}

#[test]
fn a_prompt_waits_while_a_gate_is_open() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "r1", "make test");
    let message = w.writes("[PD-285] and then lint");
    assert!(w.handed("PD-285").is_empty());
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words.contains("after your answer"))
    );
}

#[test]
fn several_options_are_ticked_and_then_sent() {
    let mut w = World::with(&["PD-285"]);
    let option = |label: &str| Choice { label: label.into(), description: String::new() };
    let question = Question {
        text: "Which checks?".into(),
        header: "Checks".into(),
        options: vec![option("unit"), option("lint"), option("e2e")],
        multiple: true,
    };
    let gate = w.asks("PD-285", "r1", Asked::Questions { questions: vec![question] });
    assert!(w.taps("Done").contains("no answer"));
    w.taps("☐ unit");
    w.taps("☐ lint");
    w.taps("☐ e2e");
    w.taps("☑ lint");
    assert!(matches!(w.card_state(gate), CardState::Open));
    w.taps("Done");
    assert_eq!(w.decisions()[0].1, Decision::Answers { answers: vec!["unit, e2e".into()] });
}

#[test]
fn the_command_line_may_give_a_reason() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let code = w.card(gate).1.code.to_string();
    w.ask(Command::Answer { code, choice: "deny not now".into() }).unwrap();
    assert_eq!(w.decisions()[0].1, Decision::Deny { reason: Some("not now".into()) });
}

#[test]
fn words_to_a_session_with_an_open_plan_say_what_to_change() {
    let mut w = World::with(&["PD-285"]);
    w.asks("PD-285", "P1", Asked::Plan { plan: "1. do it".into() });
    w.writes_in("PD-285", "make the second step smaller");
    assert_eq!(
        w.decisions()[0].1,
        Decision::Deny { reason: Some("make the second step smaller".into()) }
    );
    assert!(w.handed("PD-285").is_empty());
}

#[test]
fn a_yes_to_what_was_asked_before_does_not_decide_what_is_asked_now() {
    let mut w = World::with(&["PD-285"]);
    w.asks_to_run("PD-285", "X", "make test");
    w.settled("PD-285", "X", Settled::AtDesk { allowed: AtDesk::Denied });
    let typed = w.now;
    let second = w.asks_to_run("PD-285", "Y", "make deploy");
    let place = Place { thread: Some(ThreadId::new("pd-285")), ..main_chat() };
    let yes = w.writes_at("owner", &place, "yes", None, typed, TextOrigin::Typed);
    assert!(w.refused(&yes).contains("something new"));
    assert!(matches!(w.card_state(second), CardState::Open));
    let question = w.asks_question("PD-285", "Z", "Which?", &["a", "b"]);
    w.settled("PD-285", "Y", Settled::Gone);
    w.writes_at("owner", &place, "use the second store", None, typed, TextOrigin::Typed);
    assert!(
        matches!(w.card_state(question), CardState::Open),
        "words from before it are no answer to it"
    );
}

#[test]
fn what_cannot_be_taken_back_wants_its_name() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285]");
    w.writes("/kill");
    assert!(w.said("Which one? Write it with its name: /kill PD-285"));
    assert!(w.state.sessions[&w.id("PD-285")].ending.is_none());
    w.writes_in("PD-285", "/kill");
    assert!(w.state.sessions[&w.id("PD-285")].ending.is_some());
}

#[test]
fn a_request_of_a_broken_pipe_is_a_fossil_and_never_runs() {
    let mut w = World::with(&["PD-285"]);
    let command = "./send_bulletin.sh --to harbour";
    let first = w.asks_to_run("PD-285", "F1", command);
    let (old_card, _) = w.card(first);
    w.settled("PD-285", "F1", Settled::Gone);
    assert!(w.card(first).1.buttons.is_empty());
    assert!(
        matches!(w.card_state(first), CardState::Closed { why, .. } if why.contains("no longer waiting"))
    );
    w.asks_to_run("PD-285", "F2", command);
    w.taps("Approve");
    w.settled("PD-285", "F2", Settled::Ours);
    w.finishes("PD-285", "Sent.");
    w.wait(TimeDelta::hours(20));
    w.writes("/waiting");
    assert_eq!(w.last().text(), "Nothing waits for you.");
    let late = w.taps_action("owner", &old_card, Action::Allow { gate: first });
    assert!(late.contains("changed nothing"), "{late}");
    assert_eq!(w.decisions(), [(crate::id::RequestId::new("F2"), ALLOW)]);
}

#[test]
fn a_request_that_ended_with_its_agent_offers_to_resume_and_runs_nothing_later() {
    let mut w = World::with(&["PD-285"]);
    let gate = w.asks_to_run("PD-285", "r1", "make deploy");
    let (card, _) = w.card(gate);
    w.crash();
    w.report("PD-285", AgentEvent::Exited { how: ExitStatus::Signal { signal: 9 }, last: vec![] });
    assert!(w.said("PD-285 stopped with signal 9"));
    w.taps("Resume PD-285");
    w.report("PD-285", AgentEvent::Started { pid: 2, version: None, conversation: None });
    w.doing("PD-285", crate::agent::Doing::Idle);
    let late = w.taps_action("owner", &card, Action::Allow { gate });
    assert!(late.contains("PD-285 ended (signal 9)") && late.contains("UTC"), "{late}");
    assert!(w.decisions().is_empty());
}
