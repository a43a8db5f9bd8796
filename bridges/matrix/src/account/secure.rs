//! What makes an account's encryption whole: an identity that signs the device, secrets kept on the
//! homeserver, room keys kept beside them, and the recovery key that opens all of it. An identity that
//! is there is never replaced unless a person says so.

use matrix_sdk::{
    Client, Error, HttpError,
    config::SyncSettings,
    encryption::{
        CrossSigningResetAuthType,
        recovery::{RecoveryError, RecoveryState},
        secret_storage::SecretStorageError,
    },
    ruma::api::{
        client::{
            filter::{FilterDefinition, RoomFilter},
            sync::sync_events::v3::Filter,
            uiaa::{AuthData, MatrixUserIdentifier, Password, UiaaInfo, UserIdentifier},
        },
        error::ErrorKind,
    },
};
use std::time::Duration;

use super::{AskError, Folder, FolderError, Held, Plain, Session, standing};
use crate::{
    connect::{NotReady, build_for_setup, restore},
    why,
};

/// The account, connected for its set-up.
pub struct SetUp {
    client: Client,
    session: Session,
    password: Option<String>,
}

/// How the account's identity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// There is none yet.
    Missing,
    /// It is ours, and this device is signed by it.
    Ours,
    /// It is there, and opened by its recovery key alone.
    Locked,
    /// It is there, and nothing on the homeserver opens it.
    Shut,
}

/// How the secrets stand that the homeserver keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// All of them are there.
    Whole,
    /// None, or not all.
    Wanting,
}

/// What became of a device that is no longer needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldDevice {
    Gone,
    /// It is still among the account's devices; a person can remove it.
    Left,
}

/// Why the account's encryption is not whole.
#[derive(Debug, thiserror::Error)]
pub enum SecureFailed {
    #[error("that is not the account's recovery key")]
    WrongRecoveryKey,
    #[error("the homeserver wants the account's password for that")]
    PasswordNeeded,
    #[error("the homeserver does not take that password")]
    WrongPassword,
    #[error("the homeserver wants a person to allow that first: {0}")]
    ApprovalNeeded(String),
    #[error("the homeserver keeps room keys of the account that nobody here can read")]
    ForeignBackup,
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    NotReady(Box<NotReady>),
    #[error("that came to nothing: {}", why::of_sdk(.0))]
    Failed(Box<Error>),
    #[error("the account's secrets cannot be used: {0}")]
    Secrets(Box<SecretStorageError>),
}

impl From<NotReady> for SecureFailed {
    fn from(error: NotReady) -> Self {
        Self::NotReady(Box::new(error))
    }
}

impl From<Error> for SecureFailed {
    fn from(error: Error) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<HttpError> for SecureFailed {
    fn from(error: HttpError) -> Self {
        Self::Failed(Box::new(error.into()))
    }
}

impl From<FolderError> for SecureFailed {
    fn from(error: FolderError) -> Self {
        Self::NotReady(Box::new(error.into()))
    }
}

impl From<RecoveryError> for SecureFailed {
    fn from(error: RecoveryError) -> Self {
        match error {
            RecoveryError::BackupExistsOnServer => Self::ForeignBackup,
            RecoveryError::Sdk(error) => error.into(),
            RecoveryError::SecretStorage(SecretStorageError::SecretStorageKey(_)) => {
                Self::WrongRecoveryKey
            }
            RecoveryError::SecretStorage(error) => Self::Secrets(Box::new(error)),
        }
    }
}

impl SecureFailed {
    fn is_login_gone(&self) -> bool {
        match self {
            Self::Ask(error) => *error == AskError::UnknownToken,
            Self::Failed(error) => why::is_login_gone(error),
            Self::NotReady(error) => match &**error {
                NotReady::Account(error) => why::is_login_gone(error),
                NotReady::Unreached(error) => matches!(
                    error.client_api_error_kind(),
                    Some(ErrorKind::UnknownToken { .. } | ErrorKind::MissingToken)
                ),
                NotReady::Folder(_)
                | NotReady::Store(_)
                | NotReady::Halves(_)
                | NotReady::Database(_) => false,
            },
            Self::WrongRecoveryKey
            | Self::PasswordNeeded
            | Self::WrongPassword
            | Self::ApprovalNeeded(_)
            | Self::ForeignBackup
            | Self::Secrets(_) => false,
        }
    }

