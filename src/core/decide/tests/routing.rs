use chrono::TimeDelta;

use super::world::{World, main_chat};
use crate::{
    agent::{AgentEvent, Doing, ExitStatus, OrderKind, PromptForm},
    bridge::{HeardKind, Mark, TextOrigin},
    id::MessageId,
};

#[test]
fn a_prefix_reaches_its_session_and_the_receipt_names_it() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let message = w.writes("[pd-285] also cover the empty case");
    assert_eq!(w.handed("PD-285"), ["also cover the empty case"]);
    assert!(w.handed("PD-286").is_empty());
    assert!(
        matches!(w.mark(&message), Mark::Stored { targets, words: None } if targets[0].as_str() == "PD-285")
    );
    w.takes("PD-285");
    assert!(matches!(w.mark(&message), Mark::Taken { .. }));
}

#[test]
fn a_prefix_beats_the_thread_it_is_written_in() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes_in("PD-286", "[PD-285] for the other");
    w.writes_in("PD-286", "for this one");
    assert_eq!(w.handed("PD-285"), ["for the other"]);
    assert_eq!(w.handed("PD-286"), ["for this one"]);
}

#[test]
fn a_reply_to_what_a_session_said_reaches_it() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.finishes("PD-285", "It is done.");
    let answer = w.last().message.clone();
    w.replies(&answer, "and the docs?");
    assert_eq!(w.handed("PD-285"), ["go", "and the docs?"]);
}

#[test]
fn a_typo_is_kept_and_offered_and_never_guessed() {
    let mut w = World::with(&["PD-285", "PD-310"]);
    let message = w.writes("[PD-258] only card refunds");
    assert!(w.handed("PD-285").is_empty() && w.handed("PD-310").is_empty());
    assert!(matches!(w.mark(&message), Mark::Kept { .. }));
    let labels: Vec<_> = w.last().buttons().iter().map(|b| b.label.as_str()).collect();
    assert_eq!(labels, ["PD-285", "Start PD-258 in quay", "Drop it"]);
    assert_eq!(w.taps("PD-285"), "Sent to PD-285.");
    assert_eq!(w.handed("PD-285"), ["only card refunds"]);
    assert!(w.last().buttons().is_empty(), "the question has lost its buttons");
}

#[test]
fn a_kept_message_is_sent_once_however_often_it_is_tapped() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-258] once");
    let (message, action) = (w.last().message.clone(), w.last().buttons()[0].action.clone());
    w.taps_action("owner", &message, action.clone());
    let again = w.taps_action("owner", &message, action);
    assert!(again.contains("already"), "{again}");
    assert_eq!(w.handed("PD-285"), ["once"]);
}

#[test]
fn an_unknown_story_can_be_started_with_the_kept_words() {
    let mut w = World::with(&[]);
    w.writes("[PD-999] begin with the tests");
    w.taps("Start PD-999 in quay");
    assert_eq!(w.launched.len(), 1);
    w.report("PD-999", AgentEvent::Started { pid: 1, version: None, conversation: None });
    w.doing("PD-999", Doing::Idle);
    assert_eq!(w.handed("PD-999"), ["begin with the tests"]);
}

#[test]
fn several_groups_and_all_list_who_got_it() {
    let mut w = World::with(&["PD-285", "PD-286", "docs"]);
    w.writes("[PD-285, docs] two of you");
    w.writes("[PD-*] the stories");
    let all = w.writes("[all] everybody");
    for name in ["PD-285", "PD-286", "docs"] {
        while !w.state.line_of(w.id(name)).collect::<Vec<_>>().is_empty() {
            w.takes(name);
            w.finishes(name, "ok");
        }
    }
    assert_eq!(w.handed("PD-285"), ["two of you", "the stories", "everybody"]);
    assert_eq!(w.handed("PD-286"), ["the stories", "everybody"]);
    assert_eq!(w.handed("docs"), ["two of you", "everybody"]);
    assert!(matches!(w.mark(&all), Mark::Taken { targets, .. } if targets.len() == 3));
}

#[test]
fn one_unknown_name_among_several_holds_the_whole_message() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285, PD-999] both of you stop");
    assert!(w.handed("PD-285").is_empty());
    assert!(w.said("There is no session PD-999"));
}

