//! Spaces that cannot be served as they should be, and why: what a person must look at while all else goes on. Noted by whoever
//! serves all spaces in rounds, taken back when it works again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Error;
use crate::id::Space;

/// What is done for a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// It is opened for a request.
    Opening,
    /// Its index is gone on with.
    Index,
    /// Its timers are fired.
    Timers,
    /// Its threads are run.
    Threads,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening => "opening",
            Self::Index => "index",
            Self::Timers => "timers",
            Self::Threads => "threads",
        })
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Unserved(Mutex<BTreeMap<(Space, Work), String>>);

impl Unserved {
    /// What came of something that was done for a space. A database that is away is no space's fault.
    pub fn note<T>(&self, space: &Space, work: Work, came: &Result<T, Error>) {
        let key = (space.clone(), work);
        let mut all = self.lock();
        let changed = match came {
            Ok(_) => all.remove(&key).is_some(),
            Err(error @ (Error::Broken(_) | Error::Conflict(_))) => all.insert(key, error.to_string()).is_none(),
            Err(Error::Unavailable(_) | Error::Unmet(_) | Error::TooDear) => false,
        };
        if changed {
            let spaces = all.keys().map(|(space, _)| space).collect::<BTreeSet<_>>().len();
            metrics::gauge!("thinkd_spaces_unserved").set(u32::try_from(spaces).unwrap_or(u32::MAX));
        }
    }

    /// All there are: space, what cannot be done for it, why.
    pub fn all(&self) -> Vec<(Space, Work, String)> {
        self.lock().iter().map(|((space, work), why)| (space.clone(), *work, why.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Space, Work), String>> {
        // Held for a moment, never across an await; a panic meanwhile left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
