//! Replicas in another process: the backend `grpc` and the server it talks to.
//!
//! One unary method carries everything, as JSON both ways. A client has a session; its instances are its own.

pub(crate) mod client;
pub(crate) mod server;
mod wire;
