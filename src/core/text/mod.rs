//! Text that a chat shows: one neutral form, rendered once, cut by the service's real limits.

mod rich;

pub use rich::{Rich, Span, Style};
