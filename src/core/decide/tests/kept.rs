//! Questions of Vigie's own, answered in words: what is kept, and an edit of what an agent already has.

use chrono::TimeDelta;

use super::world::{Shown, World, main_chat};
use crate::{
    bridge::{Action, Button, CardState, Place},
    id::{MessageId, ThreadId},
};

/// Long enough for a person to have read what was asked.
fn read(w: &mut World) {
    w.wait(TimeDelta::seconds(5));
}

/// The newest message that asks what should become of something.
fn asked(w: &World) -> MessageId {
    let drops = |button: &Button| matches!(button.action, Action::Drop { .. });
    let asks = |shown: &&Shown| shown.buttons().iter().any(drops);
    w.shown.iter().rev().find(asks).expect("a question").message.clone()
}

/// A world in which PD-285 has what was written first, and the edit of it is asked about.
fn edited() -> World {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let message = w.writes("[PD-285] delete the bucket");
    w.takes("PD-285");
    w.edits(&message, "[PD-285] list the bucket");
    assert!(w.said("Should the edit go as a message of its own?"));
    read(&mut w);
    w
}

#[test]
fn a_yes_or_no_in_reply_decides_about_an_edit() {
    let mut w = edited();
    let question = asked(&w);
    w.replies(&question, "Yes.");
    w.finishes("PD-285", "deleted");
    assert_eq!(w.takes("PD-285"), "list the bucket");
    w.replies(&question, "yes");
    let edits = w.handed("PD-285").into_iter().filter(|text| text == "list the bucket");
    assert_eq!(edits.count(), 1, "it counts once");

    let mut w = edited();
    let question = asked(&w);
    w.replies(&question, "no");
    assert!(w.state.kept.is_empty());
    w.finishes("PD-285", "deleted");
    assert_eq!(w.handed("PD-285"), ["delete the bucket"]);
}

#[test]
fn the_next_words_decide_where_nothing_else_can_be_meant() {
    let mut w = edited();
    w.writes("yes");
    w.finishes("PD-285", "deleted");
    assert_eq!(w.takes("PD-285"), "list the bucket");
    assert!(!w.handed("PD-285").contains(&"yes".to_owned()));
}

#[test]
fn in_a_sessions_thread_a_yes_answers_the_question_there_and_words_go_to_the_agent() {
    let mut w = World::with(&["PD-285"]);
    let thread = Some(ThreadId::new("pd-285"));
    let place = Place { thread, ..main_chat() };
    let first = w.writes_in("PD-285", "delete the bucket");
    w.takes("PD-285");
    let what = crate::bridge::HeardKind::Edited { message: first, text: "list it".into() };
    w.hears("owner", place, "edit".into(), w.now, what);
    read(&mut w);
    w.writes_in("PD-285", "yes, but only after lunch");
    assert_eq!(w.state.kept.len(), 1, "a sentence decides nothing");
    w.writes_in("PD-285", "yes");
    assert!(w.state.kept.is_empty());
    for words in ["yes, but only after lunch", "list it"] {
        w.finishes("PD-285", "so");
        assert_eq!(w.takes("PD-285"), words);
    }
}

#[test]
fn where_a_request_waits_too_a_yes_is_asked_about_and_decides_neither() {
    let mut w = edited();
    let gate = w.asks_to_run("PD-286", "r1", "make deploy");
    read(&mut w);
    let yes = w.writes("yes");
    assert!(w.refused(&yes).contains("say which one"), "{}", w.refused(&yes));
    assert!(matches!(w.card_state(gate), CardState::Open));
    assert_eq!(w.state.kept.len(), 1);
    let code = w.card(gate).1.code.to_string();
    w.writes(&format!("approve {code}"));
    assert_eq!(w.decisions().len(), 1, "a code names its request");
    assert_eq!(w.state.kept.len(), 1);
}

#[test]
fn where_it_should_go_is_said_by_number_name_prefix_or_label() {
    let answers = ["PD-286", "[PD-286]", "pd-286.", "1"];
    for (answer, reply) in answers.into_iter().flat_map(|answer| [(answer, false), (answer, true)])
    {
        let mut w = World::with(&["PD-286", "PD-285"]);
        w.writes("buy milk");
        read(&mut w);
        let labels: Vec<_> = w.last().buttons().iter().map(|b| b.label.clone()).collect();
        assert_eq!(labels, ["PD-286", "PD-285", "Drop it"]);
        let question = asked(&w);
        if reply {
            w.replies(&question, answer);
        } else {
            w.writes(answer);
        }
        assert_eq!(w.handed("PD-286"), ["buy milk"], "{answer} {reply}");
        assert!(w.state.kept.is_empty() && w.handed("PD-285").is_empty());
    }
    for answer in ["drop it", "no", "3"] {
        let mut w = World::with(&["PD-286", "PD-285"]);
        w.writes("buy milk");
        read(&mut w);
        w.writes(answer);
        assert!(w.state.kept.is_empty() && w.handed("PD-286").is_empty(), "{answer}");
    }
}

