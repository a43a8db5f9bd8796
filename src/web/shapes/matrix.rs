//! The account on Matrix and its verifications, as they cross the API.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use vigie_core::Timestamp;

/// How the account on Matrix stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatrixShape {
    pub user: String,
    pub device: String,
    /// Of the device, in Base64, to compare by hand.
    pub ed25519: Option<String>,
    /// Whether the device is signed by the account's own identity.
    pub signed: bool,
    pub homeserver: String,
    /// Secret storage: `on`, `off`, `incomplete` or `unknown`.
    pub recovery: String,
    /// The backup of message keys; likewise.
    pub backup: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub heard: Option<Timestamp>,
    pub trouble: Option<String>,
    pub rooms: Vec<MatrixRoomShape>,
    pub people: Vec<MatrixPersonShape>,
    /// Whether devices that their owner has not signed get the keys of what is said.
    pub unsigned_read: bool,
    /// Messages that wait for their keys.
    pub sealed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatrixRoomShape {
    pub id: String,
    pub name: Option<String>,
    /// `chat`, `session` or `space`.
    pub kind: String,
    pub encrypted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatrixPersonShape {
    pub user: String,
    /// `verified`, `unverified`, `no_identity`, `renewed`: another identity than the first one, which
    /// nobody verified, or `changed`: another one than the one that was verified.
    pub standing: String,
    /// Their present master key, in Base64.
    pub identity: Option<String>,
    /// The one that they were taken for until now.
    pub known: Option<String>,
    /// Devices of theirs that they have not signed.
    pub unsigned: Vec<MatrixDeviceShape>,
}

/// A device as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MatrixDeviceShape {
    pub id: String,
    pub name: Option<String>,
}

/// Taking somebody for the owner of that identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptIdentity {
    /// The master key that was looked at.
    pub identity: String,
}

/// One verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerificationShape {
    pub id: String,
    pub user: String,
    pub device: Option<String>,
    /// What the device calls itself.
    pub device_name: Option<String>,
    pub begun: VerificationBegun,
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// It ends by itself then.
    #[schema(value_type = String, format = DateTime)]
    pub until: Timestamp,
    pub state: VerificationState,
    /// While they are compared: seven, or none where the other app can only show numbers.
    pub emoji: Vec<EmojiShape>,
    /// While they are compared.
    pub decimals: Option<[u16; 3]>,
    /// How it ended, and what to do next.
    pub words: Option<String>,
    pub hint: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationBegun {
    ByThem,
    AtTheDesk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationState {
    /// They ask; somebody at the desk has to take it.
    Asked,
    /// The other device goes on next.
    Waiting,
    Comparing,
    /// Said to be the same here, and not there yet.
    Confirmed,
    Verified,
    /// It ended otherwise.
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EmojiShape {
    pub symbol: String,
    pub name: String,
}

/// Asks a person to be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVerification {
    pub user: String,
}

/// Says that it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmVerification {
    /// The names of the emoji in their order, or the numbers where there are none.
    pub same: Vec<String>,
}
