//! A thread's row: the sum of the events with its id, and the answers that follow from it. Its
//! fold, `ThreadRow::apply`, is in `log/thread_fold.rs`.

use serde_json::{Map, Value};

use super::status::Status;
use super::thread_state::ThreadState;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// A thread's row: the sum of the log's events with its id.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadRow {
    /// Its id.
    pub thread: ThreadId,
    /// The settings it was created with (title, policy, submodules, …); an empty object when an
    /// input created it.
    pub settings: Value,
    /// `Idle`, or how it ended. That it thinks follows from `woken > handled`.
    pub status: Status,
    /// The seq of its last event.
    pub head: Seq,
    /// The seq of the last event that woke it.
    pub woken: Seq,
    /// Everything that woke it up to here has had its turn.
    pub handled: Seq,
    /// The number of its last turn; 0 before the first.
    pub turn: u64,
    /// The number of its events that a decision may see (`Show::Visible`).
    pub visible: u64,
    /// The number of its events that a submodule may see (`Show::Heard`).
    pub heard: u64,
    /// Messages to itself in a row, since something came from outside.
    pub self_messages: u32,
    /// Model calls made.
    pub model_calls: u64,
    /// Tokens used, in and out, as far as providers said.
    pub tokens: u64,
    /// For whom it waits, its plan, …
    pub state: ThreadState,
    /// When its first event was stored.
    pub created: Timestamp,
    /// When its last event was stored.
    pub updated: Timestamp,
}

impl ThreadRow {
    pub(super) fn first(thread: &ThreadId, ts: Timestamp) -> Self {
        Self {
            thread: thread.clone(),
            settings: Value::Object(Map::new()),
            created: ts,
            updated: ts,
            ..Self::default()
        }
    }

    /// Returns true if there is something to do: for its mailbox, or because it ended in the middle of a turn.
    pub fn has_work(&self) -> bool {
        let can_run = self.status != Status::Waiting && !self.status.is_final();
        (self.woken > self.handled && can_run) || self.is_cut_off()
    }

    /// Returns true if it ended in the middle of a turn that has no end yet.
    pub fn is_cut_off(&self) -> bool {
        self.status.is_final() && self.state.taken > 0
    }

    /// The number of the turn that runs, or else of the next one.
    pub fn turn_at_hand(&self) -> u64 {
        if self.status == Status::Thinking || self.is_cut_off() {
            self.turn
        } else {
            self.turn + 1
        }
    }

    /// Returns true if an event was taken back.
    pub fn is_withdrawn(&self, seq: Seq) -> bool {
        has(&self.state.withdrawn, seq)
    }

    /// Returns whether an earlier turn took in an event of its mailbox.
    pub fn has_had(&self, seq: Seq) -> bool {
        has(&self.state.had, seq)
    }

    /// Returns whether the running turn or an earlier one took in an event of its mailbox.
    pub fn is_steered(&self, seq: Seq) -> bool {
        has(&self.state.steered, seq) || self.has_had(seq)
    }

    /// Returns whether an event of its mailbox is in no batch to come, with no other turn than it
    /// had: it was taken back, or an earlier turn took it in.
    pub fn is_settled(&self, seq: Seq) -> bool {
        self.is_withdrawn(seq) || self.has_had(seq)
    }

    /// Returns the number of inputs of its mailbox behind `after` that do not wait there: they were
    /// taken back, or a turn took them in.
    pub fn settled_after(&self, after: Seq) -> usize {
        let state = &self.state;
        let all = [&state.withdrawn, &state.steered, &state.had];
        let all = all.into_iter().flatten();
        all.filter(|(_, input)| *input > after).count()
    }

    /// Returns true if an event of its mailbox waits: it is with no turn, and was not taken back.
    pub fn waits(&self, seq: Seq) -> bool {
        seq > self.handled.max(self.state.taken) && !self.is_withdrawn(seq) && !self.is_steered(seq)
    }

    /// Returns true if it has nothing to do, and waits for no one thread.
    pub fn is_asleep(&self) -> bool {
        let idle = matches!(self.status, Status::Idle | Status::Waiting);
        idle && self.woken <= self.handled && self.state.waits_for().is_none()
    }

    /// The thread above it: the one that its id says, or, since that has ended, the nearest living one.
    pub fn parent(&self) -> Option<ThreadId> {
        match &self.state.adopted {
            Some(adopted) => adopted.by.clone(),
            None => self.thread.parent(),
        }
    }

    /// Why it cannot go on, if it sleeps for another reason than that it asked to.
    pub fn stuck(&self) -> Option<&str> {
        let waiting = self.state.waiting.as_ref();
        let waiting = waiting.filter(|_| self.status == Status::Waiting)?;
        waiting.reason.as_deref()
    }

    /// Returns the end of its last turn, if that failed or was cancelled, and nothing has come
    /// since: nothing happens in it until something does.
    pub fn failed(&self) -> Option<&str> {
        let idle =
            matches!(self.status, Status::Idle | Status::Waiting) && self.woken <= self.handled;
        self.state.failed.as_deref().filter(|_| idle)
    }

    /// The one thread that it waits for now, if it waits for one.
    pub fn awaits(&self) -> Option<&ThreadId> {
        self.state
            .waits_for()
            .filter(|_| self.status == Status::Waiting)
    }
}

fn has(inputs: &[(Seq, Seq)], seq: Seq) -> bool {
    let has = |(from, input): &(Seq, Seq)| (*from..=*input).contains(&seq);
    inputs.iter().any(has)
}

/// A thread that waits for one thread alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The space.
    pub space: Space,
    /// The one that is waited for.
    pub target: ThreadId,
    /// The one that waits.
    pub thread: ThreadId,
}

/// All threads with ids from one to another, both included: bytewise, as they are listed.
pub type Span<'a> = std::ops::RangeInclusive<&'a ThreadId>;
