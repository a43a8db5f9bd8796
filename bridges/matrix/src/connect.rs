//! The one client of the account: built, rewound to where the bridge's own file is, and restored.

use matrix_sdk::{
    AuthSession, Client, ClientBuildError, ClientBuilder, HttpError, SqliteStoreConfig,
    config::RequestConfig,
    encryption::{BackupDownloadStrategy, EncryptionSettings},
    reqwest::{self, redirect, tls},
    store::{StateStoreDataKey, StateStoreDataValue},
};
use matrix_sdk_base::{
    crypto::{CollectStrategy, DecryptionSettings, TrustRequirement},
    store::RoomLoadSettings,
};
use std::{path::PathBuf, time::Duration};

use crate::{
    account::{Folder, FolderError, Session},
    bridge::{Policy, Rule},
    why,
};

/// For one answer of the homeserver's; a long poll has its own wait on top.
const ANSWER: Duration = Duration::from_secs(30);

/// Why the account cannot be used right now.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(
        "the encrypted store does not open with its key; put both back as they were, or log in anew: vigie init matrix --again"
    )]
    Store(Box<ClientBuildError>),
    #[error("the homeserver was not reached: {}", why::of_http(.0))]
    Unreached(Box<HttpError>),
    #[error("the account cannot be used: {}", why::of_sdk(.0))]
    Account(Box<matrix_sdk::Error>),
    #[error("the encrypted store cannot be looked through ({0}); look at the disk it is on")]
    Halves(#[source] vigie_bridge_kit::database::DatabaseError),
    #[error("the bridge's file cannot be read: {0}")]
    Database(#[from] vigie_bridge_kit::database::DatabaseError),
}

impl From<ClientBuildError> for NotReady {
    fn from(error: ClientBuildError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl From<HttpError> for NotReady {
    fn from(error: HttpError) -> Self {
        Self::Unreached(Box::new(error))
    }
}

impl From<matrix_sdk::Error> for NotReady {
    fn from(error: matrix_sdk::Error) -> Self {
        Self::Account(Box::new(error))
    }
}

/// A client on the folder's stores, nobody logged in yet. What fails is said at once and tried again
/// by whoever asked: nothing waits inside of it.
pub(crate) async fn build(
    folder: &Folder,
    session: &Session,
    policy: Policy,
) -> Result<Client, NotReady> {
    folder.goes_with(session)?;
    let strategy = match policy.unsigned_devices {
        Rule::Refuse => CollectStrategy::IdentityBasedStrategy,
        Rule::Accept => CollectStrategy::AllDevices,
    };
    let trust = match policy.unsigned_devices {
        Rule::Refuse => TrustRequirement::CrossSigned,
        Rule::Accept => TrustRequirement::Untrusted,
    };
    let builder = builder(folder, &session.homeserver)?
        .with_encryption_settings(EncryptionSettings {
            auto_enable_cross_signing: true,
            auto_enable_backups: true,
            backup_download_strategy: BackupDownloadStrategy::AfterDecryptionFailure,
        })
        .with_room_key_recipient_strategy(strategy)
        .with_decryption_settings(DecryptionSettings { sender_device_trust_requirement: trust });
    Ok(Box::pin(builder.build()).await?)
}

/// A client to log in with. It makes no identity and no backup by itself: where one is missing, a
/// person decides, and what goes wrong is told.
pub(crate) async fn build_for_setup(folder: &Folder, homeserver: &str) -> Result<Client, NotReady> {
    Ok(Box::pin(builder(folder, homeserver)?.build()).await?)
}

fn builder(folder: &Folder, homeserver: &str) -> Result<ClientBuilder, NotReady> {
    folder.make()?;
    folder.make_crypto()?;
    let key = folder.store_key()?;
    folder.make_stores()?;
    let store = SqliteStoreConfig::with_low_memory_config(folder.crypto()).key(Some(&key));
    Ok(Client::builder()
        .homeserver_url(homeserver)
        // Where the homeserver is was looked up once, by rules of ours.
        .respect_login_well_known(false)
        .http_client(http()?)
        .sqlite_store_with_config_and_cache_path(store, None::<PathBuf>)
        .request_config(RequestConfig::new().disable_retry().timeout(ANSWER)))
}

/// As matrix-sdk makes its own, but what goes to the homeserver (a password, a token) goes nowhere that
/// it points to.
fn http() -> Result<reqwest::Client, NotReady> {
    let client = reqwest::Client::builder()
        .user_agent(concat!("vigie/", env!("CARGO_PKG_VERSION")))
        .min_tls_version(tls::Version::TLS_1_2)
        .timeout(ANSWER)
        .redirect(redirect::Policy::none());
    client.build().map_err(|error| NotReady::Unreached(Box::new(HttpError::Reqwest(error))))
}

/// Makes the client the account's, to hear on from `cursor`: what matrix-sdk counts itself is set back,
/// since it counts before anybody has written down what came.
pub(crate) async fn connect(
    client: &Client,
    folder: &Folder,
    session: &Session,
    cursor: Option<String>,
) -> Result<(), NotReady> {
    let store = client.state_store();
    // A store that knows no room is a new device's: it has to be told of every room first, and what was
    // said since the cursor is looked for in each.
    let rooms = store.get_room_infos(&RoomLoadSettings::All).await;
    let is_new = rooms.map_err(matrix_sdk::Error::from)?.is_empty();
    match cursor.filter(|_| !is_new) {
        Some(cursor) => {
            let value = StateStoreDataValue::SyncToken(cursor);
            store.set_kv_data(StateStoreDataKey::SyncToken, value).await
        }
        None => store.remove_kv_data(StateStoreDataKey::SyncToken).await,
    }
    .map_err(matrix_sdk::Error::from)?;
    restore(client, folder, session).await
}

/// Makes the client the account's, if the store is the one of that login.
pub(crate) async fn restore(
    client: &Client,
    folder: &Folder,
    session: &Session,
) -> Result<(), NotReady> {
    Box::pin(client.restore_session(AuthSession::Matrix(session.restored()))).await?;
    let key = client.encryption().ed25519_key().await;
    if session.key().is_some() && session.key() != key.as_deref() {
        return Err(FolderError::LostStore(folder.crypto()).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    #[tokio::test]
    async fn every_file_of_the_stores_is_for_this_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::new(home.path().join("matrix"));
        let client = build_for_setup(&folder, "http://127.0.0.1:1").await.unwrap();
        let mut files = 0;
        for entry in fs::read_dir(folder.crypto()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", entry.path().display());
            assert!(entry.metadata().unwrap().len() > 0, "{} is none", entry.path().display());
            files += 1;
        }
        assert!(files >= 4, "{files}");
        drop(client);
    }

    #[tokio::test]
    async fn a_password_does_not_follow_a_redirect() {
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = other.local_addr().unwrap();
        let first = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = first.local_addr().unwrap();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let (mut stream, _) = first.accept().await.unwrap();
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes).await;
            let answer = format!(
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{there}/login\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let post = http().unwrap().post(format!("http://{address}/login")).body("secret");
        let answered = tokio::select! {
            answer = post.send() => answer.unwrap(),
            _ = other.accept() => panic!("the password went to another server"),
        };
        assert_eq!(answered.status().as_u16(), 307);
        server.join_next().await.unwrap().unwrap();
    }
}
