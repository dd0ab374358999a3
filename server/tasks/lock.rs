//! A plain mutex: held for a look or a change, never across an await.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns the value that a mutex guards. A panic while such a short lock was held left nothing half done.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
