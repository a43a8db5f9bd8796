//! What was said under which key, the receipts on people's messages, and the topics that are there.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::HashSet;
use vigie_bridge_kit::database::DatabaseError;
use vigie_core::{Timestamp, id::DeliveryId};

use super::{Store, heard::raise_newest, topics};
use crate::api::{TgChat, TgMessage, TgThread};

/// A key comes again within minutes; a receipt changes within days. After that the rows say nothing
/// that anybody asks for. In days.
const KEPT_DAYS: i64 = 30;

/// Supergroups have numbers below this one, which begin with -100. Source: Bot API, `Chat.id`, and
/// `TDLib`, `DialogId`.
const SUPERGROUPS: i64 = -1_000_000_000_000;

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
    ) -> Result<Begun, DatabaseError> {
        self.run(move |db| begin(db, &key.to_string(), chat, now)).await
    }

    /// The key's message is there.
    pub(crate) async fn said(
        &self,
        key: DeliveryId,
        chat: TgChat,
        message: TgMessage,
    ) -> Result<(), DatabaseError> {
        self.run(move |db| said(db, &key.to_string(), chat, message)).await
    }

    /// The key's topic is there, under that name.
    pub(crate) async fn made(
        &self,
        key: DeliveryId,
        chat: TgChat,
        thread: TgThread,
        name: String,
    ) -> Result<(), DatabaseError> {
        self.run(move |db| made(db, &key.to_string(), chat, thread, &name)).await
    }

    /// The key was surely not said: the next try is a first one.
    pub(crate) async fn not_said(&self, key: DeliveryId) -> Result<(), DatabaseError> {
        let forget = "delete from said where key = ?1 and message is null and thread is null";
        self.run(move |db| db.execute(forget, [key.to_string()]).map(drop)).await
    }

    /// The try that ended now left it in doubt.
    pub(crate) async fn doubted(
        &self,
        key: DeliveryId,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        let tried = "update said set at = ?2 where key = ?1";
        self.run(move |db| {
            db.execute(tried, params![key.to_string(), now.timestamp_millis()]).map(drop)
        })
        .await
    }

    /// Numbers after `before` that are no unknown message of ours in `chat`: people wrote those, or it
    /// is known under which key they were said. Chats that are no supergroups share one count, so
    /// there it is also those of the others.
    pub(crate) async fn known_after(
        &self,
        chat: TgChat,
        before: TgMessage,
    ) -> Result<HashSet<TgMessage>, DatabaseError> {
        self.run(move |db| {
            let shared = chat.0 > SUPERGROUPS;
            let mut rows = db.prepare_cached(
                "select message from said
                 where (chat = ?1 or (?3 and chat > ?4)) and message > ?2
                 union select message from heard
                 where (chat = ?1 or (?3 and chat > ?4)) and message > ?2",
            )?;
            let asked = params![chat.0, before.0, shared, SUPERGROUPS];
            rows.query_map(asked, |row| row.get(0).map(TgMessage))?.collect()
        })
        .await
    }

    pub(crate) async fn receipt(
        &self,
        chat: TgChat,
        message: TgMessage,
    ) -> Result<Receipt, DatabaseError> {
        self.run(move |db| receipt(db, chat, message)).await
    }

    pub(crate) async fn keep_receipt(
        &self,
        chat: TgChat,
        message: TgMessage,
        receipt: Receipt,
        now: Timestamp,
    ) -> Result<(), DatabaseError> {
        self.run(move |db| keep_receipt(db, chat, message, &receipt, now)).await
    }

    /// A topic as it was last seen; `None` when nobody saw it.
    pub(crate) async fn seen_topic(
        &self,
        chat: TgChat,
        thread: TgThread,
    ) -> Result<Option<SeenTopic>, DatabaseError> {
        let topic = self.run(move |db| topics::topic(db, chat.0, thread.number())).await?;
        let openness = |closed| if closed { Openness::Closed } else { Openness::Open };
        Ok(topic.map(|(name, closed)| SeenTopic { name, openness: openness(closed) }))
    }

    /// A topic is so from now on, because we made it so.
    pub(crate) async fn topic_is(
        &self,
        chat: TgChat,
        thread: TgThread,
        topic: SeenTopic,
    ) -> Result<(), DatabaseError> {
        self.run(move |db| {
            topics::topic_named(db, chat.0, thread.number(), &topic.name)?;
            let closed = topic.openness == Openness::Closed;
            topics::topic_closed(db, chat.0, thread.number(), closed)
        })
        .await
    }

    /// A topic of that name that the bot made after `before` and that no key made.
    pub(crate) async fn nobodys_topic(
        &self,
        chat: TgChat,
        before: TgMessage,
        name: String,
    ) -> Result<Option<TgThread>, DatabaseError> {
        self.run(move |db| {
            let made = "select exists (select 1 from said where chat = ?1 and thread = ?2)";
            for thread in topics::topics_named(db, chat.0, &name, before.0)? {
                let made: bool = db.query_row(made, [chat.0, thread], |row| row.get(0))?;
                if !made {
                    return Ok(TgThread::new(thread));
                }
            }
            Ok(None)
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
    raise_newest(&tx, chat.0, message.0)?;
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
    topics::topic_seen(&tx, chat.0, thread.number(), name, true)?;
    // A topic has the number of the message that says it was made.
    raise_newest(&tx, chat.0, thread.number())?;
    tx.commit()
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
    use crate::store::OWNER;
    use chrono::TimeDelta;
    use vigie_bridge_kit::database::connect;

    const CHAT: TgChat = TgChat(-1_007);

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_796_000_000, 0).unwrap()
    }

    fn db() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let db = connect(&folder.path().join("telegram.db"), OWNER).unwrap();
        (folder, db)
    }

    #[test]
    fn a_key_is_first_in_doubt_and_then_said() {
        let (_folder, mut db) = db();
        raise_newest(&db, CHAT.0, 40).unwrap();
        assert_eq!(begin(&mut db, "k", CHAT, now()).unwrap(), Begun::First);
        raise_newest(&db, CHAT.0, 50).unwrap();
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

    #[tokio::test]
    async fn a_supergroup_counts_its_own_messages_and_other_chats_count_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("telegram.db"), now()).unwrap();
        let (ines, tomas, forum) = (TgChat(1), TgChat(2), TgChat(-1_001_000_000_001));
        for (number, (chat, message)) in [(ines, 5), (tomas, 6), (forum, 7)].into_iter().enumerate()
        {
            let key = DeliveryId::from_parts(now(), number as u128);
            store.begin(key, chat, now()).await.unwrap();
            store.said(key, chat, TgMessage(message)).await.unwrap();
        }
        let known = async |chat| {
            let mut known: Vec<i64> = store
                .known_after(chat, TgMessage(4))
                .await
                .unwrap()
                .into_iter()
                .map(|message| message.0)
                .collect();
            known.sort_unstable();
            known
        };
        assert_eq!(known(ines).await, [5, 6]);
        assert_eq!(known(forum).await, [7]);
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
