use matrix_sdk::{
    Client,
    encryption::{CryptoStoreError, identities::UserIdentity},
    ruma::UserId,
};
use vigie_bridge_kit::database::DatabaseError;

use crate::store::Store;

/// How far it is known that somebody is who they say they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A person at the desk compared emoji with them, and their identity is the same since.
    Verified,
    /// Nobody compared anything with them yet.
    Unverified,
    /// They have no identity: nobody can compare anything, and no device of theirs is signed.
    NoIdentity,
    /// Nobody compared anything with them, and their identity is another one than the one that they
    /// were taken for from the first.
    Renewed,
    /// They were verified, and what stands under their name now is another identity. Nothing of
    /// theirs is believed until they are verified again, or an owner says that they need not be.
    Changed,
}

/// How somebody stands, and by which identities: master keys in Base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    pub standing: Standing,
    pub identity: Option<String>,
    /// The one that they were taken for until now.
    pub known: Option<String>,
}

/// Nothing is known, and nothing should be believed.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    #[error(transparent)]
    Keys(#[from] CryptoStoreError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// How `user` stands, by what is in the account's own stores: it asks nobody, and changes nothing.
///
/// # Errors
/// A store cannot be read.
pub(crate) async fn stands(
    client: &Client,
    store: &Store,
    user: &UserId,
) -> Result<Stands, Unread> {
    let found = client.encryption().get_user_identity(user).await?;
    let known = store.identity(user.as_str()).await?;
    let identity = found.as_ref().and_then(master_key);
    let standing = match &found {
        Some(found) if found.is_verified() => Standing::Verified,
        Some(found) if found.has_verification_violation() => Standing::Changed,
        Some(_) if known.is_some() && known != identity => Standing::Renewed,
        Some(_) => Standing::Unverified,
        None => Standing::NoIdentity,
    };
    Ok(Stands { standing, identity, known })
}

/// In Base64, as apps show it.
pub(crate) fn master_key(identity: &UserIdentity) -> Option<String> {
    Some(identity.master_key().get_first_key()?.to_base64())
}

impl Stands {
    /// The identity that somebody is to be taken for from now on, if it is not yet known to be theirs.
    pub(crate) fn to_take(&self) -> Option<&str> {
        let identity = self.identity.as_deref()?;
        let news = match self.standing {
            Standing::Verified => self.known.as_deref() != Some(identity),
            Standing::Unverified => self.known.is_none(),
            Standing::NoIdentity | Standing::Renewed | Standing::Changed => false,
        };
        news.then_some(identity)
    }
}

/// A key as apps show it for comparing by eye.
pub(crate) fn in_fours(key: &str) -> String {
    let letters: Vec<char> = key.chars().collect();
    let fours: Vec<String> = letters.chunks(4).map(|four| four.iter().collect()).collect();
    fours.join(" ")
}
