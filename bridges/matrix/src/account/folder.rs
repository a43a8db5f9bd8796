use matrix_sdk::{
    SessionMeta, SessionTokens,
    authentication::matrix::MatrixSession,
    ruma::{OwnedDeviceId, OwnedUserId},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// What a store key has. Source: matrix-sdk-sqlite, `SqliteStoreConfig::key`.
pub(crate) const KEY_BYTES: usize = 32;

/// The folder of one account. There is one account a folder, and one process a folder at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    at: PathBuf,
}

/// Who we are on which homeserver, as `session.json` has it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// `https://matrix.example.org`: where the client API answers.
    pub homeserver: String,
    pub user: OwnedUserId,
    pub device: OwnedDeviceId,
    access_token: String,
}

/// A file of the account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("no Matrix account is set up; run: vigie init matrix")]
    NoSession,
    #[error("{} does not read as the session of an account: {source}", file.display())]
    BadSession { file: PathBuf, source: serde_json::Error },
    #[error("{} cannot be used: {source}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{} is no store key: it has {bytes} bytes instead of {KEY_BYTES}", file.display())]
    BadKey { file: PathBuf, bytes: usize },
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { homeserver, user, device, access_token: _ } = self;
        let mut shown = f.debug_struct("Session");
        shown.field("homeserver", homeserver).field("user", user).field("device", device);
        shown.finish_non_exhaustive()
    }
}

impl Session {
    /// That of a login.
    pub fn new(homeserver: String, session: MatrixSession) -> Self {
        Self {
            homeserver,
            user: session.meta.user_id,
            device: session.meta.device_id,
            access_token: session.tokens.access_token,
        }
    }

    /// As matrix-sdk takes it.
    pub(crate) fn restored(&self) -> MatrixSession {
        MatrixSession {
            meta: SessionMeta { user_id: self.user.clone(), device_id: self.device.clone() },
            tokens: SessionTokens { access_token: self.access_token.clone(), refresh_token: None },
        }
    }
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

    /// Where matrix-sdk keeps its stores.
    pub(crate) fn crypto(&self) -> PathBuf {
        self.at.join("crypto")
    }

    /// The account's session.
    ///
    /// # Errors
    /// There is none, or it does not read.
    pub fn session(&self) -> Result<Session, FolderError> {
        let file = self.at.join("session.json");
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FolderError::NoSession);
            }
            Err(source) => return Err(FolderError::File { file, source }),
        };
        serde_json::from_slice(&text).map_err(|source| FolderError::BadSession { file, source })
    }

    /// Keeps the session of a login that succeeded, whole or not at all.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_session(&self, session: &Session) -> Result<(), FolderError> {
        let text = serde_json::to_vec_pretty(session)
            .expect("a struct of texts is written without an error");
        self.write("session.json", &text)
    }

    /// The key of the encrypted stores, made when there is none.
    ///
    /// # Errors
    /// It cannot be read or written, or is no key.
    pub(crate) fn store_key(&self) -> Result<[u8; KEY_BYTES], FolderError> {
        let file = self.at.join("store.key");
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let fresh: [u8; KEY_BYTES] = rand::random();
                self.write("store.key", &fresh)?;
                return Ok(fresh);
            }
            Err(source) => return Err(FolderError::File { file, source }),
        };
        let count = bytes.len();
        bytes.try_into().map_err(|_| FolderError::BadKey { file, bytes: count })
    }

    /// Makes the folder, for this user alone.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn make(&self) -> Result<(), FolderError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.at);
        made.map_err(|source| FolderError::File { file: self.at.clone(), source })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        self.make()?;
        let file = self.at.join(name);
        let fresh = self.at.join(format!("{name}.new"));
        let write = || {
            match fs::remove_file(&fresh) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let mut to =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
            to.write_all(bytes)?;
            to.sync_all()?;
            fs::rename(&fresh, &file)?;
            fs::File::open(&self.at)?.sync_all()
        };
        write().map_err(|source| FolderError::File { file: file.clone(), source })
    }
}
