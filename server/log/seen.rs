//! Rows of projections as a transaction sees them: those there before it, and its own changes of
//! them so far.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::table::{Cell, Key, Row, Table};
use thinkd_words::id::Space;

/// Rows of projections as the transaction has made them so far.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub before: &'a BTreeMap<Key, Row>,
    pub now: &'a BTreeMap<Key, Option<Row>>,
}

impl<'a> Seen<'a> {
    /// Returns a row, if it is there: the cells that the transaction altered, and the rest as it
    /// was before.
    pub fn row(self, key: &Key) -> Option<Cow<'a, Row>> {
        let before = self.before.get(key);
        match (self.now.get(key), before) {
            (Some(now), Some(before)) if now.as_ref().is_some_and(|row| !key.0.is_whole(row)) => {
                let mut row = before.clone();
                now.iter().for_each(|altered| row.alter(altered.clone()));
                Some(Cow::Owned(row))
            }
            (Some(now), _) => now.as_ref().map(Cow::Borrowed),
            (None, before) => before.map(Cow::Borrowed),
        }
    }

    /// The rows of a space.
    pub fn rows(self, table: &'static Table, space: &Space) -> impl Iterator<Item = Cow<'a, Row>> {
        let space = Some(Cell::from(space));
        let keys: BTreeSet<&Key> = self.before.keys().chain(self.now.keys()).collect();
        let of_space = move |key: &&Key| key.0 == table && key.1.first() == space.as_ref();
        keys.into_iter()
            .filter(of_space)
            .filter_map(move |key| self.row(key))
    }
}
