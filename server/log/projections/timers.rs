//! Timers that are set: those that threads set, and those that end a wait.

use super::{Change, Projection, due};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Cell, Row, Table, integer, integer_or_null, text};
use crate::thread_row::Span;
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{self, Set};
use thinkd_event::fact::told::{News, Told};
use thinkd_event::request::Parked;
use thinkd_event::timer::Purpose;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// A timer that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerRow {
    /// The space.
    pub space: Space,
    /// The thread that it wakes.
    pub thread: ThreadId,
    /// Its name in that thread.
    pub name: String,
    /// When.
    pub due: Timestamp,
    /// Its purpose.
    pub note: String,
    /// The event from outside that its setter went back to.
    pub root: Option<Seq>,
}

impl TimerRow {
    /// Returns the condition that it is still set for that time.
    pub fn stands(&self) -> Condition {
        Condition::TimerStands {
            name: self.name.clone(),
            due: self.due,
        }
    }
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Timer),
    migrations: &[],
    fold,
};

static TABLE: Table = Table {
    name: "timers",
    key: &[text("space"), text("thread"), text("name")],
    rest: &[integer("due"), text("note"), integer_or_null("root")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let key = |name: &str| TABLE.keyed(space, &event.thread, name);
    let parked = |id: &str, call_id: &str, turn: u64| Parked {
        id: id.to_owned(),
        call_id: call_id.to_owned(),
        tool: None,
        server: None,
        client: None,
        turn,
        trial: None,
    };
    let until = |due: &str, parked: Parked| -> Option<Change> {
        Some(Change::Put(key(&parked.timer()).with([
            ("due", Timestamp::parse(due)?.into()),
            ("note", parked.note().into()),
            ("root", Cell::Null),
        ])))
    };
    let gone = |name: &str| Some(Change::Remove(key(name)));
    let over = |id: &str| gone(&Purpose::Request(id).to_string());
    match fact {
        // A request to people brings its time limit with it, and takes it along.
        Fact::ApprovalPending(it) => {
            let parked = Parked {
                tool: Some(it.tool.to_owned()),
                ..parked(it.approval, it.call_id, it.turn)
            };
            until(it.expires, parked)
        }
        Fact::ApprovalVerdict(it) => over(it.approval),
        Fact::ClientCall(it) => {
            let parked = Parked {
                tool: Some(it.tool.to_owned()),
                client: Some(it.client.to_owned()),
                ..parked(it.request, it.call_id, it.turn)
            };
            until(it.expires, parked)
        }
        Fact::Result(it) => over(it.approval?),
        Fact::Question(it) => {
            let parked = Parked {
                server: it.server.map(str::to_owned),
                trial: it.trial.clone(),
                ..parked(it.question, it.call_id, it.turn)
            };
            until(it.expires, parked)
        }
        Fact::Answer(it) => over(it.question),
        Fact::Input(it) => over(it.answers?),
        // A turn that ends a wait ends its time limit, too.
        Fact::TurnStarted(started) => gone(started.waited?),
        Fact::Told(Told {
            news: News::Timer { timer, .. },
            ..
        }) => gone(timer),
        Fact::Set(Set {
            key: name,
            change: set::Change::Timer(timer),
            root,
            ..
        }) => {
            let rest = timer.as_ref().map(|timer| {
                [
                    ("due", timer.due.into()),
                    ("note", timer.note.clone().into()),
                    ("root", (*root).into()),
                ]
            });
            Some(Change::set(key(name), rest))
        }
        _ => None,
    }
}

fn read(row: &Row) -> Result<TimerRow, StoreError> {
    Ok(TimerRow {
        space: row.space("space")?,
        thread: row.thread("thread")?,
        name: row.text("name")?.to_owned(),
        due: row.time("due")?,
        note: row.text("note")?.to_owned(),
        root: row.integer_or_null("root")?,
    })
}

/// Returns the rows that an append has to read to know whether timers stand that are due until
/// then.
pub(crate) fn due_until(space: &Space, until: Timestamp) -> Select {
    Select::of(&TABLE, space).at_most("due", until)
}

/// Returns true if a thread has set this timer, and for then.
pub(crate) fn stands(
    seen: Seen<'_>,
    space: &Space,
    thread: &ThreadId,
    name: &str,
    due: Timestamp,
) -> bool {
    let row = seen.row(&TABLE.changed(space, thread, name));
    row.is_some_and(|row| *row.cell("due") == Cell::from(due))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The timers of these threads, by id and name.
    pub async fn timers(&self, space: &Space, of: Span<'_>) -> Result<Vec<TimerRow>, StoreError> {
        let select = Select::of(&TABLE, space)
            .at_least("thread", *of.start())
            .at_most("thread", *of.end());
        self.read(select.order_by(&["thread", "name"]), read).await
    }

    /// The spaces that have timers which are due until then.
    pub async fn spaces_due(&self, until: Timestamp) -> Result<Vec<Space>, StoreError> {
        due::spaces(self, &TABLE, until).await
    }

    /// The spaces that have timers which are due after that.
    pub async fn spaces_with_timers_after(
        &self,
        after: Timestamp,
    ) -> Result<Vec<Space>, StoreError> {
        let later = Select::of_all_spaces(&TABLE).after("due", after);
        let spaces = later.distinct(&["space"]);
        self.read_some(spaces, |row| row.space("space")).await
    }

    /// The timers of a space that are due after that.
    pub async fn timers_after(
        &self,
        space: &Space,
        after: Timestamp,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let later = Select::of(&TABLE, space).after("due", after);
        self.read_some(later, read).await
    }

    /// Timers of a space that are due until then, the first ones first; at most `limit`.
    pub async fn due(
        &self,
        space: &Space,
        until: Timestamp,
        limit: u32,
    ) -> Result<Vec<TimerRow>, StoreError> {
        let due = due::until(Select::of(&TABLE, space), until, limit);
        self.read_some(due, read).await
    }

    /// When the first timer of all spaces is due after that.
    pub async fn next_due(&self, after: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        due::next(self, Select::of_all_spaces(&TABLE), after).await
    }
}
