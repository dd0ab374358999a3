//! Forks: threads with a past of other threads' events, by reference. A query for the
//! events of a fork is answered piece by piece: its own events, and each range of its past.

use serde::{Deserialize, Serialize};

use super::query::{Order, Query};
use thinkd_event::fork::Range;
use thinkd_words::id::{Seq, ThreadId};

/// The past of a thread that is a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The thread with the event `at`; where `at` is 0, the thread that was forked.
    pub from: ThreadId,
    /// The end of the turn that it was forked at; 0: its past is empty.
    pub at: Seq,
    /// The seq of its own first event.
    pub begins: Seq,
    /// The events of its past, in their order.
    pub ranges: Vec<Range>,
}

/// The pieces of a query for the events of a thread, in its order: of a thread that is no fork, the
/// query itself.
pub(super) struct Pieces {
    left: std::vec::IntoIter<Query>,
    limit: usize,
}

impl Pieces {
    /// `fork`: the past of the thread that is asked for, if it is a fork.
    pub fn of(fork: Option<&Fork>, query: &Query) -> Self {
        let pieces = match fork {
            Some(fork) => fork.pieces(query),
            None => vec![query.clone()],
        };
        Self {
            left: pieces.into_iter(),
            limit: query.limit.max(1) as usize,
        }
    }

    /// Returns the next piece, where so many events were found before it; none: the page is full,
    /// or there are no more.
    pub fn next(&mut self, found: usize) -> Option<Query> {
        let limit = u32::try_from(self.limit.saturating_sub(found)).unwrap_or(u32::MAX);
        let piece = self.left.next().filter(|_| limit > 0)?;
        Some(Query { limit, ..piece })
    }
}

impl Fork {
    /// Returns whether an event of a thread is of its past.
    pub fn has(&self, thread: &ThreadId, seq: Seq) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|it| it.thread == *thread && (it.from..=it.to).contains(&seq))
    }

    fn pieces(&self, query: &Query) -> Vec<Query> {
        let past = self.ranges.iter().map(|range| Query {
            thread: Some(range.thread.clone()),
            subtree: false,
            ..within(query, range.from, range.to)
        });
        let own = within(query, self.begins, Seq::MAX - 1);
        let is_any = |piece: &Query| {
            let after = piece.after.unwrap_or(0);
            let before = piece.before.unwrap_or(Seq::MAX);
            after + 1 < before
        };
        let mut pieces: Vec<Query> = past.chain([own]).filter(is_any).collect();
        if query.order == Order::Descending {
            pieces.reverse();
        }
        pieces
    }
}

/// Returns the part of a query from one seq to another.
fn within(query: &Query, from: Seq, to: Seq) -> Query {
    Query {
        after: Some(query.after.unwrap_or(0).max(from - 1)),
        before: Some(query.before.unwrap_or(Seq::MAX).min(to + 1)),
        ..query.clone()
    }
}
