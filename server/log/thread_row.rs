//! A thread's row: what the events with its id add up to, and what that says about it. What one event does to it is a `ThreadChange`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::change::ThreadChange;
use super::status::Status;
use super::thread_state::{Cleared, Member, ThreadState, ThreadStateChange};
use crate::event::process::Waking;
use crate::event::summary::{self, Held};
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time::Timestamp;

/// A thread's row: what the log's events with its id add up to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadRow {
    /// Its id.
    pub thread: ThreadId,
    /// What it was created with (title, policy, submodules, …); an empty object when an input created it.
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
    /// How many of its events a decision may see (`Show::Visible`).
    pub visible: u64,
    /// How many of its events a submodule may see (`Show::Heard`).
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

    pub(super) fn take(&mut self, mut change: ThreadChange, seq: Seq, ts: Timestamp) {
        if let Some(settings) = change.settings.take() {
            self.settings = settings;
        }
        // What has ended stays ended, whatever its last turn still writes.
        if !self.status.is_final() {
            self.status = change.status.unwrap_or(self.status);
        }
        self.woken = change.woken.unwrap_or(self.woken);
        self.handled = change.handled.unwrap_or(self.handled);
        self.turn = change.turn.unwrap_or(self.turn);
        let new = std::mem::take(&mut change.state);
        self.stand(&change, new, (seq, ts));
        self.visible += change.visible;
        self.heard += change.heard;
        if change.from_outside || change.from_others {
            self.self_messages = 0;
        }
        self.self_messages += change.self_messages;
        self.model_calls += change.model_calls;
        self.tokens += change.tokens;
        self.head = seq;
        self.updated = ts;
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

    /// Whether an event was taken back.
    pub fn is_withdrawn(&self, seq: Seq) -> bool {
        self.state
            .withdrawn
            .iter()
            .any(|(from, input)| (*from..=*input).contains(&seq))
    }

    /// Whether an event of its mailbox waits: it is with no turn, and nobody took it back.
    pub fn waits(&self, seq: Seq) -> bool {
        seq > self.handled.max(self.state.taken) && !self.is_withdrawn(seq)
    }

    /// Whether it has nothing to do, and nobody it waits for.
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
        let waiting = self
            .state
            .waiting
            .as_ref()
            .filter(|_| self.status == Status::Waiting)?;
        waiting.reason.as_deref()
    }

    /// How its last turn ended, if it did not end well and nothing has come since: nothing happens in it until something does.
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

    /// Takes over a change, after all counters but `visible` and `heard`.
    fn stand(
        &mut self,
        change: &ThreadChange,
        new: ThreadStateChange,
        (seq, ts): (Seq, Timestamp),
    ) {
        let state = &mut self.state;
        let ThreadStateChange {
            waking,
            waits,
            begins,
            reason,
            tasks,
            failed,
            sends,
            subthreads,
            plan,
            keep,
            watch,
            gather,
            part,
            open,
            question,
            archived,
            paused,
            correction,
            told,
            withdrawn,
            left_out,
            work,
            adopted,
            root,
            summary,
            mood,
            points,
        } = new;
        state.root = root.or(state.root);
        if change.from_outside {
            state.sends = 0;
        }
        state.sends += sends;
        state.subthreads = state.subthreads.saturating_add_signed(subthreads);
        // The end of a thread is not the end of its turn.
        if change
            .status
            .is_some_and(|status| status != Status::Thinking && !status.is_final())
        {
            state.taken = 0;
        }
        if let Some(last) = begins {
            state.waiting = None;
            state.taken = last;
            state.failed = None;
        }
        state.failed = failed.or(state.failed.take());
        state.reason = reason.or(state.reason.take());
        state.tasks = tasks.or(state.tasks);
        if let Some(plan) = plan {
            state.plan = Some(plan).filter(|plan| !plan.is_null());
        }
        if let Some(keep) = keep {
            let (visible, heard) = (
                self.visible.saturating_sub(keep),
                self.heard.saturating_sub(keep),
            );
            state.cleared = Some(Cleared { visible, heard });
            summary::clear(&mut state.summaries, visible);
        }
        if let Some(made) = summary {
            let cleared = state.cleared.unwrap_or_default().visible;
            summary::take(&mut state.summaries, &made, cleared);
        }
        if let Some(correction) = correction {
            correction.take_into(&mut state.corrections);
        }
        state.told = told.or(state.told);
        state.mood = mood.or(state.mood);
        state.points = state.points.saturating_add(points);
        for name in open.into_iter().flatten() {
            if !state.open.contains(&name) {
                state.open.push(name);
            }
        }
        if let Some((id, is_open)) = question {
            state.questions.retain(|it| *it != id);
            state.questions.extend(is_open.then_some(id));
        }
        set(&mut state.watches, watch);
        set(&mut state.gathers, gather);
        if change.status.is_some_and(Status::is_final) {
            state.watches.clear();
            state.gathers.clear();
        }
        let gathering = part
            .as_ref()
            .and_then(|part| Some((state.gathers.get_mut(&part.id)?, part)));
        let waking = if gathering.is_some_and(|(gather, part)| gather.take(part)) {
            // Nobody else looks after what has come back: the thread does, whoever it waits for.
            self.woken = seq;
            Some(Waking {
                by: None,
                outside: false,
                ends_any_wait: true,
            })
        } else {
            waking
        };
        if let Some(back) = withdrawn {
            state.withdrawn.push((back.from, back.input));
            state.unshown.take_back(back);
            // They are made anew, without it.
            let begins = |held: &Held| held.covers.to >= back.from;
            let kept = state.summaries.iter().position(begins);
            state.summaries.truncate(kept.unwrap_or(usize::MAX));
        }
        if let Some(left_out) = left_out {
            state.unshown.leave_out(&left_out);
        }
        state.withdrawn.retain(|(_, input)| *input > self.handled);
        state.archived = archived.unwrap_or(state.archived);
        state.paused = paused.unwrap_or(state.paused);
        if let Some(sign) = work {
            state.worked.get_or_insert_default().take(sign, ts);
        }
        state.adopted = adopted.or(state.adopted.take());
        if let Some(waits) = waits
            && !self.status.is_final()
        {
            state.waiting = Some(waits.waiting);
            // What came meanwhile may be what it waits for: then it is looked at first, and not by this row.
            self.status = if self.woken <= waits.seen {
                Status::Waiting
            } else {
                Status::Idle
            };
        }
        if let Some(waking) = waking
            && self.status == Status::Waiting
            && !state.paused
            && state
                .waiting
                .as_ref()
                .is_none_or(|waiting| waiting.admits(&waking))
        {
            self.status = Status::Idle;
        }
    }
}

fn set<T>(members: &mut BTreeMap<String, T>, change: Option<Member<T>>) {
    match change {
        Some((id, Some(value))) => drop(members.insert(id, value)),
        Some((id, None)) => drop(members.remove(&id)),
        None => {}
    }
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

/// All threads whose ids lie from one to another, both included: bytewise, as they are listed.
pub type Span<'a> = std::ops::RangeInclusive<&'a ThreadId>;
