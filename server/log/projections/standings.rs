//! Former standings of statements: a row for every word on one, so that a question as of an event
//! can be answered.

use super::statements::{filled, status_of, times, valid_of};
use super::{Change, Projection};
use crate::error::Stored;
use crate::kernel::Store;
use crate::migrations::Migration;
use crate::select::Select;
use crate::shown::json;
use crate::table::{Cell, Row, Table, integer, integer_or_null, text};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::statement::{Instrument, Outcome, Status, Valid};
use thinkd_event::trial::News;
use thinkd_words::id::{Seq, Space};

/// The standing of a statement from an event on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its status.
    pub status: Status,
    /// When it was said to hold.
    pub valid: Valid,
    /// The instruments that carried it.
    pub carried: Vec<Instrument>,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &MIGRATIONS,
    fold,
};

// Made with the table of statements.
static MIGRATIONS: [Migration; 0] = [];

static TABLE: Table = Table {
    name: "standings",
    key: &[text("space"), text("id"), integer("seq")],
    rest: &[
        text("status"),
        integer_or_null("valid_from"),
        integer_or_null("valid_to"),
        text("carried"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (statement, news) = fact.news()?;
    let (status, valid, carried) = match news {
        News::Claimed(_) => (Status::Proposed, Valid::default(), Ok(String::new())),
        News::Judged(judged) => match judged.outcome {
            Outcome::Is(status) => (status, judged.valid, json(&judged.carried)),
            Outcome::Refused | Outcome::Joined => return None,
        },
        News::Derived(_) | News::Read(_) => return None,
    };
    let cells: [(&'static str, Cell); 5] = [
        ("space", space.into()),
        ("id", statement.into()),
        ("seq", event.seq.into()),
        ("status", status.as_str().into()),
        ("carried", carried.unwrap_or_default().into()),
    ];
    Some(Change::Put(cells.into_iter().chain(times(valid)).collect()))
}

fn read(row: &Row) -> Stored<Standing> {
    Ok(Standing {
        status: status_of(row)?,
        valid: valid_of(row)?,
        carried: filled(row, "carried")?.unwrap_or_default(),
    })
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the standing of a statement as of an event; none: it had not been claimed.
    pub async fn standing(&self, space: &Space, id: &str, as_of: Seq) -> Stored<Option<Standing>> {
        let select = Select::of(&TABLE, space)
            .equal("id", id)
            .at_most("seq", as_of)
            .order_by(&["seq"]);
        self.select(select).await?.last().map(read).transpose()
    }

    /// Returns the statuses of a statement before an event, each with the event at which it began,
    /// the oldest first.
    pub async fn stood(&self, space: &Space, id: &str, before: Seq) -> Stored<Vec<(Seq, Status)>> {
        let select = Select::of(&TABLE, space)
            .equal("id", id)
            .at_most("seq", before - 1)
            .order_by(&["seq"]);
        let status = |row: &Row| Ok((row.integer("seq")?, status_of(row)?));
        self.read(select, status).await
    }

    /// Returns the words on statements behind a position and up to an event, by the ids of the
    /// statements, in order; at most `limit`.
    pub async fn standings(
        &self,
        space: &Space,
        (after, as_of): (Seq, Seq),
        limit: u32,
    ) -> Stored<Vec<(Seq, String, Standing)>> {
        let select = Select::of(&TABLE, space)
            .after("seq", after)
            .at_most("seq", as_of)
            .order_by(&["seq"]);
        let said = |row: &Row| Ok((row.integer("seq")?, row.text("id")?.to_owned(), read(row)?));
        self.read(select.first(limit), said).await
    }
}
