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

/// Returns those of these events that models may see, in their order. For the past of a reader that
/// is a fork its own row counts, for other events that of their thread; without a reader always the
/// latter. It reads the row of each thread once. Fails if a row cannot be read.
pub async fn shown_to_models(
    store: &dyn Store,
    space: &Space,
    reader: Option<&ThreadId>,
    events: Vec<Event>,
) -> Result<Vec<Event>, StoreError> {
    let mut known: HashMap<ThreadId, Unshown> = HashMap::new();
    let mut shown = Vec::with_capacity(events.len());
    let own = match reader {
        Some(reader) => store.thread_lately(space, reader).await?,
        None => None,
    };
    let own = own.map(|row| row.state);
    let fork = own.as_ref().and_then(|state| state.fork.as_deref());
    let own = own.as_ref().map(|state| &state.unshown);
    for event in events {
        if fork.is_some_and(|fork| fork.has(&event.thread, event.seq)) {
            let is_out = own.is_some_and(|own| is_out(own, &event));
            shown.extend((!is_out).then_some(event));
            continue;
        }
        if !known.contains_key(&event.thread) {
            let row = store.thread_lately(space, &event.thread).await?;
            let unshown = row.map(|row| row.state.unshown).unwrap_or_default();
            known.insert(event.thread.clone(), unshown);
        }
        let unshown = known.get(&event.thread);
        if !unshown.is_some_and(|unshown| is_out(unshown, &event)) {
            shown.push(event);
        }
    }
    Ok(shown)
}

fn is_out(unshown: &Unshown, event: &Event) -> bool {
    unshown.hides(event.seq, event.turn()) || unshown.refuses(event.seq)
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
        Fact::TurnStarted(_) | Fact::TurnSteered(_) => event.turn(),
        _ => None,
    });
    Ok(back.hides(seq, turn))
}
