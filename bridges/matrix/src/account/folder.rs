//! The account's files: where they are, read and written for this user alone.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::Session;

/// What a store key has. Source: matrix-sdk-sqlite, `SqliteStoreConfig::key`.
pub(crate) const KEY_BYTES: usize = 32;

/// A recovery key has 48 letters and some blanks; a passphrase in its place is no longer either.
const LONGEST_RECOVERY_KEY: usize = 1024;

/// matrix-sdk's file with the device's private keys. Source: matrix-sdk-sqlite, `DATABASE_NAME` of
/// the crypto store.
const CRYPTO_FILE: &str = "matrix-sdk-crypto.sqlite3";

/// All of matrix-sdk's files, likewise.
const STORES: [&str; 4] = [
    CRYPTO_FILE,
    "matrix-sdk-state.sqlite3",
    "matrix-sdk-event-cache.sqlite3",
    "matrix-sdk-media.sqlite3",
];

const SESSION: &str = "session.json";
const STORE_KEY: &str = "store.key";
const RECOVERY_KEY: &str = "recovery.key";
const CRYPTO: &str = "crypto";

/// The folder of one account. There is one account a folder, and one process a folder at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    at: PathBuf,
}

/// A file of the account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("no Matrix account is set up; run: vigie init matrix")]
    NoSession,
    #[error("{} does not read as the session of an account ({source}); log in anew: vigie init matrix --again", file.display())]
    BadSession { file: PathBuf, source: serde_json::Error },
    #[error("{} cannot be used: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is no store key: it has {bytes} bytes instead of {KEY_BYTES}; log in anew: vigie init matrix --again", file.display())]
    BadKey { file: PathBuf, bytes: usize },
    #[error("the key of the encrypted store is gone ({}); log in anew: vigie init matrix --again", .0.display())]
    NoKey(PathBuf),
    #[error("the encrypted store of the account is gone ({}); log in anew: vigie init matrix --again", .0.display())]
    LostStore(PathBuf),
    #[error("others can read {} (mode {mode:03o}), so it is not used; close it: chmod {} {}", file.display(), closed(file), file.display())]
    Open { file: PathBuf, mode: u32 },
    #[error("another process uses the Matrix account in {}", .0.display())]
    InUse(PathBuf),
}

fn closed(file: &Path) -> &'static str {
    if file.is_dir() { "700" } else { "600" }
}

/// The right to use a folder's stores. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Held {
    _lock: fs::File,
}

impl Folder {
    /// Names the folder; touches nothing.
    pub fn new(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into() }
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    /// The bridge's own file.
    pub fn database(&self) -> PathBuf {
        self.at.join("matrix.db")
    }

    /// What belongs to one login, so that all of it is put in place or aside at once.
    pub(super) fn account(&self) -> PathBuf {
        self.at.join("account")
    }

    /// Where matrix-sdk keeps its stores.
    pub(crate) fn crypto(&self) -> PathBuf {
        self.account().join(CRYPTO)
    }

    /// Where the recovery key is kept, if it is.
    pub fn recovery_file(&self) -> PathBuf {
        self.at.join(RECOVERY_KEY)
    }

    /// Takes the folder for this process: its stores bear only one.
    ///
    /// # Errors
    /// [`FolderError::InUse`], or those of the disk.
    pub fn hold(&self) -> Result<Held, FolderError> {
        self.make()?;
        let file = self.at.join("lock");
        let failed = |source| FolderError::File { file: file.clone(), source };
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&file);
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Held { _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(FolderError::InUse(self.at.clone())),
            Err(fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The account's session.
    ///
    /// # Errors
    /// There is none, others can read it, or it does not read.
    pub fn session(&self) -> Result<Session, FolderError> {
        let file = self.account().join(SESSION);
        let text = read(&file)?.ok_or(FolderError::NoSession)?;
        serde_json::from_slice(&text).map_err(|source| FolderError::BadSession { file, source })
    }

    /// Whether there is a session at all, however it reads.
    pub fn is_set_up(&self) -> bool {
        self.account().join(SESSION).exists()
    }

    /// Keeps the session of a login that succeeded, whole or not at all.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_session(&self, session: &Session) -> Result<(), FolderError> {
        let text = serde_json::to_vec_pretty(session)
            .expect("a struct of texts is written without an error");
        self.make()?;
        write(&self.account(), SESSION, &text)
    }

    /// The key of the encrypted stores, made when there is neither a key nor a store.
    ///
    /// # Errors
    /// It cannot be read or written, is no key, or is missing beside a store.
    pub(crate) fn store_key(&self) -> Result<[u8; KEY_BYTES], FolderError> {
        let file = self.account().join(STORE_KEY);
        let Some(bytes) = read(&file)? else {
            if self.has_store() {
                return Err(FolderError::NoKey(file));
            }
            let fresh: [u8; KEY_BYTES] = rand::random();
            write(&self.account(), STORE_KEY, &fresh)?;
            return Ok(fresh);
        };
        let count = bytes.len();
        bytes.try_into().map_err(|_| FolderError::BadKey { file, bytes: count })
    }

    /// matrix-sdk's file with the device's private keys.
    pub(crate) fn crypto_file(&self) -> PathBuf {
        self.crypto().join(CRYPTO_FILE)
    }

    /// Whether the store with the device's private keys is there.
    pub(crate) fn has_store(&self) -> bool {
        self.crypto_file().exists()
    }

    /// The session, if its store and the store's key are there too. Makes nothing.
    ///
    /// # Errors
    /// What is missing or cannot be used.
    pub fn looked_at(&self) -> Result<Session, FolderError> {
        let session = self.session()?;
        self.goes_with(&session)?;
        if self.has_store() {
            self.store_key()?;
        }
        Ok(session)
    }

    /// The session has a store that goes with it. One that is made anew under an old session looks
    /// alive and is deaf: the homeserver goes on with the keys of the lost one.
    ///
    /// # Errors
    /// [`FolderError::LostStore`].
    pub(crate) fn goes_with(&self, session: &Session) -> Result<(), FolderError> {
        let lost = session.key().is_some() && !self.has_store();
        if lost { Err(FolderError::LostStore(self.crypto())) } else { Ok(()) }
    }

    /// The recovery key, where the person chose to keep it here.
    ///
    /// # Errors
    /// It is there and cannot be used.
    pub fn recovery_key(&self) -> Result<Option<String>, FolderError> {
        let bytes = read(&self.recovery_file())?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(text.filter(|text| !text.is_empty() && text.len() <= LONGEST_RECOVERY_KEY))
    }

    /// Keeps the recovery key, whole or not at all.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_recovery_key(&self, key: &str) -> Result<(), FolderError> {
        self.make()?;
        write(&self.at, RECOVERY_KEY, format!("{key}\n").as_bytes())
    }

