//! What is typed while something waits: words, slips, replies elsewhere, old ones, empty ones.

use chrono::TimeDelta;

use super::world::{World, main_chat};
use crate::{
    agent::{Decision, Scope, Settled},
    answer::Words,
    bridge::{Action, Attached, CardState, Got, HeardKind, Mark, TextOrigin},
    id::MessageId,
};

const ALLOW: Decision = Decision::Allow { scope: Scope::Once };

#[test]
fn a_slip_of_the_thumb_comes_back_with_a_button_that_means_it() {
    let mut w = World::with(&["PD-41"]);
    w.asks_to_run("PD-41", "r1", "make test");
    w.writes("aprove");
    assert!(w.said("PD-41 asks to run a command: did you mean approve?"));
    assert!(w.decisions().is_empty());
    w.taps("Approve");
    assert_eq!(w.decisions()[0].1, ALLOW);

    let mut w = World::with(&["PD-41"]);
    w.asks_to_run("PD-41", "r1", "rm -rf ./berths");
    w.writes("aprove");
    let buttons = w.last().buttons();
    assert!(
        !buttons.iter().any(|b| matches!(b.action, Action::Allow { .. })),
        "what destroys is never a tap away: {buttons:?}"
    );
    w.writes("denny");
    w.taps("Deny");
    assert_eq!(w.decisions()[0].1, Decision::Deny { reason: None });
}

#[test]
fn approve_all_decides_nothing_and_shows_what_it_would_mean() {
    for waiting in [1, 2] {
        let mut w = World::with(&["PD-41", "PD-42"]);
        w.asks_to_run("PD-41", "r1", "make test");
        if waiting == 2 {
            w.asks_to_run("PD-42", "r1", "make lint");
        }
        let all = w.writes("approve all");
        assert!(w.refused(&all).contains("which one"));
        assert!(w.decisions().is_empty());
        let list = w.last().text();
        assert_eq!(list.matches("asks to run a command").count(), waiting, "{list}");
        assert!(list.contains("approve CODE"), "{list}");
    }
}

#[test]
fn words_of_a_language_count_where_it_is_spoken_and_sentences_never() {
    let answers = [("de", "ja", "nein"), ("es", "sí", "denegar"), ("nl", "oké", "nee")];
    for (language, yes, no) in answers {
        for (text, answer) in [(yes, true), (no, true), ("go ahead", false), ("never", false)] {
            let mut w = World::with(&["PD-41"]);
            w.state.rules.words = Words::for_languages(&["en", language]);
            let gate = w.asks_to_run("PD-41", "r1", "make test");
            w.writes(&format!("[PD-41] {text}"));
            assert_eq!(!w.decisions().is_empty(), answer, "{language} {text}");
            assert_eq!(matches!(w.card_state(gate), CardState::Open), !answer);
        }
    }
    let mut w = World::with(&["PD-41"]);
    w.asks_to_run("PD-41", "r1", "make test");
    w.writes("[PD-41] nein");
    assert!(w.decisions().is_empty(), "nobody here said they speak German");
}

#[test]
fn a_reply_to_something_else_is_asked_about() {
    let mut w = World::with(&["PD-41"]);
    let gate = w.asks_to_run("PD-41", "r1", "git push origin main");
    let (card, _) = w.card(gate);
    let other = w.writes("/help");
    let elsewhere = w.replies(&other, "approve");
    assert!(w.refused(&elsewhere).contains("which one"));
    assert!(w.decisions().is_empty(), "it answers another message");
    w.replies(&card, "approve");
    assert_eq!(w.decisions()[0].1, ALLOW);
}

#[test]
fn of_two_requests_of_one_session_each_is_answered_by_its_own_code() {
    let mut w = World::with(&["PD-41"]);
    let first = w.asks_to_run("PD-41", "r1", "make test");
    let second = w.asks_to_run("PD-41", "r2", "make lint");
    let which = w.writes("[PD-41] approve");
    assert!(w.refused(&which).contains("which one"));
    let code = w.card(second).1.code.to_string().to_ascii_lowercase();
    w.writes(&format!("[PD-41] approve {code}"));
    assert!(matches!(w.card_state(first), CardState::Open));
    let answered: Vec<_> = w.decisions().into_iter().map(|(request, _)| request).collect();
    assert_eq!(answered, [crate::id::RequestId::new("r2")]);
}

