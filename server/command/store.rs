//! `thinkd rebuild`, `backup`, `restore`: what is done to a database without a server.

use std::path::Path;

use anyhow::{Context as _, bail};
use secrecy::ExposeSecret as _;

use super::say;
use crate::app::open_store;
use crate::projection::project;
use crate::secret::shown_url;
use crate::settings::Settings;
use crate::store;
use crate::supervisor::Supervisor;

/// Makes the derived rows anew from the log, or says whether they would differ.
pub async fn rebuild(settings: &Settings, check: bool) -> anyhow::Result<()> {
    let store = open_store(settings, &Supervisor::default()).await?;
    let rebuilt = store.rebuild(check).await;
    store.close().await;
    let rebuilt = rebuilt?;
    say(format_args!("{} events read", rebuilt.events))?;
    rebuilt.differences.iter().try_for_each(|difference| say(format_args!("  differed: {difference}")))?;
    match (rebuilt.differences.is_empty(), check) {
        (true, _) => Ok(say("everything was what the log says")?),
        (false, false) => Ok(say("made anew")?),
        (false, true) => bail!("not everything is what the log says; `thinkd rebuild` makes it so"),
    }
}

/// Copies the log and its blobs into a new file. A server may go on meanwhile.
pub async fn backup(settings: &Settings, file: &Path) -> anyhow::Result<()> {
    settings.check_database()?;
    let url = settings.database.expose_secret();
    let events = store::backup(url, file).await.with_context(|| format!("database {}", shown_url(url)))?;
    Ok(say(format_args!("{events} events copied to {}", file.display()))?)
}

/// Fills the configured database, which must be empty, from a backup.
pub async fn restore(settings: &Settings, file: &Path) -> anyhow::Result<()> {
    settings.check_database()?;
    let url = settings.database.expose_secret();
    let events = store::restore(url, file, project).await.with_context(|| format!("database {}", shown_url(url)))?;
    Ok(say(format_args!("{events} events restored; clients see a new epoch"))?)
}
