//! Pipelines by name, and the events that a run leaves in the log.

pub mod host;
pub mod ledger;
pub mod past;
pub mod registry;
