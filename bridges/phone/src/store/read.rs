//! What a page asks for. Each answer comes from one read transaction, so that it and the change
//! number it carries belong together.

use rusqlite::{Connection, OptionalExtension, Params, Transaction, params};
use std::collections::{BTreeSet, HashMap};
use vigie_core::bridge::{Body, Document, ThreadState};

use super::{
    Content, MessageRow, StoreError, parse,
    row::{self, COLUMNS, Raw},
};
use crate::ids::MAIN;

/// Threads a page lists, the most recently used first; older ones have ended long ago.
const THREADS: i64 = 200;

/// Open cards a page gets at once; nobody has answered more than this in a row.
const CARDS: i64 = 200;

/// Decided cards shown under what waits.
const DECIDED: i64 = 20;

/// Unread messages that are counted; a page shows more as "99+".
const UNREAD: i64 = 100;

const UNREAD_IN_ONE: &str = "select count(*) from (select 1 from message
    where thread = ?1 and id > ?2 and loud = 1 and author is not ?3 limit ?4)";

/// What a person has seen in neither view, of all threads and of the main chat's own. The threads
/// come first in the join, so that each is looked up from its mark on.
const UNREAD_IN_ALL: &str = "select count(*) from (
    select 1 from (select 0 as id union all select id from thread) as own
    cross join message on message.thread = own.id and message.id > coalesce(
        (select message from read_mark where person = ?1 and thread = own.id), 0)
    where loud = 1 and author is not ?1 limit ?2)";

/// Changed messages in one answer.
const BATCH: i64 = 200;

/// Further behind than this, a fresh start is less work than catching up.
const BEHIND: i64 = 2000;

/// A message, and what it answers.
pub(crate) type Shown = (MessageRow, Option<MessageRow>);

pub(crate) struct Snapshot {
    pub(crate) seq: i64,
    pub(crate) threads: Vec<Summary>,
    pub(crate) open: Vec<Shown>,
    pub(crate) decided: Vec<Shown>,
}

/// A line of the list of chats, as one person sees it.
pub(crate) struct Summary {
    pub(crate) id: i64,
    /// `None` for the main chat.
    pub(crate) state: Option<ThreadState>,
    pub(crate) last: Option<MessageRow>,
    pub(crate) unread: i64,
    /// The newest message the person has seen; 0 when none.
    pub(crate) read: i64,
}

pub(crate) struct Page {
    /// Oldest first.
    pub(crate) messages: Vec<Shown>,
    pub(crate) older: bool,
}

pub(crate) enum Continue {
    Changes(Changes),
    /// The page is too far behind, or knows another log: it starts anew.
    Anew,
}

pub(crate) struct Changes {
    /// Continue from here.
    pub(crate) seq: i64,
    pub(crate) messages: Vec<Shown>,
    pub(crate) threads: Vec<Summary>,
    pub(crate) more: bool,
}

pub(crate) fn last_seq(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.prepare_cached("select seq from log")?.query_row([], |row| row.get(0))?)
}

pub(crate) fn snapshot(db: &mut Connection, person: &str) -> Result<Snapshot, StoreError> {
    let tx = db.transaction()?;
    let list = "select id from thread order by
        (select max(message.id) from message where message.thread = thread.id) desc, id desc
        limit ?1";
    let mut ids = vec![MAIN];
    ids.extend(
        tx.prepare_cached(list)?
            .query_map(params![THREADS], |row| row.get(0))?
            .collect::<Result<Vec<i64>, _>>()?,
    );
    Ok(Snapshot {
        seq: last_seq(&tx)?,
        threads: summaries(&tx, person, ids)?,
        open: shown(&tx, "card = 'open' order by id limit ?1", params![CARDS])?,
        decided: shown(
            &tx,
            "card = 'decided' order by coalesce(edited, created) desc, id desc limit ?1",
            params![DECIDED],
        )?,
    })
}

/// Up to `limit` messages before message `before`, or the newest, in the order they came: of one
/// thread with what its session was told elsewhere, or for the main chat of all.
pub(crate) fn page(
    db: &mut Connection,
    thread: i64,
    before: Option<i64>,
    limit: i64,
) -> Result<Option<Page>, StoreError> {
    let tx = db.transaction()?;
    if !row::thread_exists(&tx, thread)? {
        return Ok(None);
    }
    let before = before.unwrap_or(i64::MAX);
    let mut messages = if thread == MAIN {
        shown(&tx, "id < ?1 order by id desc limit ?2", params![before, limit + 1])?
    } else {
        let filter = "id in (
                select * from (select id from message
                    where thread = ?1 and id < ?2 order by id desc limit ?3)
                union select * from (select message from told
                    where thread = ?1 and message < ?2 order by message desc limit ?3))
            order by id desc limit ?3";
        shown(&tx, filter, params![thread, before, limit + 1])?
    };
    let older = messages.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    if older {
        messages.pop();
    }
    messages.reverse();
    Ok(Some(Page { messages, older }))
}