    /// What to do, as a sentence.
    pub fn mend(&self) -> &'static str {
        if self.is_login_gone() {
            return "Log in anew: vigie init matrix --again. Sessions go on.";
        }
        match self {
            Self::WrongRecoveryKey => {
                "It has twelve groups of four letters and digits, or is the passphrase that was chosen in its place. Run this again: vigie init matrix"
            }
            Self::PasswordNeeded | Self::WrongPassword => {
                "Run this again and give the password: vigie init matrix --password-file FILE"
            }
            Self::ApprovalNeeded(_) => "Allow it there, then run this again: vigie init matrix",
            Self::ForeignBackup | Self::Secrets(_) => {
                "If its recovery key is lost, begin with a new identity: vigie init matrix --reset-identity"
            }
            Self::Ask(_) | Self::NotReady(_) | Self::Failed(_) => {
                "Mend that, then run this again: vigie init matrix. It goes on where it was."
            }
        }
    }
}

impl SetUp {
    /// Connects, and lets the homeserver have the device's keys.
    ///
    /// # Errors
    /// The store or the homeserver fails.
    pub async fn begin(
        folder: &Folder,
        _: &Held,
        session: Session,
        password: Option<String>,
    ) -> Result<Self, SecureFailed> {
        folder.goes_with(&session)?;
        let client = build_for_setup(folder, &session.homeserver).await?;
        restore(&client, folder, &session).await?;
        client.encryption().wait_for_e2ee_initialization_tasks().await;
        // What a sync brings of rooms is the bridge's to hear, so none is asked about.
        let mut filter = FilterDefinition::default();
        filter.room = RoomFilter::ignore_all();
        let settings =
            SyncSettings::new().timeout(Duration::ZERO).filter(Filter::FilterDefinition(filter));
        Box::pin(client.sync_once(settings)).await?;
        Ok(Self { client, session, password })
    }

    /// Whose the identity is. A signature that is missing though the identity is ours is made.
    ///
    /// # Errors
    /// Those of the homeserver.
    pub async fn identity(&self) -> Result<Identity, SecureFailed> {
        let encryption = self.client.encryption();
        let known = Box::pin(encryption.request_user_identity(&self.session.user)).await?;
        if known.is_none() {
            return Ok(Identity::Missing);
        }
        if encryption.cross_signing_status().await.is_some_and(|status| status.is_complete()) {
            self.sign().await?;
            return Ok(Identity::Ours);
        }
        let opens = Box::pin(encryption.secret_storage().is_enabled()).await?;
        Ok(if opens { Identity::Locked } else { Identity::Shut })
    }

    async fn sign(&self) -> Result<(), SecureFailed> {
        let device = self.client.encryption().get_own_device().await.map_err(Error::from)?;
        let Some(device) = device.filter(|device| !device.is_cross_signed_by_owner()) else {
            return Ok(());
        };
        let signed = Box::pin(device.verify()).await;
        signed.map_err(|error| SecureFailed::Secrets(Box::new(error.into())))?;
        Box::pin(self.client.encryption().request_user_identity(&self.session.user)).await?;
        Ok(())
    }

    /// Makes the account's first identity. Where there is one already, nothing happens.
    ///
    /// # Errors
    /// The homeserver wants a password, or refuses.
    pub async fn make_identity(&self) -> Result<(), SecureFailed> {
        let encryption = self.client.encryption();
        let Err(error) = Box::pin(encryption.bootstrap_cross_signing_if_needed(None)).await else {
            return Ok(());
        };
        let Some(asked) = error.as_uiaa_response() else { return Err(error.into()) };
        let proof = self.proof(asked)?;
        Box::pin(encryption.bootstrap_cross_signing(Some(proof))).await.map_err(unproved)
    }

    /// Opens the identity and the secrets with the recovery key; this device is signed then, and old
    /// messages can be read.
    ///
    /// # Errors
    /// [`SecureFailed::WrongRecoveryKey`], with which nothing was changed.
    pub async fn recover(&self, key: &str) -> Result<(), SecureFailed> {
        let recovery = self.client.encryption().recovery();
        Ok(Box::pin(recovery.recover_and_fix_backup(key)).await?)
    }

