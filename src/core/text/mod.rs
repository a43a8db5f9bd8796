//! Text that a chat shows: one neutral form, rendered once, cut by the service's real limits.

mod diff;
mod fit;
mod invisible;
mod look_alike;
mod markdown;
mod marks;
mod mask;
mod prompt;
mod reveal;
mod rich;
mod sealed;
mod secret;
mod split;
mod table;
mod writer;

pub use diff::unified_diff;
pub use fit::{Fitted, fit};
pub use markdown::markdown;
pub use mask::{Masked, mask};
pub use prompt::prompt_text;
pub use reveal::{Revealed, reveal, reveal_styled, warning};
pub use rich::{Rich, Span, Style};
pub use sealed::sealed;
pub use split::split;

pub(crate) use look_alike::plain_letter;
