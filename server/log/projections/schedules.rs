//! Schedules: the times at which each fires its trigger, and the next of them. A firing moves it
//! on: of several servers one does.

use std::collections::BTreeSet;

use super::{Change, Projection, due};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::migrations::migration;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Cell, Row, Table, integer, integer_or_null, text};
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{self, Set};
use thinkd_event::schedule::{Firing, Schedule};
use thinkd_words::id::{Name, Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// A schedule's row.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRow {
    /// Its name.
    pub name: Name,
    /// The schedule, as it stands now.
    pub schedule: Schedule,
    /// The event that changed or fired it last.
    pub changed: Seq,
    /// When it was set.
    pub updated: Timestamp,
}

impl ScheduleRow {
    /// Returns the condition that it is as it was seen; with a due time also that it is due then.
    pub fn stands(&self, due: Option<Timestamp>) -> Condition {
        Condition::ScheduleStands {
            name: self.name.clone(),
            changed: self.changed,
            due,
        }
    }
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Schedule),
    migrations: &[migration!("0013_schedules")],
    fold,
};

static TABLE: Table = Table {
    name: "schedules",
    key: &[text("space"), text("name")],
    rest: &[
        text("thread"),
        text("schedule"),
        integer_or_null("due"),
        integer_or_null("through"),
        integer_or_null("last"),
        integer("changed"),
        integer("updated"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let key = |name: &str| TABLE.keyed(space, &event.thread, name);
    let changed = ("changed", Cell::from(event.seq));
    match fact {
        Fact::Set(Set {
            key: name,
            change: set::Change::Schedule(schedule),
            ..
        }) => {
            if Name::parse(name).is_err() {
                return Some(Change::Unreadable);
            }
            let rest = schedule.as_ref().map(|schedule| {
                // When it is due and what it did stand in columns of their own, and nowhere else.
                let said = Schedule {
                    due: None,
                    through: None,
                    last: None,
                    ..Schedule::clone(schedule)
                };
                let text = serde_json::to_string(&said).unwrap_or_default();
                [
                    ("thread", (&said.thread).into()),
                    ("schedule", text.into()),
                    ("due", time_or_null(schedule.due)),
                    ("through", time_or_null(schedule.through)),
                    ("last", schedule.last.into()),
                    changed,
                    ("updated", event.ts.into()),
                ]
            });
            Some(Change::set(key(name), rest))
        }
        Fact::Trigger(trigger) => {
            let row = key(trigger.schedule?).with([changed, ("last", event.seq.into())]);
            Some(match trigger.firing() {
                Some(firing) => moved(&firing, row),
                // Out of turn: it is due when it was.
                None => Change::Alter(row),
            })
        }
        Fact::Unrun(unrun) => {
            let row = key(unrun.firing.name.as_str()).with([changed]);
            Some(moved(&unrun.firing, row))
        }
        _ => None,
    }
}

/// Some due times were seen to; when there are no more, the schedule is gone.
fn moved(firing: &Firing, row: Row) -> Change {
    match firing.next {
        Some(next) => {
            Change::Alter(row.with([("due", next.into()), ("through", firing.last.into())]))
        }
        None => Change::Remove(row),
    }
}

fn time_or_null(time: Option<Timestamp>) -> Cell {
    time.map(Timestamp::micros).into()
}

fn read(row: &Row) -> Result<ScheduleRow, StoreError> {
    let time = |column: &str| {
        Ok::<_, StoreError>(row.integer_or_null(column)?.map(Timestamp::from_micros))
    };
    let due = time("due")?;
    let through = time("through")?;
    let last = row.integer_or_null("last")?;
    Ok(ScheduleRow {
        name: row.name("name")?,
        schedule: Schedule {
            due,
            through,
            last,
            ..row.json("schedule")?
        },
        changed: row.integer("changed")?,
        updated: row.time("updated")?,
    })
}

/// Returns the rows that an append has to read to know whether schedules stand that are due until
/// then.
pub(crate) fn due_until(space: &Space, until: Timestamp) -> Select {
    Select::of(&TABLE, space)
        .at_most("due", until)
        .distinct(&["space", "name", "changed"])
}

/// Returns the rows that an append has to read to know whether a schedule stands.
pub(crate) fn named(space: &Space, name: &Name) -> Select {
    Select::of(&TABLE, space)
        .equal("name", name.as_str())
        .distinct(&["space", "name", "changed"])
}

/// Returns the rows that an append has to read to know the schedules of a space.
pub(crate) fn names(space: &Space) -> Select {
    Select::of(&TABLE, space).distinct(&["space", "name"])
}

/// Returns true if nothing has happened to a schedule since that event.
pub(crate) fn stands(seen: Seen<'_>, space: &Space, name: &Name, changed: Seq) -> bool {
    let row = seen.row(&TABLE.changed(space, &ThreadId::default(), name.as_str()));
    row.is_some_and(|row| *row.cell("changed") == Cell::from(changed))
}

/// Returns true if a space has no schedule of this name, and fewer than so many.
pub(crate) fn has_room(seen: Seen<'_>, space: &Space, name: &Name, most: usize) -> bool {
    let is_new = seen
        .row(&TABLE.changed(space, &ThreadId::default(), name.as_str()))
        .is_none();
    is_new && seen.rows(&TABLE, space).take(most).count() < most
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// One schedule.
    pub async fn schedule(
        &self,
        space: &Space,
        name: &Name,
    ) -> Result<Option<ScheduleRow>, StoreError> {
        let select = Select::of(&TABLE, space).equal("name", name.as_str());
        self.read_first(select, read).await
    }

    /// Schedules by name, those after `after`, of one thread if it is named; at most `limit`.
    pub async fn schedules(
        &self,
        space: &Space,
        thread: Option<&ThreadId>,
        after: Option<&Name>,
        limit: u32,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let mut select = Select::of(&TABLE, space);
        if let Some(after) = after {
            select = select.after("name", after.as_str());
        }
        if let Some(thread) = thread {
            select = select.equal("thread", thread);
        }
        let page = select.order_by(&["name"]).first(limit);
        self.read(page, read).await
    }

    /// The spaces that have schedules which are due until then.
    pub async fn spaces_with_schedules_due(
        &self,
        until: Timestamp,
    ) -> Result<Vec<Space>, StoreError> {
        due::spaces(self, &TABLE, until).await
    }

    /// The spaces that have schedules which were set, or seen to, by a clock that said later than that.
    pub async fn spaces_with_schedules_ahead(
        &self,
        of: Timestamp,
    ) -> Result<BTreeSet<Space>, StoreError> {
        let mut spaces = BTreeSet::new();
        for column in ["updated", "through"] {
            let later = Select::of_all_spaces(&TABLE).after(column, of);
            let found = later.distinct(&["space"]);
            spaces.extend(self.read_some(found, |row| row.space("space")).await?);
        }
        Ok(spaces)
    }

    /// Schedules of a space that are due until then, the first ones first; at most `limit`.
    pub async fn schedules_due(
        &self,
        space: &Space,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let due = due::until(Select::of(&TABLE, space), until, limit);
        self.read_some(due, read).await
    }

    /// When the first schedule of all spaces is due after that.
    pub async fn next_schedule_due(
        &self,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        due::next(self, Select::of_all_spaces(&TABLE), after).await
    }
}
