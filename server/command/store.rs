//! `thinkd rebuild`: what is done to a database while no server has it.

use anyhow::bail;

use super::say;
use crate::app::open_store;
use crate::settings::Settings;

/// Makes the derived rows anew from the log, or says whether they would differ.
pub async fn rebuild(settings: &Settings, check: bool) -> anyhow::Result<()> {
    let store = open_store(settings).await?;
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
