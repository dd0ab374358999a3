//! Rows by the time in their column `due`.

use crate::error::StoreError;
use crate::kernel::Store;
use crate::select::Select;
use crate::table::Table;
use thinkd_words::id::Space;
use thinkd_words::time::Timestamp;

/// Rows that are due until then, the first ones first; at most `limit`.
pub(super) fn until(rows: Select, until: Timestamp, limit: u32) -> Select {
    rows.at_most("due", until).order_by(&["due"]).first(limit)
}

/// Returns when the first row is due after that.
pub(super) async fn next(
    store: &dyn Store,
    rows: Select,
    after: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let first = rows.after("due", after).order_by(&["due"]).first(1);
    store.read_first(first, |row| row.time("due")).await
}

/// Returns the spaces that have rows of a table which are due until then. All due rows are read for
/// the spaces, and the first by due time to learn whether there is any: mostly there is none.
pub(super) async fn spaces(
    store: &dyn Store,
    table: &'static Table,
    time: Timestamp,
) -> Result<Vec<Space>, StoreError> {
    let first = until(Select::of_all_spaces(table), time, 1);
    if store.select(first).await?.is_empty() {
        return Ok(Vec::new());
    }
    let due = Select::of_all_spaces(table).at_most("due", time);
    let spaces = due.distinct(&["space"]);
    store.read_some(spaces, |row| row.space("space")).await
}
