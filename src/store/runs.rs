//! Runs of workflows: written a row at a time, and read back with their logs, one run after another.

#[cfg(test)]
mod tests;

use rusqlite::{Connection, OptionalExtension as _, Row as Line, params};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use vigie_core::{
    id::RunId,
    run::{FrozenRow, KnownRun, RunLogRow, RunRow, StartRun},
    runs::{REMEMBERED, short_name},
    state::Found,
};
use vigie_workflow::run::{Entry, Frozen};

use super::{StoreError, write::json};

/// Lines of a log that are told at a time.
const LINES: usize = 1_000;

pub(super) fn put(db: &Connection, run: &RunRow) -> Result<(), StoreError> {
    let sql = "INSERT INTO run (id, open, workflow, short, number, key, parent, body)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
               ON CONFLICT (id) DO UPDATE SET open = ?2, body = ?8";
    db.prepare_cached(sql)?.execute(params![
        run.id.to_string(),
        run.life.is_open(),
        run.workflow,
        short_name(&run.workflow).to_lowercase(),
        run.number,
        run.key.as_ref().map(|key| &key.key),
        run.parent.as_ref().map(|parent| parent.run.to_string()),
        json(run)
    ])?;
    Ok(())
}

pub(super) fn put_frozen(db: &Connection, row: &FrozenRow) -> Result<(), StoreError> {
    db.prepare_cached("INSERT OR IGNORE INTO run_frozen (run, body) VALUES (?1, ?2)")?
        .execute(params![row.run.to_string(), json(&*row.frozen)])?;
    Ok(())
}

pub(super) fn put_line(db: &Connection, line: &RunLogRow) -> Result<(), StoreError> {
    db.prepare_cached("INSERT INTO run_log (run, seq, body) VALUES (?1, ?2, ?3)")?
        .execute(params![line.run.to_string(), line.seq, json(&line.entry)])?;
    Ok(())
}

/// Runs that are open, the last that are over, and the last number of each name. A run that does not
/// read is left where it is and said.
pub(super) fn load(db: &Connection, found: &mut Found) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT id, body FROM run WHERE open = 1
         UNION SELECT id, body FROM
            (SELECT id, body FROM run WHERE open = 0 ORDER BY id DESC LIMIT {REMEMBERED})
         ORDER BY id"
    );
    let mut statement = db.prepare(&sql)?;
    let mut all = statement.query([])?;
    while let Some(line) = all.next()? {
        match known(db, line) {
            Ok(run) => found.runs.push(run),
            Err(problem @ StoreError::Row { .. }) => found.problems.push(problem.to_string()),
            Err(error) => return Err(error),
        }
    }
    let mut numbers = db.prepare("SELECT short, max(number) FROM run GROUP BY short")?;
    let numbers = numbers.query_map([], |line| Ok((line.get(0)?, line.get(1)?)))?;
    found.run_numbers = numbers.collect::<Result<_, _>>()?;
    Ok(())
}

/// The run of that name (`release-12`) or id, whenever it was.
pub(super) fn named(db: &Connection, name: &str) -> Result<Option<KnownRun>, StoreError> {
    if name.parse::<RunId>().is_ok() {
        return found(db, "SELECT id, body FROM run WHERE id = ?1", &[&name]);
    }
    let Some((short, number)) = name.rsplit_once('-') else { return Ok(None) };
    let Ok(number) = number.parse::<u64>() else { return Ok(None) };
    let sql = "SELECT id, body FROM run WHERE short = ?1 AND number = ?2";
    found(db, sql, &[&short.to_lowercase(), &number])
}

/// The run that was started with that key.
pub(super) fn keyed(db: &Connection, start: &StartRun) -> Result<Option<KnownRun>, StoreError> {
    let Some(key) = &start.key else { return Ok(None) };
    let sql = "SELECT id, body FROM run WHERE workflow = ?1 AND key = ?2";
    found(db, sql, &[&start.workflow, key])
}

fn found(
    db: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Option<KnownRun>, StoreError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut lines = statement.query(values)?;
    lines.next()?.map(|line| known(db, line)).transpose()
}

/// A run with its log, a line at a time.
fn known(db: &Connection, line: &Line<'_>) -> Result<KnownRun, StoreError> {
    let (id, body): (String, String) = (line.get(0)?, line.get(1)?);
    let row: RunRow = read("run", &id, &body)?;
    let frozen: Option<String> = db
        .prepare_cached("SELECT body FROM run_frozen WHERE run = ?1")?
        .query_row([&id], |line| line.get(0))
        .optional()?;
    let frozen = frozen.ok_or_else(|| StoreError::Row {
        table: "run_frozen",
        column: "run",
        row: id.clone(),
        reason: "there is none".into(),
    })?;
    let frozen: Frozen = read("run_frozen", &id, &frozen)?;
    let mut run = KnownRun::new(row, Arc::new(frozen));
    let mut log = db.prepare_cached("SELECT seq, body FROM run_log WHERE run = ?1 ORDER BY seq")?;
    let mut lines = log.query([&id])?;
    while let Some(line) = lines.next()? {
        let (seq, body): (u64, String) = (line.get(0)?, line.get(1)?);
        let entry: Entry = read("run_log", &format!("{id} {seq}"), &body)?;
        run.take(&RunLogRow { run: run.row.id, seq, entry });
    }
    Ok(run)
}

/// A run's log after `seq`, in its order.
pub(super) fn log(db: &Connection, run: RunId, after: u64) -> Result<Vec<RunLogRow>, StoreError> {
    let sql = "SELECT seq, body FROM run_log WHERE run = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
    let mut statement = db.prepare_cached(sql)?;
    let mut lines = statement.query(params![run.to_string(), after, LINES])?;
    let mut all = Vec::new();
    while let Some(line) = lines.next()? {
        let (seq, body): (u64, String) = (line.get(0)?, line.get(1)?);
        let entry = read("run_log", &format!("{run} {seq}"), &body)?;
        all.push(RunLogRow { run, seq, entry });
    }
    Ok(all)
}

fn read<T: DeserializeOwned>(table: &'static str, row: &str, body: &str) -> Result<T, StoreError> {
    serde_json::from_str(body).map_err(|e| StoreError::Row {
        table,
        column: "body",
        row: row.into(),
        reason: e.to_string(),
    })
}
