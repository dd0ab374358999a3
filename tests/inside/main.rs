//! Tests that call the crates of the server from inside: its store, its views, its tools, its recall.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, helpers included, and print what helps"
)]

mod approvals;
mod code_hostile;
mod contracts;
mod cut_off;
mod dead_tasks;
mod firing;
mod hints;
mod language;
mod machine;
mod media;
mod model;
mod more_tools;
mod own_features;
mod own_tools;
mod pipelines;
mod planned_summaries;
mod processors;
mod real_model;
mod requests;
mod session;
mod store;
mod strict_views;
mod tenants;
mod tools_schema;
mod view_fit;
mod view_size;
mod views;
mod world_model;
mod written;
