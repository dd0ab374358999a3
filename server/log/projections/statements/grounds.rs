//! Derivations of statements from each other, and the test whether a statement came to be held that
//! may stand on one, or contradict it.

use std::collections::BTreeSet;

use super::{TABLE, key, status_of};
use crate::error::Stored;
use crate::kernel::Store;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Cell, Row};
use thinkd_event::method::Link;
use thinkd_event::statement::{Status, folded};
use thinkd_words::id::{Seq, Space};

/// Links that are read at a time.
const LINKS: u32 = 1000;

/// The normal forms of a subject's names, and a relation.
type About<'a> = Option<&'a (BTreeSet<String>, String)>;

/// Returns the rows that an append has to read to know which statements changed behind an event.
pub(crate) fn changed_behind(space: &Space, seq: Seq) -> Select {
    Select::of(&TABLE, space).after("changed", seq)
}

/// Returns true if no statement changed behind an event and is held that is derived from others, or
/// is about these.
pub(crate) fn is_quiet(seen: Seen<'_>, space: &Space, seq: Seq, about: About<'_>) -> bool {
    let about = about.map(|(forms, relation)| {
        let subjects: Vec<Cell> = forms.iter().map(|form| key(form).into()).collect();
        (subjects, Cell::from(key(&folded(relation))))
    });
    let is_held = |row: &Row| status_of(row).map_or(true, Status::is_held);
    // Of a row that this transaction altered, and that was not asked for, only what is new is known: the rest may be anything.
    let may_be = |row: &Row, column: &str, is: &dyn Fn(&Cell) -> bool| {
        !row.has(column) || is(row.cell(column))
    };
    let stands_on_others = |row: &Row| may_be(row, "derived", &|cell| *cell != Cell::Null);
    let is_about = |row: &Row| {
        about.as_ref().is_some_and(|(subjects, relation)| {
            may_be(row, "subject", &|cell| subjects.contains(cell))
                && may_be(row, "relation", &|cell| cell == relation)
        })
    };
    let is_news = |row: &Row| *row.cell("changed") > Cell::from(seq) && is_held(row);
    !seen
        .rows(&TABLE, space)
        .any(|row| is_news(&row) && (stands_on_others(&row) || is_about(&row)))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the derivations of a space's statements from each other: a link for each that is
    /// derived from others.
    pub async fn derivations(&self, space: &Space) -> Stored<Vec<Link>> {
        let mut links = Vec::new();
        let mut after = 0;
        loop {
            let select = Select::of(&TABLE, space)
                .after("derived", after)
                .order_by(&["derived"])
                .first(LINKS);
            let rows = self
                .select(select.distinct(&["derived", "id", "premises", "status"]))
                .await?;
            for row in &rows {
                after = row.integer("derived")?;
                let id = row.text("id")?.to_owned();
                let premises = row.json("premises")?;
                links.push(Link {
                    id,
                    premises,
                    is_held: status_of(row)?.is_held(),
                });
            }
            if rows.len() < LINKS as usize {
                return Ok(links);
            }
        }
    }
}
