//! The world model: trials of claims, and the consequences of their verdicts.

mod allowance;
mod asking;
mod bench;
mod code;
mod contesting;
mod ground;
mod joining;
mod journal;
mod knowledge;
pub mod merges;
mod people;
mod retesting;
mod rules;
mod said;
pub mod settling;
mod telling;
pub mod trials;
mod trying;
pub mod work;
mod working;
