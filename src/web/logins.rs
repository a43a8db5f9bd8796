//! Who is signed in, on which device: a small file of hashes, so that a restart signs nobody out
//! and a stolen copy signs nobody in.

use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
    time::Duration,
};
use tokio::sync::{Mutex, watch};
use vigie_core::{Timestamp, id::HumanId};

use super::{
    shapes::LoginShape,
    token::{self, Hash, NoRandomness},
};

pub(super) const FILE: &str = "logins.json";

/// A login that nobody used for so long ends: half a year.
pub(super) const IDLE_LIFETIME: Duration = Duration::from_hours(180 * 24);

/// How exactly "last seen" is kept: each update is a write to disk.
const SEEN_STEP: Duration = Duration::from_hours(1);

/// Devices that are signed in at once; the one unseen for longest goes.
const MOST_LOGINS: usize = 100;

/// Longest device name kept, in characters.
const DEVICE_LENGTH: usize = 120;

#[derive(Debug)]
pub(super) struct Logins {
    file: PathBuf,
    rows: RwLock<Arc<Vec<Row>>>,
    /// Held from reading the rows until their successor is on disk.
    writing: Mutex<()>,
    /// Counts the changes of `rows`.
    changes: watch::Sender<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    human: HumanId,
    /// SHA-256 of the cookie, in hex.
    hash: String,
    /// SHA-256 of the pass, in hex. Logins of before there were passes read, and change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pass: Option<String>,
    device: String,
    made: Timestamp,
    seen: Timestamp,
}

/// What a browser is given when it signs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Secrets {
    /// Sent along by the browser itself, to every port of the host.
    pub(super) cookie: String,
    /// Kept by our own pages alone, which no other port's can read, and shown with every change.
    pub(super) pass: String,
}

#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    #[error("{} cannot be read: {source}", file.display())]
    Read { file: PathBuf, source: io::Error },
    #[error("{} is damaged: {source}; move it away and everybody signs in anew", file.display())]
    Damaged { file: PathBuf, source: serde_json::Error },
    #[error("{} cannot be written: {source}", file.display())]
    Write { file: PathBuf, source: io::Error },
    #[error(transparent)]
    NoRandomness(#[from] NoRandomnessOutside),
}

/// See [`NoRandomness`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoRandomnessOutside(String);

impl From<NoRandomness> for LoginsError {
    fn from(error: NoRandomness) -> Self {
        Self::NoRandomness(NoRandomnessOutside(error.to_string()))
    }
}

