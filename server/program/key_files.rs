//! Follows the configured keys while the server runs: `[[keys]]` and the files that `keys_file` names are read again on SIGHUP, or when
//! a file has changed. Nothing else of the configuration is: it waits for the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::settings::{Invalid, Loading, Settings};
use super::telemetry::Hidden;
use crate::edge::keys::Keys;

/// Between two looks at the files. A change is taken up at the second look that sees it: a file may be written in pieces.
const EVERY: Duration = Duration::from_millis(500);

/// The keys in force and the files they are read from.
pub struct KeyFiles {
    /// The keys in force.
    pub keys: Arc<Keys>,
    /// Where they are read from; none: nowhere, and nothing is followed.
    pub loading: Option<Loading>,
    /// What the log does not show: new keys neither.
    pub hidden: Hidden,
}

impl KeyFiles {
    /// Follows the files for as long as the server lives.
    pub fn follow(self) -> io::Result<impl Future<Output = ()>> {
        let mut hangup = signal(SignalKind::hangup())?;
        Ok(async move {
            let Some(loading) = &self.loading else { return std::future::pending().await };
            let named = load(loading).await.map(|settings| settings.keys_file).unwrap_or_default();
            let mut files = of_keys(loading, named);
            let mut taken = stamps(&files).await;
            let mut before = taken.clone();
            loop {
                let asked = tokio::select! {
                    _ = hangup.recv() => true,
                    () = sleep(EVERY) => false,
                };
                let now = stamps(&files).await;
                if asked || (now == before && now != taken) {
                    if let Some(named) = self.take(loading).await {
                        files = of_keys(loading, named);
                    }
                    // As it was before the reading: what changed meanwhile is read again.
                    taken.clone_from(&now);
                }
                before = now;
            }
        })
    }

    /// Takes up the keys that stand in the files now; returns the files that are named now. None: they cannot be taken up, and
    /// nothing changes.
    async fn take(&self, loading: &Loading) -> Option<Vec<PathBuf>> {
        let taken = load(loading).await.and_then(|settings| {
            self.keys.replace(&settings.keys).map_err(Invalid::new)?;
            self.hidden.hide(settings.secrets());
            Ok(settings)
        });
        metrics::gauge!("thinkd_keys_stale").set(if taken.is_ok() { 0.0 } else { 1.0 });
        match taken {
            Ok(settings) => {
                tracing::info!(keys = settings.keys.len(), "the keys were read again and are in force");
                Some(settings.keys_file)
            }
            Err(error) => {
                tracing::error!(%error, "the keys could not be read again: those that were in force stay; mend the file");
                None
            }
        }
    }
}

async fn load(loading: &Loading) -> Result<Settings, Invalid> {
    let loading = loading.clone();
    let load = spawn_blocking(move || loading.again()?.with_key_files());
    load.await.unwrap_or_else(|error| Err(Invalid::new(error.to_string())))
}

/// The files that keys stand in.
fn of_keys(loading: &Loading, named: Vec<PathBuf>) -> Vec<PathBuf> {
    std::iter::once(loading.file()).chain(named).collect()
}

/// How a file is: when it was written and how long it is; none: it is not there, or cannot be seen.
type Stamp = Option<(SystemTime, u64)>;

async fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let files = files.to_vec();
    let look = |file: &Path| {
        let data = std::fs::metadata(file).ok()?;
        Some((data.modified().ok()?, data.len()))
    };
    let looks = spawn_blocking(move || files.iter().map(|file| look(file)).collect());
    looks.await.unwrap_or_default()
}