#[test]
fn words_without_an_address_are_kept_and_asked_about() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let message = w.writes("buy milk");
    assert!(matches!(w.mark(&message), Mark::Kept { .. }));
    w.taps("PD-286");
    assert_eq!(w.handed("PD-286"), ["buy milk"]);
}

#[test]
fn what_is_kept_is_named_by_its_first_words() {
    let mut w = World::with(&["PD-285"]);
    for (text, words) in [
        (
            "buy milk. And bread",
            "It names no session. “buy milk. And bread” is kept. Where should it go?",
        ),
        ("\n  first line\nsecond", "“first line” is kept"),
        ("a\u{202E}b", "“a⟦U+202E⟧b” is kept"),
        (
            "the night train of Friday stops in Brest as well, so its table needs a column",
            "“the night train of Friday stops in Brest as well, so its tab…” is kept",
        ),
    ] {
        w.writes(text);
        assert!(w.last().text().contains(words), "{}", w.last().text());
    }
    w.writes(&"👨‍👩‍👧".repeat(61));
    assert!(w.last().text().contains(&format!("{}…”", "👨‍👩‍👧".repeat(60))), "{}", w.last().text());
    w.sends_file("", "plan.txt");
    assert!(w.last().text().contains("“plan.txt” is kept"), "{}", w.last().text());
}

#[test]
fn a_name_that_is_nearly_one_is_asked_about_and_other_brackets_are_words() {
    let mut w = World::with(&["demo", "PD-285"]);
    w.writes("[PD-285]");
    let message = w.writes("[demo1] read the guide");
    assert!(matches!(w.mark(&message), Mark::Kept { why } if why == "There is no session demo1"));
    let labels: Vec<_> = w.last().buttons().iter().map(|b| b.label.as_str()).collect();
    assert_eq!(labels, ["demo", "Start demo1 in quay", "Drop it"]);
    w.taps("demo");
    assert_eq!(w.handed("demo"), ["read the guide"]);
    for text in ["[demo1](https://example.org) is down", "[draft] the letter", "[x] done"] {
        w.writes(text);
        w.takes("PD-285");
        w.finishes("PD-285", "ok");
    }
    assert_eq!(w.handed("PD-285").len(), 3);
}

#[test]
fn an_unknown_command_is_no_prompt() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285]");
    let message = w.writes("/frobnicate");
    assert!(matches!(w.mark(&message), Mark::Kept { .. }));
    assert_eq!(
        w.last().text(),
        "There is no command /frobnicate, and nothing was done. “/frobnicate” is kept. /help lists \
         the commands; //frobnicate is one of the agent's own."
    );
    assert!(w.handed("PD-285").is_empty());
    w.taps("PD-285");
    assert_eq!(w.handed("PD-285"), ["/frobnicate"]);
}

#[test]
fn focus_takes_what_has_no_address_until_it_ends() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285]");
    assert!(w.handed("PD-285").is_empty(), "a prefix alone is no prompt");
    w.writes("[todo] not a session");
    assert_eq!(w.handed("PD-285"), ["[todo] not a session"]);
    w.writes("/focus off");
    w.writes("and now?");
    assert_eq!(w.handed("PD-285").len(), 1);
}

#[test]
fn one_update_is_one_prompt_however_often_it_comes() {
    let mut w = World::with(&["PD-285"]);
    for _ in 0..3 {
        let what = HeardKind::Text {
            message: MessageId::new("m1"),
            text: "[PD-285] once".into(),
            reply_to: None,
            origin: TextOrigin::Typed,
            files: vec![],
        };
        w.hears("owner", main_chat(), "update 10".into(), w.now, what);
        w.crash();
    }
    assert_eq!(w.handed("PD-285"), ["once"]);
}

#[test]
fn seven_follow_ups_go_in_one_by_one_in_the_order_they_came() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] begin");
    w.takes("PD-285");
    let sent: Vec<_> = (1..=7)
        .map(|n| {
            let at = w.now - TimeDelta::seconds(n);
            w.writes_at(
                "owner",
                &main_chat(),
                &format!("[PD-285] follow-up {n}"),
                None,
                at,
                TextOrigin::Typed,
            )
        })
        .collect();
    assert!(
        matches!(w.mark(&sent[2]), Mark::Stored { words: Some(words), .. } if words.starts_with("3rd in line"))
    );
    for n in 1..=7 {
        w.finishes("PD-285", "next");
        assert_eq!(w.takes("PD-285"), format!("follow-up {n}"));
    }
}

