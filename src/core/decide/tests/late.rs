//! What comes late, from people nobody met, or not at all.

use chrono::TimeDelta;

use super::world::{Shown, World, matrix};
use crate::{
    bridge::{Mark, Noted, Room, TextOrigin},
    id::{ChatId, MessageId},
};

const ROOM: &str = "!room:example.org";
const INES: &str = "@ines:example.org";

fn room() -> World {
    let mut w = World::on_telegram();
    w.pairs_on_matrix("owner", INES, ROOM);
    w.start("PD-285");
    w.wait(TimeDelta::minutes(1));
    w
}

fn says(w: &mut World, text: &str, ago: TimeDelta) -> MessageId {
    let at = w.now - ago;
    w.writes_at(INES, &matrix(ROOM), text, None, at, TextOrigin::Typed)
}

#[test]
fn the_case_of_a_gap_that_gives_back_old_events() {
    let mut w = room();
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    let months = TimeDelta::days(115);
    let march = says(&mut w, "[PD-285] run the March report", months);
    let approve = says(&mut w, "approve", months);
    let new = says(&mut w, "[PD-285] status", TimeDelta::zero());
    w.wait(TimeDelta::seconds(20));
    assert!(matches!(w.mark(&march), Mark::Kept { .. }), "{:?}", w.mark(&march));
    assert!(w.refused(&approve).contains("long ago"), "{}", w.refused(&approve));
    assert!(w.state.gates[&gate].is_open());
    assert!(matches!(w.mark(&new), Mark::Stored { .. } | Mark::Taken { .. }));
    w.settled("PD-285", "r1", crate::agent::Settled::Ours);
    assert_eq!(w.handed("PD-285"), ["status"], "only what is new acts");
    let asked = w.shown.iter().find(|s| s.text().contains("run the March report")).unwrap().clone();
    assert!(asked.text().starts_with("That was sent 115 days ago and missed."), "{}", asked.text());
    let labels: Vec<_> = asked.buttons().iter().map(|b| b.label.as_str()).collect();
    assert_eq!(labels, ["PD-285", "Drop it"]);

    w.takes("PD-285");
    w.finishes("PD-285", "ok");
    let (message, send) = (asked.message.clone(), asked.buttons()[0].action.clone());
    w.taps_action(INES, &message, send);
    assert_eq!(w.takes("PD-285"), "run the March report\n\n(sent 115 days ago)");
}

#[test]
fn what_was_written_while_we_were_down_for_hours_arrives_in_order() {
    let mut w = room();
    for (text, hours) in [("[PD-285] one", 20), ("[PD-285] two", 9), ("[PD-285] three", 1)] {
        says(&mut w, text, TimeDelta::hours(hours));
    }
    // It was connected only then, so all of it is from before.
    assert!(w.handed("PD-285").is_empty());
    let mut w = room();
    w.now += TimeDelta::days(2);
    for (text, hours) in [("[PD-285] one", 20), ("[PD-285] two", 9), ("[PD-285] three", 1)] {
        says(&mut w, text, TimeDelta::hours(hours));
    }
    for text in ["one", "two", "three"] {
        assert!(w.takes("PD-285").starts_with(text));
        w.finishes("PD-285", "ok");
    }
}

#[test]
fn a_flood_of_old_words_is_not_a_flood_of_questions() {
    let mut w = room();
    let all: Vec<_> =
        (0..60).map(|n| says(&mut w, &format!("[PD-285] old {n}"), TimeDelta::days(30))).collect();
    w.wait(TimeDelta::minutes(10));
    let asked = w.shows(ROOM).iter().filter(|text| text.contains("and missed")).count();
    assert_eq!(asked, 20);
    assert!(w.refused(&all[59]).contains("write it again"), "{}", w.refused(&all[59]));
    assert!(w.handed("PD-285").is_empty());
}

#[test]
fn an_old_command_commands_nothing() {
    let mut w = room();
    let stop = says(&mut w, "[PD-285] /stop", TimeDelta::days(3));
    assert!(w.refused(&stop).contains("long ago"));
}

