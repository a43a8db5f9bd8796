use super::*;
use crate::store::OWNER;
use vigie_bridge_kit::database::connect;

const BOT: BotId = 42;
const DAY_MS: i64 = 24 * 3_600_000;

fn db() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let db = connect(&folder.path().join("telegram.db"), OWNER).unwrap();
    (folder, db)
}

fn update(number: i64, json: &str) -> Incoming {
    Incoming { number, json: json.into(), ..Incoming::default() }
}

fn message(number: i64, message: i64) -> Incoming {
    let json = format!("message {message} of update {number}");
    Incoming { chat: Some(1), message: Some(message), newest: true, ..update(number, &json) }
}

fn numbers(db: &mut Connection) -> Vec<i64> {
    let rows = waiting(db, BOT, false, 0, 100).unwrap();
    rows.into_iter().map(|row| row.number).collect()
}

#[test]
fn an_update_that_comes_again_is_kept_once() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[update(7, "a"), update(8, "b")], 1_000).unwrap();
    keep(&mut db, BOT, &[update(8, "b"), update(9, "c")], 2_000).unwrap();
    assert_eq!(numbers(&mut db), [7, 8, 9]);
    assert_eq!(next(&mut db, BOT, 2_000).unwrap(), Some(10));
    assert_eq!(next(&mut db, 43, 2_000).unwrap(), None, "another bot counts for itself");
}

#[test]
fn numbers_that_start_anew_lower_are_followed_and_kept() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[update(900, "a")], 0).unwrap();
    keep(&mut db, BOT, &[], 5 * DAY_MS).unwrap();
    assert_eq!(next(&mut db, BOT, 5 * DAY_MS).unwrap(), Some(901));
    let week = 7 * DAY_MS;
    assert_eq!(next(&mut db, BOT, week).unwrap(), None, "everything is asked for");
    keep(&mut db, BOT, &[update(12, "b"), update(13, "c")], week).unwrap();
    assert_eq!(next(&mut db, BOT, week).unwrap(), Some(14));
    // A number that was there once, for something else.
    keep(&mut db, BOT, &[update(900, "d")], week).unwrap();
    assert_eq!(numbers(&mut db), [900, 12, 13, 900]);
}

#[test]
fn a_silence_is_kept_until_it_is_told_and_the_longest_counts() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[], 0).unwrap();
    assert_eq!(silence(&mut db, BOT).unwrap(), None, "the first poll ends no silence");
    keep(&mut db, BOT, &[], 150_000).unwrap();
    assert_eq!(silence(&mut db, BOT).unwrap(), None);
    keep(&mut db, BOT, &[], 1_000_000).unwrap();
    keep(&mut db, BOT, &[], 1_200_000).unwrap();
    assert_eq!(silence(&mut db, BOT).unwrap(), Some(850_000));
    silence_told(&mut db, BOT).unwrap();
    assert_eq!(silence(&mut db, BOT).unwrap(), None);
}

#[test]
fn the_newest_message_of_a_chat_only_grows() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[message(1, 50), message(2, 49)], 0).unwrap();
    let edit = Incoming { newest: false, ..message(3, 99) };
    keep(&mut db, BOT, &[edit], 0).unwrap();
    let newest: i64 =
        db.query_row("select message from newest where chat = 1", [], |row| row.get(0)).unwrap();
    assert_eq!(newest, 50);
}

#[test]
fn what_is_done_is_pruned_and_what_waits_or_is_set_aside_is_not() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[update(1, "a"), update(2, "b"), update(3, "c")], 0).unwrap();
    let ids: Vec<_> =
        waiting(&mut db, BOT, false, 0, 9).unwrap().into_iter().map(|row| row.id).collect();
    done(&mut db, &ids[..1], Keep::Text).unwrap();
    set_aside(&mut db, &ids[1..2], "no good").unwrap();
    assert_eq!(prune(&mut db, 1).unwrap(), 1);
    assert_eq!(numbers(&mut db), [3]);
    let aside = all_set_aside(&mut db, 9).unwrap();
    assert_eq!(
        (aside[0].number, aside[0].json.as_str(), aside[0].why.as_str()),
        (2, "b", "no good")
    );
}

#[test]
fn of_strangers_nothing_stays() {
    let (_folder, mut db) = db();
    keep(&mut db, BOT, &[message(1, 50)], 0).unwrap();
    done(&mut db, &[1], Keep::Nothing).unwrap();
    let json: String = db.query_row("select json from heard", [], |row| row.get(0)).unwrap();
    assert_eq!(json, "{}");
}

#[test]
fn a_message_is_found_as_it_last_read_with_what_it_belongs_to() {
    let (_folder, mut db) = db();
    let edit = Incoming { newest: false, ..message(3, 50) };
    keep(&mut db, BOT, &[message(1, 50), message(2, 51), edit], 0).unwrap();
    join(&mut db, &[1, 2]).unwrap();
    let found = earlier(&mut db, BOT, 1, 50, 3).unwrap().unwrap();
    assert_eq!(found, Earlier { json: "message 50 of update 1".into(), batch: Some(1) });
    let found = earlier(&mut db, BOT, 1, 50, 4).unwrap().unwrap();
    assert_eq!(found, Earlier { json: "message 50 of update 3".into(), batch: Some(1) });
    let all = versions(&mut db, 1, 3).unwrap();
    assert_eq!(all, ["message 50 of update 3", "message 51 of update 2"]);
    assert_eq!(earlier(&mut db, BOT, 2, 50, 4).unwrap(), None);
}