#[test]
fn an_edit_replaces_what_waits_and_never_runs_twice() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] begin");
    w.takes("PD-285");
    let message = w.writes("[PD-285] delete the staging bucket");
    w.edits(&message, "[PD-285] list the staging bucket");
    assert!(
        matches!(w.mark(&message), Mark::Stored { words: Some(words), .. } if words.contains("updated before"))
    );
    w.finishes("PD-285", "ready");
    assert_eq!(w.takes("PD-285"), "list the staging bucket");
    w.edits(&message, "[PD-285] never mind");
    w.finishes("PD-285", "listed");
    assert_eq!(w.handed("PD-285").len(), 2, "a late edit is not a second prompt");
    w.taps("Send the edit to PD-285");
    assert_eq!(w.takes("PD-285"), "never mind");
}

#[test]
fn a_mended_address_sends_the_kept_message() {
    let mut w = World::with(&["PD-285"]);
    let message = w.writes("[PD-258] only card refunds");
    w.edits(&message, "[PD-285] only card refunds");
    assert_eq!(w.handed("PD-285"), ["only card refunds"]);
}

#[test]
fn an_edit_of_the_words_keeps_the_file_that_came_with_them() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] begin");
    w.takes("PD-285");
    let queued = w.sends_file("[PD-285] look", "notes.txt");
    w.edits(&queued, "[PD-285] look at this");
    w.finishes("PD-285", "ready");
    let taken = w.takes("PD-285");
    assert!(taken.starts_with("look at this\n\nAttached file \"notes.txt\""), "{taken}");
    w.finishes("PD-285", "seen");
    let kept = w.sends_file("[PD-258] and this", "plan.txt");
    w.edits(&kept, "[PD-285] and this");
    let taken = w.takes("PD-285");
    assert!(taken.contains("Attached file \"plan.txt\""), "{taken}");
}

#[test]
fn text_that_looks_like_a_command_is_text() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] /tmp/x is full");
    w.takes("PD-285");
    w.finishes("PD-285", "ok");
    w.writes("[PD-285] //compact");
    let form = w.orders.iter().rev().find_map(|(_, order)| match &order.what {
        OrderKind::Prompt { text, form, .. } => Some((text.clone(), *form)),
        _ => None,
    });
    assert_eq!(w.handed("PD-285"), ["/tmp/x is full", "/compact"]);
    assert_eq!(form, Some(("/compact".into(), PromptForm::Command)));
    let slip = w.writes("/stpo");
    assert!(matches!(w.mark(&slip), Mark::Kept { .. }));
    assert!(w.said("Did you mean /stop?"));
}

#[test]
fn words_that_begin_like_a_command_go_in_behind_a_backslash() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285] \\/status is too slow");
    w.takes("PD-285");
    w.finishes("PD-285", "ok");
    w.writes("[PD-285] \\!status too");
    assert_eq!(w.handed("PD-285"), ["/status is too slow", "!status too"]);
}

#[test]
fn a_deleted_message_goes_nowhere_or_it_is_said_that_it_is_too_late() {
    let mut w = World::with(&["PD-285"]);
    let taken = w.writes("[PD-285] begin");
    w.takes("PD-285");
    let waits = w.writes("[PD-285] delete the staging bucket");
    w.withdraws(&waits);
    assert!(w.said("You deleted it in time: it does not go to PD-285."));
    w.withdraws(&taken);
    assert!(w.said("too late to delete that: PD-285 has it already. /stop"));
    w.finishes("PD-285", "ready");
    assert_eq!(w.handed("PD-285"), ["begin"]);
    let kept = w.writes("[PD-258] only card refunds");
    w.withdraws(&kept);
    assert!(w.said("You deleted the message."));
    assert!(w.state.kept.is_empty());
    let shown = w.shown.len();
    w.withdraws(&waits);
    assert_eq!(w.shown.len(), shown, "it reached nobody");
}

