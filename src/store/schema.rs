//! Numbered migrations, only ever added.

use rusqlite::Connection;

use super::StoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("schema/001.sql"),
    include_str!("schema/002.sql"),
    include_str!("schema/003.sql"),
    include_str!("schema/004.sql"),
    include_str!("schema/005.sql"),
    include_str!("schema/006.sql"),
    include_str!("schema/007.sql"),
    include_str!("schema/008.sql"),
    include_str!("schema/009.sql"),
    include_str!("schema/010.sql"),
    include_str!("schema/011.sql"),
    include_str!("schema/012.sql"),
];

pub(super) fn bring_up_to_date(db: &Connection) -> Result<(), StoreError> {
    let known = u32::try_from(MIGRATIONS.len()).expect("a handful");
    let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (number, migration) in (1..=known).zip(MIGRATIONS).skip(found as usize) {
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE;\n{migration}\nPRAGMA user_version = {number};\nCOMMIT;"
        ))?;
    }
    Ok(())
}
