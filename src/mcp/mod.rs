//! What agents call: the Model Context Protocol over HTTP, both its eras on one path, the guard before
//! it, and the tools behind it. Any handler of the protocol can stand behind the door.

mod bearer;
mod body;
mod door;
mod follow;
mod guard;
mod host;
mod message;
mod replay;
mod resources;
mod server;
mod sessions;
mod shared;
mod tools;

pub use bearer::{Caller, RunFolder, Whence};
pub use door::{Parts, door};
pub use message::Asked;
pub use server::{Server, needs};
pub use shared::{LookUp, LookUps, Shared};
