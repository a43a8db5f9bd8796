//! The queue of what people did: oldest first, each kept until it is handed in.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use vigie_core::bridge::{Accepted, Heard, HeardKind};

use super::{StoreError, next_seq, row};
use crate::ids::Ids;

/// Refusals in a row, all for the same reason, after which an update no longer holds up the rest.
const POISON: i64 = 3;

/// What became of an update.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Waiting,
    Accepted { notice: Option<String> },
    Aside { reason: String },
}

/// What follows from a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Hand it in again; so many refusals of this kind there were.
    Again(u32),
    /// It is set aside, and the page says so.
    Aside,
}

/// The oldest update that is still to be handed in. One that does not read any more is set aside
/// on the way: the message itself is in the log all the same.
pub(crate) fn next_waiting(
    db: &mut Connection,
    ids: &Ids,
    now: i64,
) -> Result<Option<(i64, Heard)>, StoreError> {
    loop {
        let next = "select id, heard from heard where state = 'waiting' order by id limit 1";
        let found = db
            .prepare_cached(next)?
            .query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .optional()?;
        let Some((id, text)) = found else { return Ok(None) };
        match serde_json::from_str::<Heard>(&text) {
            Ok(heard) => return Ok(Some((id, Heard { key: ids.heard_key(id), ..heard }))),
            Err(error) => set_aside(db, id, &format!("it does not read: {error}"), now)?,
        }
    }
}

pub(crate) fn accepted(
    db: &mut Connection,
    id: i64,
    accepted: &Accepted,
) -> Result<(), StoreError> {
    let update =
        "update heard set state = 'accepted', notice = ?2 where id = ?1 and state = 'waiting'";
    db.prepare_cached(update)?.execute(params![id, accepted.notice])?;
    Ok(())
}

pub(crate) fn refused(
    db: &mut Connection,
    id: i64,
    reason: &str,
    now: i64,
) -> Result<Refused, StoreError> {
    let count = "update heard set refusals = iif(reason is ?2, refusals + 1, 1), reason = ?2
        where id = ?1 returning refusals";
    let refusals: i64 =
        db.prepare_cached(count)?.query_row(params![id, reason], |row| row.get(0))?;
    if refusals < POISON {
        return Ok(Refused::Again(u32::try_from(refusals).unwrap_or(1)));
    }
    set_aside(db, id, reason, now)?;
    Ok(Refused::Aside)
}

pub(crate) fn outcome(db: &mut Connection, id: i64) -> Result<Outcome, StoreError> {
    let ask = "select state, notice, reason from heard where id = ?1";
    let (state, notice, reason): (String, _, Option<String>) = db
        .prepare_cached(ask)?
        .query_row(params![id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(match state.as_str() {
        "accepted" => Outcome::Accepted { notice },
        "aside" => Outcome::Aside { reason: reason.unwrap_or_default() },
        _ => Outcome::Waiting,
    })
}

/// A text shows it as its receipt; for a tap or an edit the chat gains a line.
fn set_aside(db: &mut Connection, id: i64, reason: &str, now: i64) -> Result<(), StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let update =
        "update heard set state = 'aside', reason = ?2 where id = ?1 returning message, heard";
    let (message, heard): (i64, String) = tx
        .prepare_cached(update)?
        .query_row(params![id, reason], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let what = serde_json::from_str::<Heard>(&heard).map(|heard| heard.what);
    let line = match what {
        Ok(HeardKind::Text { .. }) | Err(_) => None,
        Ok(HeardKind::Edited { .. }) => Some("An edit of a message"),
        Ok(HeardKind::Withdrawn { .. }) => Some("A deletion"),
        Ok(HeardKind::Tap { .. }) => Some("A tap on a button"),
        Ok(HeardKind::Reaction { .. } | HeardKind::TakenBack { .. }) => Some("A reaction"),
    };
    let seq = next_seq(&tx)?;
    match line {
        None => {
            let mark = "update message set aside = ?2, seq = ?3 where id = ?1";
            tx.prepare_cached(mark)?.execute(params![message, reason, seq])?;
        }
        Some(line) => {
            let thread = row::message(&tx, message)?.map_or(crate::ids::MAIN, |row| row.thread);
            let text = format!(
                "{line} was set aside, Vigie did not take it: {reason}. Do it again to try again."
            );
            let insert = "insert into message (thread, kind, body, loud, created, seq) values (?1, 'notice', ?2, 1, ?3, ?4)";
            tx.prepare_cached(insert)?.execute(params![thread, text, now, seq])?;
        }
    }
    tx.commit()?;
    Ok(())
}
