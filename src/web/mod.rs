//! The JSON API on the desk's socket and on TCP, the login, and the guard around both. Speaks to
//! the hub's handle and to what [`Outside`] holds, to nothing else of the daemon.

mod api;
pub mod client;
pub(crate) mod csv;
mod fault;
mod follow;
mod guard;
mod hooks;
mod hurried;
mod links;
mod login;
mod logins;
mod loopback;
mod metrics;
mod outside;
mod pages;
mod people;
mod query;
mod room;
mod serve;
pub mod shapes;
mod sight;
mod socket;
mod squeeze;
mod token;

pub use outside::{
    Boxed, Examine, Ledger, MatrixDesk, MatrixRefusal, MatrixRefusalKind, OutputPart, Outside,
    PhoneMount, ProgramsMount, ReadOutput, ReadSecret, Stream, VerificationStep,
};
pub use people::Caller;
pub use serve::{Parts, StartError, Started, start};
pub use sight::{Fetched, Printed, Reel, Sight};
pub use socket::{PathTooLong, Peer, SOCKET_NAME};
