//! Whether what drafts are to be stored under is so: against the rows as they are before the transaction, and what it has made
//! of them so far. Pure; the databases read the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::log::rows::Rows;
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

/// What is to be read: nothing, nearly always. Threads' rows are read anyway.
#[derive(Debug, Default)]
pub(in crate::log) struct Asked {
    /// The timers of these spaces that are due until then.
    pub timers: BTreeMap<Space, Timestamp>,
    /// The submodules of these spaces.
    pub submodules: BTreeSet<Space>,
    /// How many threads these spaces have.
    pub threads: BTreeSet<Space>,
}

/// What was read.
#[derive(Debug, Default)]
pub(in crate::log) struct Before {
    /// By space, thread and name: when each is due.
    pub timers: BTreeMap<(Space, ThreadId, String), Timestamp>,
    /// Their names, by space.
    pub submodules: BTreeMap<Space, BTreeSet<String>>,
    /// How many threads have not ended, by space.
    pub threads: BTreeMap<Space, u64>,
}

impl Asked {
    pub(super) fn of<'a>(drafts: impl Iterator<Item = (&'a Space, &'a Draft)>) -> Self {
        let mut asked = Self::default();
        let conditions = drafts.flat_map(|(space, draft)| draft.conditions.iter().map(move |it| (space, it)));
        for (space, condition) in conditions {
            match condition {
                Condition::TimerStands { due, .. } => {
                    let last = asked.timers.entry(space.clone()).or_insert(*due);
                    *last = (*last).max(*due);
                }
                Condition::NewSubmodule { .. } | Condition::HasSubmodule(_) => {
                    asked.submodules.insert(space.clone());
                }
                Condition::FewerThreads(_) => {
                    asked.threads.insert(space.clone());
                }
                Condition::NewThread | Condition::NotEnded | Condition::EndsWith(_) | Condition::FewerSubthreads(_) => {
                }
            }
        }
        asked
    }

    pub fn is_empty(&self) -> bool {
        self.timers.is_empty() && self.submodules.is_empty() && self.threads.is_empty()
    }
}

impl Before {
    /// The first of the draft's conditions that is not met.
    pub(super) fn unmet(&self, rows: &Rows, space: &Space, draft: &Draft) -> Option<Condition> {
        draft.conditions.iter().find(|condition| !self.is_met(rows, space, draft, condition)).cloned()
    }

    fn is_met(&self, rows: &Rows, space: &Space, draft: &Draft, condition: &Condition) -> bool {
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
        }
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
