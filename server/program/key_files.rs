//! Follows the configured keys while the server runs: `[[keys]]` and the files that `keys_file` names are read again on SIGHUP, or when
//! a file has changed. Nothing else of the configuration is: it waits for the next start.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::settings::{Invalid, Loading, Settings};
use super::telemetry::Hidden;
use thinkd_edge::keys::Keys;

/// Between two looks at the files. A change is taken up at the second look that sees it: a file may be written in pieces.
const EVERY: Duration = Duration::from_millis(500);

/// The keys in force and the files they are read from.
pub struct KeyFiles {
    /// The keys in force.
    pub keys: Arc<Keys>,
    /// The sources of the settings; none: nothing is read again, and nothing is followed.
    pub loading: Option<Loading>,
    /// The files of keys that were named at the start.
    pub named: Vec<PathBuf>,
    /// The secrets hidden from the log: new keys, too.
    pub hidden: Hidden,
}

impl KeyFiles {
    /// Follows the files for as long as the server lives.
    pub fn follow(self) -> io::Result<impl Future<Output = ()>> {
        let mut hangup = signal(SignalKind::hangup())?;
        let mut is_configured = self
            .loading
            .as_ref()
            .is_some_and(|loading| loading.file().exists());
        Ok(async move {
            let Some(loading) = &self.loading else {
                return std::future::pending().await;
            };
            let mut files = of_keys(loading, self.named.clone());
            // Not yet looked at: what has changed since the start is seen at the first looks.
            let mut taken = Vec::new();
            let mut before = Vec::new();
            loop {
                let asked = tokio::select! {
                    _ = hangup.recv() => true,
                    () = sleep(EVERY) => false,
                };
                let now = stamps(&files).await;
                if asked || (now == before && now != taken) {
                    let is_there = now.first().is_some_and(Option::is_some);
                    // One that was never there has no keys; one that is gone is a mistake, perhaps.
                    match self.take(loading, is_configured && !is_there).await {
                        Some(named) => (files, is_configured) = (of_keys(loading, named), is_there),
                        None => is_configured |= is_there,
                    }
                    // As it was before the reading: what changed meanwhile is read again.
                    taken.clone_from(&now);
                }
                before = now;
            }
        })
    }

    /// Takes up the keys that stand in the files now; returns the files that are named now. None: they cannot be taken up, and
    /// nothing changes. `is_gone`: the configuration file was there before, and is not.
    async fn take(&self, loading: &Loading, is_gone: bool) -> Option<Vec<PathBuf>> {
        let loaded = if is_gone {
            Err(Invalid::new(format!(
                "the configuration file {} is gone",
                loading.file().display()
            )))
        } else {
            load(loading).await
        };
        let taken = loaded.and_then(|settings| {
            let differ = self.keys.replace(&settings.keys).map_err(Invalid::new)?;
            self.hidden.hide(settings.secrets());
            Ok((settings, differ))
        });
        metrics::gauge!("thinkd_keys_stale").set(if taken.is_ok() { 0.0 } else { 1.0 });
        match taken {
            Ok((settings, differ)) => {
                if differ {
                    tracing::info!(
                        keys = settings.keys.len(),
                        "the keys were read again, and these are in force"
                    );
                }
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
    load.await
        .unwrap_or_else(|error| Err(Invalid::new(error.to_string())))
}

/// The files that keys stand in, the configuration first.
fn of_keys(loading: &Loading, named: Vec<PathBuf>) -> Vec<PathBuf> {
    std::iter::once(loading.file()).chain(named).collect()
}

/// The state of a file: its identity, the time it was written and its length; none: it is not
/// there, or cannot be seen.
type Stamp = Option<(u64, SystemTime, u64)>;

async fn stamps(files: &[PathBuf]) -> Vec<Stamp> {
    let files = files.to_vec();
    let look = |file: &Path| {
        let data = std::fs::metadata(file).ok()?;
        Some((data.ino(), data.modified().ok()?, data.len()))
    };
    let looks = spawn_blocking(move || files.iter().map(|file| look(file)).collect());
    looks.await.unwrap_or_default()
}
