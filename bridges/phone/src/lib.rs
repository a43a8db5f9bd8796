//! Vigie's own chat service, and the bridge to it in one package: a durable log of messages, a
//! queue of what people did, and a page for one thumb.
//!
//! It has no way of its own into Vigie. All the page shows came through [`Bridge::say`], all a
//! person does leaves through [`Inbox::accept`], like with any other service.
//!
//! [`Bridge::say`]: vigie_core::bridge::Bridge::say
//! [`Inbox::accept`]: vigie_core::bridge::Inbox::accept

mod bridge;
mod files;
mod hear;
mod http;
mod ids;
mod login;
mod store;
mod view;

pub use bridge::{Link, Options, PhoneBridge, Retry};
pub use files::{Asset, asset, assets_router};
pub use http::{CONTENT_SECURITY_POLICY, Person};
pub use login::login_page;
pub use vigie_bridge_kit::{clock::Clock, database::OpenError};

/// The chat's id in a [`Place`](vigie_core::bridge::Place); there is one.
pub const CHAT: &str = "main";

/// The bridge's name in a [`Place`](vigie_core::bridge::Place).
pub const NAME: &str = "phone";

/// Longest text of one message to a person, in UTF-16 units. Our own choice: four times a
/// Telegram message, and still read without getting lost on a small screen.
pub const TEXT_LIMIT: usize = 16_000;

/// Longest text a person sends, in UTF-16 units: a pasted log or specification. Our own choice; in
/// any script it fits into a request.
pub const WRITE_LIMIT: usize = 64_000;
