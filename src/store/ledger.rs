//! What models were paid for: entries, whether they are known, and what they come to.

#[cfg(test)]
mod tests;

use chrono::DateTime;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::BTreeMap;
use vigie_core::{
    Timestamp,
    account::Account,
    id::{ProjectName, TurnId},
    ledger::{
        By, DelegationRow, LedgerRow, Owner, Spread, Tokens, UsageKey, UsageQuestion, UsageRow,
        Used, WorkKind, Zone,
    },
};

use super::{StoreError, write::json};

/// Lines of one answer: more than anybody looks through.
const MOST: usize = 10_000;

/// Zones lie whole quarters of an hour apart, so days of every zone are made of these.
const QUARTER: i64 = 15 * 60 * 1000;

/// An answer that is written again has more tokens than before, and is still whose it was.
pub(super) fn put(db: &Connection, row: &LedgerRow) -> Result<(), StoreError> {
    let sql = "INSERT INTO ledger (message, request, asked, at, model, input, output, cache_read,
                   cache_write_5m, cache_write_1h, web_searches, micro_usd, kind, unit, session, name,
                   story, project, run, run_name, step, parent, root, turn, subagent)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                   ?19, ?20, ?21, ?22, ?23, ?24, ?25)
               ON CONFLICT (message, request) DO UPDATE SET at = ?4, input = ?6, output = ?7,
                   cache_read = ?8, cache_write_5m = ?9, cache_write_1h = ?10, web_searches = ?11,
                   micro_usd = ?12";
    let LedgerRow { used, micro_usd, owner } = row;
    db.prepare_cached(sql)?.execute(params![
        used.key.message,
        used.key.request,
        used.asked.timestamp_millis(),
        used.at.timestamp_millis(),
        used.model,
        used.tokens.input,
        used.tokens.output,
        used.tokens.cache_read,
        used.tokens.cache_write_5m,
        used.tokens.cache_write_1h,
        used.tokens.web_searches,
        micro_usd,
        owner.kind.as_str(),
        owner.unit,
        owner.session.map(|id| id.to_string()),
        owner.name,
        owner.story,
        owner.project.as_ref().map(ProjectName::as_str),
        owner.run.map(|id| id.to_string()),
        owner.run_name,
        owner.step,
        owner.parent,
        owner.root,
        used.turn.as_ref().map(TurnId::as_str),
        used.subagent,
    ])?;
    Ok(())
}

pub(super) fn put_account(db: &Connection, account: &Account) -> Result<(), StoreError> {
    let sql = "INSERT INTO account (kind, key, body) VALUES (?1, ?2, ?3)
               ON CONFLICT (kind, key) DO UPDATE SET body = ?3";
    let (kind, key) = account.scope.key();
    db.prepare_cached(sql)?.execute(params![kind, key, json(account)])?;
    Ok(())
}

/// Those of these answers that are in the ledger.
pub(super) fn known(db: &Connection, keys: &[UsageKey]) -> Result<Vec<LedgerRow>, StoreError> {
    let sql = "SELECT asked, at, model, input, output, cache_read, cache_write_5m, cache_write_1h,
                   web_searches, micro_usd, kind, unit, session, name, story, project, run, run_name,
                   step, parent, root, turn, subagent
               FROM ledger WHERE message = ?1 AND request = ?2";
    let mut statement = db.prepare_cached(sql)?;
    let mut found = Vec::new();
    for key in keys {
        let row = statement
            .query_row(params![key.message, key.request], |row| entry(row, key))
            .optional()?;
        found.extend(row);
    }
    Ok(found)
}

fn entry(row: &Row<'_>, key: &UsageKey) -> rusqlite::Result<LedgerRow> {
    let used = Used {
        key: key.clone(),
        asked: time(row.get(0)?),
        at: time(row.get(1)?),
        model: row.get(2)?,
        tokens: Tokens {
            input: row.get(3)?,
            output: row.get(4)?,
            cache_read: row.get(5)?,
            cache_write_5m: row.get(6)?,
            cache_write_1h: row.get(7)?,
            web_searches: row.get(8)?,
        },
        turn: row.get::<_, Option<String>>(21)?.map(TurnId::new),
        subagent: row.get(22)?,
    };
    let kind: String = row.get(10)?;
    let owner = Owner {
        kind: kind_of(&kind),
        unit: row.get(11)?,
        session: row.get::<_, Option<String>>(12)?.and_then(|id| id.parse().ok()),
        name: row.get(13)?,
        story: row.get(14)?,
        project: row.get::<_, Option<String>>(15)?.map(ProjectName::new),
        run: row.get::<_, Option<String>>(16)?.and_then(|id| id.parse().ok()),
        run_name: row.get(17)?,
        step: row.get(18)?,
        parent: row.get(19)?,
        root: row.get(20)?,
    };
    Ok(LedgerRow { used, micro_usd: row.get(9)?, owner })
}

fn time(millis: i64) -> Timestamp {
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}

fn kind_of(word: &str) -> WorkKind {
    let known = WorkKind::ALL.into_iter().find(|kind| kind.as_str() == word);
    known.unwrap_or(WorkKind::Inline)
}

