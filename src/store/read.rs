//! What is read back: everything at a start, and single facts while running.

use chrono::{DateTime, TimeDelta};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use vigie_core::{
    Timestamp,
    bridge::{Heard, HeardKind, Place},
    id::{BridgeName, ChatId, MessageId, PromptId, SessionId},
    prompt::{Prompt, PromptState},
    state::{AnswerRow, Facts, Found, HeardOutcome, HeardRow, MISSED, Row},
};

use super::{StoreError, runs};

/// Ended sessions, settled gates and tickets that are still known after a start.
const REMEMBERED: u32 = 1000;

/// Ended sessions of this time are known whatever their number: what they cost still counts.
const COUNTED: TimeDelta = TimeDelta::days(1);

/// Sent messages that can still be edited after a start.
const EDITABLE: u32 = 10_000;

/// Deliveries that can still count against a budget; no chat bears that many in its window.
const SPENT: u32 = 500;

/// Prompts at their end, among which those of a message that somebody deletes are looked for.
const LOOKED_THROUGH: u32 = 500;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JournalRow {
    pub seq: u64,
    pub at: vigie_core::Timestamp,
    pub kind: String,
    pub session: Option<String>,
    pub gate: Option<String>,
    pub human: Option<String>,
    pub detail: serde_json::Value,
}

pub(super) fn newest(db: &Connection) -> Result<u64, StoreError> {
    Ok(db.query_row("SELECT coalesce(max(seq), 0) FROM event", [], |row| row.get(0))?)
}