    /// Puts a new identity in the place of the one that is there. Everybody who verified the account
    /// has to do so again, and what only the old secrets open is lost.
    ///
    /// # Errors
    /// The homeserver wants a password, or refuses.
    pub async fn reset_identity(&self) -> Result<(), SecureFailed> {
        let recovery = self.client.encryption().recovery();
        let Some(handle) = Box::pin(recovery.reset_identity()).await? else { return Ok(()) };
        let proof = match handle.auth_type() {
            CrossSigningResetAuthType::Uiaa(asked) => self.proof(asked)?,
            CrossSigningResetAuthType::OAuth(asked) => {
                return Err(SecureFailed::ApprovalNeeded(asked.approval_url.to_string()));
            }
        };
        Box::pin(handle.reset(Some(proof))).await.map_err(|error| match error {
            RecoveryError::Sdk(error) => unproved(error),
            other => other.into(),
        })
    }

    /// How the secrets stand that the homeserver keeps.
    ///
    /// # Errors
    /// Those of the homeserver.
    pub async fn storage(&self) -> Result<Storage, SecureFailed> {
        let enabled = Box::pin(self.client.encryption().secret_storage().is_enabled()).await?;
        let whole =
            enabled && self.client.encryption().recovery().state() == RecoveryState::Enabled;
        Ok(if whole { Storage::Whole } else { Storage::Wanting })
    }

    /// Puts the account's secrets on the homeserver anew, and says the key that opens them: the one
    /// before it opens nothing any more. It is in no file yet.
    ///
    /// # Errors
    /// Those of the homeserver.
    pub async fn new_recovery_key(&self) -> Result<String, SecureFailed> {
        let encryption = self.client.encryption();
        let recovery = encryption.recovery();
        if encryption.backups().are_enabled().await
            && Box::pin(encryption.secret_storage().is_enabled()).await?
        {
            return Ok(recovery.reset_key().await?);
        }
        Ok(recovery.enable().wait_for_backups_to_upload().await?)
    }

    /// Removes a device whose keys are lost: by its own token, or with the password.
    pub async fn remove_device(&self, old: &Session) -> OldDevice {
        if old.device == self.session.device {
            return OldDevice::Gone;
        }
        if let Ok(plain) = Plain::of(old)
            && plain.log_out().await.is_ok()
        {
            return OldDevice::Gone;
        }
        match self.delete(old).await {
            Ok(()) => OldDevice::Gone,
            Err(_) => OldDevice::Left,
        }
    }

    async fn delete(&self, old: &Session) -> Result<(), SecureFailed> {
        if !Plain::of(&self.session)?.has_device(&old.device).await? {
            return Ok(());
        }
        let devices = [old.device.clone()];
        let Err(error) = Box::pin(self.client.delete_devices(&devices, None)).await else {
            return Ok(());
        };
        let Some(asked) = error.as_uiaa_response() else { return Err(error.into()) };
        let proof = self.proof(asked)?;
        Box::pin(self.client.delete_devices(&devices, Some(proof))).await?;
        Ok(())
    }

    /// Whether all of it stands, as the bridge will ask from now on.
    ///
    /// # Errors
    /// What does not.
    pub async fn check(&self) -> Result<standing::Standing, standing::Trouble> {
        standing::check(&self.client, &self.session).await
    }

    /// The password, as the homeserver wants to see it once more.
    fn proof(&self, asked: &UiaaInfo) -> Result<AuthData, SecureFailed> {
        let password = self.password.clone().ok_or(SecureFailed::PasswordNeeded)?;
        let user = MatrixUserIdentifier::new(self.session.user.to_string());
        let mut proof = Password::new(UserIdentifier::Matrix(user), password);
        proof.session.clone_from(&asked.session);
        Ok(AuthData::Password(proof))
    }
}

/// Asked for a proof again: the one that was given is none.
fn unproved(error: Error) -> SecureFailed {
    if error.as_uiaa_response().is_some() { SecureFailed::WrongPassword } else { error.into() }
}