impl Logins {
    /// Reads `logins.json` in the data folder; none there is nobody signed in.
    pub(super) fn open(data: &Path) -> Result<Self, LoginsError> {
        let file = data.join(FILE);
        let rows = match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|source| LoginsError::Damaged { file: file.clone(), source })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(LoginsError::Read { file, source }),
        };
        Ok(Self {
            file,
            rows: RwLock::new(Arc::new(rows)),
            writing: Mutex::new(()),
            changes: watch::Sender::new(0),
        })
    }

    /// Ends the logins of whoever is in the configuration no more, on disk by then: should they be in it
    /// again one day, a cookie from before is worth nothing. Returns whose they were.
    pub(super) async fn end_of_others(
        &self,
        known: impl Fn(&HumanId) -> bool,
    ) -> Result<Vec<HumanId>, LoginsError> {
        let rows = self.rows();
        let gone: Vec<_> =
            rows.iter().filter(|row| !known(&row.human)).map(|row| row.human.clone()).collect();
        if !gone.is_empty() {
            self.change(|rows| rows.retain(|row| known(&row.human))).await?;
        }
        Ok(gone)
    }

    /// Signs a device in and returns its secrets; the login is on disk by then.
    pub(super) async fn add(
        &self,
        human: HumanId,
        device: &str,
        now: Timestamp,
    ) -> Result<Secrets, LoginsError> {
        let secrets = Secrets { cookie: token::cookie()?, pass: token::cookie()? };
        let row = Row {
            id: token::login_id()?,
            human,
            hash: Hash::of(&secrets.cookie).hex(),
            pass: Some(Hash::of(&secrets.pass).hex()),
            device: device.chars().filter(|c| !c.is_control()).take(DEVICE_LENGTH).collect(),
            made: now,
            seen: now,
        };
        self.change(|rows| {
            rows.retain(|row| row.seen + IDLE_LIFETIME > now);
            if rows.len() == MOST_LOGINS {
                let oldest = rows.iter().enumerate().min_by_key(|(_, row)| row.seen);
                if let Some((at, _)) = oldest {
                    rows.remove(at);
                }
            }
            rows.push(row);
        })
        .await?;
        Ok(secrets)
    }

    /// Whether that login's pass is this one.
    pub(super) fn has_pass(&self, id: &str, pass: &str) -> bool {
        let (rows, hash) = (self.rows(), Hash::of(pass));
        let row = rows.iter().find(|row| row.id == id);
        let kept = row.and_then(|row| row.pass.as_deref()).and_then(Hash::from_hex);
        kept.is_some_and(|kept| kept.is(&hash))
    }

    /// Whose cookie this is: the person and the login's id.
    pub(super) fn find(&self, secret: &str, now: Timestamp) -> Option<(HumanId, String)> {
        let hash = Hash::of(secret);
        let rows = self.rows();
        let row = rows.iter().find(|row| {
            Hash::from_hex(&row.hash).is_some_and(|other| other.is(&hash))
                && row.seen + IDLE_LIFETIME > now
        })?;
        Some((row.human.clone(), row.id.clone()))
    }

    /// Notes that a device is in use, to the hour.
    pub(super) async fn seen(&self, id: &str, now: Timestamp) -> Result<(), LoginsError> {
        let stale = |row: &Row| row.id == id && row.seen + SEEN_STEP <= now;
        if !self.rows().iter().any(stale) {
            return Ok(());
        }
        self.change(|rows| rows.iter_mut().filter(|row| stale(row)).for_each(|row| row.seen = now))
            .await
    }

    /// Signs a device out; `false` when there is no such login.
    pub(super) async fn remove(&self, id: &str) -> Result<bool, LoginsError> {
        if !self.rows().iter().any(|row| row.id == id) {
            return Ok(false);
        }
        self.change(|rows| rows.retain(|row| row.id != id)).await?;
        Ok(true)
    }

    /// Resolves when that login is over.
    pub(super) async fn over(&self, id: &str) {
        let mut changes = self.changes.subscribe();
        while self.rows().iter().any(|row| row.id == id) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) fn list(&self) -> Vec<LoginShape> {
        let shape = |row: &Row| LoginShape {
            id: row.id.clone(),
            human: row.human.to_string(),
            device: row.device.clone(),
            made: row.made,
            seen: row.seen,
        };
        self.rows().iter().map(shape).collect()
    }

    fn rows(&self) -> Arc<Vec<Row>> {
        Arc::clone(&self.rows.read().expect("nothing panics while it holds the logins"))
    }

    /// Only what is on disk counts, so the rows change after the file did.
    async fn change(&self, change: impl FnOnce(&mut Vec<Row>)) -> Result<(), LoginsError> {
        let _one_at_a_time = self.writing.lock().await;
        let mut rows = Vec::clone(&self.rows());
        change(&mut rows);
        let rows = Arc::new(rows);
        let (file, written) = (self.file.clone(), Arc::clone(&rows));
        let result = tokio::task::spawn_blocking(move || write(&file, &written)).await;
        result
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(|source| LoginsError::Write { file: self.file.clone(), source })?;
        *self.rows.write().expect("nothing panics while it holds the logins") = rows;
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}

