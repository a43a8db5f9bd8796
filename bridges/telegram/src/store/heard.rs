//! What Telegram told, from the poll that brought it until the daemon has it.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

/// Nothing for longer than this, and the numbers may have started anew: then none is asked for by
/// number. Source: Bot API, `Update.update_id`: after a week without updates the next number is
/// chosen at random. A day earlier, since our clock and Telegram's are two.
const NUMBERS_HOLD_MS: i64 = 6 * 24 * 3_600_000;

/// Telegram keeps a tap for so long. After a longer silence taps may be lost.
/// Source: Bot API server, time to live of callback queries in its queue.
const TAPS_HOLD_MS: i64 = 150_000;

/// Whose updates these are: the number in front of the token's colon.
pub(crate) type BotId = i64;

/// What is known of the bot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bot {
    pub(crate) username: Option<String>,
    pub(crate) topics: bool,
    pub(crate) menu: Option<String>,
}

/// An update to keep, with what it is found by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) number: i64,
    pub(crate) json: String,
    pub(crate) urgent: bool,
    pub(crate) chat: Option<i64>,
    pub(crate) message: Option<i64>,
    pub(crate) album: Option<String>,
    /// It is a message that is new in its chat.
    pub(crate) newest: bool,
}

/// An update that the daemon does not have yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) id: i64,
    pub(crate) number: i64,
    /// Milliseconds since 1970.
    pub(crate) received: i64,
    pub(crate) json: String,
    pub(crate) batch: Option<i64>,
}

/// An earlier row of the same message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Earlier {
    pub(crate) json: String,
    pub(crate) batch: Option<i64>,
}

/// Whether the text of what is done stays for a while, to tell edits from mere changes around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Text,
    /// Strangers': nothing of theirs stays.
    Nothing,
}

/// An update that could not be read, for a person to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// As Telegram counts.
    pub number: i64,
    /// Milliseconds since 1970.
    pub received: i64,
    pub why: String,
    /// The update as it came.
    pub json: String,
}

pub(crate) fn bot(db: &mut Connection, id: BotId) -> rusqlite::Result<Bot> {
    db.prepare_cached("insert into bot (id) values (?1) on conflict do nothing")?.execute([id])?;
    let ask = "select username, topics, menu from bot where id = ?1";
    db.prepare_cached(ask)?.query_row([id], |row| {
        Ok(Bot { username: row.get(0)?, topics: row.get(1)?, menu: row.get(2)? })
    })
}

pub(crate) fn introduced(
    db: &mut Connection,
    id: BotId,
    username: Option<&str>,
    topics: bool,
) -> rusqlite::Result<()> {
    let put = "insert into bot (id, username, topics) values (?1, ?2, ?3)
        on conflict do update set username = ?2, topics = ?3";
    db.prepare_cached(put)?.execute(params![id, username, topics])?;
    Ok(())
}

pub(crate) fn menu_is(db: &mut Connection, id: BotId, menu: &str) -> rusqlite::Result<()> {
    db.prepare_cached("update bot set menu = ?2 where id = ?1")?.execute(params![id, menu])?;
    Ok(())
}

/// The offset to ask with; `None`: everything that Telegram still has.
pub(crate) fn next(db: &mut Connection, id: BotId, now: i64) -> rusqlite::Result<Option<i64>> {
    let ask = "select next from bot where id = ?1 and told > ?2";
    let next =
        db.prepare_cached(ask)?.query_row(params![id, now - NUMBERS_HOLD_MS], |row| row.get(0));
    Ok(next.optional()?.flatten())
}

