//! `vigie init`: from nothing to a chat service that Vigie speaks through.

#[cfg(feature = "matrix")]
mod ask;
#[cfg(feature = "matrix")]
mod matrix;
#[cfg(any(feature = "matrix", feature = "telegram"))]
mod secret;
#[cfg(any(feature = "matrix", feature = "telegram"))]
mod settings;
#[cfg(feature = "telegram")]
mod telegram;

use super::{
    Desk,
    args::{Init, InitMatrix, InitTelegram},
    failure::Failure,
};

pub(super) async fn run(init: Init, desk: &Desk) -> Result<(), Failure> {
    match init {
        Init::Telegram(args) => telegram(args, desk).await,
        Init::Matrix(args) => Box::pin(matrix(*args, desk)).await,
    }
}

#[cfg(feature = "telegram")]
use telegram::run as telegram;

#[cfg(feature = "matrix")]
use matrix::run as matrix;

#[cfg(not(feature = "telegram"))]
#[expect(clippy::unused_async, reason = "as the one of a program that can do it")]
async fn telegram(_: InitTelegram, _: &Desk) -> Result<(), Failure> {
    Err(not_built_in("Telegram", "telegram"))
}

#[cfg(not(feature = "matrix"))]
#[expect(clippy::unused_async, reason = "as the one of a program that can do it")]
async fn matrix(_: InitMatrix, _: &Desk) -> Result<(), Failure> {
    Err(not_built_in("Matrix", "matrix"))
}

#[cfg(not(all(feature = "matrix", feature = "telegram")))]
fn not_built_in(name: &str, feature: &str) -> Failure {
    let failure = Failure::usage(format!("this Vigie was built without {name}"));
    failure.hint(format!("Build it with `cargo install --path . --features {feature}`."))
}

/// Agents do not let people in.
#[cfg(any(feature = "matrix", feature = "telegram"))]
fn outside_of_sessions() -> Result<(), Failure> {
    if crate::hold::ancestry::inside_a_session() {
        let words = "this is inside a session of Vigie, and agents do not let people in";
        let failure = Failure::refused("inside_a_session", words);
        return Err(failure.hint("Run it in a terminal outside of Vigie."));
    }
    Ok(())
}
