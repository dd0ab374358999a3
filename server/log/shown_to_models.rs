//! Events as models may find them: without those that were taken back, and without those that a
//! provider refused.

use std::collections::HashMap;

use super::error::StoreError;
use super::kernel::Store;
use super::query::{Order, Query};
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;
use thinkd_event::unshown::Unshown;
use thinkd_words::id::{Seq, Space, ThreadId};

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

/// Returns whether the event at `seq` was written by a turn that was taken back: a note or a claim,
/// which does not name its turn. Fails if the log cannot be read.
pub async fn is_taken_back(store: &dyn Store, space: &Space, seq: Seq) -> Result<bool, StoreError> {
    let Some(event) = store.events(space, &Query::at(seq)).await?.pop() else {
        return Ok(false);
    };
    let row = store.thread_lately(space, &event.thread).await?;
    let back = row.map(|row| row.state.unshown).unwrap_or_default();
    if back.back.is_empty() {
        return Ok(false);
    }
    let before = Query {
        thread: Some(event.thread),
        tags: vec![tag::TURN.to_owned()],
        order: Order::Descending,
        after: None,
        ..Query::at(seq)
    };
    let last = store.events(space, &before).await?.pop();
    let turn = last.and_then(|event| match event.fact() {
        Fact::TurnStarted(_) => event.turn(),
        _ => None,
    });
    Ok(back.hides(seq, turn))
}
