//! The black-box suite: the real binary, real sockets, a scripted model. One binary, one link.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests say what is wrong by panicking, helpers included, and print what helps"
)]

mod bad_frames;
mod bad_http;
mod command;
mod contracts;
mod floors;
mod machine;
mod model;
mod real_model;
mod settings;
mod store;
mod support;
mod tools_schema;
mod turn;
mod views;
mod voices;
