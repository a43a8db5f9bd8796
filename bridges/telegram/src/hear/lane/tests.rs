use super::*;
use chrono::DateTime;
use proptest::prelude::*;
use vigie_core::bridge::Room;

use super::super::read::Spot;
use crate::api::{FileId, TgMessage, TgUser};
use crate::hear::content::Offered;

fn time(milliseconds: i64) -> Timestamp {
    DateTime::from_timestamp_millis(1_700_000_000_000 + milliseconds).unwrap()
}

fn item(id: i64, received: i64, text: &str) -> Item {
    let spot = Spot { chat: TgChat(1), thread: None, room: Room::Direct, from: TgUser(1) };
    let piece = Piece {
        spot,
        message: TgMessage(id),
        at: time(received / 1_000 * 1_000),
        reply_to: None,
        origin: TextOrigin::Typed,
        text: text.into(),
        words: Words::Typed,
        files: vec![],
        album: None,
        command: text.starts_with('/'),
    };
    Item { id, received: time(received), batch: None, work: Work::Said(piece) }
}

fn with(mut item: Item, change: impl FnOnce(&mut Piece)) -> Item {
    if let Work::Said(piece) = &mut item.work {
        change(piece);
    }
    item
}

fn picture(id: i64, received: i64, album: &str) -> Item {
    with(item(id, received, ""), |piece| {
        piece.words = Words::Caption;
        piece.album = Some(album.into());
        piece.files.push(Offered { file: FileId::new("f"), name: "a.png".into(), size: None });
    })
}

fn ids(step: &Step) -> Vec<i64> {
    match step {
        Step::HandIn(unit) => unit.ids(),
        Step::Nothing | Step::Wait(_) => panic!("{step:?}"),
    }
}

fn long() -> String {
    "x".repeat(4096)
}

/// What is handed in when nothing more comes, one after the other.
fn all(items: Vec<Item>) -> Vec<Vec<i64>> {
    let mut queue = VecDeque::from(items);
    let mut units = Vec::new();
    loop {
        match next(&mut queue, time(3_600_000), time(0)) {
            Step::Nothing => return units,
            Step::HandIn(unit) => units.push(unit.ids()),
            Step::Wait(until) => panic!("waits until {until}"),
        }
    }
}

#[test]
fn short_messages_are_handed_in_at_once() {
    let mut queue = VecDeque::from([item(1, 0, "one"), item(2, 0, "two")]);
    assert_eq!(ids(&next(&mut queue, time(0), time(0))), [1]);
    assert_eq!(ids(&next(&mut queue, time(0), time(0))), [2]);
    assert_eq!(next(&mut queue, time(0), time(0)), Step::Nothing);
}

#[test]
fn a_long_message_waits_for_more_and_no_longer_than_that() {
    let mut queue = VecDeque::from([item(1, 0, &long())]);
    assert_eq!(next(&mut queue, time(0), time(0)), Step::Wait(time(1_500)));
    queue.push_back(item(2, 1_000, &long()));
    assert_eq!(next(&mut queue, time(1_500), time(0)), Step::Wait(time(2_500)));
    assert_eq!(ids(&next(&mut queue, time(2_500), time(0))), [1, 2]);
}

#[test]
fn a_shorter_part_is_the_last() {
    let mut queue = VecDeque::from([item(1, 0, &long()), item(2, 0, "end"), item(3, 0, "next")]);
    assert_eq!(ids(&next(&mut queue, time(0), time(0))), [1, 2]);
    assert_eq!(ids(&next(&mut queue, time(0), time(0))), [3]);
}

#[test]
fn what_is_no_part_ends_a_paste() {
    for (about, other) in [
        ("a reply", with(item(2, 0, "x"), |piece| piece.reply_to = Some(TgMessage(9)))),
        ("forwarded", with(item(2, 0, "x"), |piece| piece.origin = TextOrigin::Forwarded)),
        ("a caption", with(item(2, 0, "x"), |piece| piece.words = Words::Caption)),
        ("much later", with(item(2, 0, "x"), |piece| piece.at = time(4_000))),
        ("of a batch that is settled", Item { batch: Some(2), ..item(2, 0, "x") }),
    ] {
        assert_eq!(all(vec![item(1, 0, &long()), other]), [vec![1], vec![2]], "{about}");
    }
}

