//! A statement on trial, with what was asked about it and is not stored yet.

use super::journal::Journal;
use crate::event::draft::Draft;
use crate::event::trial::Trial;
use crate::log::error::StoreError;
use crate::log::projections::statements::StatementRow;
use crate::thread::quota::Purse;

/// See the module.
pub(super) struct OnTrial {
    pub row: StatementRow,
    pub trial: Trial,
    /// Records of calls that were made for it and are not stored yet: the next thing that is said of it takes them along.
    pub records: Vec<Draft>,
    /// The calls for it draw on this.
    pub purse: Purse,
}

impl OnTrial {
    /// Returns a statement of which nothing is asked yet, and for which nobody pays.
    pub async fn of(journal: Journal<'_>, row: StatementRow) -> Result<Self, StoreError> {
        Ok(Self {
            trial: journal.folded(&row.id).await?,
            row,
            records: Vec::new(),
            purse: Purse::default(),
        })
    }
}
