//! What a person does, written down before anybody is told: the message and its update in one
//! transaction. A repeated request finds its first one by the page's own id for it.

use chrono::TimeDelta;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use vigie_core::{
    Timestamp,
    bridge::{Action, Body, CardState, Heard, HeardKind, Place, Post, Risk, Room, TextOrigin},
    id::{BridgeName, ChatId, MessageId, ThreadId},
};

use super::{Content, StoreError, json, next_seq, row};
use crate::{
    CHAT, NAME, Person,
    ids::{Ids, MAIN},
};

/// More than this waiting means that nobody hears us: better to say so than to collect.
const BACKLOG: i64 = 1000;

/// Why a person's doing was not taken.
#[derive(Debug)]
pub(crate) enum ActError {
    Store(StoreError),
    /// What it refers to is not there, or not any more.
    Gone(&'static str),
    /// It is not theirs to do.
    Forbidden(&'static str),
    Full,
}

impl From<StoreError> for ActError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for ActError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The update and the message it is about, as row numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) heard: i64,
    pub(crate) message: i64,
}

pub(crate) struct NewText {
    pub(crate) client: String,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) text: String,
    pub(crate) reply_to: Option<MessageId>,
    /// How long the page has kept it: it was written that long ago, whenever it arrives.
    pub(crate) kept: TimeDelta,
}

pub(crate) struct Edit {
    pub(crate) client: String,
    pub(crate) message: MessageId,
    pub(crate) text: String,
}

pub(crate) struct Tap {
    pub(crate) client: String,
    pub(crate) message: MessageId,
    pub(crate) action: Action,
}

pub(crate) fn text(
    db: &mut Connection,
    ids: &Ids,
    (person, now): (&Person, Timestamp),
    new: &NewText,
) -> Result<Done, ActError> {
    let doing = Doing::begin(db, ids, person, now)?;
    if let Some(done) = doing.before(&new.client)? {
        return Ok(done);
    }
    let thread = match ids.thread_row(new.thread.as_ref()) {
        Some(row) if row::thread_exists(&doing.tx, row)? => row,
        Some(_) | None => return Err(ActError::Gone("this chat is not here any more")),
    };
    let reply_to = match &new.reply_to {
        None => None,
        Some(id) => Some(doing.message(id, "the message you answer is not here any more")?.id),
    };
    let insert = "insert into message (thread, kind, body, author, author_name, client, reply_to, loud, created, seq)
        values (?1, 'text', ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8)";
    let seq = next_seq(&doing.tx)?;
    doing.tx.prepare_cached(insert)?.execute(params![
        thread,
        new.text,
        person.id,
        person.name,
        new.client,
        reply_to,
        now.timestamp_millis(),
        seq
    ])?;
    let row = doing.tx.last_insert_rowid();
    let what = HeardKind::Text {
        message: ids.message(row),
        text: new.text.clone(),
        reply_to: new.reply_to.clone(),
        origin: TextOrigin::Typed,
        files: Vec::new(),
    };
    doing.hand_in(&new.client, (thread, row), now - new.kept, what)
}

/// Only the person's own texts; the log shows the new words, the core decides what becomes of them.
pub(crate) fn edit(
    db: &mut Connection,
    ids: &Ids,
    (person, now): (&Person, Timestamp),
    edit: &Edit,
) -> Result<Done, ActError> {
    let doing = Doing::begin(db, ids, person, now)?;
    if let Some(done) = doing.before(&edit.client)? {
        return Ok(done);
    }
    let row = doing.message(&edit.message, "this message is not here any more")?;
    match &row.content {
        Content::Text { author, .. } if *author == person.id => {}
        Content::Text { .. } | Content::Post(_) | Content::Notice(_) => {
            return Err(ActError::Forbidden("only who wrote a message can edit it"));
        }
    }
    let update = "update message set body = ?2, edited = ?3, seq = ?4 where id = ?1";
    let seq = next_seq(&doing.tx)?;
    doing.tx.prepare_cached(update)?.execute(params![
        row.id,
        edit.text,
        now.timestamp_millis(),
        seq
    ])?;
    let what = HeardKind::Edited { message: edit.message.clone(), text: edit.text.clone() };
    doing.hand_in(&edit.client, (row.thread, row.id), now, what)
}

