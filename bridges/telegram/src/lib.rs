//! Telegram as a chat service of Vigie. It depends on the core and on what the
//! bridges have in common.

pub mod api;
mod bridge;
mod hear;
pub mod markup;
mod say;
mod store;

pub use bridge::{Menu, OpenFailed, Options, TelegramBridge, limits};
pub use hear::Unreadable;
pub use store::SetAside;
pub use vigie_bridge_kit::{clock::Clock, database::OpenError};

/// The bridge's name in places, in the configuration and in the database.
pub const NAME: &str = "telegram";
