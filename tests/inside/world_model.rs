//! The world model from inside: recall over planted and real statements, corrections, tools.

use kit::app::rows_are_what_the_log_says;
use kit::claims::*;
use kit::*;

mod background;
mod by_model;
mod corrections;
mod plain_words;
mod planted_questions;
mod planted_recall;
mod quality;
mod real_passages;
mod real_questions;
mod told;
mod views;
