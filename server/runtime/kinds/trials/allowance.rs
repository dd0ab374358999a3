//! The allowance of trials: how many calls to models those of a space may make in an hour, so that
//! claims do not use up what conversations need. It is counted by the records in the log; what this
//! server has asked since is counted with them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::journal::{Journal, Stored};
use crate::event::envelope::{Event, tag};
use crate::log::query::{Query, Show};
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time::Timestamp;

/// The time that is counted, in microseconds.
const HOUR: i64 = 3_600_000_000;
/// Records that are read at once.
const PAGE: u32 = 1000;
/// Of most spaces what was counted is kept; of others it is counted again.
const SPACES_MAX: usize = 1024;

/// See the module.
pub(super) struct Allowance {
    most: u64,
    // A plain mutex: held to count, never across an await.
    spaces: Mutex<HashMap<Space, Counted>>,
}

/// The calls of the last hour.
#[derive(Debug, Clone, Default)]
struct Counted {
    /// The oldest first: those whose records were read, then those of this server since.
    calls: VecDeque<Timestamp>,
    /// The number of the latter.
    own: usize,
    /// The last record that was read.
    seen: Option<Seq>,
}

impl Counted {
    /// Forgets what is older than an hour. What a clock says that was ahead was made now, at the
    /// latest.
    fn age(&mut self, now: Timestamp) {
        let old = now.micros().saturating_sub(HOUR);
        let ahead = self.calls.iter_mut().rev();
        ahead.take_while(|at| **at > now).for_each(|at| *at = now);
        while self.calls.front().is_some_and(|at| at.micros() <= old) {
            self.calls.pop_front();
        }
    }
}

impl Allowance {
    /// So many calls an hour.
    pub fn new(most: u64) -> Self {
        Self {
            most,
            spaces: Mutex::default(),
        }
    }

    /// Counts what the log has of a space. To be called when its lease was taken: other servers may
    /// have had it.
    pub async fn count(&self, journal: Journal<'_>) -> Stored<()> {
        let space = journal.space;
        let mut counted = self.lock().get(space).cloned().unwrap_or_default();
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let query = Query {
            thread: Some(ThreadId::of_trials()),
            after: counted.seen,
            tags: vec![tag::DEBUG.into()],
            show: Show::All,
            limit: u32::try_from(self.most).unwrap_or(PAGE).clamp(1, PAGE),
            ..Query::default()
        };
        let mut made: Vec<(Seq, Timestamp)> = Vec::new();
        let take = |event: Event| {
            made.push((event.seq, event.ts));
            made.len() < most
        };
        journal.each(query, take).await?;
        made.truncate(most);
        let logged = counted.calls.len().saturating_sub(counted.own);
        counted.calls.truncate(logged);
        counted.calls.extend(made.iter().rev().map(|(_, ts)| *ts));
        counted.own = 0;
        counted.seen = made.first().map(|(seq, _)| *seq).or(counted.seen);
        let mut spaces = self.lock();
        if spaces.len() >= SPACES_MAX && !spaces.contains_key(space) {
            spaces.clear();
        }
        spaces.insert(space.clone(), counted);
        Ok(())
    }

    /// Takes one call. False: the hour's are used up.
    pub fn take(&self, space: &Space, now: Timestamp) -> bool {
        let mut spaces = self.lock();
        let counted = spaces.entry(space.clone()).or_default();
        counted.age(now);
        let is_free = (counted.calls.len() as u64) < self.most;
        if is_free {
            counted.calls.push_back(now);
            counted.own += 1;
        }
        is_free
    }

    /// Returns the time at which there is one again; none: there is one.
    pub fn free_at(&self, space: &Space, now: Timestamp) -> Option<Timestamp> {
        let mut spaces = self.lock();
        let counted = spaces.entry(space.clone()).or_default();
        counted.age(now);
        let first = counted.calls.front().map(|first| first.after(HOUR));
        first.filter(|_| counted.calls.len() as u64 >= self.most)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Space, Counted>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
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