/// Everything that changed after `from`, in the order of the changes.
pub(crate) fn changes(
    db: &mut Connection,
    person: &str,
    from: i64,
) -> Result<Continue, StoreError> {
    let tx = db.transaction()?;
    let last = last_seq(&tx)?;
    if from > last || last - from > BEHIND {
        return Ok(Continue::Anew);
    }
    let messages = shown(&tx, "seq > ?1 order by seq limit ?2", params![from, BATCH])?;
    let more = messages.len() >= usize::try_from(BATCH).unwrap_or(usize::MAX);
    let seq = match messages.last() {
        Some((message, _)) if more => message.seq,
        Some(_) | None => last,
    };
    let of = |(message, _): &Shown| [message.thread].into_iter().chain(message.also.clone());
    let mut threads: BTreeSet<i64> = messages.iter().flat_map(of).collect();
    let touched = "select id from thread where seq > ?1 and seq <= ?2
        union select thread from read_mark where person = ?3 and seq > ?1 and seq <= ?2";
    for id in tx.prepare_cached(touched)?.query_map(params![from, seq, person], |row| row.get(0))? {
        threads.insert(id?);
    }
    if !threads.is_empty() {
        threads.insert(MAIN); // its last message and what is unread are those of all
    }
    let threads = summaries(&tx, person, threads)?;
    Ok(Continue::Changes(Changes { seq, messages, threads, more }))
}

pub(crate) fn document(db: &mut Connection, id: i64) -> Result<Option<Document>, StoreError> {
    let content = row::message(db, id)?.map(|row| row.content);
    Ok(match content {
        Some(Content::Post(post)) => match post.body {
            Body::Document(document) => Some(document),
            Body::Text { .. } | Body::Card(_) | Body::Progress(_) | Body::File(_) => None,
        },
        Some(Content::Text { .. } | Content::Notice(_)) | None => None,
    })
}

fn shown(
    tx: &Transaction<'_>,
    filter: &str,
    params: impl Params,
) -> Result<Vec<Shown>, StoreError> {
    let sql = format!("select {COLUMNS} from message where {filter}");
    let raws =
        tx.prepare_cached(&sql)?.query_map(params, Raw::read)?.collect::<Result<Vec<_>, _>>()?;
    raws.into_iter()
        .map(|raw| {
            let message = raw.understood()?;
            let answers = match message.reply_to {
                Some(id) => row::message(tx, id)?,
                None => None,
            };
            Ok((message, answers))
        })
        .collect()
}

fn summaries(
    tx: &Transaction<'_>,
    person: &str,
    threads: impl IntoIterator<Item = i64>,
) -> Result<Vec<Summary>, StoreError> {
    let mut reads: HashMap<i64, i64> = tx
        .prepare_cached("select thread, message from read_mark where person = ?1")?
        .query_map(params![person], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    threads
        .into_iter()
        .map(|id| {
            let read = reads.remove(&id).unwrap_or(0);
            let last: Option<i64> = if id == MAIN {
                tx.prepare_cached("select max(id) from message")?.query_row([], |row| row.get(0))?
            } else {
                let newest = "select max(id) from (
                    select max(id) as id from message where thread = ?1
                    union all select max(message) from told where thread = ?1)";
                tx.prepare_cached(newest)?.query_row(params![id], |row| row.get(0))?
            };
            let last = match last {
                Some(last) => row::message(tx, last)?,
                None => None,
            };
            let unread = if id == MAIN {
                tx.prepare_cached(UNREAD_IN_ALL)?
                    .query_row(params![person, UNREAD], |row| row.get(0))?
            } else {
                tx.prepare_cached(UNREAD_IN_ONE)?
                    .query_row(params![id, read, person, UNREAD], |row| row.get(0))?
            };
            Ok(Summary { id, state: thread_state(tx, id)?, last, unread, read })
        })
        .collect()
}

fn thread_state(tx: &Transaction<'_>, id: i64) -> Result<Option<ThreadState>, StoreError> {
    let state: Option<String> = tx
        .prepare_cached("select state from thread where id = ?1")?
        .query_row(params![id], |row| row.get(0))
        .optional()?;
    state.map(|state| parse(&state, ("thread", "state", id))).transpose()
}