#[test]
fn an_old_answer_decides_nothing_whether_its_request_still_waits_or_not() {
    let mut w = World::with(&["PD-41"]);
    let gate = w.asks_to_run("PD-41", "r1", "make deploy");
    let code = w.card(gate).1.code.to_string();
    let old = w.now - TimeDelta::hours(9);
    let says = |w: &mut World, text: &str| {
        w.writes_at("owner", &main_chat(), text, None, old, TextOrigin::Typed)
    };
    let early = says(&mut w, &format!("approve {code}"));
    assert!(w.refused(&early).contains("long ago"));
    assert!(matches!(w.card_state(gate), CardState::Open));
    let stop = says(&mut w, "stop everything");
    assert!(matches!(w.mark(&stop), Mark::Kept { .. }), "it is asked about, and stops nothing");
    w.settled("PD-41", "r1", Settled::Gone);
    let late = says(&mut w, &format!("approve {code}"));
    assert!(w.refused(&late).contains("long ago"));
    let late = w.writes(&format!("approve {code}"));
    assert!(w.refused(&late).contains("no longer waiting"), "{}", w.refused(&late));
    assert!(w.decisions().is_empty());
}

#[test]
fn nothing_is_no_answer_to_a_question_and_a_picture_is_one() {
    let mut w = World::with(&["PD-41"]);
    let gate = w.asks_question("PD-41", "r1", "Which berth?", &["A1", "B2"]);
    let (card, _) = w.card(gate);
    w.replies(&card, " \n");
    assert!(w.decisions().is_empty());
    assert!(matches!(w.card_state(gate), CardState::Open));
    let path = "/files/7/berths.png".into();
    let what = HeardKind::Text {
        message: MessageId::new("photo"),
        text: "this one".into(),
        reply_to: Some(card),
        origin: TextOrigin::Typed,
        files: vec![Attached { name: "berths.png".into(), got: Got::File { path, bytes: 9 } }],
    };
    w.hears("owner", main_chat(), "photo".into(), w.now, what);
    let Decision::Answers { answers } = &w.decisions()[0].1 else { panic!("an answer") };
    assert!(answers[0].starts_with("this one") && answers[0].contains("/files/7/berths.png"));
}

#[test]
fn who_may_not_answer_is_written_down() {
    let mut w = World::with(&["PD-41"]);
    let gate = w.asks_to_run("PD-41", "r1", "make test");
    let (card, before) = w.card(gate);
    let notice = w.taps_action("mate", &card, Action::Allow { gate });
    assert!(notice.contains("may not answer"), "{notice}");
    assert_eq!(w.card(gate).1, before, "the card shows nothing of it");
    assert_eq!(w.journal.iter().filter(|kind| *kind == "answer_refused").count(), 1);
}

#[test]
fn an_answer_on_one_service_shows_on_the_other_which_is_late() {
    let mut w = World::with(&[]);
    w.pairs("owner", "1001", "1001");
    w.start("PD-41");
    let gate = w.asks_to_run("PD-41", "r1", "make test");
    w.wait(TimeDelta::seconds(5));
    let code = w.card(gate).1.code.to_string().to_ascii_lowercase();
    let on_telegram = w
        .shown
        .iter()
        .find(|s| s.place.chat.as_str() == "1001" && s.text().contains("make test"))
        .unwrap()
        .message
        .clone();
    w.writes(&format!("approve {code}"));
    let late = w.taps_action("1001", &on_telegram, Action::Deny { gate });
    assert!(late.contains("Already approved") && late.contains("the phone page"), "{late}");
    w.settled("PD-41", "r1", Settled::Ours);
    w.wait(TimeDelta::seconds(5));
    let shown = w.shown.iter().find(|s| s.message == on_telegram).unwrap();
    assert!(shown.buttons().is_empty());
    assert_eq!(w.decisions().len(), 1);
}
