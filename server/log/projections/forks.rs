//! Forks: the threads that were forked from a thread, and at which of its events.

use super::{Change, Projection, set_of};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::migrations::{Migration, migration};
use crate::select::Select;
use crate::table::{Cell, Row, Table, integer, text};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set;
use thinkd_words::id::{Seq, Space, ThreadId};

/// A fork, and the place where it left the other thread.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[schema(as = Fork)]
pub struct ForkRow {
    /// The fork.
    #[schema(value_type = String)]
    pub thread: ThreadId,
    /// The end of the turn at which it left the other thread; 0: its past is empty.
    #[schema(value_type = i64)]
    pub at: Seq,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &MIGRATIONS,
    fold,
};

static MIGRATIONS: [Migration; 1] = [migration!("0038_forks")];

static TABLE: Table = Table {
    name: "forks",
    key: &[text("space"), text("thread")],
    rest: &[text("origin"), integer("at")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (_, set::Change::Thread(change)) = set_of(fact)? else {
        return None;
    };
    let forked = change.forked.as_ref()?;
    let cells: [(&'static str, Cell); 4] = [
        ("space", space.into()),
        ("thread", (&event.thread).into()),
        ("origin", (&forked.from).into()),
        ("at", forked.at.into()),
    ];
    Some(Change::Put(cells.into_iter().collect()))
}

fn read(row: &Row) -> Result<ForkRow, StoreError> {
    Ok(ForkRow {
        thread: row.thread("thread")?,
        at: row.integer("at")?,
    })
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The forks of a thread by their place and id, at most `limit`.
    pub async fn forks(
        &self,
        space: &Space,
        thread: &ThreadId,
        limit: u32,
    ) -> Result<Vec<ForkRow>, StoreError> {
        let of_thread = Select::of(&TABLE, space).equal("origin", thread);
        let select = of_thread.order_by(&["at", "thread"]).first(limit);
        self.read(select, read).await
    }
}
