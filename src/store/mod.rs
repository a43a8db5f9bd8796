//! SQLite on threads of its own: one writer that commits groups, one reader. The only module that
//! writes SQL.

mod audit;
mod error;
mod ledger;
mod mail;
mod read;
mod ringing;
mod runs;
mod schema;
mod write;

#[cfg(test)]
mod tests;

pub use audit::{Audit, Chain, Standing};
pub use error::StoreError;
pub use read::JournalRow;

use rusqlite::Connection;
use std::{path::Path, thread, time::Duration};
use tokio::sync::{mpsc, oneshot, watch};
use vigie_core::{
    Timestamp,
    bridge::Heard,
    caller::{AgentFacts, Letter, MailQuery, Principal},
    id::{RunId, SessionId},
    ledger::{DelegationRow, LedgerRow, UsageKey, UsageQuestion, UsageRow, Zone},
    mail::Mail,
    run::{KnownRun, RunLogRow, StartRun},
    state::{AnswerRow, Facts, Found, Row},
};

/// Batches that may wait for the disk; whoever hands in more waits with them.
const WRITE_QUEUE: usize = 256;

/// Questions that may wait for the reader.
const READ_QUEUE: usize = 256;

/// How long a connection waits for the other's lock before it gives up; they hold it for a commit.
const BUSY: Duration = Duration::from_secs(10);

/// The version of SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// The handle: cheap to clone.
#[derive(Clone)]
pub struct Store {
    writer: mpsc::Sender<Job>,
    reader: mpsc::Sender<Question>,
    newest: watch::Receiver<u64>,
}

/// What the writer is asked.
enum Job {
    Write {
        rows: Vec<Row>,
        done: oneshot::Sender<Result<(), StoreError>>,
    },
    /// After a failed commit nothing is written until the state was built anew from what is there.
    Reload {
        done: oneshot::Sender<Result<Found, StoreError>>,
    },
    /// Drops some of the messages that were over before then.
    DropMail {
        before: Timestamp,
        done: oneshot::Sender<Result<usize, StoreError>>,
    },
}

type Question = Box<dyn FnOnce(&Connection) + Send>;

