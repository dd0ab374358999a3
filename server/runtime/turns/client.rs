//! The tools that a client offers with the batch of a turn: those of the newest words count.

use super::Turns;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::Offered;
use thinkd_log::error::StoreError;
use thinkd_thread::settings::Settings;
use thinkd_tools::toolbox::client::ClientTools;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Space;

/// Returns the tools that an event offers, if it offers any.
pub(super) fn offered(event: &Event) -> Option<Offered> {
    match event.fact() {
        Fact::Input(input) => input.offered,
        Fact::ClientResults(results) => results.offered(),
        _ => None,
    }
}

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
        let Some(Offered { tools, client }) = offered.filter(|_| !settings.is_process()) else {
            return Ok(Ok(None));
        };
        let blob = self.ground.store.blob(space, &tools).await?;
        let offer = blob.and_then(|blob| serde_json::from_slice(&blob.bytes).ok());
        Ok(match offer {
            Some(offer) => Ok(Some(ClientTools { offer, client })),
            None => {
                let text = format!(
                    "the tools that the client offered cannot be read (blob {tools}); the turn goes on without them"
                );
                Err(Failure::new(FailureKind::Tool, text))
            }
        })
    }
}
