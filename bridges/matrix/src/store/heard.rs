//! What Matrix told, from the sync that brought it until the daemon has it.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use std::collections::HashSet;

use super::{
    cursor,
    rooms::{self, Seen},
};

/// How an event came, which decides what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Encrypted, from a device that its owner has signed.
    Signed,
    /// Encrypted, from a device that nobody vouches for.
    Unsigned,
    /// Encrypted, from somebody who was compared here and is another one since.
    Changed,
    /// From a room without encryption.
    Plain,
    /// Without encryption in a room that is encrypted.
    Bare,
    /// Encrypted, and we cannot read it.
    Sealed,
    /// No event: more was written than is fetched.
    Gap,
}

/// Why something sealed does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    /// The key did not come, or not yet.
    NoKey,
    /// The sender's app keeps the key from us.
    Withheld,
    /// The device it came from is not signed by its owner, or not known to be.
    Unsigned,
    /// The key came out of the backup, which does not tell who made it.
    Backup,
    /// The person was compared here and is another one since, or the sender is not who it says.
    Changed,
    /// It is damaged.
    Broken,
}

/// A text in the database for each of the values.
macro_rules! as_text {
    ($of:ident { $($value:ident = $text:literal),* $(,)? }) => {
        impl $of {
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text),* }
            }
        }
        impl rusqlite::types::FromSql for $of {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                match value.as_str()? {
                    $($text => Ok(Self::$value),)*
                    other => Err(rusqlite::types::FromSqlError::Other(format!("`{other}` is none of ours").into())),
                }
            }
        }
        impl rusqlite::ToSql for $of {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
    };
}
pub(super) use as_text;

as_text!(Trust {
    Signed = "signed",
    Unsigned = "unsigned",
    Changed = "changed",
    Plain = "plain",
    Bare = "bare",
    Sealed = "sealed",
    Gap = "gap",
});

as_text!(Hindrance {
    NoKey = "no key",
    Withheld = "withheld",
    Unsigned = "unsigned",
    Backup = "backup",
    Changed = "changed",
    Broken = "broken",
});

/// An event to keep, with what it is found by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) room: String,
    pub(crate) event: String,
    pub(crate) sender: String,
    pub(crate) thread: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) sent: i64,
    pub(crate) json: String,
    pub(crate) opened: Opened,
}

/// What is known of how an event was encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) trust: Trust,
    pub(crate) megolm: Option<String>,
    pub(crate) hindrance: Option<Hindrance>,
    pub(crate) device: Option<String>,
}

impl Opened {
    pub(crate) fn as_is(trust: Trust) -> Self {
        Self { trust, megolm: None, hindrance: None, device: None }
    }
}

/// An event that the daemon does not have yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: i64,
    pub(crate) room: String,
    pub(crate) event: String,
    pub(crate) sender: String,
    pub(crate) thread: Option<String>,
    pub(crate) sent: i64,
    pub(crate) received: i64,
    pub(crate) json: String,
    pub(crate) opened: Opened,
    pub(crate) told: u32,
}

/// Whether what is done stays for a while: edits, votes and redactions look back at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Text,
    /// Strangers': nothing of theirs stays.
    Nothing,
}

/// An event that could not be read, for a person to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    pub number: i64,
    /// Milliseconds since 1970.
    pub received: i64,
    pub why: String,
    /// The event as it came.
    pub json: String,
}

/// All that one sync brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) cursor: String,
    pub(crate) rooms: Vec<Seen>,
    /// In the order in which it is to be heard.
    pub(crate) events: Vec<Incoming>,
}

/// Writes down what a sync brought, in one transaction with the cursor behind it. What is there
/// already stays as it is: the homeserver tells things twice.
pub(crate) fn keep(
    db: &mut Connection,
    user: &str,
    batch: &Batch,
    now: i64,
) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for room in &batch.rooms {
        rooms::seen(&tx, room)?;
    }
    for event in &batch.events {
        keep_one(&tx, event, now)?;
    }
    cursor::advance(&tx, user, &batch.cursor)?;
    tx.commit()
}

