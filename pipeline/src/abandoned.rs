//! Abandoned calls ended without a value: they failed, or nobody waited for them. They have no record, yet they had places;
//! without a trace of them an unnamed flow that is called in another order the next time would find its place free.

use crate::journal::Record;
use crate::run::{Birth, Scope};
use crate::sync::Mutex;

/// Most of a scope that are remembered: a loop may fail for ever. The oldest are forgotten first.
const MOST: usize = 1000;

/// The abandoned calls of one scope that the store does not know yet.
pub(crate) struct Abandoned {
    calls: Mutex<Vec<Call>>,
    /// Held by who writes them: what is recorded meanwhile after all waits, and stands behind them.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

struct Call {
    /// The number of the first call that was made after this one had ended.
    next: usize,
    record: Record,
}

impl Default for Abandoned {
    fn default() -> Self {
        Self {
            calls: Mutex::new(Vec::new()),
            writing: tokio::sync::Mutex::new(()),
        }
    }
}

impl Abandoned {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.with(|calls| calls.is_empty())
    }

    /// Those that had ended when the call of this number was made: for its record they stand in the way that was taken.
    pub(crate) fn before(&self, number: usize) -> Vec<Record> {
        let before = |call: &&Call| call.next <= number;
        self.calls.with(|calls| {
            calls
                .iter()
                .filter(before)
                .map(|call| call.record.clone())
                .collect()
        })
    }

    /// The store knows of it, or it has a value after all.
    pub(crate) fn forget(&self, place: &str) {
        self.calls
            .with(|calls| calls.retain(|call| call.record.place != place));
    }

    fn add(&self, call: Call) {
        self.calls.with(|calls| {
            calls.retain(|other| other.record.place != call.record.place);
            if calls.len() >= MOST {
                calls.remove(0);
            }
            calls.push(call);
        });
    }
}

/// A call under way; abandoned when this is dropped, unless it was told that it came to its end.
pub(super) struct UnderWay<'a> {
    scope: &'a Scope,
    record: Option<&'a Record>,
}

impl<'a> UnderWay<'a> {
    /// `record`: what is said of it when it is abandoned.
    pub(super) fn begin(birth: &'a Birth, record: &'a Record) -> Self {
        Self {
            scope: &birth.scope,
            record: Some(record),
        }
    }

    pub(super) fn end(mut self) {
        self.record = None;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            self.scope.abandoned.add(Call {
                next: self.scope.next_number(),
                record: record.clone(),
            });
        }
    }
}
