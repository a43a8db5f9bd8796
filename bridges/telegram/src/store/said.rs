//! What was said under which key, the receipts on people's messages, and the topics that are there.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::HashSet;
use vigie_core::{Timestamp, id::DeliveryId};

use super::{Store, StoreError};
use crate::api::{TgChat, TgMessage, TgThread};

/// A key comes again within minutes; a receipt changes within days. After that the rows say nothing
/// that anybody asks for. In days.
const KEPT_DAYS: i64 = 30;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What is known of a key before it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It was never tried, or surely not taken.
    First,
    /// It was tried and nobody knows what came of it. `before` was the newest message then, 0 when
    /// none was known; `at` is when it was last tried.
    InDoubt { before: TgMessage, at: Timestamp },
    /// It is said.
    Said(TgMessage),
    /// Its topic is made.
    Made(TgThread),
}

/// What a person's message bears by now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub reaction: Option<String>,
    /// Our message that says it in words, and the words.
    pub reply: Option<(TgMessage, String)>,
}

/// A topic as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenTopic {
    pub name: String,
    pub openness: Openness,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    Open,
    Closed,
}

impl Store {
    /// Writes down that `key` is about to be said in `chat`, unless that is known already.
    pub(crate) async fn begin(
        &self,
        key: DeliveryId,
        chat: TgChat,
        now: Timestamp,
    ) -> Result<Begun, StoreError> {
        self.run(move |db| begin(db, &key.to_string(), chat, now)).await
    }

    /// The key's message is there.
    pub(crate) async fn said(
        &self,
        key: DeliveryId,
        chat: TgChat,
        message: TgMessage,
    ) -> Result<(), StoreError> {
        self.run(move |db| said(db, &key.to_string(), chat, message)).await
    }

    /// The key's topic is there, under that name.
    pub(crate) async fn made(
        &self,
        key: DeliveryId,
        chat: TgChat,
        thread: TgThread,
        name: String,
    ) -> Result<(), StoreError> {
        self.run(move |db| made(db, &key.to_string(), chat, thread, &name)).await
    }

    /// The key was surely not said: the next try is a first one.
    pub(crate) async fn not_said(&self, key: DeliveryId) -> Result<(), StoreError> {
        let forget = "delete from said where key = ?1 and message is null and thread is null";
        self.run(move |db| db.execute(forget, [key.to_string()]).map(drop)).await
    }

    /// The try that ended now left it in doubt.
    pub(crate) async fn doubted(&self, key: DeliveryId, now: Timestamp) -> Result<(), StoreError> {
        let tried = "update said set at = ?2 where key = ?1";
        self.run(move |db| {
            db.execute(tried, params![key.to_string(), now.timestamp_millis()]).map(drop)
        })
        .await
    }

    /// Messages after `before` of which it is known under which key they were said.
    pub(crate) async fn known_after(
        &self,
        chat: TgChat,
        before: TgMessage,
    ) -> Result<HashSet<TgMessage>, StoreError> {
        self.run(move |db| {
            let mut rows =
                db.prepare_cached("select message from said where chat = ?1 and message > ?2")?;
            rows.query_map([chat.0, before.0], |row| row.get(0).map(TgMessage))?.collect()
        })
        .await
    }

    pub(crate) async fn receipt(
        &self,
        chat: TgChat,
        message: TgMessage,
    ) -> Result<Receipt, StoreError> {
        self.run(move |db| receipt(db, chat, message)).await
    }

    pub(crate) async fn keep_receipt(
        &self,
        chat: TgChat,
        message: TgMessage,
        receipt: Receipt,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(move |db| keep_receipt(db, chat, message, &receipt, now)).await
    }

    /// A topic as it was last seen; `None` when nobody saw it.
    pub(crate) async fn seen_topic(
        &self,
        chat: TgChat,
        thread: TgThread,
    ) -> Result<Option<SeenTopic>, StoreError> {
        self.run(move |db| {
            db.query_row(
                "select name, closed from topic where chat = ?1 and thread = ?2",
                [chat.0, thread.number()],
                |row| Ok(SeenTopic { name: row.get(0)?, openness: openness(row.get(1)?) }),
            )
            .optional()
        })
        .await
    }

