//! Text to a tree of nodes that know where they stand. A scalar keeps what is written: what a value is
//! gets decided by the key it stands under, so `no` is never a boolean by accident.

mod json;
mod read;
mod tree;

pub(crate) use json::{JsonError, json};
pub(crate) use read::read;
pub(crate) use tree::{Key, Node, Span, Value, is_hidden, shortened};
