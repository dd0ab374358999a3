//! A cell with a value that is computed once, for any number of readers and reads.
//!
//! This file decides when a computation begins, how readers join it, which result is kept, and how
//! long its inputs are kept. It knows nothing of nodes. The lock comes from `crate::sync`, so that
//! the tests can replace it by a model checker's.

use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use crate::sync::Mutex;

/// A cell that is filled by the first computation to succeed.
///
/// - Readers that come while it is being computed join that computation; it is driven by any of
///   them.
/// - When the last reader goes away, the computation is dropped; the next reader begins anew.
/// - A failure goes to all that had joined and is not kept.
/// - The recipe, the inputs of the value, is kept until the value is there, and no longer.
pub struct Once<R, T, F: Future> {
    state: Mutex<State<R, T, F>>,
}

enum State<R, T, F: Future> {
    /// The attempt belongs to its readers: the cell must not keep it alive without them.
    Pending {
        recipe: R,
        attempt: Option<WeakShared<F>>,
    },
    Full(T),
}

impl<R, T: Clone, E: Clone, F: Future<Output = Result<T, E>>> Once<R, T, F> {
    /// A cell to be computed from this.
    pub fn pending(recipe: R) -> Self {
        Once {
            state: Mutex::new(State::Pending {
                recipe,
                attempt: None,
            }),
        }
    }

    /// A cell that needs no computation.
    pub fn full(value: T) -> Self {
        Once {
            state: Mutex::new(State::Full(value)),
        }
    }

    /// The value, if it is there.
    pub fn get(&self) -> Option<T> {
        self.state.with(|state| match state {
            State::Full(value) => Some(value.clone()),
            State::Pending { .. } => None,
        })
    }

    /// Returns true if the value is there.
    pub fn is_full(&self) -> bool {
        self.state.with(|state| matches!(state, State::Full(_)))
    }

    /// Returns true if a reader waits for a computation right now.
    pub fn is_running(&self) -> bool {
        // Upgraded here, dropped outside: it may be the last reader, and what it then drops is not ours.
        let attempt = self.state.with(|state| match state {
            State::Pending { attempt, .. } => attempt.as_ref().and_then(WeakShared::upgrade),
            State::Full(_) => None,
        });
        attempt.is_some()
    }

    /// Looks at the recipe, if the value is not there. Looked at under the lock: look, and do
    /// nothing else.
    pub fn recipe<L>(&self, look: impl FnOnce(&mut R) -> L) -> Option<L> {
        self.state.with(|state| match state {
            State::Pending { recipe, .. } => Some(look(recipe)),
            State::Full(_) => None,
        })
    }

    /// The value; or joins the computation under way; or begins it. `compute` is called under the lock: it makes the
    /// future and runs nothing of it.
    pub async fn get_or_compute(&self, compute: impl FnOnce() -> F) -> Result<T, E> {
        let attempt = match self.join(compute) {
            Ok(value) => return Ok(value),
            Err(attempt) => attempt,
        };
        let result = attempt.clone().await;
        // No await between the result and this: a reader who drives the attempt to its end cannot be cancelled before
        // the cell knows of it.
        self.settle(&attempt, &result);
        result
    }

    fn join(&self, compute: impl FnOnce() -> F) -> Result<T, Shared<F>> {
        self.state.with(|state| match state {
            State::Full(value) => Ok(value.clone()),
            State::Pending { attempt, .. } => Err(attempt
                .as_ref()
                .and_then(WeakShared::upgrade)
                .unwrap_or_else(|| {
                    let begun = compute().shared();
                    *attempt = begun.downgrade();
                    begun
                })),
        })
    }

    /// Keeps a success, and lets go of its recipe; forgets a failure, unless another attempt has
    /// begun since.
    fn settle(&self, attempt: &Shared<F>, result: &Result<T, E>) {
        // Dropped outside of the lock, both: whose drop that is, is not ours to know.
        let _done_with = self.state.with(|state| {
            let State::Pending {
                attempt: current, ..
            } = state
            else {
                return (None, None);
            };
            match result {
                Ok(value) => (
                    Some(std::mem::replace(state, State::Full(value.clone()))),
                    None,
                ),
                Err(_) => {
                    let under_way = current.as_ref().and_then(WeakShared::upgrade);
                    if under_way
                        .as_ref()
                        .is_some_and(|under_way| under_way.ptr_eq(attempt))
                    {
                        *current = None;
                    }
                    (None, under_way)
                }
            }
        });
    }
}
