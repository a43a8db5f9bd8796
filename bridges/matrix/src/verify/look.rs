//! `vigie matrix status`: the account, its keys, its rooms and the people in them.

use matrix_sdk::{
    Client, RoomState,
    encryption::{backups::BackupState, recovery::RecoveryState},
    ruma::{RoomId, UserId},
};
use std::collections::BTreeSet;
use vigie_core::{Timestamp, bridge::Bridge as _};

use super::{
    known::{self, RoomRow, Written},
    model::{NotDone, PeerDevice},
    standing::{Standing, Stands, stands},
};
use crate::{MatrixBridge, Rule, store::Store};

/// How the account stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub user: String,
    pub device: String,
    pub homeserver: String,
    /// The device's own key, in Base64: what people compare by hand.
    pub ed25519: Option<String>,
    /// Whether the account's owner signed this device, as far as our own store knows.
    pub signed: bool,
    /// Whether the account's keys lie in secret storage.
    pub recovery: Backup,
    /// Whether the keys of messages do.
    pub backup: Backup,
    /// When the homeserver last told everything.
    pub heard: Option<Timestamp>,
    pub trouble: Option<String>,
    pub rooms: Vec<RoomLook>,
    pub people: Vec<PersonLook>,
    /// Whether devices that their owner has not signed get the keys of what is said.
    pub unsigned_read: bool,
    /// Messages that wait for their keys.
    pub sealed: u64,
}

/// Whether something is kept at the homeserver, encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backup {
    On,
    Off,
    /// Some of it is missing.
    Incomplete,
    /// Nobody asked the homeserver yet, or it is being changed.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomLook {
    pub room: String,
    /// As its members see it: data from outside.
    pub name: Option<String>,
    pub kind: RoomKind,
    pub encrypted: bool,
}

/// What a room is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomKind {
    Chat,
    Session,
    Space,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonLook {
    pub user: String,
    pub standing: Standing,
    /// Their present master key, and the one they were taken for until now; in Base64.
    pub identity: Option<String>,
    pub known: Option<String>,
    /// Devices of theirs that they have not signed.
    pub unsigned: Vec<PeerDevice>,
}

impl MatrixBridge {
    /// How the account stands, from what is here: the homeserver is not asked.
    ///
    /// # Errors
    /// The account cannot be used, or its files cannot be read.
    pub async fn look(&self) -> Result<Look, NotDone> {
        let client = self.ready().await?;
        let unread = |why: String| NotDone::NotReady { why };
        let Written { rooms, people, sealed } =
            known::written(&self.store).await.map_err(|error| unread(error.to_string()))?;
        let encryption = client.encryption();
        let own = encryption.get_own_device().await.map_err(|error| unread(error.to_string()))?;
        let health = self.health();
        Ok(Look {
            user: self.session.user.to_string(),
            device: self.session.device.to_string(),
            homeserver: self.session.homeserver.clone(),
            ed25519: encryption.ed25519_key().await,
            signed: own.is_some_and(|device| device.is_cross_signed_by_owner()),
            recovery: recovery(encryption.recovery().state()),
            backup: backup(encryption.backups().state()),
            heard: health.heard,
            trouble: health.trouble,
            rooms: rooms.into_iter().filter_map(|row| room(&client, row)).collect(),
            people: stand(&client, &self.store, self.everybody(people)).await.map_err(unread)?,
            unsigned_read: self.policy.unsigned_devices == Rule::Accept,
            sealed,
        })
    }

    /// Those of the configuration, and who was admitted.
    fn everybody(&self, admitted: Vec<String>) -> BTreeSet<String> {
        self.people.iter().cloned().chain(admitted).collect()
    }
}

async fn stand(
    client: &Client,
    store: &Store,
    people: BTreeSet<String>,
) -> Result<Vec<PersonLook>, String> {
    let mut all = Vec::new();
    for user in people {
        // The configuration checks its own, and what was heard came from such an id.
        let Ok(id) = UserId::parse(&user) else { continue };
        let stands = stands(client, store, &id).await.map_err(|error| error.to_string())?;
        let Stands { standing, identity, known } = stands;
        let devices = client.encryption().get_user_devices(&id).await;
        let devices = devices.map_err(|error| error.to_string())?;
        let unsigned = devices.devices().filter(|device| !device.is_cross_signed_by_owner());
        let unsigned = unsigned.map(|device| PeerDevice {
            id: device.device_id().to_string(),
            name: device.display_name().map(str::to_owned),
        });
        let unsigned = unsigned.collect();
        all.push(PersonLook { user, standing, identity, known, unsigned });
    }
    Ok(all)
}

/// A room we are in; of one we left, the bridge's file may hear later.
fn room(client: &Client, row: RoomRow) -> Option<RoomLook> {
    let RoomRow { room, kind, encrypted } = row;
    let known = RoomId::parse(&room).ok().and_then(|id| client.get_room(&id))?;
    let name = known.cached_display_name().map(|name| name.to_string());
    (known.state() == RoomState::Joined).then_some(RoomLook { room, name, kind, encrypted })
}

fn recovery(state: RecoveryState) -> Backup {
    match state {
        RecoveryState::Enabled => Backup::On,
        RecoveryState::Disabled => Backup::Off,
        RecoveryState::Incomplete => Backup::Incomplete,
        RecoveryState::Unknown => Backup::Unknown,
    }
}

fn backup(state: BackupState) -> Backup {
    match state {
        BackupState::Enabled => Backup::On,
        BackupState::Unknown
        | BackupState::Creating
        | BackupState::Enabling
        | BackupState::Resuming
        | BackupState::Downloading
        | BackupState::Disabling => Backup::Unknown,
    }
}
