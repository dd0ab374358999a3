//! Spaces that cannot be served as they should be, and the reasons: a person must look at them
//! while all else goes on. The rounds that serve all spaces note them, and take them back when it
//! works again.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use super::error::StoreError;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::spelling::words;

words! {
    /// The work that is done for a space.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Work {
        /// The space is opened for a request.
        Opening = "opening",
        /// Its index is gone on with.
        Index = "index",
        /// Its timers are fired.
        Timers = "timers",
        /// Its threads are run.
        Threads = "threads",
    }
}

/// See the module. Work that runs thread by thread is noted so: the run of one of them says nothing
/// about another.
#[derive(Debug, Default)]
pub struct Unserved(Mutex<Notes>);

/// The reasons, by the work that is not done, and by thread.
type Notes = BTreeMap<(Space, Work), BTreeMap<Option<ThreadId>, String>>;

impl Unserved {
    /// Notes the outcome of work for a space.
    pub fn note<T>(&self, space: &Space, work: Work, came: &Result<T, StoreError>) {
        self.note_of(space, work, None, came);
    }

    /// Notes the outcome of running a thread.
    pub fn note_thread<T>(&self, space: &Space, thread: &ThreadId, came: &Result<T, StoreError>) {
        self.note_of(space, Work::Threads, Some(thread), came);
    }

    /// A database that is away is no space's fault.
    fn note_of<T>(
        &self,
        space: &Space,
        work: Work,
        thread: Option<&ThreadId>,
        came: &Result<T, StoreError>,
    ) {
        let key = (space.clone(), work);
        let mut all = self.0.lock();
        let changed = match came {
            Ok(_) => {
                let Some(of_key) = all.get_mut(&key) else {
                    return;
                };
                of_key.remove(&thread.cloned());
                of_key.is_empty() && all.remove(&key).is_some()
            }
            Err(error @ (StoreError::Broken(_) | StoreError::Conflict(_))) => {
                let of_key = all.entry(key).or_default();
                of_key.insert(thread.cloned(), error.to_string());
                of_key.len() == 1
            }
            Err(StoreError::Unavailable(_) | StoreError::Unmet(_) | StoreError::TooDear) => false,
        };
        if changed {
            let spaces = all.keys().map(|(space, _)| space);
            let spaces = BTreeSet::from_iter(spaces).len();
            metrics::gauge!("thinkd_spaces_unserved").set(spaces as f64);
        }
    }

    /// Returns all there are: space, the work that cannot be done for it, the reason.
    pub fn all(&self) -> Vec<(Space, Work, String)> {
        let why = |reasons: &BTreeMap<Option<ThreadId>, String>| {
            let first = reasons.iter().next().map(|(thread, why)| match thread {
                Some(thread) => format!("{thread}: {why}"),
                None => why.clone(),
            });
            match (first, reasons.len()) {
                (Some(first), 2..) => format!("{first} (and {} more)", reasons.len() - 1),
                (first, _) => first.unwrap_or_default(),
            }
        };
        let noted =
            |((space, work), reasons): (&(Space, Work), _)| (space.clone(), *work, why(reasons));
        self.0.lock().iter().map(noted).collect()
    }
}
