use chrono::DateTime;
use rusqlite::Connection;
use std::{collections::BTreeMap, sync::Arc};
use tempfile::TempDir;
use vigie_core::{
    id::RunId,
    run::{FrozenRow, RunKey, RunLife, RunLogRow, RunRow, SlotRow, StartRun, Starter},
    state::Row,
};
use vigie_workflow::{
    run::{Ended, Entry, Facts, Finish, Frozen, Outcome, RunState, Source, What},
    value::StepPath,
};

use crate::store::Store;

const TEXT: &str = "
name: release
steps:
  - {id: a, shell: make}
  - {id: b, needs: [a], shell: make}
";

fn now() -> vigie_core::Timestamp {
    DateTime::from_timestamp_millis(1_796_000_000_000).unwrap()
}

fn id(random: u128) -> RunId {
    RunId::from_parts(now(), random)
}

fn row(number: u64, life: RunLife) -> RunRow {
    RunRow {
        id: id(u128::from(number)),
        workflow: "api/release".into(),
        number,
        starter: Starter::Webhook,
        key: Some(RunKey { key: format!("k{number}"), digest: "00".into() }),
        place: None,
        parent: None,
        project: None,
        made: now(),
        began: None,
        life,
        shown: Vec::new(),
        retried_by: Vec::new(),
    }
}

fn over() -> RunLife {
    RunLife::Over { status: Finish::Succeeded, why: String::new(), at: now() }
}

fn frozen(number: u64) -> Row {
    let (workflow, problems) = vigie_workflow::parse(TEXT.as_bytes(), &|_| Err(String::new()));
    let workflow = workflow.unwrap_or_else(|| panic!("{}", problems.render("f", TEXT)));
    let run = id(u128::from(number));
    let facts = Facts {
        id: run.to_string(),
        number,
        started: now(),
        trigger: "webhook".into(),
        by: String::new(),
    };
    let source =
        Source { name: "api/release".into(), file: "f".into(), text: TEXT.into(), workflow };
    let frozen =
        Frozen { source, called: BTreeMap::new(), params: BTreeMap::new(), project: None, facts };
    Row::Frozen(FrozenRow { run, frozen: Arc::new(frozen) })
}

fn line(number: u64, seq: u64, what: What) -> Row {
    Row::RunLog(RunLogRow { run: id(u128::from(number)), seq, entry: Entry { at: now(), what } })
}

fn rows(number: u64, life: RunLife) -> Vec<Row> {
    let step: StepPath = "a".parse().unwrap();
    let ended = Box::new(Ended::of(Outcome::Done));
    vec![
        frozen(number),
        Row::Run(row(number, life)),
        line(number, 1, What::Began { step: step.clone(), attempt: 1 }),
        line(number, 2, What::Ended { step, attempt: 1, ended }),
    ]
}

async fn store(rows: Vec<Row>) -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.write(rows).await.await.unwrap().unwrap();
    (folder, store)
}

#[tokio::test]
async fn a_run_reads_back_with_its_log_and_its_number_is_never_used_again() {
    let slot = Row::Slot(SlotRow {
        workflow: "api/release".into(),
        slot: now(),
        schedule: "0 7 * * * UTC".into(),
    });
    let written: Vec<_> =
        rows(12, RunLife::Running).into_iter().chain(rows(11, over())).chain([slot]).collect();
    let (_folder, store) = store(written).await;
    let found = store.load().await.unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    assert_eq!(found.run_numbers, [("release".to_owned(), 12)]);
    let numbers: Vec<_> = found.runs.iter().map(|run| (run.row.number, run.seq)).collect();
    assert_eq!(numbers, [(11, 2), (12, 2)]);
    let open = &found.runs[1];
    assert_eq!(open.run.state(), RunState::Running);
    assert!(open.run.ended(&"a".parse().unwrap()).is_some());
    assert!(found.rows.iter().any(|row| matches!(row, Row::Slot(_))));
}

#[tokio::test]
async fn a_run_is_found_by_its_name_its_id_and_its_key() {
    let (_folder, store) = store(rows(12, over())).await;
    for name in ["release-12", "RELEASE-12", &id(12).to_string()] {
        let run = store.run(name.to_owned()).await.unwrap().unwrap_or_else(|| panic!("{name}"));
        assert_eq!((run.row.number, run.seq), (12, 2));
    }
    for name in ["release-1", "release", "", "other-12"] {
        assert!(store.run(name.to_owned()).await.unwrap().is_none(), "{name}");
    }
    let start = |key: &str| StartRun {
        workflow: "api/release".into(),
        params: BTreeMap::new(),
        project: None,
        key: Some(key.into()),
    };
    assert!(store.run_started(start("k12")).await.unwrap().is_some());
    assert!(store.run_started(start("k1")).await.unwrap().is_none());
}

#[tokio::test]
async fn a_log_is_told_from_where_somebody_stopped_to_read() {
    let (_folder, store) = store(rows(12, over())).await;
    let log = store.run_log(id(12), 1).await.unwrap();
    assert_eq!(log.iter().map(|line| line.seq).collect::<Vec<_>>(), [2]);
    assert!(store.run_log(id(12), 2).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_that_does_not_read_is_said_and_the_others_go_on() {
    let written = rows(12, RunLife::Running).into_iter().chain(rows(13, RunLife::Running));
    let (folder, store) = store(written.collect()).await;
    let db = Connection::open(folder.path().join("vigie.db")).unwrap();
    let spoilt = "UPDATE run_log SET body = '{}' WHERE run = ?1 AND seq = 2";
    db.execute(spoilt, [id(12).to_string()]).unwrap();
    let found = store.load().await.unwrap();
    assert_eq!(found.runs.iter().map(|run| run.row.number).collect::<Vec<_>>(), [13]);
    assert!(found.problems[0].contains("run_log") && found.problems[0].contains('2'));
    assert_eq!(found.run_numbers, [("release".to_owned(), 13)]);
}
