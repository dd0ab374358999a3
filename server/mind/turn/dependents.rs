//! The dependents of a thread are its parent and the threads that wait for it. They are told when the thread cannot go on, in the append that
//! says so. `turn/ends.rs` tells them of its end.

use std::sync::Arc;

use thinkd_event::draft::Draft;
use thinkd_event::gather::GatherPart;
use thinkd_event::process::ErrorCode;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Space, ThreadId};

/// Most that are told in one append.
const ROWS: u32 = 256;

/// Returns the events for those that depend on a stuck thread: its turn failed for good, or a
/// budget put it to sleep. They go to each thread that waits for it, and to the parent of a
/// process, for which it is a failed part if it was gathered. To be appended with the event that
/// puts it to sleep.
pub async fn stuck(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    reason: &str,
) -> Result<Vec<Draft>, StoreError> {
    // Of one that has ended they know already.
    let row = store.thread(space, thread).await?;
    let Some(row) = row.filter(|row| !row.status.is_final()) else {
        return Ok(Vec::new());
    };
    // The others are told one by one, after the append.
    let waiting = store.awaiting(space, thread..=thread, ROWS).await?;
    let mut told: Vec<ThreadId> = waiting.into_iter().map(|(_, who)| who).collect();
    // Who talks with a conversation sees it fail; a process has nobody but its parent.
    let is_process = Settings::of(&row.settings).is_process();
    told.extend(row.parent().filter(|_| is_process));
    told.sort();
    told.dedup();
    let mut drafts = Vec::new();
    for holder in told.iter().filter(|holder| *holder != thread) {
        let holder = store.thread(space, holder).await?;
        if let Some(holder) = holder.filter(|row| !row.status.is_final()) {
            let draft = Draft::stuck(&holder.thread, thread, reason);
            drafts.push(counted(draft, &row, &holder, false, reason));
        }
    }
    Ok(drafts)
}

/// Returns the draft as a part of the holder's gathering, where the holder gathers the thread. The
/// holder is not woken by it, and told the thread's result with the rest, unless it waits for this
/// one.
pub(super) fn counted(
    draft: Draft,
    row: &ThreadRow,
    holder: &ThreadRow,
    ok: bool,
    text: &str,
) -> Draft {
    let is_gatherer = row.thread.parent().as_ref() == Some(&holder.thread);
    let Some(gathered) = Settings::of(&row.settings).gathered.filter(|_| is_gatherer) else {
        return draft;
    };
    let is_open = holder.state.gathers.contains_key(&gathered.id);
    let draft = draft.counted(&GatherPart::of(gathered.id, gathered.index, ok, text));
    match holder.awaits() == Some(&row.thread) {
        true => draft,
        false if is_open => draft.brief().silent(),
        false => draft.silent(),
    }
}

/// A thread waits for one that it cannot reach: nothing would tell it if that one wrote no more.
pub fn out_of_reach(thread: &ThreadId, turn: Option<u64>, whom: &str) -> Draft {
    let text = format!(
        "you would wait for {whom}, which is neither a contact of yours nor your parent: the wait is over"
    );
    Draft::thread_error(thread, turn, whom, ErrorCode::UnknownThread, &text).overruling()
}