/// Writes down what a poll brought, in one transaction with the offset that will confirm it. What
/// is there already stays as it is.
pub(crate) fn keep(
    db: &mut Connection,
    bot: BotId,
    updates: &[Incoming],
    now: i64,
) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.prepare_cached("insert into bot (id) values (?1) on conflict do nothing")?.execute([bot])?;
    for update in updates {
        keep_one(&tx, bot, update, now)?;
    }
    // Of this batch alone: after a quiet week its numbers may be lower than what was asked for.
    let next = updates.iter().map(|update| update.number + 1).max();
    let polled = "update bot set next = coalesce(?2, next), told = iif(?2 is null, told, ?3),
        silent = iif(?3 - polled > ?4, max(coalesce(silent, 0), ?3 - polled), silent),
        polled = ?3 where id = ?1";
    tx.prepare_cached(polled)?.execute(params![bot, next, now, TAPS_HOLD_MS])?;
    tx.commit()
}

fn keep_one(db: &Connection, bot: BotId, update: &Incoming, now: i64) -> rusqlite::Result<()> {
    let put = "insert into heard (bot, number, received, json, urgent, chat, message, album)
        select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
        where not exists (select 1 from heard where bot = ?1 and number = ?2 and json = ?4)";
    db.prepare_cached(put)?.execute(params![
        bot,
        update.number,
        now,
        update.json,
        update.urgent,
        update.chat,
        update.message,
        update.album,
    ])?;
    match (update.newest, update.chat, update.message) {
        (true, Some(chat), Some(message)) => raise_newest(db, chat, message),
        _ => Ok(()),
    }
}

/// Remembers that a message of that number exists in the chat.
pub(crate) fn raise_newest(db: &Connection, chat: i64, message: i64) -> rusqlite::Result<()> {
    let put = "insert into newest (chat, message) values (?1, ?2)
        on conflict do update set message = max(message, ?2)";
    db.prepare_cached(put)?.execute(params![chat, message])?;
    Ok(())
}

/// The silence that the daemon has not been told of yet, in milliseconds.
pub(crate) fn silence(db: &mut Connection, bot: BotId) -> rusqlite::Result<Option<i64>> {
    let ask = "select silent from bot where id = ?1";
    Ok(db.prepare_cached(ask)?.query_row([bot], |row| row.get(0)).optional()?.flatten())
}

pub(crate) fn silence_told(db: &mut Connection, bot: BotId) -> rusqlite::Result<()> {
    db.prepare_cached("update bot set silent = null where id = ?1")?.execute([bot])?;
    Ok(())
}

/// The next rows behind `after` that wait, oldest first.
pub(crate) fn waiting(
    db: &mut Connection,
    bot: BotId,
    urgent: bool,
    after: i64,
    most: usize,
) -> rusqlite::Result<Vec<Waiting>> {
    let ask = "select id, number, received, json, batch from heard
        where bot = ?1 and urgent = ?2 and id > ?3 and state = 'new' order by id limit ?4";
    db.prepare_cached(ask)?.query_map(params![bot, urgent, after, most], a_waiting)?.collect()
}

fn a_waiting(row: &Row<'_>) -> rusqlite::Result<Waiting> {
    Ok(Waiting {
        id: row.get(0)?,
        number: row.get(1)?,
        received: row.get(2)?,
        json: row.get(3)?,
        batch: row.get(4)?,
    })
}

/// The newest row there is.
pub(crate) fn last(db: &mut Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("select coalesce(max(id), 0) from heard")?.query_row([], |row| row.get(0))
}

/// Counts a try before it is made, so that it counts even if it ends the process. Returns how many
/// there are with this one.
pub(crate) fn trying(db: &mut Connection, id: i64) -> rusqlite::Result<u32> {
    let count = "update heard set tries = tries + 1 where id = ?1 returning tries";
    db.prepare_cached(count)?.query_row([id], |row| row.get(0))
}

/// The try was no failure: what comes later is another matter.
pub(crate) fn went_well(db: &mut Connection, id: i64) -> rusqlite::Result<()> {
    db.prepare_cached("update heard set tries = 0 where id = ?1")?.execute([id])?;
    Ok(())
}

