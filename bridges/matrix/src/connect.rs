//! The one client of the account: built, rewound to where the bridge's own file is, and restored.

use matrix_sdk::{
    AuthSession, Client, ClientBuildError, HttpError, SqliteStoreConfig,
    config::RequestConfig,
    encryption::{BackupDownloadStrategy, EncryptionSettings},
    store::{StateStoreDataKey, StateStoreDataValue},
};
use matrix_sdk_base::crypto::{CollectStrategy, DecryptionSettings, TrustRequirement};
use std::{path::PathBuf, time::Duration};

use crate::{
    account::{Folder, FolderError, Session},
    bridge::{Policy, Rule},
};

/// For one answer of the homeserver's; a long poll has its own wait on top.
const ANSWER: Duration = Duration::from_secs(30);

/// Why the account cannot be used right now.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the encrypted store does not open: {0}")]
    Store(#[from] ClientBuildError),
    #[error("the homeserver was not reached: {0}")]
    Unreached(#[from] HttpError),
    #[error("the account cannot be used: {0}")]
    Account(#[from] matrix_sdk::Error),
    #[error("the bridge's file cannot be read: {0}")]
    Database(#[from] vigie_bridge_kit::database::DatabaseError),
}

/// A client on the folder's stores, nobody logged in yet. What fails is said at once and tried again
/// by whoever asked: nothing waits inside of it.
pub(crate) async fn build(
    folder: &Folder,
    homeserver: &str,
    policy: Policy,
) -> Result<Client, NotReady> {
    folder.make()?;
    let key = folder.store_key()?;
    let store = SqliteStoreConfig::with_low_memory_config(folder.crypto()).key(Some(&key));
    let strategy = match policy.unsigned_devices {
        Rule::Refuse => CollectStrategy::IdentityBasedStrategy,
        Rule::Accept => CollectStrategy::AllDevices,
    };
    let trust = match policy.unsigned_devices {
        Rule::Refuse => TrustRequirement::CrossSigned,
        Rule::Accept => TrustRequirement::Untrusted,
    };
    let client = Client::builder()
        .homeserver_url(homeserver)
        .sqlite_store_with_config_and_cache_path(store, None::<PathBuf>)
        .request_config(RequestConfig::new().disable_retry().timeout(ANSWER))
        .with_encryption_settings(EncryptionSettings {
            auto_enable_cross_signing: true,
            auto_enable_backups: true,
            backup_download_strategy: BackupDownloadStrategy::AfterDecryptionFailure,
        })
        .with_room_key_recipient_strategy(strategy)
        .with_decryption_settings(DecryptionSettings { sender_device_trust_requirement: trust })
        .build()
        .await?;
    Ok(client)
}

/// The account's client, which hears on from `cursor`: what matrix-sdk counts itself is set back, since
/// it counts before anybody has written down what came.
pub(crate) async fn connect(
    folder: &Folder,
    session: &Session,
    policy: Policy,
    cursor: Option<String>,
) -> Result<Client, NotReady> {
    let client = build(folder, &session.homeserver, policy).await?;
    let store = client.state_store();
    match cursor {
        Some(cursor) => {
            let value = StateStoreDataValue::SyncToken(cursor);
            store.set_kv_data(StateStoreDataKey::SyncToken, value).await
        }
        None => store.remove_kv_data(StateStoreDataKey::SyncToken).await,
    }
    .map_err(matrix_sdk::Error::from)?;
    client.restore_session(AuthSession::Matrix(session.restored())).await?;
    Ok(client)
}