fn keep_one(db: &Connection, event: &Incoming, now: i64) -> rusqlite::Result<()> {
    let put = "insert into heard
            (room, event, sender, thread, sent, received, json, trust, megolm, hindrance, device)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) on conflict do nothing";
    let Opened { trust, megolm, hindrance, device } = &event.opened;
    db.prepare_cached(put)?.execute(params![
        event.room,
        event.event,
        event.sender,
        event.thread,
        event.sent,
        now,
        event.json,
        trust,
        megolm,
        hindrance,
        device,
    ])?;
    Ok(())
}

/// Which of these events of a room were written down before, or are the last one seen there.
pub(crate) fn known(
    db: &mut Connection,
    room: &str,
    events: &[String],
) -> rusqlite::Result<HashSet<String>> {
    let ask = "select exists (select 1 from heard where room = ?1 and event = ?2)
        or exists (select 1 from room where room = ?1 and latest = ?2)";
    let mut ask = db.prepare_cached(ask)?;
    let mut known = HashSet::new();
    for event in events {
        if ask.query_row([room, event], |row| row.get(0))? {
            known.insert(event.clone());
        }
    }
    Ok(known)
}

const COLUMNS: &str = "id, room, event, sender, thread, sent, received, json, trust, megolm,
    hindrance, device, told";

fn a_waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    Ok(Waiting {
        id: row.get(0)?,
        room: row.get(1)?,
        event: row.get(2)?,
        sender: row.get(3)?,
        thread: row.get(4)?,
        sent: row.get(5)?,
        received: row.get(6)?,
        json: row.get(7)?,
        opened: Opened {
            trust: row.get(8)?,
            megolm: row.get(9)?,
            hindrance: row.get(10)?,
            device: row.get(11)?,
        },
        told: row.get(12)?,
    })
}

/// The next rows behind `after` that wait, oldest first. What is sealed and was said to be waits
/// elsewhere, for its key.
pub(crate) fn waiting(
    db: &mut Connection,
    after: i64,
    most: usize,
) -> rusqlite::Result<Vec<Waiting>> {
    let ask = format!(
        "select {COLUMNS} from heard where id > ?1 and state = 'new'
            and (trust <> 'sealed' or told = 0) order by id limit ?2"
    );
    db.prepare_cached(&ask)?.query_map(params![after, most], a_waiting)?.collect()
}

/// One row, if it still waits.
pub(crate) fn one(db: &mut Connection, id: i64) -> rusqlite::Result<Option<Waiting>> {
    let ask = format!("select {COLUMNS} from heard where id = ?1 and state = 'new'");
    db.prepare_cached(&ask)?.query_row([id], a_waiting).optional()
}

/// Everything sealed, oldest first.
pub(crate) fn sealed(db: &mut Connection, most: usize) -> rusqlite::Result<Vec<Waiting>> {
    let ask = format!(
        "select {COLUMNS} from heard where trust = 'sealed' and state = 'new' order by id limit ?1"
    );
    db.prepare_cached(&ask)?.query_map([most], a_waiting)?.collect()
}

/// A sealed row can be read now, or fails for another reason.
pub(crate) fn opened(
    db: &mut Connection,
    id: i64,
    json: &str,
    thread: Option<&str>,
    opened: &Opened,
) -> rusqlite::Result<()> {
    let put = "update heard set json = ?2, thread = coalesce(?3, thread), trust = ?4, megolm = ?5,
        hindrance = ?6, device = coalesce(?7, device)
        where id = ?1 and state = 'new' and trust = 'sealed'";
    let Opened { trust, megolm, hindrance, device } = opened;
    db.prepare_cached(put)?.execute(params![id, json, thread, trust, megolm, hindrance, device])?;
    Ok(())
}

/// The person heard once more that the row is sealed.
pub(crate) fn said_sealed(db: &mut Connection, id: i64) -> rusqlite::Result<()> {
    db.prepare_cached("update heard set told = told + 1 where id = ?1")?.execute([id])?;
    Ok(())
}

