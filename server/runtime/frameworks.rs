//! What is done to frameworks: create, change, remove, and tell what came of a like task. Each act is an event, stored only while the framework is as it
//! was seen. Which one a task is like is found in `recall/frameworks.rs`.

use uuid::Uuid;

use super::handle::Runtime;
use super::refused::Refused;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::set::Change;
use crate::event::framework::{Framework, FrameworkChange, Outcome};
use crate::log::appended::{Append, Appended};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::frameworks::FrameworkRow;
use crate::words::id::{self, Seq, Space, ThreadId};

/// So often is an act tried again that somebody else overtook.
const TRIES: usize = 16;

impl Runtime {
    /// Creates a framework. Nothing is known of it: it is on probation.
    pub async fn create_framework(&self, space: &Space, new: Framework) -> Result<FrameworkRow, Refused> {
        self.open(space).await?;
        let limit = self.0.ground.options.tool_limits.frameworks;
        let id = id::fresh().to_string();
        create(&**self.store(), space, &id, new, limit).await
    }

    /// Changes a framework; with `expected` only if that event was the last that said something of it.
    pub async fn change_framework(
        &self,
        space: &Space,
        id: &str,
        change: FrameworkChange,
        expected: Option<Seq>,
    ) -> Result<FrameworkRow, Refused> {
        for _ in 0..TRIES {
            let row = self.framework_at(space, id, expected).await?;
            match self.set_framework(space, id, row.framework.with(change.clone()), is_at(&row)).await {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                set => return set,
            }
        }
        Err(overtaken(id))
    }

    /// Removes a framework.
    pub async fn remove_framework(&self, space: &Space, id: &str, expected: Option<Seq>) -> Result<(), Refused> {
        for _ in 0..TRIES {
            let row = self.framework_at(space, id, expected).await?;
            let draft = Draft::set(&ThreadId::default(), id, Change::Framework(None)).only_if(is_at(&row));
            match self.store_framework(space, draft).await {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                done => return done.map(drop),
            }
        }
        Err(overtaken(id))
    }

    /// Tells what came of a task that a framework is for, and how the framework stands then.
    pub async fn framework_outcome(&self, space: &Space, id: &str, came: &Outcome) -> Result<FrameworkRow, Refused> {
        tell_outcome(&**self.store(), space, id, came, id::fresh()).await
    }

    /// A framework as the caller expects it to be.
    async fn framework_at(&self, space: &Space, id: &str, expected: Option<Seq>) -> Result<FrameworkRow, Refused> {
        let row = known(&**self.store(), space, id).await?;
        match expected.filter(|expected| *expected != row.changed) {
            Some(expected) => Err(Refused::FrameworkChanged { expected, last: row.changed }),
            None => Ok(row),
        }
    }

    async fn set_framework(
        &self,
        space: &Space,
        id: &str,
        framework: Framework,
        only_if: Condition,
    ) -> Result<FrameworkRow, Refused> {
        set(&**self.store(), space, id, framework, only_if).await
    }

    async fn store_framework(&self, space: &Space, draft: Draft) -> Result<Event, Refused> {
        stored(&**self.store(), space, draft).await
    }
}

/// Creates a framework where the space has fewer than `limit`.
pub(super) async fn create(
    store: &dyn Store,
    space: &Space,
    id: &str,
    new: Framework,
    limit: u32,
) -> Result<FrameworkRow, Refused> {
    match set(store, space, id, new, Condition::FewerFrameworks(limit as usize)).await {
        Err(Refused::Store(StoreError::Unmet(_))) => {
            Err(Refused::TooMany { what: "frameworks in a space (limits.frameworks)", limit })
        }
        made => made,
    }
}

/// Tells what came of a task that a framework is for, by an event with this id: one that is in the log already is not told again.
pub(super) async fn tell_outcome(
    store: &dyn Store,
    space: &Space,
    id: &str,
    came: &Outcome,
    event: Uuid,
) -> Result<FrameworkRow, Refused> {
    for _ in 0..TRIES {
        let mut row = known(store, space, id).await?;
        if store.event(space, event).await?.is_some() {
            return Ok(row);
        }
        let tally = row.framework.tally.and(came.with, came.worked);
        let said = (came.with, came.worked);
        let draft = Draft::framework_outcome(&came.thread, id, said, &came.task, tally).with_id(event);
        match stored(store, space, draft.only_if(is_at(&row))).await {
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

async fn known(store: &dyn Store, space: &Space, id: &str) -> Result<FrameworkRow, Refused> {
    let row = store.framework(space, id).await?;
    row.ok_or_else(|| Refused::NotFound(format!("framework {id}")))
}

async fn set(
    store: &dyn Store,
    space: &Space,
    id: &str,
    framework: Framework,
    only_if: Condition,
) -> Result<FrameworkRow, Refused> {
    let change = Change::Framework(Some(Box::new(framework.clone())));
    let draft = Draft::set(&ThreadId::default(), id, change).only_if(only_if);
    let event = stored(store, space, draft).await?;
    Ok(FrameworkRow { id: id.to_owned(), framework, changed: event.seq, updated: event.ts })
}

async fn stored(store: &dyn Store, space: &Space, draft: Draft) -> Result<Event, Refused> {
    let placed = match store.append(Append::free(space, vec![draft])).await? {
        Appended::Stored(placed) => placed,
        Appended::Stale => Vec::new(),
    };
    let event = placed.first().map(|placed| placed.shown.event.clone());
    event.ok_or_else(|| StoreError::Broken("the store dropped what was said of a framework".into()).into())
}

fn is_at(row: &FrameworkRow) -> Condition {
    Condition::FrameworkAt { id: row.id.clone(), changed: row.changed }
}

fn overtaken(id: &str) -> Refused {
    Refused::Unprocessable(format!("something is said of the framework {id} all the time: try again"))
}
