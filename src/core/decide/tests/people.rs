//! Who is let in, and who is not.

use chrono::TimeDelta;

use super::world::{World, telegram};
use crate::{
    bridge::{Action, Attached, Got, HeardKind, Mark, Room, TextOrigin},
    command::{Command, Refusal, Reply},
    id::{ChatId, HumanId, MessageId, PairingCode},
    state::{Stranger, Strangers},
};

fn code() -> PairingCode {
    PairingCode::from_random(0x0123_4567_89ab_cdef)
}

fn asks_for_a_code(w: &mut World) -> String {
    let asked = w.ask(Command::Pair { human: None, code: code() }).unwrap();
    let Reply::Pairing { code, .. } = asked else { panic!("another reply: {asked:?}") };
    code.show()
}

#[test]
fn a_code_from_the_desk_lets_a_person_in_once() {
    let mut w = World::on_telegram();
    let code = asks_for_a_code(&mut w);
    w.telegram("1001", "1001", None, &code.to_lowercase());
    assert!(w.shows("1001")[0].contains("You are Inès Caradec here"), "{:?}", w.shows("1001"));
    w.start("PD-285");
    w.telegram("1001", "1001", None, "[PD-285] go");
    assert_eq!(w.handed("PD-285"), ["go"]);
    w.telegram("6666", "6666", None, &code);
    assert_eq!(w.state.human_of(&telegram("1", None).bridge, "6666"), None, "a code works once");
    w.crash();
    w.telegram("1001", "1001", None, "[PD-285] on");
    w.takes("PD-285");
    w.finishes("PD-285", "Went on.");
    assert!(w.shows("1001").iter().any(|text| text == "Went on."), "it still hears after a crash");
}

#[test]
fn a_code_is_void_after_ten_minutes_and_after_five_wrong_ones() {
    let mut w = World::on_telegram();
    let code = asks_for_a_code(&mut w);
    w.wait(TimeDelta::minutes(11));
    w.telegram("1001", "1001", None, &code);
    assert!(w.state.identities.is_empty());

    let code = asks_for_a_code(&mut w);
    for _ in 0..5 {
        w.telegram("6666", "6666", None, "/pair K7Q2-K7Q2");
    }
    w.telegram("1001", "1001", None, &code);
    assert!(w.state.identities.is_empty(), "locked for everybody");
    w.wait(TimeDelta::seconds(15)); // five answers in one moment are more than go out in it
    assert!(
        w.shows("6666").last().unwrap().contains("run vigie pair")
            || w.shows("6666").last().unwrap().contains("Run vigie pair")
    );
}

#[test]
fn nothing_a_stranger_does_reaches_anything() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "K7Q2", "rm -r build");
    let (card, _) = w.card(gate);
    let rows = w.orders.len();
    w.telegram("6666", "6666", None, "[PD-285] run it");
    w.telegram("6666", "6666", None, "/start");
    w.telegram("6666", "6666", None, "approve");
    let place = telegram("1001", None);
    w.hears(
        "6666",
        place.clone(),
        "q1".into(),
        w.now,
        HeardKind::Tap { message: card.clone(), action: Action::Allow { gate } },
    );
    w.hears(
        "6666",
        place.clone(),
        "r1".into(),
        w.now,
        HeardKind::Reaction { message: card, emoji: "👍".into(), means: None },
    );
    w.hears(
        "6666",
        place,
        "e1".into(),
        w.now,
        HeardKind::Edited { message: MessageId::new("p1"), text: "approve".into() },
    );
    assert_eq!(w.orders.len(), rows);
    assert!(w.state.gates[&gate].is_open());
    assert_eq!(w.shows("6666").len(), 1, "one polite answer a day: {:?}", w.shows("6666"));
    w.wait(TimeDelta::minutes(6));
    let notes: Vec<_> = w.shows("1001").into_iter().filter(|text| text.contains("6666")).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("6 times"), "{notes:?}");
}

#[test]
fn who_guesses_codes_is_told_to_the_owner_and_hears_why_nothing_works() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    asks_for_a_code(&mut w);
    for _ in 0..7 {
        w.telegram("6666", "6666", None, "/pair K7Q2-K7Q2");
    }
    w.wait(TimeDelta::minutes(1));
    assert!(w.shows("6666").last().unwrap().contains("No code is open"), "{:?}", w.shows("6666"));
    w.wait(TimeDelta::minutes(6));
    assert!(w.shows("1001").iter().any(|text| text.contains("6666")), "{:?}", w.shows("1001"));
    for _ in 0..50 {
        w.telegram("6666", "6666", None, "/pair K7Q2-K7Q2");
    }
    assert!(w.shows("6666").len() < 12, "and not for ever");
}

#[test]
fn a_setting_keeps_silent_towards_strangers() {
    let mut w = World::on_telegram();
    w.state.rules.strangers = Strangers::Ignored;
    w.telegram("6666", "6666", None, "hello?");
    assert!(w.shows("6666").is_empty());
}