/// What is known of an event that another one is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: i64,
    pub(crate) sender: String,
    pub(crate) thread: Option<String>,
    pub(crate) json: String,
    /// It is not handed in yet.
    pub(crate) waits: bool,
}

pub(crate) fn find(
    db: &mut Connection,
    room: &str,
    event: &str,
) -> rusqlite::Result<Option<Found>> {
    let ask = "select id, sender, thread, json, state = 'new' from heard
        where room = ?1 and event = ?2";
    let row = |row: &Row<'_>| {
        Ok(Found {
            id: row.get(0)?,
            sender: row.get(1)?,
            thread: row.get(2)?,
            json: row.get(3)?,
            waits: row.get(4)?,
        })
    };
    db.prepare_cached(ask)?.query_row([room, event], row).optional()
}

/// Counts a failure of ours with the row; returns how many there were.
pub(crate) fn failed(db: &mut Connection, id: i64) -> rusqlite::Result<u32> {
    let count = "update heard set tries = tries + 1 where id = ?1 returning tries";
    db.prepare_cached(count)?.query_row([id], |row| row.get(0))
}

/// The daemon has it, or there is nothing to hand in.
pub(crate) fn done(db: &mut Connection, id: i64, keep: Keep) -> rusqlite::Result<()> {
    let put = match keep {
        Keep::Text => "update heard set state = 'done' where id = ?1",
        Keep::Nothing => "update heard set state = 'done', json = '{}' where id = ?1",
    };
    db.prepare_cached(put)?.execute([id])?;
    Ok(())
}

/// Nothing can be made of it: it stays for a person to look at.
pub(crate) fn set_aside(db: &mut Connection, id: i64, why: &str) -> rusqlite::Result<()> {
    let put = "update heard set state = 'dead', why = ?2 where id = ?1";
    db.prepare_cached(put)?.execute(params![id, why])?;
    Ok(())
}

/// What was set aside, newest first.
pub(crate) fn all_set_aside(db: &mut Connection, most: usize) -> rusqlite::Result<Vec<SetAside>> {
    let ask = "select id, received, coalesce(why, ''), json from heard
        where state = 'dead' order by id desc limit ?1";
    let row = |row: &Row<'_>| {
        Ok(SetAside {
            number: row.get(0)?,
            received: row.get(1)?,
            why: row.get(2)?,
            json: row.get(3)?,
        })
    };
    db.prepare_cached(ask)?.query_map([most], row)?.collect()
}

/// When `who` was last told `about` something, in milliseconds since 1970.
pub(crate) fn told(
    db: &mut Connection,
    room: &str,
    who: &str,
    about: &str,
) -> rusqlite::Result<Option<i64>> {
    let ask = "select at from told where room = ?1 and who = ?2 and about = ?3";
    db.prepare_cached(ask)?.query_row([room, who, about], |row| row.get(0)).optional()
}

pub(crate) fn tell(
    db: &mut Connection,
    room: &str,
    who: &str,
    about: &str,
    now: i64,
) -> rusqlite::Result<()> {
    let put = "insert into told (room, who, about, at) values (?1, ?2, ?3, ?4)
        on conflict do update set at = ?4";
    db.prepare_cached(put)?.execute(params![room, who, about, now])?;
    Ok(())
}

pub(crate) fn forget(
    db: &mut Connection,
    room: &str,
    who: &str,
    about: &str,
) -> rusqlite::Result<()> {
    let drop = "delete from told where room = ?1 and who = ?2 and about = ?3";
    db.prepare_cached(drop)?.execute([room, who, about])?;
    Ok(())
}

/// Forgets what the daemon has had since before that time, and what nobody has opened since then;
/// in milliseconds since 1970.
pub(crate) fn prune(db: &mut Connection, before: i64) -> rusqlite::Result<usize> {
    let old = "delete from heard where received < ?1
        and (state = 'done' or (state = 'new' and trust = 'sealed'))";
    db.prepare_cached(old)?.execute([before])
}

#[cfg(test)]
mod tests;
