//! Where a message goes.

mod pattern;
mod prefix;

pub use pattern::{BadPrefix, StoryPattern};
pub use prefix::{Address, Target, address, bracketed};