#[test]
fn a_message_for_a_session_that_ended_is_kept_and_resumes_it() {
    let mut w = World::with(&["PD-285"]);
    w.report(
        "PD-285",
        AgentEvent::Exited {
            how: ExitStatus::Code { code: 3 },
            last: vec!["thread panicked".into()],
        },
    );
    assert!(w.said("PD-285 stopped with exit status 3"));
    assert!(w.said("thread panicked"));
    let message = w.writes("[PD-285] go on");
    assert!(w.refused(&message).contains("does not run"));
    w.taps("Resume PD-285 and send it");
    assert_eq!(w.launched.len(), 2, "it was resumed");
    w.doing("PD-285", Doing::Idle);
    assert_eq!(w.handed("PD-285"), ["go on"]);
}

#[test]
fn a_stranger_reaches_nothing_and_nothing_of_it_is_kept() {
    let mut w = World::with(&["PD-285"]);
    let before = w.shown.len();
    w.writes_as("6666", &main_chat(), "[PD-285] rm -rf /", None);
    w.writes_as("6666", &main_chat(), "approve", None);
    assert!(w.handed("PD-285").is_empty());
    assert_eq!(w.shown.len(), before);
}

#[test]
fn what_was_sent_long_ago_is_delivered_with_its_age_and_commands_nothing() {
    let mut w = World::with(&["PD-285"]);
    let old = w.now - TimeDelta::hours(9);
    w.writes_at(
        "owner",
        &main_chat(),
        "[PD-285] also update the changelog",
        None,
        old,
        TextOrigin::Typed,
    );
    assert_eq!(w.handed("PD-285"), ["also update the changelog\n\n(sent 9 h 00 ago)"]);
    w.takes("PD-285");
    let stop = w.writes_at("owner", &main_chat(), "[PD-285] /stop", None, old, TextOrigin::Typed);
    assert!(w.refused(&stop).contains("long ago"));
    assert!(!w.orders.iter().any(|(_, order)| order.what == OrderKind::Interrupt));
}

#[test]
fn any_part_of_a_long_answer_leads_back_to_its_session() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes("[PD-285] go");
    w.takes("PD-285");
    w.finishes("PD-285", &"a long line of the timetable\n\n".repeat(300));
    let parts: Vec<_> = w
        .shown
        .iter()
        .filter(|s| s.text().contains("timetable"))
        .map(|s| s.message.clone())
        .collect();
    assert_eq!(parts.len(), 3);
    for (number, part) in parts.iter().enumerate() {
        w.replies(part, &format!("about part {number}"));
        w.takes("PD-285");
        w.finishes("PD-285", "ok");
    }
    assert_eq!(w.handed("PD-285")[1..], ["about part 0", "about part 1", "about part 2"]);
}

#[test]
fn a_longer_key_and_a_look_alike_are_never_taken_for_a_session() {
    let mut w = World::with(&["PD-285"]);
    for (text, words) in [
        ("[PD-2855] another one", "no session PD-2855"),
        ("[PD-28] another one", "no session PD-28"),
        ("[\u{420}D-285] with a Cyrillic letter", "so it was sent to nobody. “"),
    ] {
        let message = w.writes(text);
        assert!(matches!(w.mark(&message), Mark::Kept { .. }), "{text}");
        assert!(w.last().text().contains(words), "{text}: {}", w.last().text());
        assert!(w.last().buttons().iter().any(|b| b.label == "PD-285"), "{text}");
    }
    assert!(w.handed("PD-285").is_empty());
}

#[test]
fn a_slash_before_a_key_is_an_address_and_a_prefix_alone_shows_how_it_does() {
    let mut w = World::with(&["PD-285", "PD-300"]);
    w.writes("/PD285 fix the test");
    assert_eq!(w.takes("PD-285"), "fix the test");
    w.writes("[PD-285]");
    assert!(w.last().text().starts_with("PD-285 (demo) working"), "{}", w.last().text());
    let both = w.writes("[PD-285] [PD-300] both of you");
    assert!(matches!(w.mark(&both), Mark::Stored { targets, .. } if targets.len() == 2));
    assert_eq!(w.handed("PD-300"), ["both of you"]);
}