/// The whole time there is, where a side is open.
fn span(since: Option<Timestamp>, until: Option<Timestamp>) -> (i64, i64) {
    let millis = |at: Timestamp| at.timestamp_millis();
    (since.map_or(i64::MIN, millis), until.map_or(i64::MAX, millis))
}

/// What the entries come to, by whatever is asked for: the dearest first, days newest first.
pub(super) fn usage(
    db: &Connection,
    question: &UsageQuestion,
    zone: Zone,
) -> Result<Vec<UsageRow>, StoreError> {
    let quarters = format!("CAST(at / {QUARTER} AS TEXT)");
    let (key, label) = match question.by {
        By::Day => (quarters.as_str(), "''"),
        By::Session => ("coalesce(session, '')", "name"),
        By::Story => ("story", "story"),
        By::Project => ("coalesce(project, '')", "coalesce(project, '')"),
        By::Run => ("coalesce(run, '')", "coalesce(run_name, '')"),
        By::Step => ("coalesce(run || '/' || step, '')", "coalesce(run_name || ' ' || step, '')"),
        By::Model => ("model", "model"),
        By::Delegation => ("kind", "kind"),
        By::Tree => (
            "coalesce(root, session, '')",
            "CASE WHEN session = root OR root IS NULL THEN name ELSE '' END",
        ),
    };
    // A label is that of the last entry that has one.
    let sql = format!(
        "SELECT {key} AS the_key, {label}, max(CASE WHEN {label} = '' THEN 0 ELSE at END),
             sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),
             coalesce(sum(micro_usd), 0),
             coalesce(sum(CASE WHEN micro_usd IS NULL
                 THEN input + output + cache_read + cache_write_5m + cache_write_1h END), 0),
             count(*)
         FROM ledger WHERE at >= ?1 AND at < ?2
         GROUP BY the_key ORDER BY coalesce(sum(micro_usd), 0) DESC, sum(output) DESC, the_key"
    );
    let (since, until) = span(question.since, question.until);
    let mut statement = db.prepare_cached(&sql)?;
    let lines = statement.query_map(params![since, until], usage_row)?;
    let rows = lines.collect::<Result<Vec<_>, _>>()?;
    let mut rows = if question.by == By::Day { days(rows, zone) } else { rows };
    rows.truncate(MOST);
    for row in rows.iter_mut().filter(|row| row.label.is_empty()) {
        row.label.clone_from(&row.key);
    }
    Ok(rows)
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    Ok(UsageRow {
        key: row.get(0)?,
        label: row.get(1)?,
        input: row.get(3)?,
        output: row.get(4)?,
        cache_read: row.get(5)?,
        cache_write_5m: row.get(6)?,
        cache_write_1h: row.get(7)?,
        micro_usd: row.get(8)?,
        unpriced_tokens: row.get(9)?,
        messages: row.get(10)?,
    })
}

/// Quarters of an hour as days of a zone, the newest first.
fn days(quarters: Vec<UsageRow>, zone: Zone) -> Vec<UsageRow> {
    let mut days: BTreeMap<String, UsageRow> = BTreeMap::new();
    for quarter in quarters {
        let millis = quarter.key.parse::<i64>().unwrap_or_default().saturating_mul(QUARTER);
        let day = time(millis).with_timezone(&zone).format("%Y-%m-%d").to_string();
        days.entry(day.clone())
            .or_insert_with(|| UsageRow { key: day.clone(), label: day, ..UsageRow::default() })
            .add(&quarter);
    }
    days.into_values().rev().collect()
}

/// Pieces of work of each kind that was done, compared.
pub(super) fn delegations(
    db: &Connection,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
) -> Result<Vec<DelegationRow>, StoreError> {
    let sql = "SELECT kind, coalesce(sum(micro_usd), 0), sum(micro_usd IS NULL),
                   sum(input + output + cache_read + cache_write_5m + cache_write_1h),
                   max(at) - min(asked)
               FROM ledger WHERE at >= ?1 AND at < ?2 GROUP BY kind, unit";
    let (since, until) = span(since, until);
    let mut statement = db.prepare_cached(sql)?;
    let mut lines = statement.query(params![since, until])?;
    let mut all: BTreeMap<WorkKind, Pieces> = BTreeMap::new();
    while let Some(line) = lines.next()? {
        let pieces = all.entry(kind_of(line.get_ref(0)?.as_str().unwrap_or_default())).or_default();
        let unpriced: u64 = line.get(2)?;
        if unpriced == 0 {
            pieces.money.push(line.get(1)?);
        } else {
            pieces.unpriced += 1;
        }
        pieces.tokens.push(line.get(3)?);
        pieces.millis.push(u64::try_from(line.get::<_, i64>(4)?).unwrap_or(0));
    }
    let row = |(kind, pieces): (WorkKind, Pieces)| DelegationRow {
        kind,
        count: u64::try_from(pieces.tokens.len()).unwrap_or(u64::MAX),
        micro_usd: Spread::of(pieces.money),
        tokens: Spread::of(pieces.tokens),
        millis: Spread::of(pieces.millis),
        unpriced: pieces.unpriced,
    };
    Ok(all.into_iter().map(row).collect())
}

#[derive(Default)]
struct Pieces {
    money: Vec<u64>,
    tokens: Vec<u64>,
    millis: Vec<u64>,
    unpriced: u64,
}
