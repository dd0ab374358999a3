//! The outside: HTTP and WebSocket. Translation only.

pub mod ack;
mod allowed_hosts;
pub mod auth;
mod client_stream;
mod compress;
mod connections;
mod console;
pub mod context;
mod docs;
pub mod frame;
pub mod guesses;
pub mod http;
mod ids;
mod input;
pub mod json;
pub mod jwt;
pub mod keys;
pub mod limits;
pub mod media;
pub mod packed;
pub mod problem;
mod query;
mod rate_limit;
pub mod server;
mod stay;
mod stream_limits;
pub mod websocket;
