//! The writer: takes batches in order and commits as many at once as wait.

use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;
use tokio::sync::{mpsc, oneshot, watch};
use vigie_core::{
    delivery::{Delivery, DeliveryState, Outgoing},
    gate::{Gate, GateState},
    state::{HeardOutcome, HeardRow, JournalEntry, Row},
};

use super::{Job, StoreError, audit, ledger, mail, read, ringing, runs};

/// Batches of one commit. More would only make the first of them wait longer.
const GROUP: usize = 128;

type Done = oneshot::Sender<Result<(), StoreError>>;

pub(super) fn run(mut db: Connection, mut jobs: mpsc::Receiver<Job>, newest: &watch::Sender<u64>) {
    let mut broken = false;
    while let Some(first) = jobs.blocking_recv() {
        let mut group = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            match job {
                Job::Write { rows, done } => group.push((rows, done)),
                Job::Reload { done } => {
                    commit(&mut db, std::mem::take(&mut group), &mut broken, newest);
                    broken = false;
                    let _ = done.send(read::load(&db));
                }
                Job::DropMail { before, done } => {
                    commit(&mut db, std::mem::take(&mut group), &mut broken, newest);
                    let dropped =
                        if broken { Err(StoreError::Broken) } else { mail::drop_old(&db, before) };
                    let _ = done.send(dropped);
                }
            }
            next = if group.len() < GROUP { jobs.try_recv().ok() } else { None };
        }
        commit(&mut db, group, &mut broken, newest);
    }
}

/// All of a group or nothing: later batches build on earlier ones.
fn commit(
    db: &mut Connection,
    group: Vec<(Vec<Row>, Done)>,
    broken: &mut bool,
    newest: &watch::Sender<u64>,
) {
    if group.is_empty() {
        return;
    }
    let result = if *broken { Err(StoreError::Broken) } else { write(db, &group) };
    if let Ok(Some(seq)) = result {
        newest.send_replace(seq);
    }
    *broken = result.is_err();
    let reason = result.err().map(|error| error.to_string());
    for (_, done) in group {
        let answer = match &reason {
            None => Ok(()),
            Some(reason) => Err(StoreError::Commit(reason.clone())),
        };
        let _ = done.send(answer);
    }
}

/// The number of the last journal line, when there was one.
fn write(db: &mut Connection, group: &[(Vec<Row>, Done)]) -> Result<Option<u64>, StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut seq = None;
    for row in group.iter().flat_map(|(rows, _)| rows) {
        if let Some(number) = put(&tx, row)? {
            seq = Some(number);
        }
    }
    tx.commit()?;
    Ok(seq)
}

fn put(db: &Connection, row: &Row) -> Result<Option<u64>, StoreError> {
    match row {
        Row::Journal(entry) => return journal(db, entry).map(Some),
        Row::Session(session) => {
            let sql = "INSERT INTO session (id, live, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (id) DO UPDATE SET live = ?2, body = ?3";
            db.prepare_cached(sql)?.execute(params![
                session.id.to_string(),
                session.life.is_live(),
                json(session)
            ])?;
        }
        Row::Prompt(prompt) => {
            let sql = "INSERT INTO prompt (number, open, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (number) DO UPDATE SET open = ?2, body = ?3";
            db.prepare_cached(sql)?.execute(params![
                prompt.number,
                prompt.state.is_open(),
                json(prompt)
            ])?;
        }
        Row::Gate(gate) => {
            let sql = "INSERT INTO gate (id, open, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (id) DO UPDATE SET open = ?2, body = ?3";
            db.prepare_cached(sql)?.execute(params![
                gate.id.to_string(),
                is_unsettled(gate),
                json(gate)
            ])?;
        }
        Row::Delivery(delivery) => put_delivery(db, delivery)?,
        Row::Heard(heard) => put_heard(db, heard)?,
        Row::Thread(thread) => {
            let sql = "INSERT INTO thread (session, bridge, chat, body) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT (session, bridge, chat) DO UPDATE SET body = ?4";
            db.prepare_cached(sql)?.execute(params![
                thread.session.to_string(),
                thread.bridge.as_str(),
                thread.chat.as_str(),
                json(thread)
            ])?;
        }
        Row::Chat(chat) => {
            let sql = "INSERT INTO chat (bridge, chat, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (bridge, chat) DO UPDATE SET body = ?3";
            db.prepare_cached(sql)?.execute(params![
                chat.bridge.as_str(),
                chat.chat.as_str(),
                json(chat)
            ])?;
        }
        Row::Identity(identity) => {
            let sql = "INSERT INTO identity (bridge, id, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (bridge, id) DO UPDATE SET body = ?3";
            db.prepare_cached(sql)?.execute(params![
                identity.bridge.as_str(),
                identity.from,
                json(identity)
            ])?;
        }
        Row::LastHeard(last) => {
            let sql = "INSERT INTO last_heard (human, bridge, chat, body) VALUES (?1, ?2, ?3, ?4)
                       ON CONFLICT (human, bridge, chat) DO UPDATE SET body = ?4";
            db.prepare_cached(sql)?.execute(params![
                last.human.as_str(),
                last.bridge.as_str(),
                last.chat.as_str(),
                json(last)
            ])?;
        }
        Row::Mail(mail) => mail::put(db, mail)?,
        Row::Ticket(ticket) => put_by_id(db, "ticket", "id", &ticket.id, ticket)?,
        Row::Token(token) => put_by_id(db, "token", "id", &token.id, token)?,
        Row::Answer(answer) => put_by_id(db, "answer", "session", &answer.session, answer)?,
        Row::Run(run) => runs::put(db, run)?,
        Row::Frozen(frozen) => runs::put_frozen(db, frozen)?,
        Row::RunLog(line) => runs::put_line(db, line)?,
        Row::Account(account) => ledger::put_account(db, account)?,
        Row::Ledger(entry) => ledger::put(db, entry)?,
        Row::Grant(grant) => put_by_id(db, "permit", "number", &grant.number, grant)?,
        Row::Slot(slot) => put_by_id(db, "slot", "workflow", &slot.workflow, slot)?,
        Row::Outage(row) => put_by_id(db, "outage", "account", &row.account, row)?,
        Row::Happened(happened) => ringing::put_happened(db, happened)?,
        Row::Digest(digest) => put_by_id(db, "digest", "human", &digest.human, digest)?,
        Row::Mute(mute) => ringing::put_mute(db, mute)?,
        Row::Focus(focus) => {
            let sql = "INSERT INTO focus (place, human, body) VALUES (?1, ?2, ?3)
                       ON CONFLICT (place, human) DO UPDATE SET body = ?3";
            db.prepare_cached(sql)?.execute(params![
                json(&focus.place),
                focus.human.as_str(),
                json(focus)
            ])?;
        }
    }
    Ok(None)
}

