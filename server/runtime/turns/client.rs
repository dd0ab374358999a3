//! The tools that a client offers with the batch of a turn: those of the newest words count.

use super::Turns;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::Offered;
use thinkd_log::error::StoreError;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::ClientTools;
use thinkd_words::failure::Failure;
use thinkd_words::id::Space;

/// Returns true for a batch of nothing but results of a client: the turn goes on with that of
/// their calls, in which the submodules were heard.
pub(super) fn goes_on(batch: &[Event]) -> bool {
    let are_results = |event: &Event| matches!(event.fact(), Fact::ClientResults(_));
    !batch.is_empty() && batch.iter().all(are_results)
}

impl Turns {
    /// Reads the tools that a client offered. The failure is told to the thread: its turn goes on
    /// without them.
    pub(super) async fn client_tools(
        &self,
        space: &Space,
        offered: Option<Offered>,
        settings: &Settings,
    ) -> Result<Result<Option<ClientTools>, Failure>, StoreError> {
        let Some(offered) = offered.filter(|_| !settings.is_process()) else {
            return Ok(Ok(None));
        };
        let read = ClientTools::read(&*self.ground.store, space, offered).await?;
        Ok(read.map(Some))
    }
}
