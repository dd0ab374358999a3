//! The events of a statement: its claim, its derivation, its readings and its verdicts.

use crate::event::envelope::Event;
use crate::event::fact::statement;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::query::{Order, Query};
use crate::words::id::Space;

/// Number of events that are read at a time.
const PAGE: u32 = 500;

/// Returns all events of a statement, the oldest first.
pub(super) async fn story(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<Vec<Event>, StoreError> {
    let mut all: Vec<Event> = Vec::new();
    loop {
        let (tags, after) = (
            vec![format!("{}:{id}", statement::TAG)],
            all.last().map(|event| event.seq),
        );
        let query = Query {
            tags,
            after,
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        let events = store.events(space, &query).await?;
        let is_last = events.len() < PAGE as usize;
        all.extend(events);
        if is_last {
            return Ok(all);
        }
    }
}
