//! Runs of workflows, driven as a day would drive them.

use super::world::World;

mod gates;
mod steps;
