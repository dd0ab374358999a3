//! `thinkd replica`: runs code for servers on other machines, over gRPC. It has no database and no
//! models; its own `[tools.code]` limits a run.

use std::path::Path;

use anyhow::Context as _;
use secrecy::ExposeSecret as _;
use unhurried::ReplicaServer;

use crate::program::output::say;
use crate::program::settings::{Invalid, Settings};
use crate::program::stop::Stop;
use crate::program::telemetry;
use thinkd_tools::code::workers::{REPLICAS, share};

/// Serves until a signal.
pub fn serve(settings: &Settings) -> anyhow::Result<()> {
    settings.tools.code.check().map_err(Invalid::new)?;
    let replica = &settings.replica;
    let mut server = ReplicaServer::of(&REPLICAS);
    if let Some(token) = &settings.token {
        server = server.token(token.expose_secret());
    }
    server = match (&replica.cert_file, &replica.key_file) {
        (None, None) => server,
        (Some(cert), Some(key)) => {
            let read = |file: &Path| {
                std::fs::read(file).with_context(|| format!("{} cannot be read", file.display()))
            };
            server.tls(read(cert)?, read(key)?)
        }
        _ => {
            return Err(Invalid::new(
                "replica.cert_file and replica.key_file go together: set both, or none",
            )
            .into());
        }
    };
    let _log = telemetry::start_log(&settings.log, settings.secrets())?;
    if let Some(warning) = settings.warning() {
        tracing::warn!("{warning}");
    }
    share(&settings.tools.code);
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    threads.block_on(async {
        let mut stop = Stop::listen()?;
        let listen = settings.listen;
        let bound = server.bind(&listen.to_string()).await;
        let bound = bound.with_context(|| format!("listen = {listen}"))?;
        // Whoever should read it may be gone: that is no reason not to serve.
        let _ = say(format!("code is run for others at {}", bound.address()));
        let stopped = async move {
            let signal = stop.signalled().await;
            tracing::info!(signal, "stopping");
        };
        Ok(bound.serve(stopped).await?)
    })
}
