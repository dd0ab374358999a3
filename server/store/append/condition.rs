//! Whether what drafts are to be stored under is so: against the rows as they are before the transaction, and what it has made
//! of them so far. Pure; the databases read the rows.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Ready;
use crate::event::{Condition, Draft};
use crate::id::{Space, ThreadId};
use crate::store::rows::Rows;
use crate::time::Timestamp;

/// What is to be read: nothing, nearly always. Threads' rows are read anyway.
#[derive(Debug, Default)]
pub(in crate::store) struct Asked {
    /// The timers of these spaces that are due until then.
    pub timers: BTreeMap<Space, Timestamp>,
    /// The submodules of these spaces.
    pub submodules: BTreeSet<Space>,
}

/// What was read.
#[derive(Debug, Default)]
pub(in crate::store) struct Before {
    /// By space, thread and name: when each is due.
    pub timers: BTreeMap<(Space, ThreadId, String), Timestamp>,
    /// Their names, by space.
    pub submodules: BTreeMap<Space, BTreeSet<String>>,
}

impl Asked {
    pub(super) fn of<'a>(drafts: impl Iterator<Item = (&'a Space, &'a Ready)>) -> Self {
        let mut asked = Self::default();
        for (space, ready) in drafts {
            match &ready.draft.condition {
                Some(Condition::TimerStands { due, .. }) => {
                    let last = asked.timers.entry(space.clone()).or_insert(*due);
                    *last = (*last).max(*due);
                }
                Some(Condition::NewSubmodule { .. } | Condition::HasSubmodule(_)) => {
                    asked.submodules.insert(space.clone());
                }
                Some(Condition::NewThread | Condition::FewerSubthreads(_)) | None => {}
            }
        }
        asked
    }

    pub fn is_empty(&self) -> bool {
        self.timers.is_empty() && self.submodules.is_empty()
    }
}

impl Before {
    /// The draft's condition, if it is not met.
    pub(super) fn unmet(&self, rows: &Rows, space: &Space, draft: &Draft) -> Option<Condition> {
        let condition = draft.condition.as_ref()?;
        let row = || rows.threads.get(&(space.clone(), draft.thread.clone()));
        let met = match condition {
            Condition::NewThread => row().is_none(),
            Condition::FewerSubthreads(most) => row().is_none_or(|row| u64::from(row.standing.subthreads) < *most),
            Condition::TimerStands { name, due } => {
                let key = (space.clone(), draft.thread.clone(), name.clone());
                let now = match rows.timers.get(&key) {
                    Some(row) => row.as_ref().map(|row| row.due),
                    None => self.timers.get(&key).copied(),
                };
                now == Some(*due)
            }
            Condition::NewSubmodule { name, most } => {
                let names = self.submodules(rows, space);
                !names.contains(name.as_str()) && names.len() < *most
            }
            Condition::HasSubmodule(name) => self.submodules(rows, space).contains(name.as_str()),
        };
        (!met).then(|| condition.clone())
    }

    fn submodules<'a>(&'a self, rows: &'a Rows, space: &Space) -> BTreeSet<&'a str> {
        let mut names: BTreeSet<&str> = self.submodules.get(space).into_iter().flatten().map(String::as_str).collect();
        for ((_, name), row) in rows.submodules.iter().filter(|((of, _), _)| of == space) {
            match row {
                Some(_) => names.insert(name.as_str()),
                None => names.remove(name.as_str()),
            };
        }
        names
    }
}
