use chrono::DateTime;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use vigie_core::{
    agent::PromptForm,
    bridge::{Heard, HeardKind, Place, Room, TextOrigin},
    caller::{Over, Principal, Ticket, Until, Wanted},
    id::{
        BridgeName, ChatId, DeliveryId, HeardId, HumanId, MessageId, PromptId, SessionId, TicketId,
    },
    prompt::{Prompt, PromptState},
    state::{HeardOutcome, HeardRow, JournalEntry, LastHeardRow, Row},
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
        of_step: None,
        goes_on: None,
    }
}

fn session(at: vigie_core::Timestamp, random: u128, live: bool) -> Row {
    let standing = if live {
        json!({ "life": "idle", "since": at })
    } else {
        json!({ "life": "ended", "at": at, "how": { "how": "itself" } })
    };
    let session = json!({
        "id": SessionId::from_parts(at, random), "name": format!("PD-{random}"), "title": "",
        "project": "quay", "agent": "demo", "cwd": "/", "worktree": null, "created": at,
        "life": standing, "ending": null, "interrupting": null, "launching": null, "run": 1,
        "conversation": null, "last_seq": 0, "turn": null, "last_words": null,
        "spent": { "micro_usd": 0, "input_tokens": 0, "output_tokens": 0, "run_micro_usd": 0,
            "run_input_tokens": 0, "run_output_tokens": 0 },
    });
    Row::Session(serde_json::from_value(session).unwrap())
}

fn ticket(random: u128, over: Option<Over>) -> Row {
    let session = SessionId::from_parts(now(), 1);
    Row::Ticket(Ticket {
        id: TicketId::from_parts(now(), random),
        by: Principal::Session { session },
        what: Wanted::Sessions { sessions: vec![session], until: Until::Idle },
        made: now(),
        over,
    })
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
async fn where_somebody_was_heard_last_takes_the_place_of_what_stood_there() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let last = |chat: &str, at| {
        Row::LastHeard(LastHeardRow {
            human: HumanId::new("owner"),
            bridge: BridgeName::new("telegram"),
            chat: ChatId::new(chat),
            at,
        })
    };
    let later = now() + chrono::TimeDelta::minutes(1);
    let rows = vec![last("1001", now()), last("-100", now()), last("1001", later)];
    store.write(rows).await.await.unwrap().unwrap();
    drop(store);
    let found = Store::open(home.path()).unwrap().load().await.unwrap();
    assert_eq!(found.rows, [last("-100", now()), last("1001", later)]);
}

#[tokio::test]
async fn the_newest_that_happened_are_kept_and_what_is_heard_again_leaves_no_row() {
    use vigie_core::ringing::{DigestRow, Happened, Kind, Missed, MuteRow, Muted};
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let happened = |number| {
        let (who, words) = ("PD-285".to_owned(), "It is done.".to_owned());
        Row::Happened(Happened { number, at: now(), kind: Kind::Done, who, words })
    };
    let mute = |what, until| {
        let (human, since) = (HumanId::new("owner"), Some(now()));
        Row::Mute(MuteRow { human, what, since, until })
    };
    let session = Muted::Session { session: SessionId::from_parts(now(), 7) };
    let digest = |spent_micro_usd| {
        let (human, day) = (HumanId::new("owner"), now().date_naive());
        let missed = Some(Missed { since: now(), until: now() });
        Row::Digest(DigestRow { human, day, at: now(), spent_micro_usd, missed })
    };
    let last = vigie_core::state::HAPPENED as u64 + 5;
    let mut rows: Vec<_> = (1..=last).map(happened).collect();
    rows.extend([mute(Muted::All, Some(now())), mute(session, Some(now())), mute(session, None)]);
    rows.extend([digest(1), digest(2)]);
    store.write(rows).await.await.unwrap().unwrap();
    drop(store);
    let found = Store::open(home.path()).unwrap().load().await.unwrap().rows;
    let mut expected: Vec<_> = (6..=last).map(happened).collect();
    expected.extend([digest(2), mute(Muted::All, Some(now()))]);
    assert_eq!(found, expected);
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

fn delivery(number: u64, state: &serde_json::Value) -> Row {
    let delivery = json!({
        "id": DeliveryId::from_parts(now(), u128::from(number)), "number": number,
        "to": { "bridge": "phone", "chat": "main", "spot": { "spot": "main" } },
        "what": { "what": "mark", "message": "m1", "mark": { "mark": "kept", "why": "no session" } },
        "rank": "final", "session": null, "newest": null, "state": state,
    });
    Row::Delivery(serde_json::from_value(delivery).unwrap())
}

#[tokio::test]
async fn what_did_not_arrive_and_is_missed_is_found_beside_what_is_on_its_way() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let rows = vec![
        delivery(1, &json!({ "delivery": "missed", "why": "refused", "at": now() })),
        delivery(2, &json!({ "delivery": "failed", "why": "gone", "at": now() })),
        delivery(
            3,
            &json!({ "delivery": "due", "not_before": null, "tries": { "made": 0, "doubtful": 0 } }),
        ),
        delivery(4, &json!({ "delivery": "sent", "message": null, "at": now() })),
    ];
    store.write(rows.clone()).await.await.unwrap().unwrap();
    let found = store.load().await.unwrap();
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    assert_eq!(found.rows, [rows[0].clone(), rows[2].clone()]);
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

#[tokio::test]
async fn what_still_counts_is_found_however_much_came_after_it() {
    let home = TempDir::new().unwrap();
    let store = Store::open(home.path()).unwrap();
    let day = chrono::TimeDelta::days(1);
    let old = session(now() - day - chrono::TimeDelta::seconds(1), 1, false);
    let lives = session(now() - day * 9, 2, true);
    let counts = session(now() - day, 3, false);
    let waits = ticket(1, None);
    let mut all = vec![
        old.clone(),
        lives.clone(),
        counts.clone(),
        waits.clone(),
        ticket(2, Some(Over::Given { at: now() })),
    ];
    for number in 10..1110 {
        all.push(session(now(), number, false));
        all.push(ticket(number, Some(Over::Given { at: now() })));
    }
    store.write(all).await.await.unwrap().unwrap();
    let found = store.load().await.unwrap().rows;
    for row in [&lives, &counts, &waits] {
        assert!(found.contains(row), "{row:?}");
    }
    assert!(!found.contains(&old));
    let count = |what: fn(&Row) -> bool| found.iter().filter(|row| what(row)).count();
    assert_eq!(count(|row| matches!(row, Row::Session(_))), 1102);
    assert_eq!(count(|row| matches!(row, Row::Ticket(_))), 1001);
}
