//! `thinkd rebuild`, `backup`, `restore`: operations on a database without a server.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::program::output::say;
use crate::program::parts::open_store;
use crate::program::settings::Settings;
use thinkd_event::draft::Draft;
use thinkd_log::appended::Append;
use thinkd_log::backup;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_log::upkeep::Unread;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id;
use thinkd_words::secret::shown_url;

/// Makes the derived rows anew from the log, or says whether they would differ.
pub async fn rebuild(settings: &Settings, check: bool) -> anyhow::Result<()> {
    settings.check_database()?;
    backup::is_there(settings.direct())?;
    let store = open_store(settings, &Supervisor::default()).await?;
    let rebuilt = store.rebuild(check).await;
    let told = match &rebuilt {
        Ok(rebuilt) if !check => tell(&store, &rebuilt.unreadable).await,
        _ => Ok(()),
    };
    store.close().await;
    let rebuilt = rebuilt?;
    told?;
    say(format_args!("{} events read", rebuilt.events))?;
    let mut differences = rebuilt.differences.iter();
    differences.try_for_each(|difference| say(format_args!("  differed: {difference}")))?;
    let mut unread = rebuilt.unreadable.iter();
    unread.try_for_each(|it| say(format_args!("  {}", words(it))))?;
    if check && !rebuilt.unreadable.is_empty() {
        bail!("the log has changes that this thinkd cannot read; use the version that wrote them");
    }
    match (rebuilt.differences.is_empty(), check) {
        (true, _) => Ok(say("everything was what the log says")?),
        (false, false) => Ok(say("made anew")?),
        (false, true) => bail!("not everything is what the log says; `thinkd rebuild` makes it so"),
    }
}

/// Brings the tables up to date.
pub async fn migrate(settings: &Settings) -> anyhow::Result<()> {
    let store = open_store(settings, &Supervisor::default()).await?;
    store.close().await;
    Ok(say("the tables are those of this version")?)
}

fn words(it: &Unread) -> String {
    let kind = &it.kind;
    let key = &it.key;
    let seq = it.seq;
    let space = &it.space;
    format!(
        "the change of the {kind} {key} at seq {seq} of {space} is in a form that this thinkd does not know; what was there stays"
    )
}

/// Stores a failure in the log for each change that could not be read, once.
async fn tell(store: &Arc<dyn Store>, unreadable: &[Unread]) -> Result<(), StoreError> {
    for it in unreadable {
        let detail = json!({ "seq": it.seq, "kind": it.kind, "key": it.key });
        let failure = Failure::new(FailureKind::Store, words(it)).with(detail);
        let id = id::about(&format!("unreadable {} {}", it.space, it.seq));
        let draft = Draft::failure(&it.thread, None, &Who::Core, &failure).with_id(id);
        match store.append(Append::free(&it.space, vec![draft])).await {
            // Conflict: it was said before, in other words.
            Ok(_) | Err(StoreError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Copies the log and its blobs into a new file. A server may go on meanwhile.
pub async fn backup(settings: &Settings, file: &Path) -> anyhow::Result<()> {
    settings.check_database()?;
    let url = settings.direct();
    let what = || format!("backing up {} to {}", shown_url(url), file.display());
    let events = thinkd_log::backup::backup(url, file).await;
    let events = events.with_context(what)?;
    let file = file.display();
    Ok(say(format_args!("{events} events copied to {file}"))?)
}

/// Fills the configured database, which must be empty, from a backup.
pub async fn restore(settings: &Settings, file: &Path) -> anyhow::Result<()> {
    settings.check_database()?;
    let url = settings.direct();
    let what = || format!("restoring {} into {}", file.display(), shown_url(url));
    let made = backup::restore(url, file, ThreadRow::apply).await;
    let made = made.with_context(what)?;
    if !made.unreadable.is_empty() {
        let store = open_store(settings, &Supervisor::default()).await?;
        let told = tell(&store, &made.unreadable).await;
        store.close().await;
        told?;
    }
    made.unreadable
        .iter()
        .try_for_each(|it| say(format_args!("  {}", words(it))))?;
    if !made.checked {
        let shown = file.display();
        say(format_args!(
            "{shown} has no checksum, as an older thinkd made it: damage that can be read is not noticed"
        ))?;
    }
    Ok(say(format_args!(
        "{} events restored; clients see a new epoch",
        made.events
    ))?)
}
