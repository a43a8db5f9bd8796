//! `vigie init telegram`: from a token to a bot that Vigie speaks through.

#[cfg(feature = "telegram")]
mod secret;
#[cfg(feature = "telegram")]
mod settings;
#[cfg(feature = "telegram")]
mod telegram;

use super::{Desk, args::InitTelegram, failure::Failure};

#[cfg(feature = "telegram")]
pub(super) use telegram::run as telegram;

#[cfg(not(feature = "telegram"))]
#[expect(clippy::unused_async, reason = "as the one of a program that can do it")]
pub(super) async fn telegram(_: InitTelegram, _: &Desk) -> Result<(), Failure> {
    let failure = Failure::usage("this Vigie was built without Telegram");
    Err(failure.hint("Build it with `--features telegram`."))
}
