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
mod login;
mod plain;
mod secure;
mod session;
mod standing;
mod swap;

pub use folder::{Folder, FolderError, Held};
pub use homeserver::{NoHomeserver, find, is_new_enough};
pub use login::{LoggedIn, Login, LoginFailed, Way, log_in};
pub use matrix_sdk::ruma::OwnedUserId;
pub use plain::{AskError, Plain, Published, PublishedDevice, Rate, Versions, Whoami};
pub use secure::{Identity, OldDevice, SecureFailed, SetUp, Storage};
pub use session::Session;
pub use standing::{Standing, Trouble, check, doubled_keys};

/// A server's own words on one line, with nothing in them that a terminal obeys or an eye misses.
pub(crate) fn line(text: &str) -> String {
    let shown = vigie_core::text::reveal(text).text.text;
    let words: Vec<&str> = shown.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(LONGEST_WORDS).collect()
}

/// Longest words of a server that are shown, in characters.
const LONGEST_WORDS: usize = 300;

/// A whole user id as the configuration has checked it; `None`: it is none after all.
pub fn user(id: &str) -> Option<OwnedUserId> {
    id.try_into().ok()
}
