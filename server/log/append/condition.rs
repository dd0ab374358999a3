//! Whether what drafts are to be stored under is so: against the rows as they are before the transaction, and what it has made
//! of them so far. Pure; the databases read the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::log::projections::{submodules, timers};
use crate::log::rows::Rows;
use crate::log::select::Select;
use crate::log::table::{Cell, Key, Row, Table};
use crate::words::id::Space;
use crate::words::time::Timestamp;

/// What is to be read: nothing, nearly always. Threads' rows are read anyway.
#[derive(Debug, Default)]
pub(in crate::log) struct Asked {
    /// Rows of projections.
    pub rows: Vec<Select>,
    /// How many threads these spaces have.
    pub threads: BTreeSet<Space>,
}

/// What was read.
#[derive(Debug, Default)]
pub(in crate::log) struct Before {
    /// Rows of projections.
    pub rows: BTreeMap<Key, Row>,
    /// How many threads have not ended, by space.
    pub threads: BTreeMap<Space, u64>,
}

impl Asked {
    pub(super) fn of<'a>(drafts: impl Iterator<Item = (&'a Space, &'a Draft)>) -> Self {
        let mut asked = Self::default();
        let mut due: BTreeMap<&Space, Timestamp> = BTreeMap::new();
        let mut with_submodules = BTreeSet::new();
        let conditions = drafts.flat_map(|(space, draft)| draft.conditions.iter().map(move |it| (space, it)));
        for (space, condition) in conditions {
            match condition {
                Condition::TimerStands { due: when, .. } => {
                    let last = due.entry(space).or_insert(*when);
                    *last = (*last).max(*when);
                }
                Condition::NewSubmodule { .. } | Condition::HasSubmodule(_) => {
                    with_submodules.insert(space);
                }
                Condition::FewerThreads(_) => {
                    asked.threads.insert(space.clone());
                }
                Condition::NewThread | Condition::NotEnded | Condition::EndsWith(_) | Condition::FewerSubthreads(_) => {
                }
            }
        }
        let due = due.into_iter().map(|(space, due)| timers::due_until(space, due));
        asked.rows = due.chain(with_submodules.into_iter().map(submodules::all)).collect();
        asked
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.threads.is_empty()
    }
}

/// Rows of projections as the transaction has made them so far.
#[derive(Clone, Copy)]
pub(in crate::log) struct Seen<'a> {
    before: &'a BTreeMap<Key, Row>,
    now: &'a BTreeMap<Key, Option<Row>>,
}

impl<'a> Seen<'a> {
    /// A row, if it is there.
    pub fn row(self, key: &Key) -> Option<&'a Row> {
        match self.now.get(key) {
            Some(row) => row.as_ref(),
            None => self.before.get(key),
        }
    }

    /// The rows of a space.
    pub fn rows(self, table: &'static Table, space: &Space) -> impl Iterator<Item = &'a Row> {
        let space = Some(Cell::from(space));
        let keys: BTreeSet<&Key> = self.before.keys().chain(self.now.keys()).collect();
        let of_space = move |key: &&Key| key.0 == table && key.1.first() == space.as_ref();
        keys.into_iter().filter(of_space).filter_map(move |key| self.row(key))
    }
}

impl Before {
    /// The first of the draft's conditions that is not met.
    pub(super) fn unmet(&self, rows: &Rows, space: &Space, draft: &Draft) -> Option<Condition> {
        draft.conditions.iter().find(|condition| !self.is_met(rows, space, draft, condition)).cloned()
    }

    fn is_met(&self, rows: &Rows, space: &Space, draft: &Draft, condition: &Condition) -> bool {
        let seen = Seen { before: &self.rows, now: &rows.single };
        let row = || rows.threads.get(&(space.clone(), draft.thread.clone()));
        match condition {
            Condition::NewThread => row().is_none(),
            Condition::NotEnded => row().is_none_or(|row| !row.status.is_final()),
            Condition::EndsWith(seq) => row().is_some_and(|row| row.head == *seq),
            Condition::FewerSubthreads(most) => row().is_none_or(|row| u64::from(row.standing.subthreads) < *most),
            Condition::FewerThreads(most) => {
                let before = self.threads.get(space).copied().unwrap_or_default();
                row().is_some() || before + rows.begun(space) < *most + rows.ended(space)
            }
            Condition::TimerStands { name, due } => timers::stands(seen, space, &draft.thread, name, *due),
            Condition::NewSubmodule { name, most } => {
                let names = submodules::names(seen, space);
                !names.contains(name.as_str()) && names.len() < *most
            }
            Condition::HasSubmodule(name) => submodules::names(seen, space).contains(name.as_str()),
        }
    }
}