/// A whole new file in place of the old one, on disk when this returns.
fn write(file: &Path, rows: &[Row]) -> io::Result<()> {
    let fresh = file.with_extension("json.new");
    let mut out =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    out.write_all(&serde_json::to_vec_pretty(rows)?)?;
    out.sync_all()?;
    fs::rename(&fresh, file)?;
    File::open(file.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::default() + Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn a_login_outlives_a_restart_and_its_secret_is_not_on_disk() {
        let data = tempfile::tempdir().unwrap();
        let logins = Logins::open(data.path()).unwrap();
        let secret = logins.add(HumanId::new("ines"), "Firefox\n", at(0)).await.unwrap();
        let (secret, pass) = (secret.cookie, secret.pass);

        let again = Logins::open(data.path()).unwrap();
        let (human, id) = again.find(&secret, at(1)).unwrap();
        assert_eq!(human, HumanId::new("ines"));
        assert_eq!(again.list()[0].device, "Firefox");
        assert!(again.has_pass(&id, &pass) && !again.has_pass(&id, &secret));

        let file = data.path().join(FILE);
        let kept = fs::read_to_string(&file).unwrap();
        assert!(!kept.contains(&secret) && !kept.contains(&pass));
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

        assert!(again.remove(&id).await.unwrap());
        assert!(!again.remove(&id).await.unwrap());
        assert!(Logins::open(data.path()).unwrap().find(&secret, at(1)).is_none());
    }

    #[tokio::test]
    async fn an_unused_login_ends_and_a_used_one_stays() {
        let data = tempfile::tempdir().unwrap();
        let logins = Logins::open(data.path()).unwrap();
        let half = IDLE_LIFETIME.as_secs() / 2;
        let secret = logins.add(HumanId::new("ines"), "", at(0)).await.unwrap().cookie;
        let (_, id) = logins.find(&secret, at(half)).unwrap();
        logins.seen(&id, at(half)).await.unwrap();
        assert!(logins.find(&secret, at(half + IDLE_LIFETIME.as_secs() - 1)).is_some());
        assert!(logins.find(&secret, at(half + IDLE_LIFETIME.as_secs())).is_none());
    }

    #[tokio::test]
    async fn who_was_taken_out_of_the_configuration_signs_in_anew_when_they_are_back() {
        let data = tempfile::tempdir().unwrap();
        let logins = Logins::open(data.path()).unwrap();
        let old = logins.add(HumanId::new("tomas"), "", at(0)).await.unwrap().cookie;
        let other = logins.add(HumanId::new("ines"), "", at(0)).await.unwrap().cookie;

        let without = Logins::open(data.path()).unwrap();
        let gone = without.end_of_others(|human| human.as_str() == "ines").await.unwrap();
        assert_eq!(gone, [HumanId::new("tomas")]);

        let back = Logins::open(data.path()).unwrap();
        assert!(back.end_of_others(|_| true).await.unwrap().is_empty());
        assert!(back.find(&old, at(1)).is_none());
        assert!(back.find(&other, at(1)).is_some());
    }

    #[tokio::test]
    async fn a_login_of_before_there_were_passes_is_read_and_has_none() {
        let data = tempfile::tempdir().unwrap();
        let row = r#"[{"id":"1","human":"ines","hash":"00","device":"","made":"2026-11-30T10:00:00Z","seen":"2026-11-30T10:00:00Z"}]"#;
        fs::write(data.path().join(FILE), row).unwrap();
        let logins = Logins::open(data.path()).unwrap();
        assert_eq!(logins.list().len(), 1);
        assert!(!logins.has_pass("1", ""));
    }

    #[tokio::test]
    async fn a_damaged_file_is_said_and_kept() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(FILE), "{").unwrap();
        let error = Logins::open(data.path()).unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error}");
        assert_eq!(fs::read(data.path().join(FILE)).unwrap(), b"{");
    }

    #[tokio::test]
    async fn the_device_unseen_for_longest_makes_room() {
        let data = tempfile::tempdir().unwrap();
        let logins = Logins::open(data.path()).unwrap();
        let first = logins.add(HumanId::new("ines"), "", at(0)).await.unwrap().cookie;
        for second in 1..=MOST_LOGINS as u64 {
            logins.add(HumanId::new("ines"), "", at(second)).await.unwrap();
        }
        assert!(logins.find(&first, at(200)).is_none());
        assert_eq!(logins.list().len(), MOST_LOGINS);
    }
}
