//! What was encrypted is taken once: for which event, and of which sessions nothing is taken any more.

use rusqlite::{Connection, TransactionBehavior, params};

/// A session in which nothing was taken for so long is over: apps begin a new one after a week, and
/// after a hundred messages. Longer than anything heard is looked back at. In milliseconds.
const OVER: i64 = 90 * 24 * 60 * 60 * 1_000;

/// Most rows: of more, the sessions that were silent longest are closed. Ten people who write a hundred
/// messages a day have fewer in ninety days.
const MOST: i64 = 100_000;

/// Most closed sessions. Who wants the oldest of them forgotten must make a person's own app begin so
/// many new ones, which takes it two million messages or many years.
const MOST_CLOSED: i64 = 20_000;

/// What is encrypted in an event, as far as no homeserver can change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) session: String,
    /// Of what is in it.
    pub(crate) digest: String,
    pub(crate) room: String,
    pub(crate) event: String,
}

/// Another event that the same words were taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Twin {
    pub(crate) room: String,
    pub(crate) event: String,
    pub(crate) number: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It is taken for this event from now on.
    First,
    /// It was taken for this event so long ago that it is told anew.
    Again,
    /// Its session is over.
    Closed,
    /// The same words were taken before: only their places in the session tell them apart.
    Twins(Vec<Twin>),
}

/// Takes it for its event, if nothing like it was taken before; `since`: what was taken for the same
/// event before then is told anew.
pub(crate) fn claim(
    db: &mut Connection,
    sealed: &Sealed,
    since: i64,
    now: i64,
) -> rusqlite::Result<Claim> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_closed = "select exists (select 1 from closed where session = ?1)";
    if tx.query_row(is_closed, [&sealed.session], |row| row.get(0))? {
        return Ok(Claim::Closed);
    }
    let own = "select max(at) from used where session = ?1 and room = ?2 and event = ?3";
    let key = [&sealed.session, &sealed.room, &sealed.event];
    if let Some(at) = tx.query_row(own, key, |row| row.get::<_, Option<i64>>(0))? {
        return Ok(if at < since { Claim::Again } else { Claim::First });
    }
    let twins = twins(&tx, sealed)?;
    if !twins.is_empty() {
        return Ok(Claim::Twins(twins));
    }
    put(&tx, sealed, None, now)?;
    tx.commit()?;
    Ok(Claim::First)
}

fn twins(db: &Connection, sealed: &Sealed) -> rusqlite::Result<Vec<Twin>> {
    let ask = "select room, event, number from used where session = ?1 and digest in (?2, '')";
    let twin = |row: &rusqlite::Row<'_>| {
        Ok(Twin { room: row.get(0)?, event: row.get(1)?, number: row.get(2)? })
    };
    db.prepare_cached(ask)?.query_map([&sealed.session, &sealed.digest], twin)?.collect()
}

fn put(db: &Connection, sealed: &Sealed, number: Option<u32>, now: i64) -> rusqlite::Result<usize> {
    let put = "insert into used (session, digest, number, room, event, at)
        values (?1, ?2, ?3, ?4, ?5, ?6) on conflict do nothing";
    let Sealed { session, digest, room, event } = sealed;
    db.prepare_cached(put)?.execute(params![session, digest, number, room, event, now])
}

/// Where in its session the words of an event that was taken are.
pub(crate) fn is_at(
    db: &mut Connection,
    session: &str,
    twin: &Twin,
    number: u32,
) -> rusqlite::Result<()> {
    let put = "update or ignore used set number = ?4
        where session = ?1 and room = ?2 and event = ?3 and number is null";
    db.prepare_cached(put)?.execute(params![session, twin.room, twin.event, number])?;
    Ok(())
}

/// Takes it for its event, if what was taken before from the same words is known to be elsewhere in the
/// session.
pub(crate) fn claim_at(
    db: &mut Connection,
    sealed: &Sealed,
    number: u32,
    now: i64,
) -> rusqlite::Result<bool> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if twins(&tx, sealed)?.iter().any(|twin| twin.number.is_none()) {
        return Ok(false);
    }
    let taken = put(&tx, sealed, Some(number), now)? == 1;
    tx.commit()?;
    Ok(taken)
}

/// Closes the sessions that are over and keeps the tables bounded.
pub(crate) fn prune(db: &mut Connection, now: i64) -> rusqlite::Result<()> {
    prune_to(db, now - OVER, MOST, MOST_CLOSED)
}

fn prune_to(db: &mut Connection, over: i64, most: i64, most_closed: i64) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut left: i64 = tx.query_row("select count(*) from used", [], |row| row.get(0))?;
    for (session, last, rows) in silent_longest(&tx)? {
        if last >= over && left <= most {
            break;
        }
        let close = "insert or replace into closed (session, at) values (?1, ?2)";
        tx.execute(close, params![session, last])?;
        tx.execute("delete from used where session = ?1", [session])?;
        left -= rows;
    }
    let forget = "delete from closed where session in
        (select session from closed order by at desc limit -1 offset ?1)";
    tx.execute(forget, [most_closed])?;
    tx.commit()
}

