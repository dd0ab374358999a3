//! Those who depend on a thread, and what they are told: when it ends, and when it cannot go on. Its parent, whoever waits for
//! it, and, of its end, whoever has it as a contact. The events are appended together with what they tell of.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::event::{Draft, Ending};
use crate::id::{Space, ThreadId};
use crate::store::{self, Status, Store};
use crate::thread::{Gathered, Settings};

/// Most threads that are told of one thread.
const TOLD_MAX: u32 = 10_000;

/// The thread is stuck: its turn failed for good, or a budget put it to sleep. The events that tell those who depend on it: its
/// parent, for which it is a failed part if it was gathered, and whoever waits for it. To be appended with what puts it to sleep.
pub async fn stuck(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    reason: &str,
) -> Result<Vec<Draft>, store::Error> {
    let row = store.thread(space, thread).await?;
    // Of one that has ended they know already.
    let Some(row) = row.filter(|row| !row.status.is_final()) else { return Ok(Vec::new()) };
    let settings = Settings::of(&row.settings);
    // Who talks with a conversation sees it fail; a process has nobody but its parent.
    let parent = thread.parent().filter(|_| settings.is_process());
    let mut told = store.awaiting(space, thread, TOLD_MAX).await?;
    told.extend(parent.clone());
    let told = living(store, space, told, thread).await?;
    let later = is_gathering(store, space, parent.as_ref(), settings.gathered.as_ref()).await?;
    let draft = |to: ThreadId| match settings.gathered.as_ref().filter(|_| Some(&to) == parent.as_ref()) {
        Some(gathered) => Draft::stuck_part(&to, thread, reason, &gathered.id, gathered.index, later),
        None => Draft::stuck(&to, thread, reason),
    };
    Ok(told.into_iter().map(draft).collect())
}

/// The events with which a thread ends: its own, and one for its parent and each thread that has it among its contacts.
pub async fn ending(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    status: Status,
    reason: &str,
    last: &str,
) -> Result<Vec<Draft>, store::Error> {
    let row = store.thread(space, thread).await?;
    let gathered = row.as_ref().and_then(|row| Settings::of(&row.settings).gathered);
    let is_counted = row.as_ref().is_none_or(|row| !row.standing.archived);
    let watches = row.map_or(0, |row| row.standing.watches.len());
    let mut change = json!({ "status": status.as_str(), "reason": reason });
    if watches > 0 {
        change["watches_removed"] = watches.into();
    }
    let mut drafts = vec![Draft::changed(thread, "thread", thread.as_str(), change)];
    // Whoever has ended is not to be woken any more.
    let timers = store.timers(space, thread).await?;
    drafts.extend(timers.iter().map(|timer| Draft::changed(thread, "timer", &timer.name, Value::Null)));
    let mut told = store.holders(space, thread, TOLD_MAX).await?;
    told.extend(store.awaiting(space, thread, TOLD_MAX).await?);
    told.extend(thread.parent());
    let later = is_gathering(store, space, thread.parent().as_ref(), gathered.as_ref()).await?;
    let ending = Ending { thread, status: status.as_str(), reason, last };
    for holder in living(store, space, told, thread).await? {
        let is_parent = Some(&holder) == thread.parent().as_ref();
        let told = match gathered.as_ref().filter(|_| is_parent) {
            Some(gathered) => Draft::ended_part(&holder, &ending, &gathered.id, gathered.index, later),
            None => Draft::ended(&holder, &ending),
        };
        drafts.push(if is_counted { told } else { told.with("archived", true) });
        if is_parent {
            // It was made a contact with its beginning; one that makes many has not all of them for ever.
            let contacts =
                store.contacts(space, &holder).await?.into_iter().filter(|contact| contact.target == *thread);
            drafts.extend(contacts.map(|it| Draft::changed(&holder, "contact", it.name.as_str(), Value::Null)));
        }
    }
    Ok(drafts)
}

/// Whether the parent still gathers what the thread is a part of, and will be told of it with the rest.
async fn is_gathering(
    store: &Arc<dyn Store>,
    space: &Space,
    parent: Option<&ThreadId>,
    gathered: Option<&Gathered>,
) -> Result<bool, store::Error> {
    let (Some(parent), Some(gathered)) = (parent, gathered) else { return Ok(false) };
    let row = store.thread(space, parent).await?;
    Ok(row.is_some_and(|row| row.standing.gathers.contains_key(&gathered.id)))
}

/// Each of these threads once, without those that have ended and the one that they are to hear of.
async fn living(
    store: &Arc<dyn Store>,
    space: &Space,
    mut threads: Vec<ThreadId>,
    of: &ThreadId,
) -> Result<Vec<ThreadId>, store::Error> {
    threads.sort();
    threads.dedup();
    let mut living = Vec::new();
    for thread in threads.into_iter().filter(|thread| thread != of) {
        if store.thread(space, &thread).await?.is_some_and(|row| !row.status.is_final()) {
            living.push(thread);
        }
    }
    Ok(living)
}
