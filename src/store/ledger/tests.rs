use chrono::{DateTime, TimeDelta};
use tempfile::TempDir;
use vigie_core::{
    Timestamp,
    id::{ProjectName, SessionId, TurnId},
    ledger::{
        By, LedgerRow, Owner, Tokens, UsageKey, UsageQuestion, UsageRow, Used, WorkKind, Zone,
    },
    state::Row,
};

use crate::store::Store;

fn at(minutes: i64) -> Timestamp {
    // 2026-11-30 23:00 in UTC, which is the first of December in Paris.
    DateTime::from_timestamp_millis(1_796_079_600_000).unwrap() + TimeDelta::minutes(minutes)
}

fn tokens(input: u64, output: u64) -> Tokens {
    Tokens { input, output, cache_read: 100, ..Tokens::default() }
}

fn row(message: &str, session: u128, minutes: i64, micro_usd: Option<u64>) -> LedgerRow {
    let id = SessionId::from_parts(at(0), session);
    let key = UsageKey { message: message.into(), request: "r".into() };
    LedgerRow {
        used: Used {
            key,
            model: if micro_usd.is_some() { "heron-2".into() } else { "heron-9".into() },
            asked: at(minutes) - TimeDelta::seconds(30),
            at: at(minutes),
            tokens: tokens(10, 20),
            turn: Some(TurnId::new("t")),
            subagent: None,
        },
        micro_usd,
        owner: Owner {
            kind: WorkKind::Inline,
            unit: format!("{id}/t"),
            session: Some(id),
            name: format!("PD-{session}"),
            story: format!("PD-{session}"),
            project: Some(ProjectName::new("quay")),
            run: None,
            run_name: None,
            step: None,
            parent: None,
            root: None,
        },
    }
}

async fn filled(rows: Vec<LedgerRow>) -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.load().await.unwrap();
    let rows = rows.into_iter().map(Row::Ledger).collect();
    store.write(rows).await.await.unwrap().unwrap();
    (folder, store)
}

async fn usage(store: &Store, by: By, zone: Zone) -> Vec<UsageRow> {
    store.usage(UsageQuestion { by, ..UsageQuestion::default() }, zone).await.unwrap()
}

#[tokio::test]
async fn an_entry_comes_back_as_it_was_written() {
    let mut child = row("b", 2, 1, None);
    child.used.subagent = Some("a7".into());
    child.owner = Owner {
        kind: WorkKind::Session,
        run: Some("run_01JCE3K5M0000000000000000A".parse().unwrap()),
        run_name: Some("release-1".into()),
        step: Some("build".into()),
        parent: Some("ses_x".into()),
        root: Some("ses_y".into()),
        ..child.owner
    };
    let rows = vec![row("a", 1, 0, Some(700)), child];
    let (_folder, store) = filled(rows.clone()).await;
    let key = |message: &str| UsageKey { message: message.into(), request: "r".into() };
    let keys = vec![
        key("a"),
        key("b"),
        key("c"),
        UsageKey { message: "a".into(), request: String::new() },
    ];
    assert_eq!(store.known_usage(keys).await.unwrap(), rows);
}

#[tokio::test]
async fn an_answer_written_again_is_one_answer_with_its_last_numbers() {
    let first = row("a", 1, 0, Some(700));
    let mut last = first.clone();
    last.used.tokens.output = 90;
    last.micro_usd = Some(2100);
    last.owner.name = "somebody else".into();
    let (_folder, store) = filled(vec![first, last]).await;
    let all = usage(&store, By::Session, Zone::UTC).await;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].output, all[0].micro_usd, all[0].messages), (90, 2100, 1));
    assert_eq!(all[0].label, "PD-1", "whose it was, it stays");
}

#[tokio::test]
async fn sums_by_session_are_dearest_first_and_say_what_has_no_price() {
    let rows = vec![row("a", 1, 0, Some(5)), row("b", 2, 1, Some(700)), row("c", 2, 2, None)];
    let (_folder, store) = filled(rows).await;
    let all = usage(&store, By::Session, Zone::UTC).await;
    let told: Vec<_> = all
        .iter()
        .map(|row| (row.label.as_str(), row.micro_usd, row.unpriced_tokens, row.messages))
        .collect();
    assert_eq!(told, [("PD-2", 700, 130, 2), ("PD-1", 5, 0, 1)]);
    assert_eq!((all[0].input, all[0].cache_read, all[0].tokens()), (20, 200, 260));
    let models = usage(&store, By::Model, Zone::UTC).await;
    let told: Vec<_> = models.iter().map(|row| (row.key.as_str(), row.unpriced_tokens)).collect();
    assert_eq!(told, [("heron-2", 0), ("heron-9", 130)]);
}

#[tokio::test]
async fn a_day_is_that_of_the_zone() {
    let (_folder, store) = filled(vec![row("a", 1, 0, Some(1)), row("b", 1, 61, Some(2))]).await;
    let days = |rows: Vec<UsageRow>| -> Vec<_> {
        rows.into_iter().map(|row| (row.key, row.micro_usd)).collect()
    };
    let utc = usage(&store, By::Day, Zone::UTC).await;
    assert_eq!(days(utc), [("2026-12-01".into(), 2), ("2026-11-30".into(), 1)]);
    let paris = usage(&store, By::Day, Zone::Europe__Paris).await;
    assert_eq!(days(paris), [("2026-12-01".into(), 3)]);
}

#[tokio::test]
async fn a_span_begins_with_its_first_moment_and_ends_before_its_last() {
    let (_folder, store) = filled(vec![row("a", 1, 0, Some(1)), row("b", 1, 10, Some(2))]).await;
    let within = async |since, until| {
        let question = UsageQuestion { by: By::Project, since, until };
        let rows = store.usage(question, Zone::UTC).await.unwrap();
        rows.first().map(|row| (row.label.clone(), row.micro_usd))
    };
    assert_eq!(within(Some(at(0)), Some(at(10))).await, Some(("quay".into(), 1)));
    assert_eq!(within(Some(at(10)), None).await, Some(("quay".into(), 2)));
    assert_eq!(within(None, Some(at(0))).await, None);
}

#[tokio::test]
async fn pieces_of_work_are_compared_by_kind() {
    let delegated = |message: &str, unit: &str, minutes, money| {
        let mut row = row(message, 1, minutes, money);
        row.owner.kind = WorkKind::Subagent;
        row.owner.unit = unit.into();
        row
    };
    let rows = vec![
        row("a", 1, 0, Some(100)),
        row("b", 1, 2, Some(100)),
        delegated("c", "x", 0, Some(10)),
        delegated("d", "y", 0, Some(30)),
        delegated("e", "y", 1, Some(40)),
        delegated("f", "z", 1, None),
    ];
    let (_folder, store) = filled(rows).await;
    let all = store.delegations(None, None).await.unwrap();
    let told: Vec<_> =
        all.iter().map(|row| (row.kind, row.count, row.unpriced, row.micro_usd)).collect();
    let spread = |low, median, high, total| super::Spread { low, median, high, total };
    assert_eq!(
        told,
        [
            (WorkKind::Inline, 1, 0, spread(200, 200, 200, 200)),
            (WorkKind::Subagent, 3, 1, spread(25, 40, 55, 80)),
        ]
    );
    assert_eq!(all[0].millis.median, 150_000, "from the first question to the last answer");
    assert_eq!(all[1].tokens, spread(130, 130, 195, 520));
}
