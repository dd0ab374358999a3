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
    rest: &[text("origin"), integer("at"), integer("seq")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (_, set::Change::Thread(change)) = set_of(fact)? else {
        return None;
    };
    let forked = change.forked.as_ref()?;
    let cells: [(&'static str, Cell); 5] = [
        ("space", space.into()),
        ("thread", (&event.thread).into()),
        ("origin", (&forked.from).into()),
        ("at", forked.at.into()),
        ("seq", event.seq.into()),
    ];
    Some(Change::Put(cells.into_iter().collect()))
}

fn read(row: &Row) -> Result<ForkRow, StoreError> {
    Ok(ForkRow {
        thread: row.thread("thread")?,
        at: row.integer("at")?,
    })
}

/// Most forks that are looked at for one event.
const FORKS_MAX: u32 = 1000;

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the forks with an event of a thread in their past, by the row of each; of very many,
    /// some.
    pub async fn forks_with(
        &self,
        space: &Space,
        thread: &ThreadId,
        seq: Seq,
    ) -> Result<Vec<ThreadId>, StoreError> {
        let of = |origin: &ThreadId, at: Seq| {
            let forks = Select::of(&TABLE, space).equal("origin", origin);
            forks.at_least("at", at).order_by(&["seq"]).first(FORKS_MAX)
        };
        let mut with = Vec::new();
        let mut looked = 0;
        let mut found = self.read(of(thread, seq), read).await?;
        while looked < FORKS_MAX as usize
            && let Some(fork) = found.pop()
        {
            looked += 1;
            // What a fork has, its own forks have, too.
            found.extend(self.read(of(&fork.thread, 1), read).await?);
            let row = self.thread_lately(space, &fork.thread).await?;
            let past = row.and_then(|row| row.state.fork);
            with.extend(past.filter(|it| it.has(thread, seq)).map(|_| fork.thread));
        }
        Ok(with)
    }

    /// The forks of a thread in the order in which they were made, at most `limit`.
    pub async fn forks(
        &self,
        space: &Space,
        thread: &ThreadId,
        limit: u32,
    ) -> Result<Vec<ForkRow>, StoreError> {
        let of_thread = Select::of(&TABLE, space).equal("origin", thread);
        let select = of_thread.order_by(&["seq"]).first(limit);
        self.read(select, read).await
    }
}
