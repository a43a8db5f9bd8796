//! What Vigie says, written into the log: each key once, with its answer, in one transaction.

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use vigie_core::{
    bridge::{Body, Mark, Place, Post, Said, Say, ThreadState},
    id::{DeliveryId, MessageId, SessionName},
};

use super::{StoreError, json, next_seq, row};
use crate::{CHAT, TEXT_LIMIT, ids::Ids};

#[derive(Debug)]
pub(crate) enum SayFailed {
    Store(StoreError),
    /// It can never be said, however often it is tried.
    Never(String),
}

impl From<StoreError> for SayFailed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for SayFailed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A repeated `key` changes nothing and is answered as it was the first time.
pub(crate) fn say(
    db: &mut Connection,
    ids: &Ids,
    now: i64,
    (place, say, key): (&Place, &Say, DeliveryId),
) -> Result<Said, SayFailed> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let key = key.to_string();
    if let Some(said) = said_before(&tx, &key)? {
        return Ok(answer(ids, said));
    }
    let said = Saying { tx: &tx, ids, now }.carry_out(place, say)?;
    let keep = "insert into delivery (key, message, thread) values (?1, ?2, ?3)";
    tx.prepare_cached(keep)?.execute(params![key, said.0, said.1])?;
    tx.commit()?;
    Ok(answer(ids, said))
}

/// The message and the thread that came of it, as row numbers.
type Made = (Option<i64>, Option<i64>);

fn said_before(tx: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<Made>> {
    tx.prepare_cached("select message, thread from delivery where key = ?1")?
        .query_row(params![key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

fn answer(ids: &Ids, (message, thread): Made) -> Said {
    Said {
        message: message.map(|row| ids.message(row)),
        thread: thread.and_then(|row| ids.thread(row)),
        calls: 0,
    }
}

struct Saying<'a> {
    tx: &'a Transaction<'a>,
    ids: &'a Ids,
    now: i64,
}

impl Saying<'_> {
    fn carry_out(&self, place: &Place, say: &Say) -> Result<Made, SayFailed> {
        if place.chat.as_str() != CHAT {
            return never(format!(
                "the phone page has one chat, `{CHAT}`, and no `{}`",
                place.chat
            ));
        }
        match say {
            Say::Post { post, reply_to } => {
                let made = self.post(self.thread(place)?, post, reply_to.as_ref())?;
                Ok((Some(made), None))
            }
            Say::Edit { message, post } => self.edit(message, post).map(|()| (None, None)),
            Say::Mark { message, mark } => self.mark(message, mark).map(|()| (None, None)),
            Say::Thread { thread } if place.thread.is_none() => {
                Ok((None, Some(self.make_thread(thread)?)))
            }
            Say::Thread { thread } => {
                let row = self.thread(place)?;
                self.update_thread(row, thread)?;
                Ok((None, Some(row)))
            }
        }
    }

    fn thread(&self, place: &Place) -> Result<i64, SayFailed> {
        match self.ids.thread_row(place.thread.as_ref()) {
            Some(row) if row::thread_exists(self.tx, row)? => Ok(row),
            Some(_) | None => never("the phone page has no such thread; make it first".into()),
        }
    }

    fn post(
        &self,
        thread: i64,
        post: &Post,
        reply_to: Option<&MessageId>,
    ) -> Result<i64, SayFailed> {
        fits(post)?;
        // An answer to a message that is gone is still worth reading.
        let reply_to = reply_to.and_then(|id| self.ids.message_row(id));
        let insert = "insert into message (thread, kind, body, reply_to, card, loud, created, seq)
            values (?1, 'post', ?2, ?3, ?4, ?5, ?6, ?7)";
        let seq = next_seq(self.tx)?;
        self.tx.prepare_cached(insert)?.execute(params![
            thread,
            json(post),
            reply_to,
            row::card(post),
            row::loud(post),
            self.now,
            seq
        ])?;
        Ok(self.tx.last_insert_rowid())
    }

    fn edit(&self, message: &MessageId, post: &Post) -> Result<(), SayFailed> {
        fits(post)?;
        let update = "update message set body = ?2, card = ?3, edited = ?4, seq = ?5
            where id = ?1 and kind = 'post'";
        let seq = next_seq(self.tx)?;
        let changed = self.tx.prepare_cached(update)?.execute(params![
            self.ids.message_row(message),
            json(post),
            row::card(post),
            self.now,
            seq
        ])?;
        found(changed, "there is no such message of Vigie's to edit")
    }

    fn mark(&self, message: &MessageId, mark: &Mark) -> Result<(), SayFailed> {
        let update = "update message set mark = ?2, seq = ?3 where id = ?1 and kind = 'text'";
        let seq = next_seq(self.tx)?;
        let row = self.ids.message_row(message);
        let changed = self.tx.prepare_cached(update)?.execute(params![row, json(mark), seq])?;
        found(changed, "there is no such message of a person's to mark")?;
        match mark {
            Mark::Stored { targets, .. } | Mark::Taken { targets, .. } => self.told(row, targets),
            // It says no names; where the message was shown, this belongs too.
            Mark::Kept { .. } | Mark::NotTaken { .. } => Ok(()),
        }
    }

    /// The newest thread of each target shows the message too, unless it was written there.
    fn told(&self, message: Option<i64>, targets: &[SessionName]) -> Result<(), SayFailed> {
        self.tx.prepare_cached("delete from told where message = ?1")?.execute(params![message])?;
        let show = "insert or ignore into told (message, thread)
            select message.id, there.id from message, thread as there
            where message.id = ?1 and there.id <> message.thread and there.id =
                (select max(id) from thread where json_extract(state, '$.session') = ?2)";
        for target in targets {
            self.tx.prepare_cached(show)?.execute(params![message, target.as_str()])?;
        }
        Ok(())
    }

    fn make_thread(&self, state: &ThreadState) -> Result<i64, SayFailed> {
        let insert = "insert into thread (state, made, seq) values (?1, ?2, ?3)";
        let seq = next_seq(self.tx)?;
        self.tx.prepare_cached(insert)?.execute(params![json(state), self.now, seq])?;
        Ok(self.tx.last_insert_rowid())
    }

    fn update_thread(&self, thread: i64, state: &ThreadState) -> Result<(), SayFailed> {
        let seq = next_seq(self.tx)?;
        let update = "update thread set state = ?2, seq = ?3 where id = ?1";
        let changed = self.tx.prepare_cached(update)?.execute(params![thread, json(state), seq])?;
        found(changed, "the main chat is no session's thread")
    }
}

fn never<T>(why: String) -> Result<T, SayFailed> {
    Err(SayFailed::Never(why))
}

fn found(changed: usize, otherwise: &str) -> Result<(), SayFailed> {
    if changed == 1 { Ok(()) } else { never(otherwise.into()) }
}

/// The caller cuts texts by our limits; one that is too long all the same is refused, not cut.
fn fits(post: &Post) -> Result<(), SayFailed> {
    let Body::Text { text, .. } = &post.body else { return Ok(()) };
    let units = text.text.encode_utf16().count();
    if units <= TEXT_LIMIT {
        return Ok(());
    }
    never(format!("the text has {units} UTF-16 units, and one message holds {TEXT_LIMIT}"))
}
