//! Sessions: the acts of a principal in its space.

pub mod audit;
mod beside;
pub mod entities;
pub mod features;
pub mod follow;
pub mod frameworks;
pub mod handle;
mod identity;
pub mod kinds;
pub mod lines;
mod log;
mod missions;
pub mod outcome;
pub mod pieces;
mod recall;
pub mod requests;
pub mod right;
mod runs;
mod schedules;
mod settings;
pub mod space;
pub mod statement;
pub mod threads;
mod tools;
pub mod turns;
pub mod usage;
pub mod world_model;
