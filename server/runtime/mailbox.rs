//! Reads a thread's mailbox: the events that it has not handled yet, page by page.

use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::EventLog;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_words::id::{Seq, Space};

/// Most events read at once to find a batch or take up a turn, and most such pages.
pub(super) const PAGE: u32 = 500;
const PAGES_MAX: usize = 200;

/// Reads the thread's events after `handled`, up to its head. Events since the row was read may be
/// missing in the prompts, and wait for the next turn. Returns the position up to which all were
/// read: of very many events a part is.
pub async fn each_after(
    store: &dyn EventLog,
    space: &Space,
    row: &ThreadRow,
    show: Show,
    mut take: impl FnMut(Event) -> bool,
) -> Result<Seq, StoreError> {
    let mut after = row.handled;
    for _ in 0..PAGES_MAX {
        let query = Query {
            thread: Some(row.thread.clone()),
            after: Some(after),
            before: Some(row.head + 1),
            show,
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        let events = store.events(space, &query).await?;
        let full = events.len() == PAGE as usize;
        for event in events {
            after = event.seq;
            if !take(event) {
                return Ok(after);
            }
        }
        if !full {
            return Ok(row.head);
        }
    }
    Ok(after)
}
