//! The world model: a claim is held only if it survives a trial, every step of which is in the log.
//! Every `on_sqlite!` is two `#[tokio::test]`s, one a database.

use serde_json::{Value, json};

use kit::app::{ran, rows_are_what_the_log_says};
use kit::claims::*;
use kit::*;

mod again;
mod aliases;
mod audit;
mod beyond;
mod code;
mod contested;
mod crashes;
mod doors;
mod entities;
mod ground;
mod kept;
mod knowledge;
mod meaning;
mod memories;
mod merges;
mod people;
mod planted_worlds;
mod recall;
mod rules;
mod shelf;
mod trials;
mod turns;
mod word;
