use std::{io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("could not open the database {}: {source}", file.display())]
    Open { file: PathBuf, source: rusqlite::Error },
    #[error("could not keep the database {} to its owner: {source}", file.display())]
    Permissions { file: PathBuf, source: io::Error },
    #[error(
        "the database is of a newer Vigie (its schema is {found}, this program knows {known}): upgrade Vigie"
    )]
    Newer { found: u32, known: u32 },
    #[error("could not start a thread for the database: {0}")]
    Thread(io::Error),
    #[error("the database refused: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("column {column} of table {table}, row {row}, does not read: {reason}")]
    Row { table: &'static str, column: &'static str, row: String, reason: String },
    #[error("{0}")]
    Commit(String),
    #[error("a commit failed before; nothing is written until the state was read again")]
    Broken,
    #[error("the database thread is gone")]
    Gone,
}
