//! What the bridges have in common. It depends on the core alone and knows no service.

pub mod clock;
pub mod compose;
pub mod database;
pub mod fetch;
pub mod handing;
pub mod layout;
pub mod measure;
pub mod names;
pub mod pause;
pub mod pulse;
pub mod sheet;
