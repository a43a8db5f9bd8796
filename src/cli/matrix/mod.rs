//! `vigie matrix`: the account on Matrix, and who is who there.

mod accept;
mod status;
mod terminal;
mod verify;

use clap::Subcommand;

use super::{Desk, failure::Failure, out::Out, plain};
use crate::hold::ancestry;

#[derive(Debug, Subcommand)]
pub enum Matrix {
    /// Show the account, its keys and rooms, and who is verified
    Status,
    /// Compare emoji with somebody's phone, so that nobody can be in between
    Verify {
        /// Whom, as @name:example.org [default: who asks, else whom the configuration names]
        user: Option<String>,
    },
    /// Look at somebody's identity beside the one known before, and take them as they are now
    Accept {
        /// Whom, as @name:example.org
        user: String,
    },
}

pub(super) async fn run(what: Matrix, desk: &Desk) -> Result<(), Failure> {
    outside_of_sessions()?;
    match what {
        Matrix::Status => status::run(desk).await,
        Matrix::Verify { user } => verify::run(user, desk).await,
        Matrix::Accept { user } => accept::run(&user, desk).await,
    }
}

/// An agent that could confirm could put itself in between.
fn outside_of_sessions() -> Result<(), Failure> {
    if !ancestry::inside_a_session() {
        return Ok(());
    }
    let words = "this is inside a session of Vigie, and agents do not say who is who";
    Err(Failure::refused("inside_a_session", words).hint("Run it in a terminal outside of Vigie."))
}

/// As apps show keys for comparing by eye.
fn in_fours(key: &str) -> String {
    let letters: Vec<char> = plain::line(key).chars().collect();
    let fours: Vec<String> = letters.chunks(4).map(|four| four.iter().collect()).collect();
    fours.join(" ")
}
