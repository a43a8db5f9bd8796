//! What a person on the phone asks to see of a session: its screen, its changes, its conversation,
//! a file of its folder. Plain functions; whoever calls them says who may ask and where it goes.
//!
//! [`picture()`], [`file()`] and [`transcript()`] block for as long as the disk or the drawing takes:
//! call them from a thread that may. Whatever they show is data of agents and repositories: secrets
//! are masked and hidden characters written out, except in a file that was asked for by name.

mod diff;
mod file;
mod part;
mod picture;
pub mod recording;
pub mod replay;
mod transcript;

pub use diff::{Changes, NoChanges, StartGit, diff, unconfined};
pub use file::{Copy, NoFile, file};
pub use part::{Part, part};
pub use picture::{PictureError, Shot, picture};
pub use transcript::{NoTranscript, Source, Spoken, Transcript, talk, transcript};

pub use crate::agents::claude::{Said, What};
