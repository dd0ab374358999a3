//! The black-box suite: the real binary, real sockets, a scripted model. One binary, one link.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, helpers included, and print what helps"
)]

mod approvals;
mod architecture;
mod auth;
mod backup;
mod bad_frames;
mod bad_http;
mod batches;
mod boundary;
mod code;
mod command;
mod configuration;
mod console;
mod contracts;
mod crash;
mod damage;
mod dead_tasks;
mod decision;
mod doctor;
mod documented;
mod documents;
mod facts;
mod failures;
mod floors;
mod gathering;
mod hints;
mod history_http;
mod ids;
mod inbox;
mod inside;
mod isolation;
mod jwt;
mod language;
mod limits;
mod live;
mod logging;
mod machine;
mod map;
mod mcp;
mod media;
mod missions;
mod model;
mod more_tools;
mod operations;
mod order;
mod own_tools;
mod pipelines;
mod processes;
mod prompt_cache;
mod properties;
mod proposals;
mod questions;
mod real_model;
mod requests;
mod resume;
mod rights;
mod schedules;
mod secrets;
mod servers;
mod session;
mod settings;
mod space_settings;
mod state;
mod store;
mod store_faults;
mod strict_views;
mod substeps;
mod summaries;
mod support;
mod tenants;
mod tools;
mod tools_schema;
mod turn;
mod unreadable;
mod unserved;
mod usage;
mod view_fit;
mod view_size;
mod views;
mod voices;
mod world_model;
