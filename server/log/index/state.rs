//! The state of the spaces with an index that is behind, and of the callers that wait for it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;

use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::indexed::Gap;
use thinkd_words::id::{Seq, Space};

/// Spaces that share one transaction, at most.
const SPACES: usize = 64;

/// The outcome of a transaction for a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Added {
    /// The last event that is in the index; this server or another may have added it.
    pub reached: Seq,
    /// There may be more.
    pub more: bool,
}

/// A caller that waits until an event is in the index.
pub(super) struct Waiter {
    pub reached: Seq,
    /// True if it waited when the transaction began.
    pub promised: bool,
    pub answer: oneshot::Sender<Result<(), StoreError>>,
}

#[derive(Default)]
pub(super) struct State {
    /// Spaces that are to be gone on with.
    pub behind: BTreeMap<Space, Behind>,
    /// Spaces that failed, until there is more to add or a caller waits for them.
    resting: BTreeMap<Space, Behind>,
    waiting: HashMap<Space, Vec<Waiter>>,
    /// The spaces that callers wait for; the first is served next.
    pub round: VecDeque<Space>,
    /// Events of `behind` that are not in the index, but for those of spaces that fail.
    pub without: i64,
    /// The number of times the log grew.
    pub grown: u64,
    pub closed: bool,
}

/// A space that has events which are not in the index. Positions, not counts: of several servers on one database each appends to
/// the log and adds to the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Behind {
    gap: Gap,
    /// The end of the log, as far as was known, when the last transaction began.
    began: Seq,
    /// So many of them were not there when this server found it so, or fewer: no append waits for these.
    found: i64,
    /// True if its last transaction failed: the next is its alone, and no append is kept waiting
    /// for it.
    failing: bool,
}

impl Behind {
    fn new(gap: Gap, found: i64) -> Self {
        Self {
            gap,
            began: 0,
            found,
            failing: false,
        }
    }

    pub fn missing(&self) -> i64 {
        self.gap.head - self.gap.indexed
    }

    /// Returns true if at most `most` of its events are missing, besides those found at first, or
    /// if its transactions fail.
    pub fn has_room(&self, most: i64) -> bool {
        self.failing || self.missing() - self.found <= most
    }

    fn counted(&self) -> i64 {
        if self.failing { 0 } else { self.missing() }
    }
}

impl State {
    /// A space is known to be so far now; `found`: without an append of this server.
    pub fn know(&mut self, space: &Space, gap: Gap, found: bool) {
        if let Some(behind) = self.resting.remove(space) {
            self.behind.insert(space.clone(), behind);
        }
        if let Some(behind) = self.behind.get_mut(space) {
            let before = behind.counted();
            behind.gap.head = behind.gap.head.max(gap.head);
            self.without += behind.counted() - before;
            return;
        }
        let missing = gap.head - gap.indexed;
        self.without += missing;
        let found = if found { missing } else { 0 };
        self.behind.insert(space.clone(), Behind::new(gap, found));
    }

    /// Takes over the state of a space's index after a transaction.
    pub fn added(&mut self, space: &Space, Added { reached, more }: Added) {
        let Some(mut behind) = self.behind.remove(space) else {
            return;
        };
        self.without -= behind.counted();
        // What was not there, although it was stored before, is not there any more: a database may have lost it.
        let known = if behind.gap.head == behind.began && !more {
            reached
        } else {
            behind.gap.head
        };
        behind.gap = Gap {
            indexed: reached,
            head: known.max(reached + i64::from(more)),
        };
        (behind.failing, behind.found) = (false, behind.found.min(behind.missing()));
        if behind.missing() > 0 {
            self.without += behind.counted();
            self.behind.insert(space.clone(), behind);
        }
    }

    /// Notes a failed transaction; returns true if that is news.
    pub fn failed(&mut self, space: &Space) -> bool {
        let Some(mut behind) = self.behind.remove(space) else {
            return false;
        };
        self.without -= behind.counted();
        let is_news = !std::mem::replace(&mut behind.failing, true);
        self.resting.insert(space.clone(), behind);
        is_news
    }

    /// Returns the waiters that need no more after a transaction that began when they waited
    /// already, or went so far. The others are served again, after all present waiters.
    pub fn served(&mut self, space: &Space, Added { reached, more }: Added) -> Vec<Waiter> {
        let waiters = self.answered(space);
        let is_served = |waiter: &Waiter| waiter.reached <= reached || (waiter.promised && !more);
        let (served, left): (Vec<_>, Vec<_>) = waiters.into_iter().partition(is_served);
        if !left.is_empty() {
            self.waiting.insert(space.clone(), left);
            self.round.push_back(space.clone());
        }
        served
    }

    /// One more waits for a space.
    pub fn wait(&mut self, space: &Space, waiter: Waiter) {
        let waiters = self.waiting.entry(space.clone()).or_default();
        waiters.push(waiter);
        if waiters.len() == 1 {
            self.round.push_back(space.clone());
        }
    }

    /// Takes out and returns the waiters of all spaces.
    pub fn all_waiting(&mut self) -> Vec<Waiter> {
        self.round.clear();
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().flatten().collect()
    }