    /// A topic is so from now on, because we made it so.
    pub(crate) async fn topic_is(
        &self,
        chat: TgChat,
        thread: TgThread,
        topic: SeenTopic,
    ) -> Result<(), StoreError> {
        self.run(move |db| topic_is(db, chat, thread, &topic.name, topic.openness)).await
    }

    /// A topic of that name that the bot made after `before` and that no key made.
    pub(crate) async fn nobodys_topic(
        &self,
        chat: TgChat,
        before: TgMessage,
        name: String,
    ) -> Result<Option<TgThread>, StoreError> {
        self.run(move |db| {
            let number: Option<i64> = db
                .query_row(
                    "select thread from topic
                     where chat = ?1 and thread > ?2 and name = ?3 and ours = 1 and not exists (
                         select 1 from said where said.chat = topic.chat and said.thread = topic.thread)
                     order by thread limit 1",
                    params![chat.0, before.0, name],
                    |row| row.get(0),
                )
                .optional()?;
            Ok(number.and_then(TgThread::new))
        })
        .await
    }
}

/// Forgets what is too old to come again.
pub(super) fn prune(db: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let before = now.timestamp_millis() - KEPT_DAYS * DAY_MS;
    db.execute("delete from said where at < ?1", [before])?;
    db.execute("delete from receipt where at < ?1", [before])?;
    Ok(())
}

fn begin(db: &mut Connection, key: &str, chat: TgChat, now: Timestamp) -> rusqlite::Result<Begun> {
    let tx = db.transaction()?;
    let known = tx
        .query_row(
            "select before, at, message, thread from said where key = ?1 and chat = ?2",
            params![key, chat.0],
            begun,
        )
        .optional()?;
    if known.is_none() {
        // The same key in another chat: it never arrived in the one that moved.
        tx.execute(
            "insert or replace into said (key, chat, before, at) values
             (?1, ?2, coalesce((select message from newest where chat = ?2), 0), ?3)",
            params![key, chat.0, now.timestamp_millis()],
        )?;
    }
    tx.commit()?;
    Ok(known.unwrap_or(Begun::First))
}

fn begun(row: &Row<'_>) -> rusqlite::Result<Begun> {
    let message: Option<i64> = row.get(2)?;
    let thread: Option<i64> = row.get(3)?;
    if let Some(message) = message {
        return Ok(Begun::Said(TgMessage(message)));
    }
    if let Some(thread) = thread.and_then(TgThread::new) {
        return Ok(Begun::Made(thread));
    }
    let at = Timestamp::from_timestamp_millis(row.get(1)?).unwrap_or_default();
    Ok(Begun::InDoubt { before: TgMessage(row.get(0)?), at })
}

fn said(db: &mut Connection, key: &str, chat: TgChat, message: TgMessage) -> rusqlite::Result<()> {
    let tx = db.transaction()?;
    tx.execute("update said set message = ?2 where key = ?1", params![key, message.0])?;
    seen(&tx, chat, message.0)?;
    tx.commit()
}

fn made(
    db: &mut Connection,
    key: &str,
    chat: TgChat,
    thread: TgThread,
    name: &str,
) -> rusqlite::Result<()> {
    let tx = db.transaction()?;
    tx.execute("update said set thread = ?2 where key = ?1", params![key, thread.number()])?;
    topic_is(&tx, chat, thread, name, Openness::Open)?;
    // A topic has the number of the message that says it was made.
    seen(&tx, chat, thread.number())?;
    tx.commit()
}

fn seen(db: &Connection, chat: TgChat, message: i64) -> rusqlite::Result<()> {
    db.execute(
        "insert into newest (chat, message) values (?1, ?2)
         on conflict (chat) do update set message = max(message, excluded.message)",
        [chat.0, message],
    )
    .map(drop)
}

