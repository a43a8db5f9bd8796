use matrix_sdk::{Client, encryption::CryptoStoreError, ruma::UserId};

/// How far it is known that somebody is who they say they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A person at the desk compared emoji with them, and their identity is the same since.
    Verified,
    /// Nobody compared anything with them yet, or they have no identity that could be.
    Unverified,
    /// They were verified, and what stands under their name now is another identity. Nothing of
    /// theirs is believed until they are verified again, or an owner says that they need not be.
    Changed,
}

/// How `user` stands, by what is in the account's own store: it asks nobody.
///
/// # Errors
/// The store cannot be read; then nothing is known, and nothing should be believed.
pub async fn standing(client: &Client, user: &UserId) -> Result<Standing, CryptoStoreError> {
    let identity = client.encryption().get_user_identity(user).await?;
    Ok(match identity {
        Some(identity) if identity.is_verified() => Standing::Verified,
        Some(identity) if identity.has_verification_violation() => Standing::Changed,
        Some(_) | None => Standing::Unverified,
    })
}
