//! Runs of workflows, driven as a day would drive them.

use super::world::World;

mod agents;
mod calls;
mod chat;
mod confined;
mod crash;
mod gates;
mod limits;
mod put_off;
mod steps;
mod triggers;
mod turns;