    /// Takes out and returns the waiters of a space.
    pub fn answered(&mut self, space: &Space) -> Vec<Waiter> {
        self.round.retain(|other| other != space);
        self.waiting.remove(space).unwrap_or_default()
    }

    /// The first of these spaces that one transaction may take: one that failed has its own.
    pub fn batch<'a>(&self, spaces: impl Iterator<Item = &'a Space>) -> Vec<Space> {
        let mut batch = Vec::new();
        for space in spaces {
            let is_failing = self.behind.get(space).is_some_and(|behind| behind.failing);
            if is_failing && !batch.is_empty() {
                break;
            }
            batch.push(space.clone());
            if is_failing || batch.len() == SPACES {
                break;
            }
        }
        batch
    }

    /// The spaces that are to be gone on with, those after this one first: a busy one does not keep the others waiting.
    pub fn in_turn(&self, after: Option<&Space>) -> impl Iterator<Item = &Space> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.behind.range((from, Bound::Unbounded));
        let earlier = after
            .into_iter()
            .flat_map(|last| self.behind.range(..=last));
        later.chain(earlier).map(|(space, _)| space)
    }

    /// Begins a transaction: it has all that is stored now.
    pub fn begin(&mut self, spaces: &[Space]) {
        for space in spaces {
            if let Some(behind) = self.behind.get_mut(space) {
                behind.began = behind.gap.head;
            }
            for waiter in self.waiting.get_mut(space).into_iter().flatten() {
                waiter.promised = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A step of a space: its log grows here or elsewhere, a caller asks, others add to its index,
    /// a transaction comes to its end.
    #[derive(Debug, Clone)]
    enum Step {
        Grows(usize, i64, bool),
        Asks(usize),
        Elsewhere(usize, i64),
        Adds(i64),
        Fails,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0usize..4, 1i64..9, any::<bool>())
                .prop_map(|(space, events, here)| Step::Grows(space, events, here)),
            (0usize..4).prop_map(Step::Asks),
            (0usize..4, 1i64..9).prop_map(|(space, events)| Step::Elsewhere(space, events)),
            (1i64..9).prop_map(Step::Adds),
            Just(Step::Fails),
        ]
    }

    proptest! {
        /// With any order of appends and additions, the count is the number of known events that
        /// are missing, and each waiter has a turn.
        #[test]
        fn what_is_counted_is_what_is_missing(steps in prop::collection::vec(step(), 1..60)) {
            let spaces: Vec<Space> = ["a", "b", "c", "d"].iter().map(|name| Space::parse(name).unwrap()).collect();
            let mut logs = [Gap { indexed: 0, head: 0 }; 4];
            let mut state = State::default();
            let mut answers = Vec::new();
            let mut last = None;
            for step in steps {
                match step {
                    Step::Grows(at, events, here) => {
                        let before = logs[at].head;
                        logs[at].head += events;
                        if here {
                            state.know(&spaces[at], Gap { indexed: before, head: logs[at].head }, false);
                        }
                    }
                    Step::Asks(at) => {
                        let Gap { indexed, head } = logs[at];
                        if indexed < head {
                            let (answer, answered) = oneshot::channel();
                            state.know(&spaces[at], logs[at], true);
                            state.wait(&spaces[at], Waiter { reached: head, promised: false, answer });
                            answers.push((at, head, answered));
                        }
                    }
                    Step::Elsewhere(at, events) => logs[at].indexed = logs[at].head.min(logs[at].indexed + events),
                    Step::Adds(most) => {
                        let of_round = state.batch(state.round.iter());
                        let batch = if of_round.is_empty() { state.batch(state.in_turn(last.as_ref())) } else { of_round };
                        state.begin(&batch);
                        for space in &batch {
                            let log = &mut logs[spaces.iter().position(|it| it == space).unwrap()];
                            let reached = log.head.min(log.indexed + most);
                            let added = Added { reached, more: reached == log.indexed + most };
                            log.indexed = reached;
                            state.added(space, added);
                            state.served(space, added).into_iter().for_each(|waiter| drop(waiter.answer.send(Ok(()))));
                            let known = state.behind.get(space).map(|behind| behind.gap);
                            prop_assert!(known.is_none_or(|known| known.indexed == log.indexed && known.head <= log.head + 1));
                            last = Some(space.clone());
                        }
                    }
                    Step::Fails => {
                        if let Some(space) = state.batch(state.in_turn(last.as_ref())).first() {
                            state.failed(space);
                            state.answered(space).into_iter().for_each(|waiter| drop(waiter.answer.send(Err(StoreError::Broken("no".into())))));
                        }
                    }
                }
                prop_assert_eq!(state.without, state.behind.values().map(Behind::counted).sum::<i64>());
                prop_assert!(state.behind.values().chain(state.resting.values()).all(|behind| behind.missing() > 0));
                prop_assert!(state.behind.keys().all(|space| !state.resting.contains_key(space)));
                prop_assert_eq!(state.round.len(), state.waiting.len());
                prop_assert!(state.round.iter().all(|space| state.waiting.contains_key(space) && state.behind.contains_key(space)));
                // Whoever is answered well finds the event.
                for (at, reached, answered) in &mut answers {
                    if let Ok(Ok(())) = answered.try_recv() {
                        prop_assert!(logs[*at].indexed >= *reached);
                    }
                }
            }
        }
    }
}
