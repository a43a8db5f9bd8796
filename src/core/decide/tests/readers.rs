//! Who reads along: nobody that people were not told of.

use chrono::TimeDelta;

use super::world::{World, matrix};
use crate::{
    bridge::{Changed, Entry, Level, Noted, Reader, Room},
    command::Command,
    id::{BridgeName, ChatId, PairingCode, ThreadId},
    state::{ChatRow, ChatState},
};

const ROOM: &str = "!quay:example.org";
const INES: &str = "@ines:example.org";
const EVE: &str = "@eve:example.org";

fn reader(who: &str) -> Reader {
    Reader { who: who.into(), by: None, entry: Entry::Joined, thread: None, changed: None }
}

fn changed(who: &str, to: &str) -> Reader {
    let words = format!("The identity of {who} was replaced. Ask them in person.");
    Reader { changed: Some(Changed { to: to.into(), words }), ..reader(who) }
}

/// Ines on Matrix and nowhere else, with a session.
fn direct() -> World {
    let mut w = World::on_telegram();
    w.pairs_on_matrix("owner", INES, ROOM);
    says(&mut w, &[reader(INES)]);
    w.start("PD-285");
    settle(&mut w);
    w
}

/// The same in a group with Zoe, who is nobody Vigie knows.
fn group() -> World {
    let mut w = World::on_telegram();
    w.rooms.insert(ChatId::new(ROOM), Room::Group);
    says(&mut w, &[reader(INES), reader("@zoe:example.org")]);
    w.pairs_on_matrix("owner", INES, ROOM);
    w.start("PD-285");
    settle(&mut w);
    w
}

fn says(w: &mut World, readers: &[Reader]) {
    let readers = readers.to_vec();
    w.notes_of("matrix", Noted::Readers { chat: ChatId::new(ROOM), readers });
    settle(w);
}

fn settle(w: &mut World) {
    w.wait(TimeDelta::minutes(1));
}

fn row(w: &World) -> &ChatRow {
    &w.state.chats[&(BridgeName::new("matrix"), ChatId::new(ROOM))]
}

fn is_shut(w: &World) -> bool {
    matches!(row(w).state, ChatState::Shut { .. })
}

fn count(w: &World, words: &str) -> usize {
    w.shows(ROOM).iter().filter(|text| text.contains(words)).count()
}

fn answers(w: &mut World, words: &str) {
    w.doing("PD-285", crate::agent::Doing::Working);
    w.finishes("PD-285", words);
    settle(w);
}

#[test]
fn nothing_but_why_is_said_in_a_direct_chat_while_a_stranger_reads_along() {
    let mut w = direct();
    says(&mut w, &[reader(INES), Reader { by: Some(INES.into()), ..reader(EVE) }]);
    let why = w.last().clone();
    assert_eq!((why.place.chat.as_str(), why.post.level), (ROOM, Level::Ring));
    assert!(
        why.text().contains("@eve:example.org is in here now (by @ines:example.org, Matrix says)"),
        "{}",
        why.text()
    );
    answers(&mut w, "The secret plan.");
    let gate = w.asks_to_run("PD-285", "K7Q2", "make test");
    w.writes_as(INES, &super::world::matrix(ROOM), "/status", None);
    settle(&mut w);
    assert_eq!(w.last().text(), why.text(), "{:?}", w.shows(ROOM));

    says(&mut w, &[reader(INES)]);
    assert!(!is_shut(&w));
    assert_eq!(count(&w, "The secret plan."), 1);
    assert_eq!(w.cards_in(gate, ROOM).len(), 1);
    assert_eq!(count(&w, "What waited follows"), 1);
}

#[test]
fn whoever_is_only_invited_is_as_good_as_in() {
    let mut w = direct();
    says(&mut w, &[reader(INES), Reader { entry: Entry::Invited, ..reader(EVE) }]);
    assert!(is_shut(&w));
    assert_eq!(count(&w, "@eve:example.org is invited in here"), 1);
    says(&mut w, &[reader(INES), reader(EVE)]);
    assert_eq!(count(&w, "@eve:example.org"), 1, "they were told of: {:?}", w.shows(ROOM));
}

#[test]
fn a_stranger_in_a_sessions_room_holds_its_chat() {
    let mut w = direct();
    says(&mut w, &[reader(INES), Reader { thread: Some(ThreadId::new("!pd")), ..reader(EVE) }]);
    assert!(is_shut(&w));
    assert_eq!(count(&w, "is in the room of one session now"), 1);
}