#[test]
fn a_yes_to_several_places_asks_which_and_a_number_beyond_them_too() {
    let mut w = World::with(&["PD-286", "PD-285"]);
    w.writes("buy milk");
    read(&mut w);
    for answer in ["yes", "9", "1, 2"] {
        let said = w.writes(answer);
        assert!(w.refused(&said).contains("say which"), "{answer}");
    }
    assert_eq!(w.state.kept.len(), 1);
}

#[test]
fn a_file_that_waits_goes_where_a_reply_to_it_says_with_its_words_behind_it() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    let file = w.sends_file("", "plan.txt");
    read(&mut w);
    w.replies(&file, "[PD-285] read the second page");
    let first = w.takes("PD-285");
    assert!(first.contains("/files/plan.txt"), "{first}");
    w.finishes("PD-285", "read");
    assert_eq!(w.takes("PD-285"), "read the second page");
    assert!(w.state.kept.is_empty());
}

#[test]
fn words_with_an_address_that_answer_nothing_leave_what_is_kept() {
    let mut w = World::with(&["PD-285", "PD-286"]);
    w.writes("buy milk");
    read(&mut w);
    w.writes("[PD-285] go on");
    assert_eq!(w.handed("PD-285"), ["go on"]);
    assert_eq!(w.state.kept.len(), 1);
}

#[test]
fn of_several_questions_a_reply_names_one() {
    let mut w = World::with(&["PD-285"]);
    w.writes("buy milk");
    let first = asked(&w);
    w.writes("buy bread");
    read(&mut w);
    let yes = w.writes("yes");
    assert!(w.refused(&yes).contains("in reply to the one you mean"));
    w.replies(&first, "yes");
    assert_eq!(w.handed("PD-285"), ["buy milk"]);
    w.writes("yes");
    w.takes("PD-285");
    w.finishes("PD-285", "bought");
    assert_eq!(w.handed("PD-285"), ["buy milk", "buy bread"]);
}

#[test]
fn too_late_too_soon_or_somebody_else_answers_only_by_a_reply() {
    let mut w = edited();
    w.wait(TimeDelta::minutes(16));
    let late = w.writes("yes");
    assert!(w.refused(&late).contains("nothing waits"));
    let question = asked(&w);
    w.replies(&question, "yes");
    assert!(w.state.kept.is_empty());

    let mut w = World::with(&["PD-285"]);
    w.writes("buy milk");
    w.writes("yes");
    assert_eq!(w.state.kept.len(), 1, "nobody reads that fast");
}

#[test]
fn a_yes_does_not_send_what_was_no_command() {
    let mut w = World::with(&["PD-285"]);
    w.writes("[PD-285]");
    w.writes("/stpo");
    read(&mut w);
    let yes = w.writes("yes");
    assert!(w.refused(&yes).contains("say which"), "{}", w.refused(&yes));
    assert!(w.handed("PD-285").is_empty());
}

#[test]
fn a_code_of_letters_alone_is_said_to_be_none() {
    let mut w = World::with(&["PD-285"]);
    let message = w.writes("approve ZZZZ");
    assert!(w.refused(&message).contains("nothing has the code ZZZZ"), "{}", w.refused(&message));
    assert!(w.state.kept.is_empty());
}

#[test]
fn a_second_yes_to_what_is_decided_goes_to_nobody() {
    let mut w = edited();
    let question = asked(&w);
    w.replies(&question, "yes");
    let before = w.handed("PD-285");
    let second = w.replies(&question, "yes");
    assert!(w.refused(&second).contains("decided already"), "{}", w.refused(&second));
    let bare = w.writes("yes");
    assert!(w.refused(&bare).contains("decided already"), "{}", w.refused(&bare));
    w.wait(TimeDelta::minutes(1));
    let late = w.replies(&question, "no");
    assert!(w.refused(&late).contains("decided already"), "in reply it is never for the session");
    assert_eq!(w.handed("PD-285"), before);
}
