//! Acts on frameworks, as plain functions over the log, by missions and by people.
//! Each act is an event, stored only while the framework is as it was seen. Which framework a task
//! is like is found in `recall/frameworks.rs`.

use uuid::Uuid;

use super::refused::Refused;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::framework::{FrameworkFact, Said};
use thinkd_event::fact::set::Change;
use thinkd_event::framework::{Framework, FrameworkChange, Outcome};
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::frameworks::FrameworkRow;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Most tries of an act that is overtaken each time.
const TRIES: usize = 16;

/// Creates a framework where the space has fewer than `limit`. Nothing is known of it: it is on
/// probation.
pub async fn create(
    store: &dyn Store,
    space: &Space,
    (id, new): (&str, Framework),
    limit: u32,
) -> Result<FrameworkRow, Refused> {
    let has_room = Condition::FewerFrameworks(limit as usize);
    match stored(store, space, set(id, Some(&new)).only_if(has_room)).await {
        Err(Refused::Store(StoreError::Unmet(_))) => Err(Refused::TooMany {
            what: "frameworks in a space",
            limit,
        }),
        made => Ok(row_of(id, new, &made?)),
    }
}

/// Changes a framework, as it is expected to be.
pub async fn change(
    store: &dyn Store,
    space: &Space,
    id: &str,
    change: FrameworkChange,
) -> Result<FrameworkRow, Refused> {
    for _ in 0..TRIES {
        let row = expected(store, space, id, change.expected_seq).await?;
        let new = row.framework.with(change.clone());
        match stored(store, space, set(id, Some(&new)).only_if(is_at(&row))).await {
            Err(Refused::Store(StoreError::Unmet(_))) => {}
            set => return Ok(row_of(id, new, &set?)),
        }
    }
    Err(overtaken(id))
}

/// Removes a framework, as it is expected to be.
pub async fn remove(
    store: &dyn Store,
    space: &Space,
    id: &str,
    expected_seq: Option<Seq>,
) -> Result<(), Refused> {
    for _ in 0..TRIES {
        let row = expected(store, space, id, expected_seq).await?;
        match stored(store, space, set(id, None).only_if(is_at(&row))).await {
            Err(Refused::Store(StoreError::Unmet(_))) => {}
            done => return done.map(drop),
        }
    }
    Err(overtaken(id))
}

/// Tells the outcome of a task that a framework is for, by an event with this id: one that is in
/// the log already is not told again. Returns how the framework stands then.
pub async fn tell_outcome(
    store: &dyn Store,
    space: &Space,
    id: &str,
    (came, event): (&Outcome, Uuid),
) -> Result<FrameworkRow, Refused> {
    for _ in 0..TRIES {
        let mut row = expected(store, space, id, None).await?;
        if store.event(space, event).await?.is_some() {
            return Ok(row);
        }
        let with = came.with;
        let worked = came.worked;
        let tally = row.framework.tally.and(with, worked);
        let said = FrameworkFact {
            framework: id,
            with,
            task: &came.task,
            what: Said::Came { worked, tally },
        };
        let draft = said.encode(&came.thread).with_id(event);
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

/// Returns a framework that is there, as the caller expects it to be.
async fn expected(
    store: &dyn Store,
    space: &Space,
    id: &str,
    expected: Option<Seq>,
) -> Result<FrameworkRow, Refused> {
    let row = store.framework(space, id).await?;
    let row = row.ok_or_else(|| Refused::NotFound(format!("framework {id}")))?;
    let last = row.changed;
    match expected.filter(|expected| *expected != last) {
        Some(expected) => Err(Refused::FrameworkChanged { expected, last }),
        None => Ok(row),
    }
}

/// Returns the event with the new state of a framework; without one it says that the framework is
/// gone.
fn set(id: &str, framework: Option<&Framework>) -> Draft {
    let framework = framework.cloned().map(Box::new);
    Draft::set(&ThreadId::default(), id, Change::Framework(framework))
}

/// Returns the row of a framework that this event set.
fn row_of(id: &str, framework: Framework, event: &Event) -> FrameworkRow {
    FrameworkRow {
        id: id.to_owned(),
        framework,
        changed: event.seq,
        updated: event.ts,
    }
}

/// Stores one event about a framework.
async fn stored(store: &dyn Store, space: &Space, draft: Draft) -> Result<Event, Refused> {
    if let Appended::Stored(placed) = store.append(Append::free(space, vec![draft])).await?
        && let Some(placed) = placed.first()
    {
        return Ok(placed.shown.event.clone());
    }
    let text = "the store dropped what was said of a framework";
    Err(StoreError::Broken(text.into()).into())
}

/// Returns the condition that a framework has not changed since this row.
fn is_at(row: &FrameworkRow) -> Condition {
    Condition::FrameworkAt {
        id: row.id.clone(),
        changed: row.changed,
    }
}

/// Returns the refusal of an act that was overtaken in every try.
fn overtaken(id: &str) -> Refused {
    Refused::Unprocessable(format!(
        "something is said of the framework {id} all the time: try again"
    ))
}
