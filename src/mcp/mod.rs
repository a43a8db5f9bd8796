//! What agents call: the Model Context Protocol over HTTP, both its eras on one path, and the guard
//! before it. Any handler of the protocol can stand behind the door.

mod bearer;
mod body;
mod door;
mod guard;
mod message;
mod replay;
mod sessions;

pub use bearer::{Caller, RunFolder, Whence};
pub use door::{Parts, door};
pub use message::Asked;
