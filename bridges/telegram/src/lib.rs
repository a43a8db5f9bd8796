//! Telegram as a chat service of Vigie. It depends on the core alone.

pub mod api;
mod bridge;
mod hear;
pub mod markup;
pub mod names;
mod say;
mod store;

pub use bridge::{Clock, Menu, OpenFailed, Options, TelegramBridge, limits};
pub use hear::Unreadable;
pub use store::{OpenError, SetAside};

/// The bridge's name in places, in the configuration and in the database.
pub const NAME: &str = "telegram";