#[test]
fn a_command_may_be_long_itself_and_a_reply_may_be_cut() {
    let command = format!("/new PD-300 {}", long());
    assert_eq!(all(vec![item(1, 0, &command), item(2, 0, "end")]), [[1, 2]]);
    let reply = |id, text: &str| with(item(id, 0, text), |it| it.reply_to = Some(TgMessage(9)));
    assert_eq!(all(vec![reply(1, &long()), reply(2, "end")]), [[1, 2]]);
    assert_eq!(all(vec![reply(1, &long()), item(2, 0, "end")]), [[1, 2]]);
}

#[test]
fn a_command_passes_an_open_paste_and_does_not_end_it() {
    let mut queue = VecDeque::from([item(1, 0, &long()), item(2, 0, "/stop")]);
    assert!(matches!(next(&mut queue, time(0), time(0)), Step::Wait(_)));
    assert_eq!(command(&mut queue).unwrap().ids(), [2]);
    assert_eq!(command(&mut queue), None);
    queue.push_back(item(3, 100, "end"));
    assert_eq!(ids(&next(&mut queue, time(100), time(0))), [1, 3]);
}

#[test]
fn an_album_is_whole_after_a_while_and_at_ten() {
    let mut queue = VecDeque::from([picture(1, 0, "a"), picture(2, 500, "a"), item(3, 600, "x")]);
    assert_eq!(next(&mut queue, time(600), time(0)), Step::Wait(time(2_500)));
    queue.push_back(picture(4, 2_000, "a"));
    assert_eq!(next(&mut queue, time(2_600), time(0)), Step::Wait(time(4_000)));
    assert_eq!(ids(&next(&mut queue, time(4_000), time(0))), [1, 2, 4]);
    assert_eq!(ids(&next(&mut queue, time(4_000), time(0))), [3]);

    let slow = (0..6).map(|number| picture(number, number * 1_900, "a"));
    assert_eq!(next(&mut slow.collect(), time(9_600), time(0)), Step::Wait(time(10_000)));
    let ten: Vec<_> = (1..=10).map(|id| picture(id, 0, "a")).collect();
    assert_eq!(ids(&next(&mut ten.into(), time(0), time(0))), (1..=10).collect::<Vec<_>>());
    assert_eq!(all(vec![picture(1, 0, "a"), picture(2, 0, "b")]), [[1], [2]]);
}

#[test]
fn what_lay_here_before_a_start_waits_from_the_start_on() {
    let mut queue = VecDeque::from([item(1, 0, &long())]);
    assert_eq!(next(&mut queue, time(60_000), time(60_000)), Step::Wait(time(61_500)));
}

#[test]
fn a_batch_stays_what_it_was() {
    let settled = |item: Item| Item { batch: Some(1), ..item };
    let first = settled(item(1, 0, &long()));
    let mut queue = VecDeque::from([first, settled(item(2, 0, &long())), item(3, 0, "more")]);
    let Step::HandIn(unit) = next(&mut queue, time(0), time(0)) else { panic!() };
    assert_eq!((unit.ids(), unit.together, unit.settled), (vec![1, 2], Together::Paste, true));
    let mut queue = VecDeque::from([settled(picture(1, 0, "a")), picture(2, 0, "a")]);
    let Step::HandIn(unit) = next(&mut queue, time(0), time(0)) else { panic!() };
    assert_eq!((unit.ids(), unit.together), (vec![1], Together::Album));
}

proptest! {
    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(kinds in prop::collection::vec(0..6_u8, 0..40)) {
        let items: Vec<_> = (1..).zip(&kinds).map(|(id, kind)| match kind {
            0 => item(id, id * 100, &long()),
            1 => item(id, id * 100, "/stop"),
            2 => picture(id, id * 100, "a"),
            3 => with(item(id, id * 100, "x"), |piece| piece.reply_to = Some(TgMessage(1))),
            4 => with(item(id, id * 100, &long()), |piece| piece.origin = TextOrigin::Forwarded),
            _ => item(id, id * 100, "x"),
        }).collect();
        let count = i64::try_from(items.len()).unwrap();
        let units = all(items);
        prop_assert!(units.iter().all(|unit| unit.is_sorted()));
        prop_assert!(units.is_sorted_by_key(|unit| unit[0]));
        let mut seen: Vec<_> = units.concat();
        seen.sort_unstable();
        prop_assert_eq!(seen, (1..=count).collect::<Vec<_>>());
    }
}
