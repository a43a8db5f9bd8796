//! What a person does. Written down before anything is answered, then a short wait for what Vigie
//! says to it at once.

use axum::{
    Json,
    extract::{State, rejection::JsonRejection},
    http::StatusCode,
};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};
use vigie_core::{
    bridge::Action,
    id::{MessageId, ThreadId},
};

use super::{Person, Refusal};
use crate::{
    PhoneBridge, WRITE_LIMIT,
    store::{self, ActError, Outcome, StoreError},
};

/// A tap's answer is worth a short wait; a person looks at the button meanwhile.
const NOTICE: Duration = Duration::from_secs(5);

type Bridge = State<Arc<PhoneBridge>>;
type Asked<T> = Result<Json<T>, JsonRejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    client: String,
    thread: Option<ThreadId>,
    text: String,
    reply_to: Option<MessageId>,
    /// How long the page has kept it, in milliseconds: a word typed without a network an hour ago
    /// was not about what is asked now.
    #[serde(default)]
    kept_ms: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    client: String,
    message: MessageId,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tap {
    client: String,
    message: MessageId,
    action: Action,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Again {
    message: MessageId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Read {
    thread: Option<ThreadId>,
    message: MessageId,
}

/// It is on disk; `taken` says whether Vigie has it already, and `notice` what it says to it.
#[derive(Serialize)]
pub(super) struct Stored {
    message: MessageId,
    taken: bool,
    notice: Option<String>,
}

pub(super) async fn send(
    State(phone): Bridge,
    person: Person,
    asked: Asked<Send>,
) -> Result<Json<Stored>, Refusal> {
    let Send { client, thread, text, reply_to, kept_ms } = body(asked)?;
    check(&client, Some(&text))?;
    let new = store::NewText {
        client,
        thread,
        text,
        reply_to,
        kept: TimeDelta::milliseconds(kept_ms.into()),
    };
    phone.act(person, move |db, ids, who| store::text(db, ids, who, &new)).await
}

pub(super) async fn edit(
    State(phone): Bridge,
    person: Person,
    asked: Asked<Edit>,
) -> Result<Json<Stored>, Refusal> {
    let Edit { client, message, text } = body(asked)?;
    check(&client, Some(&text))?;
    let edit = store::Edit { client, message, text };
    phone.act(person, move |db, ids, who| store::edit(db, ids, who, &edit)).await
}

pub(super) async fn tap(
    State(phone): Bridge,
    person: Person,
    asked: Asked<Tap>,
) -> Result<Json<Stored>, Refusal> {
    let Tap { client, message, action } = body(asked)?;
    check(&client, None)?;
    let tap = store::Tap { client, message, action };
    phone.act(person, move |db, ids, who| store::tap(db, ids, who, &tap)).await
}

pub(super) async fn again(
    State(phone): Bridge,
    person: Person,
    asked: Asked<Again>,
) -> Result<Json<Stored>, Refusal> {
    let Again { message } = body(asked)?;
    phone.act(person, move |db, ids, (person, _)| store::again(db, ids, person, &message)).await
}

pub(super) async fn read(
    State(phone): Bridge,
    person: Person,
    asked: Asked<Read>,
) -> Result<StatusCode, Refusal> {
    let Read { thread, message } = body(asked)?;
    let ids = phone.store.ids().clone();
    let mark = move |db: &mut rusqlite::Connection| {
        store::mark_read(db, &ids, &person, (thread.as_ref(), &message))
    };
    phone.store.run(mark).await?;
    phone.changed().await?;
    Ok(StatusCode::NO_CONTENT)
}

impl PhoneBridge {
    async fn act(
        &self,
        person: Person,
        work: impl FnOnce(
            &mut rusqlite::Connection,
            &crate::ids::Ids,
            (&Person, vigie_core::Timestamp),
        ) -> Result<store::Done, ActError>
        + std::marker::Send
        + 'static,
    ) -> Result<Json<Stored>, Refusal> {
        let (ids, now) = (self.store.ids().clone(), self.now());
        let done = self.store.run(move |db| work(db, &ids, (&person, now))).await?;
        self.changed().await?;
        self.arrived.send_modify(|count| *count += 1);
        let message = self.store.ids().message(done.message);
        Ok(Json(match self.outcome(done.heard).await? {
            Outcome::Accepted { notice } => Stored { message, taken: true, notice },
            Outcome::Waiting => Stored { message, taken: false, notice: None },
            Outcome::Aside { reason } => {
                let notice = format!("Vigie did not take it: {reason}");
                Stored { message, taken: false, notice: Some(notice) }
            }
        }))
    }

    /// Waits a moment for the update to be taken or set aside.
    async fn outcome(&self, id: i64) -> Result<Outcome, StoreError> {
        let mut settled = self.settled.subscribe();
        let deadline = tokio::time::Instant::now() + NOTICE;
        loop {
            settled.borrow_and_update(); // before looking, so that nothing between is missed
            let outcome = self.store.run(move |db| store::outcome(db, id)).await?;
            if outcome != Outcome::Waiting {
                return Ok(outcome);
            }
            if tokio::time::timeout_at(deadline, settled.changed()).await.is_err() {
                return Ok(outcome);
            }
        }
    }
}

fn body<T>(asked: Asked<T>) -> Result<T, Refusal> {
    match asked {
        Ok(Json(body)) => Ok(body),
        Err(rejected) if rejected.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("this is too long: one message holds {WRITE_LIMIT} characters"),
        )),
        Err(rejected) => Err(Refusal::new(
            rejected.status(),
            format!(
                "this page and Vigie do not understand each other ({}); load the page again",
                rejected.body_text()
            ),
        )),
    }
}

fn check(client: &str, text: Option<&str>) -> Result<(), Refusal> {
    let fits = (8..=64).contains(&client.len())
        && client.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !fits {
        return Err(Refusal::bad(
            "the page's own id of this message must be 8 to 64 letters, digits and `-`",
        ));
    }
    let Some(text) = text else { return Ok(()) };
    if text.trim().is_empty() {
        return Err(Refusal::bad("there is no text to send"));
    }
    let units = text.encode_utf16().count();
    if units > WRITE_LIMIT {
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "this text has {units} characters and one message holds {WRITE_LIMIT}; send it in parts"
            ),
        ));
    }
    Ok(())
}
