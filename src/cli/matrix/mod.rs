//! `vigie matrix`: the account on Matrix, and who is who there.

mod status;
mod terminal;
mod verify;

use clap::Subcommand;

use super::{Desk, failure::Failure, out::Out, plain};
use crate::{
    hold::ancestry,
    web::{client::segment, shapes::Done},
};

#[derive(Debug, Subcommand)]
pub enum Matrix {
    /// Show the account, its keys and rooms, and who is verified
    Status,
    /// Compare emoji with somebody's phone, so that nobody can be in between
    Verify {
        /// Whom, as @name:example.org [default: who asks, else whom the configuration names]
        user: Option<String>,
    },
    /// Take somebody as they are now, although their identity changed since they were verified
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
        Matrix::Accept { user } => accept(&user, desk).await,
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

async fn accept(user: &str, desk: &Desk) -> Result<(), Failure> {
    terminal::needed("taking another identity for somebody's")?;
    let who = plain::line(user);
    let question = format!(
        "Somebody else may speak as {who} now: ask them in person whether they set their identity \
         up anew. Take it unseen?"
    );
    if terminal::ask(&question, &desk.out).await? != terminal::Answer::Yes {
        return Err(Failure::refused("not_accepted", "nothing was changed"));
    }
    let path = format!("/matrix/people/{}/accept", segment(user));
    let done: Done = desk.client.post(&path, &()).await?;
    desk.out.show(&done, |_: &Out, done| plain::line(&done.words))
}
