//! A login: made beside what is there, and put in its place once it has succeeded.

use matrix_sdk::{
    Client, Error,
    ruma::{
        OwnedUserId, UserId,
        api::error::{ErrorKind, RetryAfter},
    },
};
use std::{fs, path::PathBuf, time::Duration};
use vigie_core::Timestamp;

use super::{AskError, Folder, FolderError, Held, Plain, Session, folder::removed};
use crate::{
    connect::{NotReady, build_for_setup, restore},
    why,
};

/// Who logs in where.
pub struct Login<'a> {
    /// As [`super::find`] found it.
    pub homeserver: &'a str,
    pub way: Way<'a>,
    /// What the account's list of devices calls us.
    pub device_name: &'a str,
    /// Only this account will do: what else is in the folder is its.
    pub only: Option<&'a UserId>,
}

#[derive(Clone, Copy)]
pub enum Way<'a> {
    Password {
        user: &'a str,
        password: &'a str,
    },
    /// An access token that was made for us.
    Token(&'a str),
}

/// A login that succeeded and is in place.
#[derive(Clone, Debug)]
pub struct LoggedIn {
    pub session: Session,
    /// Where the login before it lies now.
    pub aside: Option<PathBuf>,
}

/// Why nobody is logged in. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum LoginFailed {
    #[error("the homeserver does not take that user and password")]
    WrongPassword,
    #[error("the homeserver lets nobody log in with a password")]
    NoPasswords,
    #[error("the homeserver knows no such access token")]
    WrongToken,
    #[error("the access token belongs to no device, so nothing can be encrypted for it")]
    NoDevice,
    #[error("the access token is a guest's")]
    Guest,
    #[error("the access token belongs to device {0}, which another program has its keys for")]
    ForeignDevice(String),
    #[error("that is {found}, and this is the account {wanted}")]
    OtherAccount { found: OwnedUserId, wanted: OwnedUserId },
    #[error("the account is switched off")]
    Deactivated,
    #[error("the homeserver asks to wait {} s before the next try", after.as_secs().max(1))]
    Later { after: Duration },
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    NotReady(Box<NotReady>),
    #[error("the login failed: {}", why::of_sdk(.0))]
    Failed(Box<Error>),
}

impl From<NotReady> for LoginFailed {
    fn from(error: NotReady) -> Self {
        Self::NotReady(Box::new(error))
    }
}

impl From<FolderError> for LoginFailed {
    fn from(error: FolderError) -> Self {
        Self::NotReady(Box::new(error.into()))
    }
}

impl LoginFailed {
    /// What to do, as a sentence.
    pub fn mend(&self) -> &'static str {
        match self {
            Self::WrongPassword => "Try again; nothing was changed.",
            Self::NoPasswords => {
                "Get an access token from its administrator, or from a login of its own, and give it: --token-file FILE"
            }
            Self::WrongToken => "Copy it whole; it is over once its session was logged out.",
            Self::NoDevice | Self::Guest => {
                "Log in with the account's password, or with a token that a login gave."
            }
            Self::ForeignDevice(_) => {
                "Two programs cannot share a device. Log in with the password, or get a token of a login that nothing else uses."
            }
            Self::OtherAccount { .. } => {
                "For another account move the folder `matrix` out of Vigie's own folder first."
            }
            Self::Deactivated => "Its administrator can switch it on again.",
            Self::Later { .. } => "Then run this again.",
            Self::Ask(_) | Self::NotReady(_) | Self::Failed(_) => {
                "Mend that, then run this again; nothing was changed."
            }
        }
    }
}

/// Logs in as a new device, and puts that in place of what was there, which is kept aside.
///
/// # Errors
/// Why not; what was there before is as it was.
pub async fn log_in(
    folder: &Folder,
    held: &Held,
    login: &Login<'_>,
    now: Timestamp,
) -> Result<LoggedIn, LoginFailed> {
    let staging = folder.staging(held, now)?;
    match Box::pin(begin(&staging, login)).await {
        Ok(session) => Ok(LoggedIn { session, aside: folder.adopt(held, now)? }),
        Err(error) => {
            removed(staging.path(), fs::remove_dir_all(staging.path()))?;
            Err(error)
        }
    }
}

/// The login as such. Its client is gone when this returns, so that its files can be moved.
async fn begin(staging: &Folder, login: &Login<'_>) -> Result<Session, LoginFailed> {
    let client = build_for_setup(staging, login.homeserver).await?;
    let session = match login.way {
        Way::Password { user, password } => with_password(&client, login, user, password).await?,
        Way::Token(token) => {
            let session = of_token(login, token).await?;
            restore(&client, staging, &session).await?;
            session
        }
    };
    client.encryption().wait_for_e2ee_initialization_tasks().await;
    let session = session.with_key(client.encryption().ed25519_key().await);
    staging.keep_session(&session)?;
    Ok(session)
}

async fn with_password(
    client: &Client,
    login: &Login<'_>,
    user: &str,
    password: &str,
) -> Result<Session, LoginFailed> {
    let auth = client.matrix_auth();
    let request =
        auth.login_username(user, password).initial_device_display_name(login.device_name);
    Box::pin(request.send()).await.map_err(refused)?;
    let session = auth.session().expect("a login that succeeded has a session");
    let session = Session::new(login.homeserver.into(), session);
    if let Err(other) = login.fits(&session.user) {
        // That device was made a moment ago, for nothing.
        if let Ok(plain) = Plain::of(&session) {
            let _ = plain.log_out().await;
        }
        return Err(other);
    }
    Ok(session)
}

/// The session that a token belongs to, if it can be ours: the homeserver says which account and
/// device it is, and that device has no keys yet.
async fn of_token(login: &Login<'_>, token: &str) -> Result<Session, LoginFailed> {
    let plain = Plain::new(login.homeserver)?.with_token(token);
    let whoami = plain.whoami().await.map_err(|error| match error {
        AskError::UnknownToken => LoginFailed::WrongToken,
        other => other.into(),
    })?;
    if whoami.is_guest {
        return Err(LoginFailed::Guest);
    }
    login.fits(&whoami.user)?;
    let device = whoami.device.ok_or(LoginFailed::NoDevice)?;
    if plain.published(&whoami.user, &device).await?.device.is_some() {
        return Err(LoginFailed::ForeignDevice(device));
    }
    Ok(Session::of_token(login.homeserver.into(), whoami.user, device.into(), token.into()))
}

impl Login<'_> {
    fn fits(&self, found: &UserId) -> Result<(), LoginFailed> {
        match self.only {
            Some(wanted) if wanted != found => {
                let (found, wanted) = (found.to_owned(), wanted.to_owned());
                Err(LoginFailed::OtherAccount { found, wanted })
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn refused(error: Error) -> LoginFailed {
    match error.client_api_error_kind() {
        Some(ErrorKind::Forbidden) => LoginFailed::WrongPassword,
        Some(ErrorKind::UserDeactivated) => LoginFailed::Deactivated,
        Some(ErrorKind::LimitExceeded(limit)) => {
            let after = match limit.retry_after {
                Some(RetryAfter::Delay(after)) => after,
                Some(RetryAfter::DateTime(_)) | None => Duration::from_secs(1),
            };
            LoginFailed::Later { after }
        }
        Some(ErrorKind::Unrecognized | ErrorKind::Unknown) => LoginFailed::NoPasswords,
        _ => LoginFailed::Failed(Box::new(error)),
    }
}
