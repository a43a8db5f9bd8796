//! A real Matrix homeserver on loopback and a person's phone, for tests: a bridge talks to the one as
//! to any other, a test acts and looks through the other.
//!
//! The homeserver is Synapse, from the environment of Python that `VIGIE_TEST_SYNAPSE` names. The phone
//! (`phone/phone.py`) has keys of its own and is built on nothing that the bridge is built on; it needs
//! the environment that `VIGIE_TEST_MATRIX_PHONE` names. `cargo xtask test` makes both.
//!
//! Between the two a `Proxy` can stand, for a homeserver that lies.
//!
//! Not here: federation, sliding sync, calls, key backup and lost devices on the phone's side.

mod act;
mod admin;
mod homeserver;
pub mod html;
mod http;
mod news;
mod phone;
mod proxy;
mod settings;
mod tools;
mod verify;
mod view;
mod wait;

pub use act::{Invitation, Text, Withheld};
pub use admin::{Login, Sent};
pub use homeserver::{Homeserver, SERVER_NAME, shared};
pub use phone::{PATIENCE, Phone};
pub use proxy::{Answer, Passage, Proxy};
pub use settings::Limits;
pub use tools::{Tools, tools};
pub use verify::{Device, Emoji, Stage, Verification};
pub use view::{File, Kind, Membership, Message, Poll, Reaction, Room, Version, View};