/// A row that is only ever found by its id.
fn put_by_id(
    db: &Connection,
    table: &'static str,
    column: &'static str,
    id: &impl ToString,
    row: &impl Serialize,
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO {table} ({column}, body) VALUES (?1, ?2)
         ON CONFLICT ({column}) DO UPDATE SET body = ?2"
    );
    db.prepare_cached(&sql)?.execute(params![id.to_string(), json(row)])?;
    Ok(())
}

/// Open, or answered and not yet with the agent.
fn is_unsettled(gate: &Gate) -> bool {
    match gate.state {
        GateState::Open | GateState::Answered { .. } => true,
        GateState::Taken { .. } | GateState::Closed { .. } => false,
    }
}

fn journal(db: &Connection, entry: &JournalEntry) -> Result<u64, StoreError> {
    let sql = "INSERT INTO event (at, kind, session, gate, human, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let seq = db.prepare_cached(sql)?.insert(params![
        entry.at.timestamp_millis(),
        entry.kind,
        entry.session.map(|id| id.to_string()),
        entry.gate.map(|id| id.to_string()),
        entry.human.as_ref().map(|human| human.as_str().to_owned()),
        entry.detail.to_string()
    ])?;
    audit::seal(db, seq)?;
    Ok(u64::try_from(seq).unwrap_or_default())
}

fn put_delivery(db: &Connection, delivery: &Delivery) -> Result<(), StoreError> {
    let (message, sent) = match &delivery.state {
        DeliveryState::Sent { message, at } => {
            (message.as_ref().map(|id| id.as_str().to_owned()), Some(at.timestamp_millis()))
        }
        DeliveryState::Due { .. }
        | DeliveryState::InFlight { .. }
        | DeliveryState::Missed { .. }
        | DeliveryState::Failed { .. }
        | DeliveryState::Replaced => (None, None),
    };
    let post = match &delivery.what {
        Outgoing::Post { post, .. } | Outgoing::Edit { post, .. } => Some(post),
        Outgoing::Mark { .. } | Outgoing::Thread { .. } => None,
    };
    let gate = post.and_then(|post| post.body.gate()).map(|gate| gate.to_string());
    let sql =
        "INSERT INTO delivery (number, id, pending, bridge, chat, message, session, gate, sent, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
               ON CONFLICT (number)
               DO UPDATE SET pending = ?3, chat = ?5, message = ?6, sent = ?9, body = ?10";
    db.prepare_cached(sql)?.execute(params![
        delivery.number,
        delivery.id.to_string(),
        delivery.state.is_pending(),
        delivery.to.bridge.as_str(),
        delivery.to.chat.as_str(),
        message,
        delivery.session.map(|id| id.to_string()),
        gate,
        sent,
        json(delivery)
    ])?;
    Ok(())
}

fn put_heard(db: &Connection, heard: &HeardRow) -> Result<(), StoreError> {
    let kept = match heard.outcome {
        HeardOutcome::Kept { .. } => true,
        HeardOutcome::Stranger | HeardOutcome::Routed { .. } | HeardOutcome::Handled => false,
    };
    let sql = "INSERT INTO heard (id, bridge, key, chat, message, kept, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT (id) DO UPDATE SET kept = ?6, body = ?7";
    db.prepare_cached(sql)?.execute(params![
        heard.id.to_string(),
        heard.bridge.as_str(),
        heard.key,
        heard.place.chat.as_str(),
        heard.message.as_ref().map(|id| id.as_str().to_owned()),
        kept,
        json(heard)
    ])?;
    Ok(())
}

pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("our own types have string keys and finite numbers")
}