#[test]
fn somebody_we_know_is_met_and_their_own_chat_opens() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    let ines = (crate::id::BridgeName::new("matrix"), INES.to_owned());
    w.state.rules.identities.insert(ines, crate::id::HumanId::new("owner"));
    w.start("PD-285");
    let gate = w.asks_to_run("PD-285", "r1", "make test");
    w.wait(TimeDelta::seconds(20));
    let met = |chat: &str, room, from: &str| Noted::Met {
        chat: ChatId::new(chat),
        room,
        from: from.into(),
    };
    w.notes_of("matrix", met("!other:example.org", Room::Direct, "@mallory:example.org"));
    w.notes_of("matrix", met("!group:example.org", Room::Group, INES));
    w.notes_of("matrix", met("!group:example.org", Room::Group, INES));
    assert_eq!(w.state.chats.len(), 1, "not for a stranger, and no group without a code");
    assert!(w.shows("!other:example.org").is_empty());
    let [told] = &w.shows("!group:example.org")[..] else { panic!("once: {:?}", w.shown) };
    assert!(told.contains("run vigie pair at the desk and send !pair"), "{told}");
    w.notes_of("matrix", met(ROOM, Room::Direct, INES));
    w.notes_of("matrix", met(ROOM, Room::Direct, INES));
    w.wait(TimeDelta::seconds(20));
    let welcomes = w.shows(ROOM).iter().filter(|t| t.contains("You are Inès Caradec")).count();
    assert_eq!(welcomes, 1, "{:?}", w.shows(ROOM));
    assert_eq!(w.cards_in(gate, ROOM).len(), 1, "and what waits is there");
    let next = w.asks_to_run("PD-285", "r2", "make lint");
    w.wait(TimeDelta::seconds(20));
    let level = w.card_in(next, ROOM).post.level;
    assert_eq!(level, crate::bridge::Level::Note, "they said nothing there yet");
}

#[test]
fn a_knock_is_told_to_the_owners_once_with_what_to_do() {
    let mut w = World::on_telegram();
    w.pairs("owner", "1001", "1001");
    let knock = |w: &mut World, from: &str| {
        w.notes_of("matrix", Noted::Knocked { from: from.into() });
    };
    for _ in 0..50 {
        knock(&mut w, "@mallory:example.org");
    }
    for n in 0..100 {
        knock(&mut w, &format!("@bot{n}:example.org"));
    }
    w.wait(TimeDelta::minutes(30));
    let told: Vec<_> = w.shows("1001").into_iter().filter(|t| t.contains("@mallory")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("50 times"), "{told:?}");
    assert!(told[0].contains("add matrix = \"@mallory:example.org\" under their [[human]]"));
    let all = w.shows("1001").iter().filter(|t| t.contains("is nobody you know")).count();
    assert!(all <= 20, "{all}");
    assert!(w.journal.iter().filter(|kind| *kind == "service_noted").count() == 0);
}

#[test]
fn what_cannot_be_read_is_said_once_to_whoever_wrote_it() {
    let mut w = room();
    let not_read = |w: &mut World, from: &str, why: &str| {
        let (place, message) = (matrix(ROOM), MessageId::new("$6"));
        let noted = Noted::NotRead { place, message, from: from.into(), why: why.into() };
        w.notes_of("matrix", noted);
        w.wait(TimeDelta::seconds(5));
    };
    let before = w.shown.len();
    not_read(&mut w, "@mallory:example.org", "Its key is missing.");
    assert_eq!(w.shown.len(), before);
    not_read(&mut w, INES, "Its key is missing.");
    not_read(&mut w, INES, "Its key is missing.");
    not_read(&mut w, INES, "Its key did not come. Write it again.");
    let said: Vec<&Shown> = w.shown[before..].iter().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|s| s.reply_to == Some(MessageId::new("$6"))));
}
