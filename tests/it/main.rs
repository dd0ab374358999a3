//! The black-box suite: the real program, real sockets, a scripted model. Of the server it links the
//! three lowest crates alone, for the types of events and a look into the log.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, helpers included, and print what helps"
)]

mod architecture;
mod auth;
mod backup;
mod bad_frames;
mod bad_http;
mod batches;
mod boundary;
mod browsers;
mod busy;
mod cancel;
mod cheap;
mod client_tools;
mod clock;
mod code;
mod command;
mod configuration;
mod console;
mod conversations;
mod crash;
mod damage;
mod dashboard;
mod decision;
mod doctor;
mod documented;
mod documents;
mod facts;
mod failover;
mod failures;
mod floors;
mod forks;
mod frameworks;
mod gathering;
mod history_http;
mod identity;
mod ids;
mod inbox;
mod inside;
mod isolation;
mod jwt;
mod learned;
mod left_out;
mod limits;
mod live;
mod logging;
mod map;
mod mcp;
mod missions;
mod offered;
mod openai;
mod operations;
mod order;
mod paths;
mod plain_text;
mod processes;
mod prompt_cache;
mod properties;
mod proposals;
mod providers;
mod questions;
mod responses;
mod resume;
mod rights;
mod schedules;
mod secrets;
mod servers;
mod settings;
mod space_settings;
mod state;
mod steer;
mod store_faults;
mod substeps;
mod summaries;
mod too_long;
mod tools;
mod turn;
mod unreadable;
mod unserved;
mod upgrades;
mod usage;
mod voices;
mod weak_model;
mod withdrawing;
mod world_model;
mod wrong_clock;
