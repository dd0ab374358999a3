//! What the one connection that writes wrote last: where the logs end, and the rows of the threads that something was
//! appended to lately. Nobody else writes, so none of it need be read again; what is not here is in the file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::id::{Space, ThreadId};
use crate::store::ThreadRow;
use crate::store::append::{Plan, Position};

/// Most heads, and most threads: more, and they are begun anew.
const MOST: usize = 1024;

/// Shared by the connection that writes, which fills it after its commits, and those who read.
#[derive(Clone, Default)]
pub(super) struct Known(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    heads: BTreeMap<Space, Position>,
    threads: BTreeMap<(Space, ThreadId), ThreadRow>,
}

impl Known {
    pub fn head(&self, space: &Space) -> Option<Position> {
        self.lock().heads.get(space).copied()
    }

    pub fn thread(&self, key: &(Space, ThreadId)) -> Option<ThreadRow> {
        self.lock().threads.get(key).cloned()
    }

    /// Takes over what was committed.
    pub fn take(&self, plan: &Plan) {
        let mut known = self.lock();
        if known.heads.len() + plan.heads.len() > MOST {
            known.heads.clear();
        }
        known.heads.extend(plan.heads.iter().map(|(space, head)| (space.clone(), *head)));
        if known.threads.len() + plan.rows.threads.len() > MOST {
            known.threads.clear();
        }
        known.threads.extend(plan.rows.threads.iter().map(|(key, row)| (key.clone(), row.clone())));
    }

    /// After a commit that failed, perhaps, and after rows were made anew.
    pub fn forget(&self) {
        *self.lock() = Rows::default();
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        // Held for look-ups, never across an await; a panic meanwhile left at worst a row too few.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
