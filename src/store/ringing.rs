//! Rows of what rings: what happened, and what is muted.

use rusqlite::{Connection, params};
use vigie_core::{
    ringing::{Happened, MuteRow},
    state::HAPPENED,
};

use super::write::json;

/// Keeps the newest, as many as the state has.
pub(super) fn put_happened(db: &Connection, happened: &Happened) -> rusqlite::Result<()> {
    let number = i64::try_from(happened.number).unwrap_or(i64::MAX);
    let kept = i64::try_from(HAPPENED).unwrap_or(i64::MAX);
    let sql = "INSERT INTO happened (number, body) VALUES (?1, ?2)
               ON CONFLICT (number) DO UPDATE SET body = ?2";
    db.prepare_cached(sql)?.execute(params![number, json(happened)])?;
    db.prepare_cached("DELETE FROM happened WHERE number <= ?1")?.execute([number - kept])?;
    Ok(())
}

/// What is over leaves no row.
pub(super) fn put_mute(db: &Connection, mute: &MuteRow) -> rusqlite::Result<()> {
    let (human, what) = (mute.human.as_str(), json(&mute.what));
    if mute.until.is_none() {
        let sql = "DELETE FROM mute WHERE human = ?1 AND what = ?2";
        db.prepare_cached(sql)?.execute(params![human, what])?;
        return Ok(());
    }
    let sql = "INSERT INTO mute (human, what, body) VALUES (?1, ?2, ?3)
               ON CONFLICT (human, what) DO UPDATE SET body = ?3";
    db.prepare_cached(sql)?.execute(params![human, what, json(mute)])?;
    Ok(())
}
