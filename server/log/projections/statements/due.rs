//! Statements by when they are due for a trial.

use super::{TABLE, read};
use crate::error::Stored;
use crate::kernel::Store;
use crate::projections::due;
use crate::projections::statements::StatementRow;
use crate::select::Select;
use thinkd_event::statement::Status;
use thinkd_words::id::Space;
use thinkd_words::time::{SKEW, Timestamp};

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Statements that are due until then, the first ones first; at most `limit`.
    pub async fn statements_due(
        &self,
        space: &Space,
        until: Timestamp,
        limit: u32,
    ) -> Stored<Vec<StatementRow>> {
        let select = Select::of(&TABLE, space)
            .at_most("due", until)
            .order_by(&["due", "number"])
            .first(limit);
        let mut due = self.select(select).await?;
        // A claim is due when it is stored, whatever a clock that was ahead said the time was.
        let claimed = Select::of(&TABLE, space)
            .equal("status", Status::Proposed.as_str())
            .equal("judged", "")
            .after("due", until.after(SKEW))
            .order_by(&["due", "number"])
            .first(limit);
        let claimed = self.select(claimed).await?.into_iter();
        due.extend(claimed.filter(|row| row.cell("due") == row.cell("claimed")));
        due.truncate(limit as usize);
        due.iter().map(read).collect()
    }

    /// Statements that are due after that, the first ones first; at most `limit`.
    pub async fn statements_due_after(
        &self,
        space: &Space,
        after: Timestamp,
        limit: u32,
    ) -> Stored<Vec<StatementRow>> {
        let select = Select::of(&TABLE, space)
            .after("due", after)
            .order_by(&["due", "number"])
            .first(limit);
        self.read(select, read).await
    }

    /// When the first statement of a space is due after that.
    pub async fn next_statement_due(
        &self,
        space: &Space,
        after: Timestamp,
    ) -> Stored<Option<Timestamp>> {
        due::next(self, Select::of(&TABLE, space), after).await
    }
}
