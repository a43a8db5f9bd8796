//! Topics of forums as they were last seen.

use rusqlite::{Connection, params};

/// The topic exists, under that name; `ours` once it was made by the bot.
pub(crate) fn topic_seen(
    db: &Connection,
    chat: i64,
    thread: i64,
    name: &str,
    ours: bool,
) -> rusqlite::Result<()> {
    let put = "insert into topic (chat, thread, name, closed, ours) values (?1, ?2, ?3, 0, ?4)
        on conflict do update set name = ?3, ours = max(ours, ?4)";
    db.prepare_cached(put)?.execute(params![chat, thread, name, ours])?;
    Ok(())
}

/// It has another name now. One that was never seen is somebody's.
pub(crate) fn topic_named(
    db: &Connection,
    chat: i64,
    thread: i64,
    name: &str,
) -> rusqlite::Result<()> {
    topic_seen(db, chat, thread, name, false)
}

/// It was closed, or opened again. Of one that was never seen the name is not known.
pub(crate) fn topic_closed(
    db: &Connection,
    chat: i64,
    thread: i64,
    closed: bool,
) -> rusqlite::Result<()> {
    let put = "insert into topic (chat, thread, name, closed, ours) values (?1, ?2, '', ?3, 0)
        on conflict do update set closed = ?3";
    db.prepare_cached(put)?.execute(params![chat, thread, closed])?;
    Ok(())
}

/// Topics of that name that the bot made in the chat after message `after`: a topic is numbered by
/// the message that made it. For finding one whose making was never answered.
pub(crate) fn topics_named(
    db: &Connection,
    chat: i64,
    name: &str,
    after: i64,
) -> rusqlite::Result<Vec<i64>> {
    let ask = "select thread from topic
        where chat = ?1 and name = ?2 and thread > ?3 and ours order by thread";
    db.prepare_cached(ask)?.query_map(params![chat, name, after], |row| row.get(0))?.collect()
}
