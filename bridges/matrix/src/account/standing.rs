//! Whether the account can do what the bridge needs of it, as the homeserver and the store see it.
//! Looked at when hearing begins, and once a day.

use matrix_sdk::{
    Client, HttpError,
    ruma::{OwnedDeviceId, OwnedUserId, api::error::ErrorKind},
};

use super::{AskError, Plain, Published, Session, Whoami};

/// All is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub user: OwnedUserId,
    pub device: OwnedDeviceId,
    /// Room keys are kept on the homeserver, so that a lost store costs no old messages.
    pub backup: bool,
}

/// Why the account cannot do its work; each is a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error(
        "the homeserver has logged this account out; log in anew: vigie down, then vigie init matrix --again"
    )]
    LoggedOut,
    #[error(
        "the access token is that of {found}, not of {wanted}; log in anew: vigie down, then vigie init matrix --again"
    )]
    OtherAccount { found: String, wanted: String },
    #[error(
        "the homeserver has no keys of this device ({device}), so nobody can encrypt for it; log in anew: vigie down, then vigie init matrix --again"
    )]
    NoKeys { device: String },
    #[error(
        "the homeserver has other keys of this device ({device}) than the store here, so what is sent to it cannot be read; log in anew: vigie down, then vigie init matrix --again"
    )]
    OtherKeys { device: String },
    #[error(
        "the account has no identity that signs its device, so others may refuse to write to it; make one: vigie down, then vigie init matrix"
    )]
    NoIdentity,
    #[error(
        "this device ({device}) is not signed by the account's identity, so others may refuse to write to it; sign it: vigie down, then vigie init matrix"
    )]
    Unsigned { device: String },
    #[error(
        "the homeserver has keys that this store does not know of, as after a copy of it was used; log in anew: vigie down, then vigie init matrix --again"
    )]
    DoubledKeys,
    #[error("the homeserver was not reached: {0}")]
    Unreached(String),
}

impl Trouble {
    /// Asking again changes nothing until a person has done something.
    pub fn is_final(&self) -> bool {
        match self {
            Self::LoggedOut
            | Self::OtherAccount { .. }
            | Self::NoKeys { .. }
            | Self::OtherKeys { .. }
            | Self::DoubledKeys => true,
            Self::NoIdentity | Self::Unsigned { .. } | Self::Unreached(_) => false,
        }
    }

    /// What an answer of the homeserver's says about the account; `None`: nothing.
    pub fn told_by(error: &matrix_sdk::Error) -> Option<Self> {
        kind(error.client_api_error_kind())
    }

    /// As [`Trouble::told_by`].
    pub fn told_by_http(error: &HttpError) -> Option<Self> {
        kind(error.client_api_error_kind())
    }
}

fn kind(kind: Option<&ErrorKind>) -> Option<Trouble> {
    match kind {
        // A soft logout would let the device go on, after its password: the same for a person.
        Some(ErrorKind::UnknownToken(_) | ErrorKind::MissingToken) => Some(Trouble::LoggedOut),
        _ => None,
    }
}

/// Looks at the account: whose the token is, which keys of the device others are told of, and whether
/// the account's identity signs them.
///
/// # Errors
/// The first thing that is wrong.
pub async fn check(client: &Client, session: &Session) -> Result<Standing, Trouble> {
    let plain = Plain::of(session)?;
    let whoami = plain.whoami().await?;
    let published = plain.published(&session.user, session.device.as_str()).await?;
    let key = client.encryption().ed25519_key().await;
    judge(session, &whoami, &published, key.as_deref())?;
    if !is_signed(client, session).await {
        return Err(Trouble::Unsigned { device: session.device.to_string() });
    }
    let backup = plain.has_backup().await? && client.encryption().backups().are_enabled().await;
    Ok(Standing { user: session.user.clone(), device: session.device.clone(), backup })
}

/// What the homeserver says of the device, against what the store has.
fn judge(
    session: &Session,
    whoami: &Whoami,
    published: &Published,
    key: Option<&str>,
) -> Result<(), Trouble> {
    let device = session.device.to_string();
    if whoami.user != session.user || whoami.device.as_deref() != Some(session.device.as_str()) {
        let of = whoami.device.as_deref().unwrap_or("no device");
        let found = format!("{} ({of})", whoami.user);
        let wanted = format!("{} ({device})", session.user);
        return Err(Trouble::OtherAccount { found, wanted });
    }
    match &published.device {
        None => Err(Trouble::NoKeys { device }),
        Some(known) if Some(known.key.as_str()) != key => Err(Trouble::OtherKeys { device }),
        Some(_) if !published.identity => Err(Trouble::NoIdentity),
        Some(known) if !known.signed => Err(Trouble::Unsigned { device }),
        Some(_) => Ok(()),
    }
}

/// Whether the signature is right, which only a client can tell.
async fn is_signed(client: &Client, session: &Session) -> bool {
    let encryption = client.encryption();
    // Should that fail, what was known before is as good.
    let _ = Box::pin(encryption.request_user_identity(&session.user)).await;
    let device = encryption.get_own_device().await;
    device.ok().flatten().is_some_and(|device| device.is_cross_signed_by_owner())
}

/// Waits until the homeserver says that it has keys of this device that its store does not know of.
pub async fn doubled_keys(client: &Client) -> Trouble {
    let mut doubled = client.subscribe_to_duplicate_key_upload_errors();
    // One that came too fast to be read is one as well; only a client that is gone says no more.
    match doubled.recv().await {
        Err(tokio::sync::broadcast::error::RecvError::Closed) => std::future::pending().await,
        Ok(_) | Err(_) => Trouble::DoubledKeys,
    }
}

impl From<AskError> for Trouble {
    fn from(error: AskError) -> Self {
        match error {
            AskError::UnknownToken => Self::LoggedOut,
            other => Self::Unreached(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::PublishedDevice, *};
    use matrix_sdk::ruma::{owned_device_id, owned_user_id};

    #[test]
    fn a_device_must_be_the_one_that_others_are_told_of() {
        let user = owned_user_id!("@vigie:example.org");
        let (home, token) = ("https://matrix.example.org".to_owned(), "token".to_owned());
        let session = Session::of_token(home, user.clone(), owned_device_id!("OURS"), token);
        let whoami = Whoami { user, device: Some("OURS".into()), is_guest: false };
        let device = |key: &str, signed| Some(PublishedDevice { key: key.into(), signed });
        let judged = |whoami: &Whoami, identity, device| {
            judge(&session, whoami, &Published { identity, device }, Some("key"))
        };
        let named = || "OURS".to_owned();
        assert_eq!(judged(&whoami, true, device("key", true)), Ok(()));
        for (identity, device, trouble) in [
            (true, None, Trouble::NoKeys { device: named() }),
            (true, device("other", true), Trouble::OtherKeys { device: named() }),
            (false, device("key", false), Trouble::NoIdentity),
            (true, device("key", false), Trouble::Unsigned { device: named() }),
        ] {
            assert_eq!(judged(&whoami, identity, device), Err(trouble));
        }
        let other = Whoami { device: Some("PHONE".into()), ..whoami.clone() };
        let trouble = judged(&other, true, device("key", true)).unwrap_err();
        assert!(trouble.to_string().contains("@vigie:example.org (PHONE)"), "{trouble}");
        let none = Whoami { device: None, ..whoami };
        assert!(judged(&none, true, device("key", true)).is_err());
    }
}