/// Only what the stored message offers at this moment: a page may be stale, and a request forged.
pub(crate) fn tap(
    db: &mut Connection,
    ids: &Ids,
    (person, now): (&Person, Timestamp),
    tap: &Tap,
) -> Result<Done, ActError> {
    let doing = Doing::begin(db, ids, person, now)?;
    if let Some(done) = doing.before(&tap.client)? {
        return Ok(done);
    }
    let row = doing.message(&tap.message, GONE)?;
    match &row.content {
        Content::Post(post) => offered(post, &tap.action)?,
        Content::Text { .. } | Content::Notice(_) => return Err(ActError::Gone(GONE)),
    }
    let what = HeardKind::Tap { message: tap.message.clone(), action: tap.action.clone() };
    doing.hand_in(&tap.client, (row.thread, row.id), now, what)
}

/// Puts a text that was set aside back into the queue, at its old place.
pub(crate) fn again(
    db: &mut Connection,
    ids: &Ids,
    person: &Person,
    message: &MessageId,
) -> Result<Done, ActError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let row = ids.message_row(message);
    let back = "update heard set state = 'waiting', refusals = 0, reason = null
        where message = ?1 and person = ?2 and state = 'aside' returning id";
    let heard: Option<i64> = tx
        .prepare_cached(back)?
        .query_map(params![row, person.id], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?
        .into_iter()
        .min();
    let (Some(heard), Some(message)) = (heard, row) else {
        return Err(ActError::Gone("nothing of this message waits to be sent again"));
    };
    let seq = next_seq(&tx)?;
    tx.execute("update message set aside = null, seq = ?2 where id = ?1", params![message, seq])?;
    tx.commit()?;
    Ok(Done { heard, message })
}

/// The newest message a person has seen; never goes back. There is one mark for each thread,
/// whichever view it was read in: reading the main chat moves the marks of all that were shown there.
pub(crate) fn mark_read(
    db: &mut Connection,
    ids: &Ids,
    person: &Person,
    (thread, message): (Option<&ThreadId>, &MessageId),
) -> Result<(), ActError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (Some(thread), Some(message)) = (ids.thread_row(thread), ids.message_row(message)) else {
        return Err(ActError::Gone("this message is not here any more"));
    };
    let known = "select exists (select 1 from message where id = ?1 and (?2 = 0 or thread = ?2))
        or exists (select 1 from told where message = ?1 and thread = ?2)";
    if !tx.prepare_cached(known)?.query_row(params![message, thread], |row| row.get(0))? {
        return Err(ActError::Gone("this message is not here any more"));
    }
    let seq = next_seq(&tx)?;
    let mut changed = 0;
    if thread == MAIN {
        // What lies before the main chat's own mark has moved the others already.
        let others = "insert into read_mark (person, thread, message, seq)
            select ?1, thread, max(id), ?3 from message
            where thread <> 0 and id <= ?2 and id > coalesce(
                (select message from read_mark where person = ?1 and thread = 0), 0)
            group by thread
            on conflict do update set message = excluded.message, seq = excluded.seq where excluded.message > message";
        changed += tx.prepare_cached(others)?.execute(params![person.id, message, seq])?;
    }
    let upsert = "insert into read_mark (person, thread, message, seq) values (?1, ?2, ?3, ?4)
        on conflict do update set message = excluded.message, seq = excluded.seq where excluded.message > message";
    changed += tx.prepare_cached(upsert)?.execute(params![person.id, thread, message, seq])?;
    if changed > 0 {
        tx.commit()?; // otherwise nothing is new, and the number is not used up
    }
    Ok(())
}

const GONE: &str = "that choice is gone";