pub(super) fn load(db: &Connection) -> Result<Found, StoreError> {
    let mut found = Found::default();
    let recent = "ORDER BY id DESC LIMIT";
    let counted = last_counted(db)?;
    rows(db, &mut found, "session", &format!("SELECT id, body FROM session WHERE live = 1 OR id >= '{counted}'
        UNION SELECT id, body FROM (SELECT id, body FROM session WHERE live = 0 {recent} {REMEMBERED}) ORDER BY id"), Row::Session)?;
    rows(
        db,
        &mut found,
        "prompt",
        "SELECT number, body FROM prompt WHERE open = 1 ORDER BY number",
        Row::Prompt,
    )?;
    rows(db, &mut found, "gate", &format!("SELECT id, body FROM gate WHERE open = 1
        UNION SELECT id, body FROM (SELECT id, body FROM gate WHERE open = 0 {recent} {REMEMBERED}) ORDER BY id"), Row::Gate)?;
    rows(
        db,
        &mut found,
        "delivery",
        &format!(
            "SELECT id, body FROM (SELECT number, id, body FROM delivery WHERE pending = 1
             UNION ALL SELECT * FROM (SELECT number, id, body FROM delivery
                WHERE json_extract(body, '$.state.delivery') = 'missed'
                ORDER BY number DESC LIMIT {MISSED})) ORDER BY number"
        ),
        Row::Delivery,
    )?;
    rows(
        db,
        &mut found,
        "heard",
        "SELECT id, body FROM heard WHERE kept = 1 ORDER BY id",
        Row::Heard,
    )?;
    rows(db, &mut found, "thread", "SELECT session, body FROM thread", Row::Thread)?;
    rows(db, &mut found, "focus", "SELECT human, body FROM focus", Row::Focus)?;
    rows(db, &mut found, "chat", "SELECT chat, body FROM chat", Row::Chat)?;
    rows(
        db,
        &mut found,
        "last_heard",
        "SELECT human, body FROM last_heard ORDER BY human, bridge, chat",
        Row::LastHeard,
    )?;
    rows(db, &mut found, "identity", "SELECT id, body FROM identity", Row::Identity)?;
    rows(
        db,
        &mut found,
        "mail",
        "SELECT id, body FROM mail WHERE open = 1 ORDER BY number",
        Row::Mail,
    )?;
    rows(
        db,
        &mut found,
        "ticket",
        &format!(
            "SELECT id, body FROM (SELECT id, body FROM ticket {recent} {REMEMBERED})
             UNION SELECT id, body FROM (SELECT id, body FROM ticket
                WHERE json_extract(body, '$.over') IS NULL {recent} {REMEMBERED}) ORDER BY id"
        ),
        Row::Ticket,
    )?;
    rows(db, &mut found, "token", "SELECT id, body FROM token", Row::Token)?;
    rows(db, &mut found, "outage", "SELECT account, body FROM outage", Row::Outage)?;
    rows(
        db,
        &mut found,
        "happened",
        "SELECT number, body FROM happened ORDER BY number",
        Row::Happened,
    )?;
    rows(db, &mut found, "digest", "SELECT human, body FROM digest", Row::Digest)?;
    rows(db, &mut found, "mute", "SELECT human, body FROM mute", Row::Mute)?;
    rows(
        db,
        &mut found,
        "permit",
        "SELECT number, body FROM permit WHERE json_extract(body, '$.over') IS NULL
         UNION SELECT number, body FROM permit WHERE number = (SELECT max(number) FROM permit)
         ORDER BY number",
        Row::Grant,
    )?;
    rows(db, &mut found, "slot", "SELECT workflow, body FROM slot", Row::Slot)?;
    rows(db, &mut found, "account", "SELECT key, body FROM account", Row::Account)?;
    runs::load(db, &mut found)?;
    found.messages = messages(db)?;
    found.spent = spent(db)?;
    found.next_prompt =
        db.query_row("SELECT coalesce(max(number), 0) + 1 FROM prompt", [], |row| row.get(0))?;
    found.next_delivery =
        db.query_row("SELECT coalesce(max(number), 0) + 1 FROM delivery", [], |row| row.get(0))?;
    found.next_mail =
        db.query_row("SELECT coalesce(max(number), 0) + 1 FROM mail", [], |row| row.get(0))?;
    Ok(found)
}

/// The oldest id that still counts, by the newest there is: a start needs no clock for that.
fn last_counted(db: &Connection) -> Result<String, StoreError> {
    let newest: Option<String> =
        db.query_row("SELECT max(id) FROM session", [], |row| row.get(0))?;
    let newest = newest.and_then(|id| id.parse::<SessionId>().ok());
    // After every id, where there is none.
    let none = || "~".to_owned();
    Ok(newest.map_or_else(none, |id| SessionId::from_parts(id.made() - COUNTED, 0).to_string()))
}

/// The last answer of a session.
pub(super) fn last_answer(
    db: &Connection,
    session: SessionId,
) -> Result<Option<AnswerRow>, StoreError> {
    let body = db
        .prepare_cached("SELECT body FROM answer WHERE session = ?1")?
        .query_row([session.to_string()], |row| row.get::<_, String>(0))
        .optional()?;
    let read = body.map(|body| serde_json::from_str(&body)).transpose();
    read.map_err(|e| StoreError::Row {
        table: "answer",
        column: "body",
        row: session.to_string(),
        reason: e.to_string(),
    })
}

/// A row that does not read is left where it is and said; the rest goes on.
fn rows<T: DeserializeOwned>(
    db: &Connection,
    found: &mut Found,
    table: &'static str,
    sql: &str,
    row: impl Fn(T) -> Row,
) -> Result<(), StoreError> {
    let mut statement = db.prepare(sql)?;
    let mut all = statement.query([])?;
    while let Some(line) = all.next()? {
        let key = match line.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str().unwrap_or("?").to_owned(),
        };
        let body = line.get_ref(1)?.as_str().map_err(|e| e.to_string());
        match body.and_then(|body| serde_json::from_str(body).map_err(|e| e.to_string())) {
            Ok(value) => found.rows.push(row(value)),
            Err(reason) => {
                let error = StoreError::Row { table, column: "body", row: key, reason };
                found.problems.push(error.to_string());
            }
        }
    }
    Ok(())
}

fn messages(
    db: &Connection,
) -> Result<BTreeMap<vigie_core::id::DeliveryId, MessageId>, StoreError> {
    let sql =
        "SELECT id, message FROM delivery WHERE message IS NOT NULL ORDER BY number DESC LIMIT ?1";
    let mut statement = db.prepare(sql)?;
    let pairs = statement
        .query_map([EDITABLE], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut all = BTreeMap::new();
    for pair in pairs {
        let (id, message) = pair?;
        if let Ok(id) = id.parse() {
            all.insert(id, MessageId::new(message));
        }
    }
    Ok(all)
}

/// What was sent last, oldest first. Marks and threads count as one call each, which is more than
/// most take: after a start a budget is rather kept too well.
fn spent(db: &Connection) -> Result<Vec<(BridgeName, ChatId, Timestamp)>, StoreError> {
    let sql = "SELECT bridge, chat, sent FROM delivery WHERE sent IS NOT NULL
               ORDER BY sent DESC LIMIT ?1";
    let mut statement = db.prepare(sql)?;
    let lines = statement.query_map([SPENT], |row| {
        let at = DateTime::from_timestamp_millis(row.get(2)?).unwrap_or_default();
        Ok((BridgeName::new(row.get::<_, String>(0)?), ChatId::new(row.get::<_, String>(1)?), at))
    })?;
    let mut all = lines.collect::<Result<Vec<_>, _>>()?;
    all.reverse();
    Ok(all)
}

pub(super) fn facts(db: &Connection, heard: &Heard) -> Result<Facts, StoreError> {
    let bridge = heard.place.bridge.as_str();
    let known = db
        .prepare_cached("SELECT 1 FROM heard WHERE bridge = ?1 AND key = ?2")?
        .exists(params![bridge, heard.key])?;
    let (about, own) = match &heard.what {
        HeardKind::Text { reply_to, .. } => (reply_to.as_ref(), None),
        HeardKind::Edited { message, .. } | HeardKind::Withdrawn { message } => {
            (None, Some(message))
        }
        HeardKind::Tap { message, .. }
        | HeardKind::Reaction { message, .. }
        | HeardKind::TakenBack { message, .. } => (Some(message), None),
    };
    let mut facts = Facts { known, ..Facts::default() };
    if let Some(message) = about {
        let sql =
            "SELECT session, gate FROM delivery WHERE bridge = ?1 AND chat = ?2 AND message = ?3
                   ORDER BY number DESC LIMIT 1";
        let found = db
            .prepare_cached(sql)?
            .query_row(params![bridge, heard.place.chat.as_str(), message.as_str()], |row| {
                Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
            })
            .optional()?;
        if let Some((session, gate)) = found {
            facts.session = session.and_then(|id| id.parse().ok());
            facts.gate = gate.and_then(|id| id.parse().ok());
        } else {
            // A reply to a message of one's own goes where that went.
            let own = heard_row(db, &heard.place, message)?;
            facts.unknown = own.is_none();
            facts.session = own.and_then(|row| first_session(&row));
        }
    }
    if let Some(message) = own {
        facts.heard = heard_row(db, &heard.place, message)?;
    }
    if let (HeardKind::Withdrawn { .. }, Some(HeardRow { outcome, .. })) =
        (&heard.what, &facts.heard)
        && let HeardOutcome::Routed { prompts, .. } = outcome
    {
        facts.refused = refused(db, prompts)?;
    }
    Ok(facts)
}

/// Which of these reached nobody. Of those long ago nobody remembers what was said about them.
fn refused(db: &Connection, prompts: &[PromptId]) -> Result<Vec<PromptId>, StoreError> {
    let sql = "SELECT number, body FROM prompt WHERE open = 0 ORDER BY number DESC LIMIT ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([LOOKED_THROUGH])?;
    let mut refused = Vec::new();
    while let Some(row) = rows.next()? {
        let prompt: Prompt = serde_json::from_str(&row.get::<_, String>(1)?).map_err(|e| {
            let (table, column) = ("prompt", "body");
            let row = row.get::<_, i64>(0).unwrap_or_default().to_string();
            StoreError::Row { table, column, row, reason: e.to_string() }
        })?;
        if prompts.contains(&prompt.id) && matches!(prompt.state, PromptState::Refused { .. }) {
            refused.push(prompt.id);
        }
    }
    Ok(refused)
}

fn first_session(row: &HeardRow) -> Option<vigie_core::id::SessionId> {
    match &row.outcome {
        HeardOutcome::Routed { sessions, .. } => sessions.first().copied(),
        HeardOutcome::Stranger | HeardOutcome::Kept { .. } | HeardOutcome::Handled => None,
    }
}

fn heard_row(
    db: &Connection,
    place: &Place,
    message: &MessageId,
) -> Result<Option<HeardRow>, StoreError> {
    let sql = "SELECT id, body FROM heard WHERE bridge = ?1 AND chat = ?2 AND message = ?3";
    let found = db
        .prepare_cached(sql)?
        .query_row(params![place.bridge.as_str(), place.chat.as_str(), message.as_str()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    let Some((id, body)) = found else { return Ok(None) };
    let read = serde_json::from_str(&body);
    read.map(Some).map_err(|e| StoreError::Row {
        table: "heard",
        column: "body",
        row: id,
        reason: e.to_string(),
    })
}

pub(super) fn events(
    db: &Connection,
    after: u64,
    most: usize,
) -> Result<Vec<JournalRow>, StoreError> {
    let sql = "SELECT seq, at, kind, session, gate, human, detail FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let lines = statement.query_map(params![after, most], journal_row)?;
    Ok(lines.collect::<Result<_, _>>()?)
}

/// The newest first. Words that kinds begin with are ours: letters and underscores.
pub(super) fn history(
    db: &Connection,
    before: u64,
    most: usize,
    prefixes: &[&str],
    session: Option<SessionId>,
) -> Result<Vec<JournalRow>, StoreError> {
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    let begins: Vec<_> = prefixes.iter().map(|prefix| format!("kind GLOB '{prefix}*'")).collect();
    let begins = if begins.is_empty() { "1".into() } else { begins.join(" OR ") };
    // Said so that its index serves.
    let of = if session.is_some() { "session = ?3" } else { "?3 IS NULL" };
    let sql = format!(
        "SELECT seq, at, kind, session, gate, human, detail FROM event
         WHERE {of} AND seq < ?1 AND ({begins}) ORDER BY seq DESC LIMIT ?2"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let session = session.map(|session| session.to_string());
    let lines = statement.query_map(params![before, most, session], journal_row)?;
    Ok(lines.collect::<Result<_, _>>()?)
}

fn journal_row(row: &rusqlite::Row) -> rusqlite::Result<JournalRow> {
    let detail: String = row.get(6)?;
    Ok(JournalRow {
        seq: row.get(0)?,
        at: DateTime::from_timestamp_millis(row.get(1)?).unwrap_or_default(),
        kind: row.get(2)?,
        session: row.get(3)?,
        gate: row.get(4)?,
        human: row.get(5)?,
        detail: serde_json::from_str(&detail).unwrap_or_default(),
    })
}
