//! Abandoned calls ended without a value: they failed, or no reader waited for them. They have no
//! record, yet they had places; without a trace of them an unnamed flow that is called in another
//! order the next time would find its place free.

use crate::record::Record;
use crate::sync::Mutex;

/// Most of a scope that are remembered: a loop may fail for ever. The oldest are forgotten first.
const MOST: usize = 1000;

/// The abandoned calls of one scope that the store does not know yet.
#[derive(Default)]
pub(crate) struct Abandoned {
    calls: Mutex<Vec<Call>>,
    /// Held while they are written: later records wait, and stand behind them.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

struct Call {
    /// The number of the first call that was made after this one had ended.
    next: usize,
    record: Record,
}

impl Abandoned {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.with(|calls| calls.is_empty())
    }

    /// Branches that had ended when the call of this number was made: for its record they are part of the way taken.
    pub(crate) fn before(&self, number: Option<usize>) -> Vec<Record> {
        let before = |call: &&Call| number.is_some_and(|number| call.next <= number);
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

    /// Adds a call that came to nothing; `next` is the number of the first call that was made after it had.
    pub(crate) fn add(&self, next: usize, record: Record) {
        self.calls.with(|calls| {
            calls.retain(|other| other.record.place != record.place);
            if calls.len() >= MOST {
                calls.remove(0);
            }
            calls.push(Call { next, record });
        });
    }
}
