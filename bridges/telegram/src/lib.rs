//! Telegram as a chat service of Vigie. It depends on the core alone.

pub mod api;
pub mod markup;
pub mod names;