impl Store {
    /// Opens or makes the database in `folder`, and brings it to this program's schema.
    ///
    /// # Errors
    /// When the file cannot be opened, is of a newer Vigie, or is not a database.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let file = folder.join("vigie.db");
        keep_to_owner(&file)?;
        let writing = open(&file)?;
        schema::bring_up_to_date(&writing)?;
        let reading = open(&file)?;
        let (newest_sender, newest) = watch::channel(read::newest(&writing)?);
        let (writer, jobs) = mpsc::channel(WRITE_QUEUE);
        let (reader, questions) = mpsc::channel(READ_QUEUE);
        start("vigie-write", move || write::run(writing, jobs, &newest_sender))?;
        start("vigie-read", move || answer(&reading, questions))?;
        Ok(Self { writer, reader, newest })
    }

    /// Hands in rows; they are written in the order they are handed in, many batches a commit.
    /// The receiver tells when they are on disk.
    pub async fn write(&self, rows: Vec<Row>) -> oneshot::Receiver<Result<(), StoreError>> {
        let (done, written) = oneshot::channel();
        // A writer that is gone drops `done`, which the receiver sees.
        let _ = self.writer.send(Job::Write { rows, done }).await;
        written
    }

    /// Everything that a start needs. After a failed commit it also opens the writer again.
    pub async fn load(&self) -> Result<Found, StoreError> {
        let (done, loaded) = oneshot::channel();
        let _ = self.writer.send(Job::Reload { done }).await;
        loaded.await.map_err(|_| StoreError::Gone)?
    }

    /// What must be known of something heard before it is decided about.
    pub async fn facts(&self, heard: &Heard) -> Result<Facts, StoreError> {
        let heard = heard.clone();
        self.read(move |db| read::facts(db, &heard)).await
    }

    /// What must be known of a message before it is decided about.
    pub async fn mail_facts(
        &self,
        from: &Principal,
        letter: &Letter,
    ) -> Result<AgentFacts, StoreError> {
        let (from, letter) = (from.clone(), letter.clone());
        self.read(move |db| mail::facts(db, &from, &letter)).await
    }

    /// Somebody's own messages, newest first.
    pub async fn mailbox(&self, query: MailQuery) -> Result<Vec<Mail>, StoreError> {
        self.read(move |db| mail::mailbox(db, &query)).await
    }

    /// Drops messages that are over, read or given up, and were sent before then; a few at a time, so
    /// that nothing waits for it. How many went; none: there are no more.
    pub async fn drop_old_mail(&self, before: Timestamp) -> Result<usize, StoreError> {
        let (done, dropped) = oneshot::channel();
        // A writer that is gone drops `done`, which is seen below.
        let _ = self.writer.send(Job::DropMail { before, done }).await;
        dropped.await.map_err(|_| StoreError::Gone)?
    }

    /// What a session said last at the end of a turn.
    pub async fn last_answer(&self, session: SessionId) -> Result<Option<AnswerRow>, StoreError> {
        self.read(move |db| read::last_answer(db, session)).await
    }

    /// The run of that name (`release-12`) or id, whenever it was.
    pub async fn run(&self, name: String) -> Result<Option<KnownRun>, StoreError> {
        self.read(move |db| runs::named(db, &name)).await
    }

    /// The run that the same start began before, by its key.
    pub async fn run_started(&self, start: StartRun) -> Result<Option<KnownRun>, StoreError> {
        self.read(move |db| runs::keyed(db, &start)).await
    }

    /// A run's log after its line `seq`, so many lines at a time.
    pub async fn run_log(&self, run: RunId, seq: u64) -> Result<Vec<RunLogRow>, StoreError> {
        self.read(move |db| runs::log(db, run, seq)).await
    }

    /// The journal after `seq`, at most `most` lines.
    pub async fn events(&self, after: u64, most: usize) -> Result<Vec<JournalRow>, StoreError> {
        self.read(move |db| read::events(db, after, most)).await
    }

    /// At most so many lines of the journal before that number, newest first, whose kinds begin with one
    /// of `prefixes`; with none, of every kind. With a `session`, those that are about it alone.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn history(
        &self,
        before: u64,
        most: usize,
        prefixes: &'static [&'static str],
        session: Option<SessionId>,
    ) -> Result<Vec<JournalRow>, StoreError> {
        self.read(move |db| read::history(db, before, most, prefixes, session)).await
    }

    /// Those of these answers of models that are in the ledger.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn known_usage(&self, keys: Vec<UsageKey>) -> Result<Vec<LedgerRow>, StoreError> {
        self.read(move |db| ledger::known(db, &keys)).await
    }

    /// What the ledger comes to; days are those of `zone`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn usage(
        &self,
        question: UsageQuestion,
        zone: Zone,
    ) -> Result<Vec<UsageRow>, StoreError> {
        self.read(move |db| ledger::usage(db, &question, zone)).await
    }

    /// Work that agents did themselves and work that was handed on, answered from `since` on and before
    /// `until`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn delegations(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<DelegationRow>, StoreError> {
        self.read(move |db| ledger::delegations(db, since, until)).await
    }

    /// The number of the newest journal line that is on disk.
    pub fn newest(&self) -> watch::Receiver<u64> {
        self.newest.clone()
    }

    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let ask: Question = Box::new(move |db| {
            let _ = answer.send(question(db));
        });
        self.reader.send(ask).await.map_err(|_| StoreError::Gone)?;
        answered.await.map_err(|_| StoreError::Gone)?
    }
}

fn answer(db: &Connection, mut questions: mpsc::Receiver<Question>) {
    while let Some(question) = questions.blocking_recv() {
        question(db);
    }
}

fn open(file: &Path) -> Result<Connection, StoreError> {
    let refused = |source| StoreError::Open { file: file.into(), source };
    let db = Connection::open(file).map_err(refused)?;
    db.busy_timeout(BUSY).map_err(refused)?;
    // WAL lets the reader go on beside the writer; FULL makes a commit survive a power cut.
    db.pragma_update(None, "journal_mode", "WAL").map_err(refused)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(refused)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// Made before SQLite opens it: the files beside it get the same mode.
fn keep_to_owner(file: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let refused = |source| StoreError::Permissions { file: file.into(), source };
    let made = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(file)
        .map_err(refused)?;
    made.set_permissions(std::fs::Permissions::from_mode(0o600)).map_err(refused)
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    thread::Builder::new().name(name.into()).spawn(body).map_err(StoreError::Thread)?;
    Ok(())
}
