//! Sessions between two devices that matrix-sdk has stored by halves.
//!
//! The first message of another device makes a session; what it brings is the key of a room. matrix-sdk
//! (0.18, `decrypt_olm_message`) stores the session at once and the room's key with the rest of the sync.
//! Whoever dies in between has a session that has read its message, and no key: when the homeserver tells
//! of that message again, it opens no more, and all that its sender writes stays sealed.
//!
//! A session whose message was read whole is stored a second time, together with what was in it, and one
//! that we made is stored again when it is first used. So a session that was stored once only is one that
//! nobody needs: forgotten, the homeserver's second telling makes it anew.

use rusqlite::Connection;
use std::{path::Path, time::Duration};

/// matrix-sdk writes to the same file, for moments.
const BUSY: Duration = Duration::from_secs(5);

/// Notes which sessions were stored once. Source of the table: matrix-sdk-sqlite, `crypto_store`.
const WATCH: &str = "
    create table if not exists vigie_stored_once (session_id blob primary key not null);
    create trigger if not exists vigie_session_stored after insert on session begin
        insert or ignore into vigie_stored_once values (new.session_id);
    end;
    create trigger if not exists vigie_session_stored_again after update on session begin
        delete from vigie_stored_once where session_id = new.session_id;
    end;";

const FORGET: &str = "
    delete from session where session_id in (select session_id from vigie_stored_once);
    delete from vigie_stored_once;";

/// Forgets the sessions that are stored by halves in matrix-sdk's file, and sees to it that those to come
/// are known. To be called when no sync is being read.
pub(crate) fn forget(file: &Path) -> rusqlite::Result<()> {
    let mut db = Connection::open(file)?;
    db.busy_timeout(BUSY)?;
    let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    change.execute_batch(WATCH)?;
    change.execute_batch(FORGET)?;
    change.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sessions_that_were_stored_once_since_then_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crypto.sqlite3");
        let db = Connection::open(&file).unwrap();
        let tables =
            "create table session (session_id blob primary key not null, data blob not null);
            insert into session values (x'01', 'known before');";
        db.execute_batch(tables).unwrap();
        forget(&file).unwrap();
        let store =
            "insert into session values (?1, ?2) on conflict (session_id) do update set data = ?2";
        for (id, data) in [(2, "read"), (3, "by halves"), (2, "read whole"), (1, "used")] {
            db.execute(store, (vec![id], data)).unwrap();
        }
        forget(&file).unwrap();
        forget(&file).unwrap();
        let mut ask = db.prepare("select data from session order by session_id").unwrap();
        let left: Vec<String> =
            ask.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(left, ["used", "read whole"]);
    }
}
