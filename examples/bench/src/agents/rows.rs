//! Rows written beforehand: sessions nobody has to start, messages that are long read.

use anyhow::{Context, Result};
use serde_json::json;
use std::path::Path;
use vigie::{clock::Clock, store::Store};
use vigie_core::{
    Timestamp,
    id::{MailId, SessionId, TokenId},
    mail::{Mail, MailState, Recipient, Sender},
    session::Session,
    state::Row,
};

/// Rows of one commit.
const BATCH: usize = 5000;

/// Sessions that have ended: what is written to them waits until they are resumed.
pub(super) async fn ended_sessions(data: &Path, count: usize) -> Result<Vec<String>> {
    let now = Clock::system().now();
    let name = |number: usize| format!("OLD-{number}");
    let row = |number: usize| ended(number, &name(number), now).map(Row::Session);
    write(data, (0..count).map(row)).await?;
    Ok((0..count).map(name).collect())
}

fn ended(number: usize, name: &str, now: Timestamp) -> Result<Session> {
    let session = json!({
        "id": SessionId::from_parts(now, u128::try_from(number)?),
        "name": name,
        "title": "an old story",
        "project": "quay",
        "agent": "demo",
        "cwd": "/quay",
        "created": now,
        "life": { "life": "ended", "at": now, "how": { "how": "itself" } },
        "run": 1,
        "last_seq": 1,
        "spent": {
            "micro_usd": 0, "input_tokens": 0, "output_tokens": 0,
            "run_micro_usd": 0, "run_input_tokens": 0, "run_output_tokens": 0,
        },
    });
    serde_json::from_value(session).context("a session has other fields by now")
}

/// Messages to that session, all of them read.
pub(super) async fn read_mail(data: &Path, to: SessionId, name: &str, count: u32) -> Result<()> {
    let now = Clock::system().now();
    let to = Recipient::Session { session: to, name: name.parse()? };
    let from = Sender::Client { token: TokenId::from_parts(now, 1), name: "nightly".into() };
    let mail = |number: u32| {
        let id = MailId::from_parts(now, number.into());
        Ok(Row::Mail(Mail {
            id,
            number: number.into(),
            from: from.clone(),
            to: to.clone(),
            thread: id,
            reply_to: None,
            batch: id,
            text: format!("The tests of part {number} pass; look at tides/table.rs:{number}."),
            key: None,
            sent: now,
            hops: 1,
            depth: 0,
            answers: None,
            tries: 0,
            state: MailState::Read { at: now },
        }))
    };
    write(data, (1..=count).map(mail)).await
}

async fn write(data: &Path, rows: impl Iterator<Item = Result<Row>>) -> Result<()> {
    let store = Store::open(data)?;
    let rows: Vec<Row> = rows.collect::<Result<_>>()?;
    for batch in rows.chunks(BATCH) {
        store.write(batch.to_vec()).await.await??;
    }
    Ok(())
}
