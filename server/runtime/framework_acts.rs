//! What is said of frameworks, as plain functions over the log: missions say it, and so do people
//! (`runtime/frameworks.rs`). Each act is an event, stored only while the framework is as it was
//! seen.

use uuid::Uuid;

use super::refused::Refused;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::set::Change;
use crate::event::framework::{Framework, Outcome};
use crate::log::appended::{Append, Appended};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::frameworks::FrameworkRow;
use crate::words::id::{Space, ThreadId};

/// So often is an act tried again that somebody else overtook.
pub const TRIES: usize = 16;

/// Creates a framework where the space has fewer than `limit`.
pub async fn create(
    store: &dyn Store,
    space: &Space,
    new: (&str, Framework),
    limit: u32,
) -> Result<FrameworkRow, Refused> {
    let has_room = Condition::FewerFrameworks(limit as usize);
    match set(store, space, new, has_room).await {
        Err(Refused::Store(StoreError::Unmet(_))) => Err(Refused::TooMany {
            what: "frameworks in a space (limits.frameworks)",
            limit,
        }),
        made => made,
    }
}

/// Tells what came of a task that a framework is for, by an event with this id: one that is in the
/// log already is not told again.
pub async fn tell_outcome(
    store: &dyn Store,
    space: &Space,
    id: &str,
    (came, event): (&Outcome, Uuid),
) -> Result<FrameworkRow, Refused> {
    for _ in 0..TRIES {
        let mut row = known(store, space, id).await?;
        if store.event(space, event).await?.is_some() {
            return Ok(row);
        }
        let tally = row.framework.tally.and(came.with, came.worked);
        let said = (came.with, came.worked);
        let draft = Draft::framework_outcome(&came.thread, id, said, &came.task, tally);
        let draft = draft.with_id(event).only_if(is_at(&row));
        match stored(store, space, draft).await {
            Err(Refused::Store(StoreError::Unmet(_) | StoreError::Conflict(_))) => {}
            stored => {
                row.framework.tally = tally;
                row.changed = stored?.seq;
                return Ok(row);
            }
        }
    }
    Err(overtaken(id))
}

/// Returns a framework that is there.
pub async fn known(store: &dyn Store, space: &Space, id: &str) -> Result<FrameworkRow, Refused> {
    let row = store.framework(space, id).await?;
    row.ok_or_else(|| Refused::NotFound(format!("framework {id}")))
}

/// Says what a framework is now.
pub async fn set(
    store: &dyn Store,
    space: &Space,
    (id, framework): (&str, Framework),
    only_if: Condition,
) -> Result<FrameworkRow, Refused> {
    let change = Change::Framework(Some(Box::new(framework.clone())));
    let draft = Draft::set(&ThreadId::default(), id, change).only_if(only_if);
    let event = stored(store, space, draft).await?;
    Ok(FrameworkRow {
        id: id.to_owned(),
        framework,
        changed: event.seq,
        updated: event.ts,
    })
}

/// Stores one event about a framework.
pub async fn stored(store: &dyn Store, space: &Space, draft: Draft) -> Result<Event, Refused> {
    if let Appended::Stored(placed) = store.append(Append::free(space, vec![draft])).await?
        && let Some(placed) = placed.first()
    {
        return Ok(placed.shown.event.clone());
    }
    let text = "the store dropped what was said of a framework";
    Err(StoreError::Broken(text.into()).into())
}

/// Returns what is so as long as nobody else says something of it.
pub fn is_at(row: &FrameworkRow) -> Condition {
    Condition::FrameworkAt {
        id: row.id.clone(),
        changed: row.changed,
    }
}

/// Somebody else always was first.
pub fn overtaken(id: &str) -> Refused {
    Refused::Unprocessable(format!(
        "something is said of the framework {id} all the time: try again"
    ))
}