fn offered(post: &Post, action: &Action) -> Result<(), ActError> {
    let (buttons, typed) = match &post.body {
        Body::Text { buttons, .. } => (buttons.as_slice(), false),
        Body::Card(card) => match card.state {
            CardState::Open => (card.buttons.as_slice(), card.risk == Risk::Code),
            CardState::Answered(_) | CardState::Taken { .. } | CardState::Closed { .. } => {
                return Err(ActError::Gone(GONE));
            }
        },
        Body::Progress(progress) if progress.ended.is_none() => {
            (progress.buttons.as_slice(), false)
        }
        Body::Progress(_) | Body::Document(_) | Body::File(_) => return Err(ActError::Gone(GONE)),
    };
    if !buttons.iter().any(|button| button.action == *action) {
        return Err(ActError::Gone(GONE));
    }
    let allows = matches!(
        action,
        Action::Allow { .. }
            | Action::AllowForSession { .. }
            | Action::AllowForHours { .. }
            | Action::AllowWithEdits { .. }
    );
    if typed && allows {
        return Err(ActError::Forbidden("this one is allowed only by its code, typed"));
    }
    Ok(())
}

struct Doing<'a> {
    tx: Transaction<'a>,
    ids: &'a Ids,
    person: &'a Person,
    now: Timestamp,
}

impl<'a> Doing<'a> {
    fn begin(
        db: &'a mut Connection,
        ids: &'a Ids,
        person: &'a Person,
        now: Timestamp,
    ) -> Result<Self, ActError> {
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        Ok(Self { tx, ids, person, now })
    }

    fn before(&self, client: &str) -> Result<Option<Done>, ActError> {
        let find = "select id, message from heard where person = ?1 and client = ?2";
        let done = self
            .tx
            .prepare_cached(find)?
            .query_row(params![self.person.id, client], |row| {
                Ok(Done { heard: row.get(0)?, message: row.get(1)? })
            })
            .optional()?;
        Ok(done)
    }

    fn message(
        &self,
        id: &MessageId,
        otherwise: &'static str,
    ) -> Result<super::MessageRow, ActError> {
        let row = self.ids.message_row(id).ok_or(ActError::Gone(otherwise))?;
        row::message(&self.tx, row)?.ok_or(ActError::Gone(otherwise))
    }

    fn hand_in(
        self,
        client: &str,
        (thread, message): (i64, i64),
        at: Timestamp,
        what: HeardKind,
    ) -> Result<Done, ActError> {
        let count = "select count(*) from heard where state = 'waiting'";
        if self.tx.query_row(count, [], |row| row.get::<_, i64>(0))? >= BACKLOG {
            return Err(ActError::Full);
        }
        let heard = Heard {
            key: String::new(), // made of the row's number, which there is only now
            from: self.person.id.clone(),
            place: Place {
                bridge: BridgeName::new(NAME),
                chat: ChatId::new(CHAT),
                thread: self.ids.thread(thread),
            },
            room: Room::Forum,
            at,
            what,
        };
        let insert = "insert into heard (person, client, message, heard, created) values (?1, ?2, ?3, ?4, ?5)";
        self.tx.prepare_cached(insert)?.execute(params![
            self.person.id,
            client,
            message,
            json(&heard),
            self.now.timestamp_millis()
        ])?;
        let heard = self.tx.last_insert_rowid();
        self.tx.commit()?;
        Ok(Done { heard, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{OWNER, epoch};
    use vigie_bridge_kit::database::connect;

    #[test]
    fn when_nobody_listens_no_more_is_collected_than_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = connect(&folder.path().join("phone.db"), OWNER).unwrap();
        let (ids, now) = (Ids::new(&epoch(&db).unwrap()), Timestamp::default());
        let person = Person { id: "ines".into(), name: "Inès Caradec".into() };
        let send = |db: &mut Connection, client: &str| {
            let client = client.to_owned();
            text(
                db,
                &ids,
                (&person, now),
                &NewText {
                    client,
                    thread: None,
                    text: "hello".into(),
                    reply_to: None,
                    kept: TimeDelta::zero(),
                },
            )
        };
        let first = send(&mut db, "client-0001").unwrap();
        let fill = "with recursive n(i) as (select 2 union all select i + 1 from n where i < ?1)
            insert into heard (person, client, message, heard, created)
            select 'tomas', 'client-' || i, 1, '{}', 0 from n";
        db.execute(fill, params![BACKLOG]).unwrap();
        assert!(matches!(send(&mut db, "client-0002"), Err(ActError::Full)));
        let messages = "select count(*) from message";
        let count: i64 = db.query_row(messages, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1, "what is refused leaves nothing behind");
        assert_eq!(send(&mut db, "client-0001").unwrap(), first, "what is stored stays known");
    }
}
