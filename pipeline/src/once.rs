//! A value computed once, whoever asks and however often.
//!
//! This file decides when a computation begins, who joins it and what is kept of it. It knows nothing of nodes; the
//! lock comes from `crate::sync`, so that the tests can put a model checker's in its place.

use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};

use crate::sync::Mutex;

type Attempt<T, E> = Shared<BoxFuture<'static, Result<T, E>>>;

/// A cell that is filled by the first computation to succeed.
///
/// - Readers who come while it is being computed join that computation; it is driven by any of them.
/// - When the last reader goes away, the computation is dropped; the next reader begins anew.
/// - A failure goes to everyone who had joined and is not kept.
pub struct Once<T, E> {
    state: Mutex<State<T, E>>,
}

enum State<T, E> {
    Empty,
    /// The attempt belongs to its readers: the cell must not keep alive what nobody waits for.
    Running(WeakShared<BoxFuture<'static, Result<T, E>>>),
    Full(T),
}

impl<T: Clone, E: Clone> Once<T, E> {
    /// A cell to be computed.
    pub fn empty() -> Self {
        Once { state: Mutex::new(State::Empty) }
    }

    /// A cell that needs no computation.
    pub fn full(value: T) -> Self {
        Once { state: Mutex::new(State::Full(value)) }
    }

    /// The value, if it is there.
    pub fn get(&self) -> Option<T> {
        self.state.with(|state| match state {
            State::Full(value) => Some(value.clone()),
            _ => None,
        })
    }

    /// Whether the value is there.
    pub fn is_full(&self) -> bool {
        self.state.with(|state| matches!(state, State::Full(_)))
    }

    /// Whether someone is waiting for a computation right now.
    pub fn is_running(&self) -> bool {
        // Upgraded here, dropped outside: it may be the last reader, and what it then drops is not ours.
        let attempt = self.state.with(|state| match state {
            State::Running(attempt) => attempt.upgrade(),
            _ => None,
        });
        attempt.is_some()
    }

    /// The value; or joins the computation under way; or begins it. `compute` is called under the lock: it makes the
    /// future and runs nothing of it.
    pub async fn get_or_compute<F>(&self, compute: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
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

    fn join<F>(&self, compute: impl FnOnce() -> F) -> Result<T, Attempt<T, E>>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.state.with(|state| {
            let under_way = match state {
                State::Full(value) => return Ok(value.clone()),
                State::Running(attempt) => attempt.upgrade(),
                State::Empty => None,
            };
            Err(under_way.unwrap_or_else(|| {
                let attempt = compute().boxed().shared();
                *state = attempt.downgrade().map_or(State::Empty, State::Running);
                attempt
            }))
        })
    }

    /// Keeps a success; forgets a failure, unless someone has begun anew since.
    fn settle(&self, attempt: &Attempt<T, E>, result: &Result<T, E>) {
        self.state.with(|state| {
            let State::Running(current) = &*state else { return };
            match result {
                Ok(value) => *state = State::Full(value.clone()),
                Err(_) if current.upgrade().is_some_and(|current| current.ptr_eq(attempt)) => *state = State::Empty,
                Err(_) => {}
            }
        });
    }
}
