//! Which identity people are taken for, from the first one that was seen.

use rusqlite::{OptionalExtension as _, params};
use vigie_bridge_kit::database::DatabaseError;

use super::Store;

impl Store {
    /// The master key that somebody is taken for, in Base64.
    pub(crate) async fn identity(&self, user: &str) -> Result<Option<String>, DatabaseError> {
        let user = user.to_owned();
        let ask = "select known from identity where user = ?1";
        self.run(move |db| db.query_row(ask, [user], |row| row.get(0)).optional()).await
    }

    /// Takes somebody for the owner of that master key from now on.
    pub(crate) async fn take_for(&self, user: &str, key: &str) -> Result<(), DatabaseError> {
        let (user, key) = (user.to_owned(), key.to_owned());
        let put = "insert into identity (user, known) values (?1, ?2)
            on conflict do update set known = ?2";
        self.run(move |db| db.execute(put, params![user, key]).map(drop)).await
    }
}

#[cfg(test)]
mod tests {
    use crate::store::tests::store;

    #[tokio::test]
    async fn somebody_is_taken_for_one_at_a_time() {
        let (_folder, store) = store();
        assert_eq!(store.identity("@ines:example.org").await.unwrap(), None);
        for key in ["first", "second"] {
            store.take_for("@ines:example.org", key).await.unwrap();
            assert_eq!(store.identity("@ines:example.org").await.unwrap().unwrap(), key);
        }
    }
}
