//! One turn: submodules, the decision, calls of models and tools.

pub mod action;
pub mod call;
pub mod decision;
mod plain_words;
pub mod submodule;
pub mod turn;
pub mod turn_writer;
