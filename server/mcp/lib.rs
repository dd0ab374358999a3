//! The tools of other servers, which speak MCP.

mod asking;
mod child;
mod content;
mod fit;
pub mod launcher;
mod line;
mod meter;
pub mod offer;
pub mod options;
pub mod reading;
mod remote;
mod said;
pub mod server;
pub mod servers;
mod shown;
mod standing;
pub mod wire;