#[test]
fn many_strangers_are_no_flood() {
    let mut w = World::on_telegram();
    for number in 0..200 {
        let id = format!("7{number:03}");
        w.telegram(&id, &id, None, "hello?");
    }
    w.wait(TimeDelta::minutes(6));
    let told: Vec<&Stranger> = w.state.strangers.values().collect();
    assert_eq!(told.len(), 20);
    assert_eq!(w.shown.len(), 20, "the others got no answer");
}

#[test]
fn a_group_is_opened_by_a_code_and_by_nothing_else() {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new("-100"), Room::Forum);
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    w.telegram("1001", "-100", None, "/status");
    w.telegram("1001", "-100", None, "[PD-285] go");
    assert!(w.handed("PD-285").is_empty(), "others read that group");
    assert_eq!(w.shows("-100").len(), 1, "{:?}", w.shows("-100"));
    w.pairs("owner", "1001", "-100");
    assert!(w.shows("-100")[1].contains("each session gets a thread"));
    w.telegram("1001", "-100", Some("pd-285"), "go");
    assert_eq!(w.takes("PD-285"), "go");
    w.finishes("PD-285", "It went.");
    assert!(w.shows("-100").contains(&"It went.".to_owned()));
    assert!(!w.shows("1001").contains(&"It went.".to_owned()), "not twice");
}

#[test]
fn somebody_elses_code_changes_nothing_for_a_known_person() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.ask(Command::Pair { human: Some("mate".into()), code: code() }).unwrap();
    w.telegram("1001", "1001", None, &code().show());
    let bridge = telegram("1", None).bridge;
    assert_eq!(w.state.human_of(&bridge, "1001"), Some(HumanId::new("owner")));
    assert!(w.shows("1001").last().unwrap().contains("for somebody else"));
}

#[test]
fn access_is_taken_back_at_once_and_for_good() {
    let mut w = World::on_telegram();
    w.pairs("mate", "1002", "1002");
    w.start("PD-285");
    w.ask(Command::Unpair { bridge: "telegram".into(), id: "1002".into() }).unwrap();
    w.crash();
    let before = w.shows("1002").len();
    w.telegram("1002", "1002", None, "[PD-285] go");
    assert!(w.handed("PD-285").is_empty());
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", "Secret plans.");
    assert!(!w.shows("1002")[before..].iter().any(|text| text.contains("Secret")));
    let again = w.ask(Command::Unpair { bridge: "telegram".into(), id: "1002".into() });
    assert!(matches!(again, Err(Refusal::NotPaired { .. })));
}

#[test]
fn talking_is_not_approving() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.pairs("mate", "1002", "1002");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    let (card, _) = w.card(gate);
    let tap = HeardKind::Tap { message: card, action: Action::Allow { gate } };
    let notice = w.hears("1002", telegram("1002", None), "q2".into(), w.now, tap.clone());
    assert!(notice.unwrap().contains("may not answer"));
    assert!(w.state.gates[&gate].is_open());
    w.hears("1001", telegram("1001", None), "q3".into(), w.now, tap);
    assert!(!w.state.gates[&gate].is_open());
}

#[test]
fn a_file_comes_with_its_words_and_one_that_is_missing_is_said() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    let text = |text: &str, got| HeardKind::Text {
        message: MessageId::new(format!("f-{text}")),
        text: text.into(),
        reply_to: None,
        origin: TextOrigin::Typed,
        files: vec![Attached { name: "report.pdf".into(), got }],
    };
    let place = telegram("1001", None);
    let here = Got::File { path: "/files/1/report.pdf".into(), bytes: 12 };
    w.hears("1001", place.clone(), "m1".into(), w.now, text("[PD-285] use this", here.clone()));
    let missed = Got::Missed { why: "it has 25 MB, and bots may fetch 20 MB".into() };
    w.hears("1001", place.clone(), "m2".into(), w.now, text("[PD-285] and this", missed));
    w.hears("1001", place, "m3".into(), w.now, text("[PD-285]", here));
    w.takes("PD-285");
    w.finishes("PD-285", "one");
    w.takes("PD-285");
    w.finishes("PD-285", "two");
    let handed = w.handed("PD-285");
    assert_eq!(
        handed[0],
        "use this\n\nAttached file \"report.pdf\" (12 bytes): /files/1/report.pdf"
    );
    assert!(handed[1].contains("could not be fetched: it has 25 MB"), "{handed:?}");
    assert_eq!(handed[2], "Attached file \"report.pdf\" (12 bytes): /files/1/report.pdf");
    assert!(w.shows("1001").iter().any(|text| text.contains("did not arrive here")));
}

#[test]
fn an_answer_may_be_written_as_a_command() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    let code = w.state.gates[&gate].code.clone();
    let early = w.telegram("1001", "1001", None, "/approve QQQ2");
    assert!(matches!(w.marks[&early], Mark::NotTaken { .. }));
    w.telegram("1001", "1001", None, &format!("/approve {code}"));
    assert!(!w.state.gates[&gate].is_open());
}
