//! Replicas in another process: the backend `grpc` and its server.
//!
//! One unary method carries everything. A client has a session; its instances are its own.

pub(crate) mod client;
pub(crate) mod server;
mod wire;
