//! The account that the bridge speaks as: its folder, what is kept in it, and how it comes to be.
//!
//! | file | what |
//! | --- | --- |
//! | `session.json` | who we are and the access token; written only once a login succeeded |
//! | `store.key` | 32 random bytes that the encrypted stores are opened with |
//! | `recovery.key` | the recovery key, where the person chose to keep it here |
//! | `crypto/` | matrix-sdk's own stores |
//! | `matrix.db` | the bridge's own file |
//!
//! All of them are for this user alone (0700, 0600).

mod folder;

pub use folder::{Folder, FolderError, Session};