#[test]
fn nothing_opens_a_held_chat_but_that_they_leave() {
    let mut w = direct();
    says(&mut w, &[reader(INES), reader(EVE)]);
    let chat = ChatId::new(ROOM);
    w.rooms.insert(chat.clone(), Room::Group);
    w.writes_as(INES, &super::world::matrix(ROOM), "[PD-285] go", None);
    w.notes_of("matrix", Noted::Open { chat: chat.clone(), room: Room::Group });
    w.notes_of("matrix", Noted::Met { chat: chat.clone(), room: Room::Direct, from: INES.into() });
    w.notes_of("matrix", Noted::Moved { from: chat.clone(), to: ChatId::new("!new") });
    w.notes_of("matrix", Noted::Moved { from: ChatId::new("!new"), to: chat });
    settle(&mut w);
    assert!(is_shut(&w));
    assert_eq!(row(&w).room, Room::Direct);
    assert_eq!(w.handed("PD-285"), ["go"], "what Ines wants still holds");
}

#[test]
fn a_restart_tells_nothing_twice_and_forgets_nothing() {
    let mut w = direct();
    says(&mut w, &[reader(INES), reader(EVE)]);
    for _ in 0..3 {
        w.crash();
        assert!(is_shut(&w), "before anybody says who is there");
        says(&mut w, &[reader(INES), reader(EVE)]);
    }
    assert!(is_shut(&w));
    assert_eq!(count(&w, EVE), 1, "{:?}", w.shows(ROOM));
    w.crash();
    answers(&mut w, "The secret plan.");
    assert_eq!(count(&w, "The secret plan."), 0);
    says(&mut w, &[reader(INES)]);
    assert_eq!(count(&w, "The secret plan."), 1);
    w.crash();
    says(&mut w, &[reader(INES), reader(EVE)]);
    assert_eq!(count(&w, "@eve:example.org is in here now"), 2, "they came again");
}

#[test]
fn a_code_makes_it_a_group_and_names_who_reads_along() {
    let mut w = direct();
    says(&mut w, &[reader(INES), reader(EVE)]);
    answers(&mut w, "The plan.");
    w.rooms.insert(ChatId::new(ROOM), Room::Group);
    w.pairs_on_matrix("owner", INES, ROOM);
    settle(&mut w);
    assert_eq!((row(&w).room, &row(&w).state), (Room::Group, &ChatState::Open));
    assert_eq!(count(&w, "This group is connected"), 1);
    assert_eq!(count(&w, "these read along: @eve:example.org"), 1, "{:?}", w.shows(ROOM));
    assert_eq!(count(&w, "The plan."), 1);
    w.crash();
    says(&mut w, &[reader(INES), reader(EVE)]);
    assert!(!is_shut(&w));
}

#[test]
fn a_group_is_told_once_of_each() {
    let mut w = group();
    assert_eq!(count(&w, "these read along: @zoe:example.org"), 1, "{:?}", w.shows(ROOM));
    let all = [reader(INES), reader("@zoe:example.org"), reader(EVE)];
    says(&mut w, &all);
    let told = w.last().clone();
    assert_eq!(told.post.level, Level::Ring);
    assert!(told.text().contains("@eve:example.org is in here now"), "{}", told.text());
    for _ in 0..3 {
        w.crash();
        says(&mut w, &all);
    }
    assert_eq!(count(&w, EVE), 1, "{:?}", w.shows(ROOM));
    answers(&mut w, "It went.");
    assert_eq!(count(&w, "It went."), 1);
}

#[test]
fn a_group_stays_one_when_all_but_one_are_gone() {
    let mut w = group();
    says(&mut w, &[reader(INES)]);
    w.rooms.insert(ChatId::new(ROOM), Room::Direct);
    w.writes_as(INES, &super::world::matrix(ROOM), "/status", None);
    assert_eq!(row(&w).room, Room::Group);
}

#[test]
fn people_we_know_may_read_along_until_they_are_known_no_more() {
    let mut w = direct();
    let tomas = "@tomas:example.org";
    w.pairs_on_matrix("mate", tomas, "!other:example.org");
    says(&mut w, &[reader(INES), reader(tomas)]);
    assert!(!is_shut(&w));
    // A second account of hers is nobody's, until she says that it is hers.
    let second = "@ines.caradec:example.org";
    says(&mut w, &[reader(INES), reader(tomas), reader(second)]);
    assert!(is_shut(&w));
    w.pairs_on_matrix("owner", second, "!third:example.org");
    assert!(!is_shut(&w));
    w.ask(Command::Unpair { bridge: "matrix".into(), id: tomas.into() }).unwrap();
    assert!(is_shut(&w));
}

#[test]
fn a_chat_that_nobody_opened_is_not_talked_about() {
    let mut w = World::on_telegram();
    says(&mut w, &[reader(EVE)]);
    assert!(w.shown.is_empty());
    for number in 0..2_000 {
        let chat = ChatId::new(format!("!{number}"));
        w.notes_of("matrix", Noted::Readers { chat, readers: vec![reader(EVE)] });
    }
    assert!(w.state.present.len() <= 1_000, "{}", w.state.present.len());
}