/// Sessions, when something of each was last taken, and how much of it is known.
fn silent_longest(db: &Connection) -> rusqlite::Result<Vec<(String, i64, i64)>> {
    let ask = "select session, max(at) as last, count(*) from used group by session order by last";
    let session = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    db.prepare(ask)?.query_map([], session)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(include_str!("migrations/004_used.sql")).unwrap();
        db.execute_batch("insert into used values ('old', 7, '!room', '$old')").unwrap();
        db.execute_batch(include_str!("migrations/005_used.sql")).unwrap();
        db
    }

    fn sealed(session: &str, digest: &str, event: &str) -> Sealed {
        let [session, digest, event] = [session, digest, event].map(str::to_owned);
        Sealed { session, digest, room: "!room".into(), event }
    }

    fn twin(event: &str, number: Option<u32>) -> Twin {
        Twin { room: "!room".into(), event: event.into(), number }
    }

    #[test]
    fn other_words_need_nothing_and_the_same_need_their_places() {
        let mut db = database();
        let mut claim = |sealed: &Sealed| super::claim(&mut db, sealed, 0, 10).unwrap();
        assert_eq!(claim(&sealed("s", "yes", "$1")), Claim::First);
        assert_eq!(claim(&sealed("s", "yes", "$1")), Claim::First, "after a crash");
        assert_eq!(claim(&sealed("s", "no", "$2")), Claim::First);
        assert_eq!(claim(&sealed("other", "yes", "$3")), Claim::First);
        let again = sealed("s", "yes", "$4");
        assert_eq!(claim(&again), Claim::Twins(vec![twin("$1", None)]));
        assert!(!claim_at(&mut db, &again, 5, 10).unwrap(), "where the first one is is not known");
        is_at(&mut db, "s", &twin("$1", None), 5).unwrap();
        assert!(!claim_at(&mut db, &again, 5, 10).unwrap(), "it is the same");
        assert!(claim_at(&mut db, &again, 6, 10).unwrap());
        assert!(!claim_at(&mut db, &sealed("s", "yes", "$5"), 6, 10).unwrap());
        assert!(!claim_at(&mut db, &sealed("s", "yes", "$5"), 5, 10).unwrap());
    }

    #[test]
    fn a_place_that_is_another_events_is_not_given_twice() {
        let mut db = database();
        for event in ["$1", "$2"] {
            let words = sealed("s", event, event);
            assert_eq!(claim(&mut db, &words, 0, 10).unwrap(), Claim::First);
        }
        is_at(&mut db, "s", &twin("$1", None), 5).unwrap();
        is_at(&mut db, "s", &twin("$2", None), 5).unwrap();
        let again = sealed("s", "$2", "$3");
        assert!(!claim_at(&mut db, &again, 6, 10).unwrap(), "where $2 is is not known");
    }

    #[test]
    fn what_was_taken_before_there_were_words_still_counts() {
        let mut db = database();
        let new = sealed("old", "yes", "$new");
        assert_eq!(claim(&mut db, &new, 0, 10).unwrap(), Claim::Twins(vec![twin("$old", Some(7))]));
        assert!(!claim_at(&mut db, &new, 7, 10).unwrap());
        assert!(claim_at(&mut db, &new, 8, 10).unwrap());
    }

    #[test]
    fn what_is_told_anew_after_a_long_time_is_not_taken_anew() {
        let mut db = database();
        let words = sealed("s", "yes", "$1");
        assert_eq!(claim(&mut db, &words, 0, 10).unwrap(), Claim::First);
        assert_eq!(claim(&mut db, &words, 11, 20).unwrap(), Claim::Again);
    }

    #[test]
    fn a_session_whose_rows_are_forgotten_is_closed_and_the_tables_stay_small() {
        let mut db = database();
        for number in 0..10 {
            let session = format!("s{number}");
            for event in ["a", "b"] {
                let event = format!("${number}{event}");
                claim(&mut db, &sealed(&session, &event, &event), 0, 100 + number).unwrap();
            }
        }
        prune_to(&mut db, 103, 8, 4).unwrap();
        let count = |table: &str, db: &Connection| -> i64 {
            db.query_row(&format!("select count(*) from {table}"), [], |row| row.get(0)).unwrap()
        };
        assert!(count("used", &db) <= 8 && count("closed", &db) == 4);
        let mut of =
            |session: &str| claim(&mut db, &sealed(session, "words", "$new"), 0, 200).unwrap();
        assert_eq!(of("s9"), Claim::First);
        assert_eq!(of("s6"), Claim::Closed);
        assert_eq!(of("s5"), Claim::Closed);
        prune_to(&mut db, 0, 100, 100).unwrap();
        assert_eq!(claim(&mut db, &sealed("s6", "words", "$7"), 0, 300).unwrap(), Claim::Closed);
    }
}
