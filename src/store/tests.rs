use chrono::DateTime;
use rusqlite::Connection;
use tempfile::TempDir;
use vigie_core::{
    agent::PromptForm,
    bridge::{Heard, HeardKind, Place, Room, TextOrigin},
    id::{BridgeName, ChatId, HeardId, HumanId, MessageId, PromptId, SessionId},
    prompt::{Prompt, PromptState},
    state::{HeardOutcome, HeardRow, JournalEntry, Row},
};

use super::{Store, StoreError};

fn now() -> vigie_core::Timestamp {
    DateTime::from_timestamp_millis(1_796_000_000_000).unwrap()
}

fn place() -> Place {
    Place { bridge: BridgeName::new("phone"), chat: ChatId::new("main"), thread: None }
}

fn prompt(number: u64, text: &str) -> Prompt {
    Prompt {
        id: PromptId::from_parts(now(), u128::from(number)),
        session: SessionId::from_parts(now(), 1),
        number,
        text: text.into(),
        form: PromptForm::Text,
        by: Some(HumanId::new("owner")),
        mails: Vec::new(),
        message: None,
        state: PromptState::Queued,
    }
}

fn entry(kind: &str) -> Row {
    Row::Journal(JournalEntry {
        at: now(),
        kind: kind.into(),
        session: None,
        gate: None,
        human: None,
        detail: serde_json::json!({}),
    })
}

fn heard_row(key: &str) -> HeardRow {
    HeardRow {
        id: HeardId::from_parts(now(), 1),
        bridge: BridgeName::new("phone"),
        key: key.into(),
        place: place(),
        message: Some(MessageId::new("m1")),
        sent: now(),
        received: now(),
        files: vec![],
        outcome: HeardOutcome::Routed {
            prompts: vec![],
            sessions: vec![SessionId::from_parts(now(), 1)],
        },
    }
}

#[tokio::test]
async fn what_is_written_is_there_after_a_restart() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let open = prompt(1, "wait 👩‍🚀");
    let mut taken = prompt(2, "gone");
    taken.state = PromptState::Taken { at: now() };
    let rows = vec![Row::Prompt(open.clone()), Row::Prompt(taken), entry("a"), entry("b")];
    store.write(rows).await.await.unwrap().unwrap();
    drop(store);

    let store = Store::open(home.path()).unwrap();
    let found = store.load().await.unwrap();
    assert_eq!(found.rows, [Row::Prompt(open)], "what is over is not loaded");
    assert_eq!(found.next_prompt, 3);
    let events = store.events(0, 10).await.unwrap();
    assert_eq!(
        events.iter().map(|e| (e.seq, e.kind.as_str())).collect::<Vec<_>>(),
        [(1, "a"), (2, "b")]
    );
    assert_eq!(*store.newest().borrow(), 2);
    assert_eq!(store.events(1, 10).await.unwrap().len(), 1, "readers go on from where they were");
}

#[tokio::test]
async fn a_row_that_does_not_read_is_said_and_the_rest_goes_on() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    store
        .write(vec![Row::Prompt(prompt(1, "torn")), Row::Prompt(prompt(2, "whole"))])
        .await
        .await
        .unwrap()
        .unwrap();
    let db = Connection::open(home.path().join("vigie.db")).unwrap();
    db.execute("UPDATE prompt SET body = '{\"id\":' WHERE number = 1", []).unwrap();

    let found = store.load().await.unwrap();
    assert_eq!(found.rows.len(), 1);
    assert!(
        found.problems[0].contains("column body of table prompt, row 1"),
        "{:?}",
        found.problems
    );
}

#[tokio::test]
async fn after_a_failed_commit_nothing_is_written_until_the_state_is_read_again() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let twice = vec![
        Row::Heard(heard_row("k")),
        Row::Heard(HeardRow { id: HeardId::from_parts(now(), 2), ..heard_row("k") }),
    ];
    let refused = store.write(twice).await.await.unwrap();
    assert!(matches!(refused, Err(StoreError::Commit(_))), "one key of one bridge is one row");
    let next = store.write(vec![entry("later")]).await.await.unwrap();
    assert!(next.is_err(), "it may build on what was not written");
    assert!(store.load().await.unwrap().rows.is_empty(), "all of a batch or nothing");
    store.write(vec![entry("later")]).await.await.unwrap().unwrap();
}

#[tokio::test]
async fn facts_about_a_message_are_found() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    store.write(vec![Row::Heard(heard_row("update 10"))]).await.await.unwrap().unwrap();
    let what = HeardKind::Text {
        message: MessageId::new("m2"),
        text: "and?".into(),
        reply_to: Some(MessageId::new("m1")),
        origin: TextOrigin::Typed,
        files: vec![],
    };
    let mut heard = Heard {
        key: "update 10".into(),
        from: "owner".into(),
        place: place(),
        room: Room::Forum,
        at: now(),
        what,
    };
    let facts = store.facts(&heard).await.unwrap();
    assert!(facts.known);
    assert_eq!(
        facts.session,
        Some(SessionId::from_parts(now(), 1)),
        "a reply to one's own message goes where that went"
    );
    heard.key = "update 11".into();
    assert!(!store.facts(&heard).await.unwrap().known);
}

#[test]
fn a_database_of_a_newer_vigie_is_left_alone() {
    let home = TempDir::new().unwrap();
    drop(Store::open(home.path()).unwrap());
    let db = Connection::open(home.path().join("vigie.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Store::open(home.path()), Err(StoreError::Newer { found: 99, .. })));
}

#[test]
fn only_its_owner_reads_the_database() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = TempDir::new().unwrap();
    let _store = Store::open(home.path()).unwrap();
    for file in std::fs::read_dir(home.path()).unwrap() {
        let file = file.unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}
