//! Missions: a wish that is taken apart into tasks and solved best route first.

mod agreeing;
mod approving;
mod asking;
mod board;
mod calling;
mod checking;
mod claiming;
mod desk;
pub mod editing;
mod fitting;
mod flow;
mod journal;
mod making;
mod people;
mod planning;
mod reporting;
mod resting;
mod said;
mod sketching;
mod solving;
mod steps;
mod using;
pub mod work;