fn topic_is(
    db: &Connection,
    chat: TgChat,
    thread: TgThread,
    name: &str,
    openness: Openness,
) -> rusqlite::Result<()> {
    db.execute(
        "insert into topic (chat, thread, name, closed, ours) values (?1, ?2, ?3, ?4, 1)
         on conflict (chat, thread) do update set name = excluded.name, closed = excluded.closed",
        params![chat.0, thread.number(), name, openness == Openness::Closed],
    )
    .map(drop)
}

fn openness(closed: bool) -> Openness {
    if closed { Openness::Closed } else { Openness::Open }
}

fn receipt(db: &Connection, chat: TgChat, message: TgMessage) -> rusqlite::Result<Receipt> {
    let found = db.query_row(
        "select reaction, reply, words from receipt where chat = ?1 and message = ?2",
        [chat.0, message.0],
        |row| {
            let reply: Option<i64> = row.get(1)?;
            let words: Option<String> = row.get(2)?;
            Ok(Receipt { reaction: row.get(0)?, reply: reply.map(TgMessage).zip(words) })
        },
    );
    Ok(found.optional()?.unwrap_or_default())
}

fn keep_receipt(
    db: &Connection,
    chat: TgChat,
    message: TgMessage,
    receipt: &Receipt,
    now: Timestamp,
) -> rusqlite::Result<()> {
    let (reply, words) = receipt.reply.as_ref().map(|(id, words)| (id.0, words)).unzip();
    db.execute(
        "insert or replace into receipt (chat, message, at, reaction, reply, words)
         values (?1, ?2, ?3, ?4, ?5, ?6)",
        params![chat.0, message.0, now.timestamp_millis(), receipt.reaction, reply, words],
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    const CHAT: TgChat = TgChat(-100_7);

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_796_000_000, 0).unwrap()
    }

    fn db() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let db = super::super::open::open(&folder.path().join("telegram.db")).unwrap();
        (folder, db)
    }

    #[test]
    fn a_key_is_first_in_doubt_and_then_said() {
        let (_folder, mut db) = db();
        seen(&db, CHAT, 40).unwrap();
        assert_eq!(begin(&mut db, "k", CHAT, now()).unwrap(), Begun::First);
        seen(&db, CHAT, 50).unwrap();
        let again = begin(&mut db, "k", CHAT, now() + TimeDelta::seconds(9)).unwrap();
        assert_eq!(again, Begun::InDoubt { before: TgMessage(40), at: now() });
        said(&mut db, "k", CHAT, TgMessage(51)).unwrap();
        assert_eq!(begin(&mut db, "k", CHAT, now()).unwrap(), Begun::Said(TgMessage(51)));
        assert_eq!(begin(&mut db, "next", CHAT, now()).unwrap(), Begun::First);
        let next = begin(&mut db, "next", CHAT, now()).unwrap();
        assert_eq!(next, Begun::InDoubt { before: TgMessage(51), at: now() });
    }

    #[test]
    fn a_key_begins_anew_where_its_chat_moved() {
        let (_folder, mut db) = db();
        begin(&mut db, "k", CHAT, now()).unwrap();
        assert_eq!(begin(&mut db, "k", TgChat(-1), now()).unwrap(), Begun::First);
    }

    #[test]
    fn receipts_are_kept_and_old_rows_go() {
        let (_folder, mut db) = db();
        let message = TgMessage(7);
        assert_eq!(receipt(&db, CHAT, message).unwrap(), Receipt::default());
        let full = Receipt {
            reaction: Some("👀".into()),
            reply: Some((TgMessage(8), "2nd in line".into())),
        };
        keep_receipt(&db, CHAT, message, &full, now()).unwrap();
        begin(&mut db, "k", CHAT, now()).unwrap();
        prune(&db, now() + TimeDelta::days(29)).unwrap();
        assert_eq!(receipt(&db, CHAT, message).unwrap(), full);
        prune(&db, now() + TimeDelta::days(31)).unwrap();
        assert_eq!(receipt(&db, CHAT, message).unwrap(), Receipt::default());
        assert_eq!(begin(&mut db, "k", CHAT, now()).unwrap(), Begun::First);
    }
}
