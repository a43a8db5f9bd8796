//! A strict Telegram Bot API on loopback, for tests and trials: a bot talks HTTP to it as to the real
//! server, a test plays the people and looks at what their phones show.
//!
//! It follows the real server's rules and words where they are public, and is stricter where that
//! server silently accepts what a correct bot never sends: see [`Emulator::defects`].
//!
//! Not emulated: channels as chats, business accounts, inline mode, payments, polls, rich and ephemeral
//! messages, `parse_mode`, delivery by webhook, thumbnails and link previews.

mod answer;
mod clock;
mod emulator;
mod faults;
mod files;
mod flood;
mod methods;
mod params;
mod people;
mod records;
mod refusal;
mod server;
mod shared;
mod state;
mod text;
mod updates;
mod view;
mod wait;
mod wire;
mod world;

pub use clock::{Clock, Moment};
pub use emulator::Emulator;
pub use faults::{DOWNLOAD, Fault, FaultKind};
pub use files::{DOWNLOAD_BYTES, Media, MediaKind, UPLOAD_BYTES};
pub use methods::commands::Scope;
pub use people::{Answer, Pressed, Sending};
pub use records::{Call, Defect, Fate, Flood, Outcome, UpdateLife};
pub use refusal::Refusal;
pub use state::{Sender, Toast};
pub use text::{ENTITIES, Entity, EntityKind, Formatted, RAW_BYTES, covered, formatted, units};
pub use view::{Button, Draft, File, Reaction, Shown, Topic, Typing, Version};
pub use world::{
    ADA, AGENTS, BOB, BotAccount, ChatId, GENERAL, Group, GroupKind, Membership, MessageId, Person,
    RIGHTS, STRANGER, Status, TopicId, UserId, World,
};