/// From now on these are one thing.
pub(crate) fn join(db: &mut Connection, ids: &[i64]) -> rusqlite::Result<()> {
    let Some(batch) = ids.first() else { return Ok(()) };
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for id in ids {
        let put = "update heard set batch = ?2 where id = ?1";
        tx.prepare_cached(put)?.execute(params![id, batch])?;
    }
    tx.commit()
}

/// The daemon has these.
pub(crate) fn done(db: &mut Connection, ids: &[i64], keep: Keep) -> rusqlite::Result<()> {
    let put = match keep {
        Keep::Text => "update heard set state = 'done' where id = ?1",
        Keep::Nothing => "update heard set state = 'done', json = '{}' where id = ?1",
    };
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for id in ids {
        tx.prepare_cached(put)?.execute([id])?;
    }
    tx.commit()
}

/// Nothing can be made of these: they stay for a person to look at.
pub(crate) fn set_aside(db: &mut Connection, ids: &[i64], why: &str) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for id in ids {
        let put = "update heard set state = 'dead', why = ?2 where id = ?1";
        tx.prepare_cached(put)?.execute(params![id, why])?;
    }
    tx.commit()
}

/// What was set aside, newest first.
pub(crate) fn all_set_aside(db: &mut Connection, most: usize) -> rusqlite::Result<Vec<SetAside>> {
    let ask = "select number, received, coalesce(why, ''), json from heard
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

/// How the message last read before row `id`.
pub(crate) fn earlier(
    db: &mut Connection,
    bot: BotId,
    chat: i64,
    message: i64,
    id: i64,
) -> rusqlite::Result<Option<Earlier>> {
    // An edit's row has no batch of its own: the message it is of has.
    let ask = "select json, (select max(batch) from heard
            where bot = ?1 and chat = ?2 and message = ?3 and id < ?4)
        from heard where bot = ?1 and chat = ?2 and message = ?3 and id < ?4
        order by id desc limit 1";
    let row = |row: &Row<'_>| Ok(Earlier { json: row.get(0)?, batch: row.get(1)? });
    db.prepare_cached(ask)?.query_row(params![bot, chat, message, id], row).optional()
}

/// How every message of a batch last read up to row `id`, in their order.
pub(crate) fn versions(db: &mut Connection, batch: i64, id: i64) -> rusqlite::Result<Vec<String>> {
    let ask = "select (select newer.json from heard newer
            where newer.bot = part.bot and newer.chat = part.chat
                and newer.message = part.message and newer.id <= ?2
            order by newer.id desc limit 1)
        from heard part where part.batch = ?1 order by part.id";
    db.prepare_cached(ask)?.query_map([batch, id], |row| row.get(0))?.collect()
}

/// Whether a part of that album was handed in before row `id` and without it.
pub(crate) fn album_began(db: &mut Connection, album: &str, id: i64) -> rusqlite::Result<bool> {
    let ask = "select exists (select 1 from heard
        where album = ?1 and batch is not null and batch < ?2 and id < ?2)";
    db.prepare_cached(ask)?.query_row(params![album, id], |row| row.get(0))
}

/// Whether the daemon was told already that the chat moved there.
pub(crate) fn was_moved(db: &mut Connection, old: i64, new: i64) -> rusqlite::Result<bool> {
    let ask = "select exists (select 1 from moved where old = ?1 and new = ?2)";
    db.prepare_cached(ask)?.query_row([old, new], |row| row.get(0))
}

pub(crate) fn moved(db: &mut Connection, old: i64, new: i64) -> rusqlite::Result<()> {
    let put = "insert into moved (old, new) values (?1, ?2) on conflict do update set new = ?2";
    db.prepare_cached(put)?.execute([old, new])?;
    Ok(())
}

/// Forgets what the daemon has had since before that time, in milliseconds since 1970.
pub(crate) fn prune(db: &mut Connection, before: i64) -> rusqlite::Result<usize> {
    let old = "delete from heard where state = 'done' and received < ?1";
    db.prepare_cached(old)?.execute([before])
}
