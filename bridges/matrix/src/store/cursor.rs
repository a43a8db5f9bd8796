//! How far the homeserver has told us everything, and all of that is written down.

use matrix_sdk::ruma::UserId;
use rusqlite::{OptionalExtension as _, params};
use vigie_bridge_kit::database::DatabaseError;

use super::Store;

impl Store {
    /// From where on to hear; `None`: nothing was ever heard.
    pub(crate) async fn cursor(&self, user: &UserId) -> Result<Option<String>, DatabaseError> {
        let user = user.to_string();
        let ask = "select cursor from account where user = ?1";
        self.run(move |db| db.query_row(ask, [user], |row| row.get(0)).optional()).await
    }
}

/// Everything before `cursor` is written down; in one transaction with it.
pub(crate) fn advance(db: &rusqlite::Connection, user: &str, cursor: &str) -> rusqlite::Result<()> {
    let put = "insert into account (user, cursor) values (?1, ?2)
        on conflict do update set cursor = ?2";
    db.prepare_cached(put)?.execute(params![user, cursor]).map(drop)
}
