//! The allowance of trials: the number of model calls that the trials of a space may make in an
//! hour, so that claims leave conversations enough. It is counted by the records in the log,
//! together with the calls of this server since then.

use std::collections::VecDeque;

use super::journal::{Journal, Stored};
use thinkd_event::envelope::{Event, tag};
use thinkd_log::query::{Query, Show};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// The time that is counted, in microseconds.
const HOUR: i64 = 3_600_000_000;
/// Records that are read at once.
const PAGE: u32 = 1000;

/// The calls of the last hour of a space.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    /// The oldest first: calls with a record that was read, then calls of this server since.
    made: VecDeque<Timestamp>,
    /// The number of the latter.
    own: usize,
    /// The last record that was read.
    seen: Option<Seq>,
}

impl Calls {
    /// Counts the calls in the log of a space, `most` at most. To be called when its lease was
    /// taken: other servers may have had it.
    pub async fn count(&mut self, journal: Journal<'_>, most: u64) -> Stored<()> {
        let query = Query {
            thread: Some(ThreadId::of_trials()),
            after: self.seen,
            tags: vec![tag::DEBUG.into()],
            show: Show::All,
            limit: u32::try_from(most).unwrap_or(PAGE).clamp(1, PAGE),
            ..Query::default()
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut logged: Vec<(Seq, Timestamp)> = Vec::new();
        let take = |event: Event| {
            logged.push((event.seq, event.ts));
            logged.len() < most
        };
        journal.each(query, take).await?;
        logged.truncate(most);
        self.made.truncate(self.made.len().saturating_sub(self.own));
        self.made.extend(logged.iter().rev().map(|(_, ts)| *ts));
        self.own = 0;
        self.seen = logged.first().map(|(seq, _)| *seq).or(self.seen);
        Ok(())
    }

    /// Takes one call of so many in an hour. False: the hour's are used up.
    pub fn take(&mut self, most: u64, now: Timestamp) -> bool {
        self.age(now);
        let is_free = (self.made.len() as u64) < most;
        if is_free {
            self.made.push_back(now);
            self.own += 1;
        }
        is_free
    }

    /// Returns the time at which there is one again; none: there is one.
    pub fn free_at(&mut self, most: u64, now: Timestamp) -> Option<Timestamp> {
        self.age(now);
        let first = self.made.front().map(|first| first.after(HOUR));
        first.filter(|_| self.made.len() as u64 >= most)
    }

    /// Forgets calls older than an hour. A call with a time ahead of the clock counts as made now.
    fn age(&mut self, now: Timestamp) {
        let old = now.micros().saturating_sub(HOUR);
        let ahead = self.made.iter_mut().rev();
        ahead.take_while(|at| **at > now).for_each(|at| *at = now);
        while self.made.front().is_some_and(|at| at.micros() <= old) {
            self.made.pop_front();
        }
    }
}

/// Returns true if it was said in the last hour that the calls of a space are used up.
pub(super) async fn is_said(journal: Journal<'_>, now: Timestamp) -> Stored<bool> {
    let query = Query {
        thread: Some(ThreadId::of_trials()),
        tags: vec!["spent".into()],
        since: Some(Timestamp::from_micros(now.micros().saturating_sub(HOUR))),
        limit: 1,
        ..Query::default()
    };
    let said = journal.store().events(journal.space, &query).await?;
    Ok(!said.is_empty())
}
