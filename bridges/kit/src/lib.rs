//! What the bridges have in common. It depends on the core alone and knows no service.

pub mod compose;
pub mod database;
pub mod handing;
pub mod layout;
pub mod measure;
pub mod names;
pub mod pause;
pub mod sheet;
