//! Merges of names, those that stand and those that were undone. Which names are one is made of those that stand, whenever it is asked: a statement keeps the
//! names that it was said with.

use super::{Change, Projection};
use crate::error::Stored;
use crate::kernel::Store;
use crate::migrations::{Migration, migration};
use crate::seen::Seen;
use crate::select::Select;
use crate::shown::json;
use crate::table::{Cell, Row, Table, integer, text};
use thinkd_event::entity::{Merge, Names, Unmerge};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::entity::EntityFact;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// A merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRow {
    /// Its id: that of the event that made it.
    pub id: String,
    /// The position of that event.
    pub seq: Seq,
    /// The merge.
    pub merge: Merge,
    /// When it was made.
    pub made: Timestamp,
    /// The event that undid it; 0: it stands.
    pub ended: Seq,
    /// An operator undid it: the statement that says so does not make it again.
    pub cut: bool,
    /// The event that changed it last.
    pub changed: Seq,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &MIGRATIONS,
    fold,
};

static MIGRATIONS: [Migration; 1] = [migration!("0021_entities")];

static TABLE: Table = Table {
    name: "merges",
    key: &[text("space"), text("id")],
    rest: &[
        integer("seq"),
        text("names"),
        text("reason"),
        text("author"),
        text("statement"),
        integer("made"),
        integer("ended"),
        integer("cut"),
        integer("changed"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let Fact::Entity(fact) = fact else {
        return None;
    };
    let changed = ("changed", Cell::from(event.seq));
    Some(match fact {
        EntityFact::Merged(merge) => {
            let or_empty = |text: &Option<String>| Cell::from(text.clone().unwrap_or_default());
            let cells: [(&'static str, Cell); 10] = [
                ("space", space.into()),
                ("id", event.event_id.to_string().into()),
                ("seq", event.seq.into()),
                ("names", json(&merge.names).unwrap_or_default().into()),
                ("reason", merge.reason.clone().into()),
                ("author", or_empty(&merge.by)),
                ("statement", or_empty(&merge.statement)),
                ("made", event.ts.into()),
                ("ended", 0.into()),
                ("cut", 0.into()),
            ];
            Change::Put(cells.into_iter().chain([changed]).collect())
        }
        EntityFact::Unmerged(Unmerge { merge, by, .. }) => {
            let key = [("space", Cell::from(space)), ("id", merge.as_str().into())];
            let cells = [
                ("ended", Cell::from(event.seq)),
                ("cut", i64::from(by.is_some()).into()),
            ];
            Change::Alter(key.into_iter().chain(cells).chain([changed]).collect())
        }
    })
}

fn read(row: &Row) -> Stored<MergeRow> {
    let some = |column: &str| {
        row.text(column)
            .map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()))
    };
    Ok(MergeRow {
        id: row.text("id")?.to_owned(),
        seq: row.integer("seq")?,
        merge: Merge {
            names: row.json("names")?,
            reason: row.text("reason")?.to_owned(),
            by: some("author")?,
            statement: some("statement")?,
        },
        made: row.time("made")?,
        ended: row.integer("ended")?,
        cut: row.integer("cut")? != 0,
        changed: row.integer("changed")?,
    })
}

/// Returns the rows that an append has to read to know whether merges changed behind an event.
pub(crate) fn changed_behind(space: &Space, seq: Seq) -> Select {
    Select::of(&TABLE, space).after("changed", seq)
}

/// Returns true if no merge changed behind an event.
pub(crate) fn is_quiet(seen: Seen<'_>, space: &Space, seq: Seq) -> bool {
    seen.rows(&TABLE, space)
        .all(|row| *row.cell("changed") <= Cell::from(seq))
}

/// Returns the names that are one by these merges.
pub fn names(merges: &[MergeRow]) -> Names {
    Names::of(merges.iter().map(|row| row.merge.names.as_slice()))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The merges that stand, the oldest first.
    pub async fn merges(&self, space: &Space) -> Stored<Vec<MergeRow>> {
        let select = Select::of(&TABLE, space)
            .equal("ended", 0)
            .order_by(&["seq"]);
        self.read(select, read).await
    }

    /// The merges that were undone, the one that was undone first first.
    pub async fn merges_undone(&self, space: &Space) -> Stored<Vec<MergeRow>> {
        let select = Select::of(&TABLE, space)
            .after("ended", 0)
            .order_by(&["ended"]);
        self.read(select, read).await
    }

    /// The merges of a statement, whether they stand or not, the oldest first.
    pub async fn merges_of_statement(
        &self,
        space: &Space,
        statement: &str,
    ) -> Stored<Vec<MergeRow>> {
        let select = Select::of(&TABLE, space)
            .equal("statement", statement)
            .order_by(&["seq"]);
        self.read(select, read).await
    }

    /// Merges that changed behind a position, in the order in which they did; at most `limit`.
    pub async fn merges_changed(
        &self,
        space: &Space,
        after: Seq,
        limit: u32,
    ) -> Stored<Vec<MergeRow>> {
        let select = Select::of(&TABLE, space)
            .after("changed", after)
            .order_by(&["changed"])
            .first(limit);
        self.read(select, read).await
    }

    /// Returns the names that are one now, and an event behind which they were looked up. A
    /// decision by them is stored under `Condition::NoneMergedSince`.
    pub async fn names_now(&self, space: &Space) -> Stored<(Names, Seq)> {
        let (merges, seq) = self.merges_now(space).await?;
        Ok((names(&merges), seq))
    }

    /// The merges that stand, and an event behind which that was looked up.
    pub async fn merges_now(&self, space: &Space) -> Stored<(Vec<MergeRow>, Seq)> {
        let seq = self.head(space).await?.seq;
        Ok((self.merges(space).await?, seq))
    }

    /// Returns the names that are one; as of an event, where one is named.
    pub async fn names(&self, space: &Space, as_of: Option<Seq>) -> Stored<Names> {
        let Some(as_of) = as_of else {
            return Ok(names(&self.merges(space).await?));
        };
        let made = Select::of(&TABLE, space).at_most("seq", as_of);
        let mut then = self.read(made.order_by(&["seq"]), read).await?;
        then.retain(|row| row.ended == 0 || row.ended > as_of);
        Ok(names(&then))
    }
}
