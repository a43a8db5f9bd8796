//! Who we are on which homeserver.

use matrix_sdk::{
    SessionMeta, SessionTokens,
    authentication::matrix::MatrixSession,
    ruma::{OwnedDeviceId, OwnedUserId},
};
use serde::{Deserialize, Serialize};

/// Who we are on which homeserver, as `session.json` has it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// `https://matrix.example.org`: where the client API answers.
    pub homeserver: String,
    pub user: OwnedUserId,
    pub device: OwnedDeviceId,
    access_token: String,
    /// The device's own public key, as the login made it: a store with another one is not its store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { homeserver, user, device, access_token: _, key } = self;
        let mut shown = f.debug_struct("Session");
        shown.field("homeserver", homeserver).field("user", user).field("device", device);
        shown.field("key", key).finish_non_exhaustive()
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
            key: None,
        }
    }

    /// That of a token that was got elsewhere.
    pub(super) fn of_token(
        homeserver: String,
        user: OwnedUserId,
        device: OwnedDeviceId,
        access_token: String,
    ) -> Self {
        Self { homeserver, user, device, access_token, key: None }
    }

    /// With the device's public key (Ed25519, base64), so that a lost store is noticed.
    #[must_use]
    pub(super) fn with_key(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// The device's public key, where the login noted it.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(super) fn token(&self) -> &str {
        &self.access_token
    }

    /// As matrix-sdk takes it.
    pub(crate) fn restored(&self) -> MatrixSession {
        MatrixSession {
            meta: SessionMeta { user_id: self.user.clone(), device_id: self.device.clone() },
            tokens: SessionTokens { access_token: self.access_token.clone(), refresh_token: None },
        }
    }
}