#[test]
fn another_identity_holds_a_direct_chat_once_for_each() {
    let mut w = direct();
    for _ in 0..2 {
        says(&mut w, &[changed(INES, "key one")]);
        assert!(is_shut(&w));
    }
    assert_eq!(count(&w, "was replaced. Ask them in person. Until then"), 1);
    says(&mut w, &[changed(INES, "key two")]);
    assert_eq!(count(&w, "was replaced"), 2, "{:?}", w.shows(ROOM));
    answers(&mut w, "The plan.");
    assert_eq!(count(&w, "The plan."), 0);
    says(&mut w, &[reader(INES)]);
    assert!(!is_shut(&w));
    assert_eq!(count(&w, "The plan."), 1);
}

#[test]
fn what_can_not_be_said_is_said_elsewhere_and_tried_once() {
    let mut w = direct();
    w.pairs("owner", "1001", "1001");
    settle(&mut w);
    w.failures.push_back(crate::bridge::SayError::Shut { reason: "it takes nothing".into() });
    let before = w.tries;
    says(&mut w, &[reader(INES), reader(EVE)]);
    let rings: Vec<_> = w.shows("1001").into_iter().filter(|text| text.contains(EVE)).collect();
    assert_eq!(rings.len(), 1, "{rings:?}");
    assert!(rings[0].contains("nothing is said in chat"), "{rings:?}");
    assert!(w.tries - before <= 2, "{}", w.tries - before);
}

#[test]
fn whoever_comes_before_the_first_is_told_of_is_told_of_with_them() {
    let mut w = direct();
    let chat = ChatId::new(ROOM);
    let later = std::time::Duration::from_secs(30);
    w.failures.push_back(crate::bridge::SayError::Later { after: later });
    let (first, second) = (reader(EVE), reader("@mallory:example.org"));
    let readers = vec![reader(INES), first.clone()];
    w.notes_of("matrix", Noted::Readers { chat, readers });
    says(&mut w, &[reader(INES), first, second]);
    let why = w.last().text();
    assert!(why.contains(EVE) && why.contains("@mallory:example.org"), "{why}");
    assert_eq!(count(&w, EVE), 1);
}

#[test]
fn a_name_cannot_pass_for_another_or_hide() {
    let mut w = direct();
    let hidden = "@\u{202e}seni\u{200b}:ехample.org";
    let long = format!("@{}:example.org", "x".repeat(300));
    says(&mut w, &[reader(INES), reader(hidden), reader(&long)]);
    let why = w.last().text();
    assert!(why.contains("⟦U+202E⟧") && why.contains("Cyrillic"), "{why}");
    assert!(!why.contains('\u{202e}') && !why.contains('\u{200b}'), "{why}");
    assert!(why.len() < 1_500, "{why}");
}

#[test]
fn a_crowd_is_counted() {
    let mut w = direct();
    let crowd: Vec<_> = (0..40).map(|number| reader(&format!("@g{number}:example.org"))).collect();
    says(&mut w, &crowd);
    assert!(w.last().text().contains("35 more are in here"), "{}", w.last().text());
}

#[test]
fn two_codes_of_two_rooms_are_two_chats() {
    let mut w = direct();
    let code = PairingCode::from_random(7);
    w.ask(Command::Pair { human: Some("owner".into()), code: code.clone() }).unwrap();
    says(&mut w, &[reader(INES), reader(EVE)]);
    let other = super::world::matrix("!fresh:example.org");
    w.writes_as(INES, &other, &format!("/pair {}", code.show()), None);
    assert!(is_shut(&w), "a code typed elsewhere opens nothing here");
}

#[test]
fn where_nobody_is_left_nothing_is_said_until_somebody_is_back() {
    let mut w = direct();
    says(&mut w, &[]);
    assert!(
        matches!(&row(&w).state, ChatState::Shut { reason, .. } if reason.contains("nobody whom Vigie knows"))
    );
    says(&mut w, &[reader(INES)]);
    assert_eq!(row(&w).state, ChatState::Open);
}

#[test]
fn whoever_left_and_begins_a_new_chat_finds_there_what_waited() {
    let mut w = direct();
    w.writes_as(INES, &matrix(ROOM), "/help", None);
    says(&mut w, &[]);
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::minutes(1));
    assert!(w.cards_in(gate, ROOM).is_empty());
    let new = "!new:example.org";
    let chat = ChatId::new(new);
    let met = Noted::Met { chat: chat.clone(), room: Room::Direct, from: INES.into() };
    w.notes_of("matrix", met);
    let readers = vec![reader(INES)];
    w.notes_of("matrix", Noted::Readers { chat, readers });
    w.wait(TimeDelta::minutes(1));
    assert_eq!(w.cards_in(gate, new).len(), 1, "{:?}", w.shows(new));
    assert!(
        w.shows(new).iter().any(|text| text.contains("that one is done with")),
        "{:?}",
        w.shows(new)
    );
    let left = &w.state.chats[&(BridgeName::new("matrix"), ChatId::new(ROOM))];
    assert_eq!(left.state, ChatState::Left, "it is in no list of what is wrong");
    assert!(w.state.deliveries.is_empty(), "{:?}", w.state.deliveries);
}
