//! Makes the prompt view of a model call anew from the log.

use serde_json::Value;
use uuid::Uuid;

use super::refused::Refused;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::query::{Query, Show};
use thinkd_mind::call::ModelClient;
use thinkd_words::id::Space;

/// Returns the view of the call behind an event (the call's own record, or anything that the call
/// produced). `exact` says whether it is, byte for byte, the prompt that was sent.
pub(super) async fn prompt_view(
    store: &dyn Store,
    client: &ModelClient,
    space: &Space,
    event_id: Uuid,
) -> Result<Value, Refused> {
    let none = || Refused::NotFound(format!("model call behind event {event_id}"));
    let event = store.event(space, event_id).await?.ok_or_else(none)?;
    let record = match event.fact() {
        Fact::Call(_) => Some(event),
        Fact::Summary(summary) => store.event(space, summary.call).await?,
        _ => record_behind(store, space, &event).await?,
    };
    Ok(client.rebuild(space, &record.ok_or_else(none)?).await?)
}

/// Returns the last call of the event's own module before it.
async fn record_behind(
    store: &dyn Store,
    space: &Space,
    event: &Event,
) -> Result<Option<Event>, StoreError> {
    let fact = event.fact();
    let is_frame = matches!(
        fact,
        Fact::TurnStarted(_) | Fact::TurnSteered(_) | Fact::TurnEnded(_)
    );
    let Some(turn) = event.turn().filter(|_| !is_frame) else {
        return Ok(None);
    };
    let module = match fact.submodule() {
        Some(name) => format!("call:submodule:{name}"),
        None => "call:decision".to_owned(),
    };
    let query = Query {
        thread: Some(event.thread.clone()),
        tags: vec![module],
        before: Some(event.seq),
        show: Show::All,
        limit: 1,
        ..Query::default()
    };
    let record = store.events(space, &query).await?.into_iter().next();
    Ok(record.filter(|record| record.turn() == Some(turn)))
}
