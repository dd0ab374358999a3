//! A fork: a thread with a past of another thread's events, by reference. Its creation
//! says which part that is, and the state that the other thread was in there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use thinkd_words::id::{Seq, ThreadId};

/// Most ranges of a fork: each fork of a fork adds one.
pub const RANGES_MAX: usize = 64;

/// Events of one thread, from one seq to another, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The thread.
    pub thread: ThreadId,
    /// The first seq.
    pub from: Seq,
    /// The last one.
    pub to: Seq,
}

/// The past that a fork begins with, as the event says it that creates the thread.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Forked {
    /// The thread with the event `at`; where `at` is 0, the thread that was forked.
    pub from: ThreadId,
    /// The end of the turn that it was forked at; 0: its past is empty.
    pub at: Seq,
    /// The events of its past, in their order.
    pub ranges: Vec<Range>,
    /// The number of the last turn of its past.
    pub turn: u64,
    /// The number of events of its past that a decision may see.
    pub visible: u64,
    /// The number of events of its past that a submodule may see.
    pub heard: u64,
    /// The kinds of things that its past tells of and that stay with the other thread: `timers`,
    /// `watches`, `gatherings`, `questions`, `approvals`, `subthreads`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// The state of the thread at that time, as rows of threads keep it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub state: Value,
}

/// Returns the part of these ranges up to a seq, without the events from one to another, if some
/// are to be left out.
pub fn clipped(ranges: &[Range], at: Seq, without: Option<(Seq, Seq)>) -> Vec<Range> {
    let mut clipped = Vec::new();
    for range in ranges {
        let (first, last) = without.unwrap_or((Seq::MAX, Seq::MAX));
        let before = (range.from, range.to.min(at).min(first.saturating_sub(1)));
        let after = (range.from.max(last.saturating_add(1)), range.to.min(at));
        let parts = match range.from > last || range.to < first {
            true => vec![(range.from, range.to.min(at))],
            false => vec![before, after],
        };
        for (from, to) in parts.into_iter().filter(|(from, to)| from <= to) {
            let thread = range.thread.clone();
            clipped.push(Range { thread, from, to });
        }
    }
    clipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: Seq, to: Seq) -> Range {
        let thread = ThreadId::default();
        Range { thread, from, to }
    }

    #[test]
    fn ranges_end_at_the_seq_and_leave_out_what_is_replaced() {
        let all = [range(1, 10), range(20, 30)];
        assert_eq!(clipped(&all, 0, None), []);
        assert_eq!(clipped(&all, 15, None), [range(1, 10)]);
        assert_eq!(clipped(&all, 25, None), [range(1, 10), range(20, 25)]);
        let without = clipped(&all, 25, Some((4, 5)));
        assert_eq!(without, [range(1, 3), range(6, 10), range(20, 25)]);
        assert_eq!(
            clipped(&all, 25, Some((24, 28))),
            [range(1, 10), range(20, 23)]
        );
        assert_eq!(clipped(&all, 9, Some((1, 30))), []);
    }
}