    /// Keeps the recovery key no longer.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn forget_recovery_key(&self) -> Result<(), FolderError> {
        let file = self.recovery_file();
        removed(&file, fs::remove_file(&file))
    }

    /// What of it others can read, each with its mode.
    pub fn open_to_others(&self) -> Vec<(PathBuf, u32)> {
        let account = self.account();
        let files = [
            self.at.clone(),
            self.recovery_file(),
            self.database(),
            account.join(SESSION),
            account.join(STORE_KEY),
            account.join(CRYPTO),
        ];
        let open = |file: PathBuf| {
            let mode = file.metadata().ok()?.permissions().mode() & 0o777;
            (mode & 0o077 != 0).then_some((file, mode))
        };
        files.into_iter().filter_map(open).collect()
    }

    /// Makes the folder, for this user alone.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn make(&self) -> Result<(), FolderError> {
        for folder in [&self.at, &self.account()] {
            private(folder)?;
        }
        Ok(())
    }

    /// Makes the place of matrix-sdk's stores, which would make it for everybody.
    pub(crate) fn make_crypto(&self) -> Result<(), FolderError> {
        private(&self.crypto())
    }

    /// Makes matrix-sdk's files, which would make them as the process makes any file; what SQLite puts
    /// beside them gets their mode.
    pub(crate) fn make_stores(&self) -> Result<(), FolderError> {
        for store in STORES {
            let file = self.crypto().join(store);
            let mut options = OpenOptions::new();
            options.create(true).append(true).mode(0o600);
            let closed = fs::Permissions::from_mode(0o600);
            let made = options.open(&file).and_then(|made| made.set_permissions(closed));
            made.map_err(|source| FolderError::File { file, source })?;
        }
        Ok(())
    }
}

fn private(folder: &Path) -> Result<(), FolderError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| FolderError::File { file: folder.into(), source })
}

