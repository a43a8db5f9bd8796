//! The account that the bridge speaks as: its folder, what is kept in it, and how it comes to be.
//!
//! | file | what |
//! | --- | --- |
//! | `account/session.json` | who we are and the access token; written only once a login succeeded |
//! | `account/store.key` | 32 random bytes that the encrypted stores are opened with |
//! | `account/crypto/` | matrix-sdk's own stores |
//! | `recovery.key` | the recovery key, where the person chose to keep it here |
//! | `matrix.db` | the bridge's own file |
//! | `lock` | held by the one process that uses the stores |
//! | `old-…/` | what stood in `account/` before a later login; nothing of it is ever deleted |
//! | `new/` | a login that is being made |
//!
//! All of them are for this user alone (0700, 0600).

mod folder;
mod homeserver;
mod plain;
mod session;
mod swap;

pub use folder::{Folder, FolderError, Held};
pub use homeserver::{NoHomeserver, find, is_new_enough};
pub use plain::{AskError, Plain, Published, PublishedDevice, Rate, Versions, Whoami};
pub use session::Session;
