//! What the bridges have in common. It depends on the core alone and knows no service.

pub mod database;