/// A small file of ours; `None`: it is not there.
fn read(file: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    let failed = |source| FolderError::File { file: file.into(), source };
    let mode = match file.metadata() {
        Ok(meta) => meta.permissions().mode() & 0o777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    if mode & 0o077 != 0 {
        return Err(FolderError::Open { file: file.into(), mode });
    }
    fs::read(file).map(Some).map_err(failed)
}

pub(super) fn removed(file: &Path, done: io::Result<()>) -> Result<(), FolderError> {
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::File { file: file.into(), source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
    let file = folder.join(name);
    let fresh = folder.join(format!("{name}.new"));
    removed(&fresh, fs::remove_file(&fresh))?;
    let write = || {
        let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        to.write_all(bytes)?;
        to.sync_all()?;
        fs::rename(&fresh, &file)?;
        fs::File::open(folder)?.sync_all()
    };
    write().map_err(|source| FolderError::File { file: file.clone(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use matrix_sdk::ruma::{owned_device_id, owned_user_id};

    fn session(device: &str) -> Session {
        let home = "https://matrix.example.org".to_owned();
        let user = owned_user_id!("@vigie:example.org");
        Session::of_token(home, user, device.into(), "a-token".into())
    }

    #[test]
    fn the_files_are_for_this_user_alone_and_used_only_so() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path().join("matrix"));
        assert!(matches!(folder.session(), Err(FolderError::NoSession)));
        folder.keep_session(&session("OURS")).unwrap();
        folder.keep_recovery_key("EsTc 1234").unwrap();
        folder.store_key().unwrap();
        assert_eq!(folder.open_to_others(), []);
        assert_eq!(folder.session().unwrap(), session("OURS"));
        assert_eq!(folder.recovery_key().unwrap().as_deref(), Some("EsTc 1234"));
        let file = folder.account().join(SESSION);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let wrong = folder.session().unwrap_err().to_string();
        assert!(wrong.contains("(mode 644)") && wrong.contains("chmod 600"), "{wrong}");
        assert_eq!(folder.open_to_others(), [(file, 0o644)]);
        folder.forget_recovery_key().unwrap();
        folder.forget_recovery_key().unwrap();
        assert_eq!(folder.recovery_key().unwrap(), None);
    }

    #[test]
    fn the_encrypted_stores_are_for_us_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        folder.make_crypto().unwrap();
        let crypto = folder.crypto();
        assert_eq!(crypto.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&crypto, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(folder.open_to_others().contains(&(crypto, 0o755)));
    }

    #[test]
    fn a_token_is_shown_nowhere() {
        let shown = format!("{:?}", session("OURS"));
        assert!(shown.contains("OURS") && !shown.contains("a-token"), "{shown}");
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        folder.keep_session(&session("OURS")).unwrap();
        write(&folder.account(), SESSION, br#"{"access_token": "a-token""#).unwrap();
        let wrong = folder.session().unwrap_err();
        assert!(!format!("{wrong} {wrong:?}").contains("a-token"), "{wrong}");
    }

    #[test]
    fn a_store_is_never_given_another_key() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        folder.make().unwrap();
        let key = folder.store_key().unwrap();
        assert_eq!(folder.store_key().unwrap(), key);
        fs::create_dir(folder.crypto()).unwrap();
        fs::write(folder.crypto().join(CRYPTO_FILE), "keys").unwrap();
        fs::remove_file(folder.account().join(STORE_KEY)).unwrap();
        assert!(matches!(folder.store_key(), Err(FolderError::NoKey(_))));
        write(&folder.account(), STORE_KEY, b"short").unwrap();
        assert!(matches!(folder.store_key(), Err(FolderError::BadKey { bytes: 5, .. })));
    }

    #[test]
    fn a_session_whose_store_is_gone_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        let fresh = session("OURS");
        folder.goes_with(&fresh).unwrap();
        let used = fresh.with_key(Some("public".into()));
        assert!(matches!(folder.goes_with(&used), Err(FolderError::LostStore(_))));
    }

    #[test]
    fn a_folder_is_for_one_process() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path().join("matrix"));
        let held = folder.hold().unwrap();
        assert!(matches!(folder.hold(), Err(FolderError::InUse(_))));
        drop(held);
        folder.hold().unwrap();
    }

    #[test]
    fn a_login_takes_the_place_of_the_one_before_and_deletes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        let held = folder.hold().unwrap();
        let now = "2026-11-30T10:00:00Z".parse().unwrap();
        let log_in = |device: &str| {
            let staging = folder.staging(&held, now).unwrap();
            assert!(!staging.is_set_up());
            staging.make_crypto().unwrap();
            staging.store_key().unwrap();
            staging.keep_session(&session(device)).unwrap();
            let key = staging.store_key().unwrap();
            (folder.adopt(&held, now).unwrap(), key)
        };
        let (aside, _) = log_in("FIRST");
        assert_eq!(aside, None);
        let (aside, second) = log_in("SECOND");
        assert_eq!(aside, Some(home.path().join("old-2026-11-30T10-00-00")));
        assert_eq!(folder.session().unwrap().device, owned_device_id!("SECOND"));
        assert_eq!(folder.store_key().unwrap(), second);
        let (aside, _) = log_in("THIRD");
        assert_eq!(aside, Some(home.path().join("old-2026-11-30T10-00-00-2")));
        assert_eq!(folder.aside().len(), 2);
        let kept = fs::read_to_string(folder.aside()[0].join(SESSION)).unwrap();
        assert!(kept.contains("FIRST"), "{kept}");
    }

    #[test]
    fn a_login_that_had_succeeded_when_it_ended_is_put_in_place() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path());
        let held = folder.hold().unwrap();
        let now = "2026-11-30T10:00:00Z".parse().unwrap();
        // Broken off before it succeeded.
        let staging = folder.staging(&held, now).unwrap();
        staging.make_crypto().unwrap();
        staging.store_key().unwrap();
        folder.settle(&held, now).unwrap();
        assert!(!folder.is_set_up());
        // Broken off after.
        folder.staging(&held, now).unwrap().keep_session(&session("OURS")).unwrap();
        folder.settle(&held, now).unwrap();
        assert_eq!(folder.session().unwrap(), session("OURS"));
        assert_eq!(folder.aside(), Vec::<PathBuf>::new());
    }
}
