//! Events as models may find them: without those that were taken back, and without those that a
//! provider refused.

use std::collections::HashMap;

use super::error::StoreError;
use super::kernel::Store;
use crate::event::envelope::Event;
use crate::event::unshown::Unshown;
use crate::words::id::{Space, ThreadId};

/// Returns those of these events that models may see, in their order. It reads the row of each
/// thread once. Fails if a row cannot be read.
pub async fn shown_to_models(
    store: &dyn Store,
    space: &Space,
    events: Vec<Event>,
) -> Result<Vec<Event>, StoreError> {
    let mut known: HashMap<ThreadId, Unshown> = HashMap::new();
    let mut shown = Vec::with_capacity(events.len());
    for event in events {
        if !known.contains_key(&event.thread) {
            let row = store.thread_lately(space, &event.thread).await?;
            let unshown = row.map(|row| row.state.unshown).unwrap_or_default();
            known.insert(event.thread.clone(), unshown);
        }
        let is_out = known.get(&event.thread).is_some_and(|unshown| {
            unshown.hides(event.seq, event.turn()) || unshown.refuses(event.seq)
        });
        if !is_out {
            shown.push(event);
        }
    }
    Ok(shown)
}
