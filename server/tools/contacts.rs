//! The resolution of names to threads: a contact, the parent, or the thread itself. Several tools share it. A name that is none of these is
//! reported as unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tool::{CallSite, Output};
use thinkd_event::draft::Draft;
use thinkd_event::intent::Intent;
use thinkd_event::process::ErrorCode;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::contacts::ContactRow;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Name, Space, ThreadId};

/// The name of the parent in every thread that has one.
pub const PARENT: &str = "parent";
/// The name of every thread for itself.
pub const SELF: &str = "self";

/// The thread's contacts, as they will be when its turn ends.
pub async fn known(
    store: &Arc<dyn Store>,
    site: &CallSite,
) -> Result<BTreeMap<Name, ContactRow>, StoreError> {
    contacts_after(store, &site.space, &site.thread, &site.so_far.intents).await
}

/// The thread that a name means here; `None` if there is no such contact, or none that may be written to.
pub async fn resolve(
    store: &Arc<dyn Store>,
    site: &CallSite,
    given: &str,
) -> Result<Option<ThreadId>, StoreError> {
    let given = given.trim();
    if given == SELF || given == site.thread.as_str() {
        return Ok(Some(site.thread.clone()));
    }
    let contacts = known(store, site).await?;
    let named = contacts.values().find(|row| row.name.as_str() == given);
    let by_id = || contacts.values().find(|row| row.target.as_str() == given);
    let found = match named.or_else(by_id) {
        Some(row) => Some(row.target.clone()),
        None => {
            let row = store.thread(&site.space, &site.thread).await?;
            let parent = row.and_then(|row| row.parent());
            parent.filter(|parent| given == PARENT || given == parent.as_str())
        }
    };
    let Some(thread) = found else {
        return Ok(None);
    };
    let row = store.thread(&site.space, &thread).await?;
    Ok(row.filter(|row| !row.status.is_final()).map(|_| thread))
}

/// A thread's contacts, as they will be when a turn ends that intends this.
pub async fn contacts_after(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    intents: &[Intent],
) -> Result<BTreeMap<Name, ContactRow>, StoreError> {
    let rows = store.contacts(space, thread).await?;
    let mut contacts: BTreeMap<Name, ContactRow> = rows
        .into_iter()
        .map(|row| (row.name.clone(), row))
        .collect();
    for intent in intents {
        match intent {
            Intent::Connect {
                name,
                thread,
                description,
            } => {
                let row = ContactRow {
                    name: name.clone(),
                    target: thread.clone(),
                    description: description.clone(),
                };
                contacts.insert(name.clone(), row);
            }
            Intent::Disconnect { name } => drop(contacts.remove(name)),
            _ => {}
        }
    }
    Ok(contacts)
}

/// Returns the failed call for a name that means no thread, with the error that it leaves.
pub fn nobody(site: &CallSite, given: &str) -> Output {
    let given: String = given.chars().take(100).collect();
    let text = format!(
        "there is no contact {given:?} to send to; use one of your contacts, or spawn_thread to make a thread"
    );
    let error = Draft::thread_error(
        &site.thread,
        Some(site.turn),
        &given,
        ErrorCode::UnknownThread,
        &text,
    );
    Output::failed(vec![error], Failure::new(FailureKind::Tool, text))
}
