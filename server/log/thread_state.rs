//! What a thread's row keeps besides counters: for whom it waits, its plan, what it no longer sees. Most threads have none of it,
//! so it is one column, empty then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::change::ThreadChange;
use super::store::{Status, ThreadRow};
use crate::event::gather::{Gather, Part as GatherPart};
use crate::event::process::{Waiting, Waking, Watch};
use crate::words::id::{Seq, ThreadId};

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadState {
    /// For whom it waits, or waited when it was woken last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Why it ended, or cannot go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How its last turn ended, if it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Messages sent to other threads, since something came from outside.
    #[serde(skip_serializing_if = "is_zero")]
    pub sends: u32,
    /// Subthreads that have not ended and are not put aside.
    #[serde(skip_serializing_if = "is_zero")]
    pub subthreads: u32,
    /// Its plan: condition, steps, whether it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
    /// What it is no longer shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Cleared>,
    /// What it watches for, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub watches: BTreeMap<String, Watch>,
    /// What it sent out together and waits to have back, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gathers: BTreeMap<String, Gather>,
    /// Rare tools that its model is told of, in the order in which they were opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// It was put aside, to make room for another: it does not count as a subthread any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The turn that runs is about what came up to here: that waits no longer. 0: none runs.
    #[serde(skip_serializing_if = "is_none_yet")]
    pub taken: Seq,
    /// The event from outside that its last turn goes back to, or else that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
    /// Its parent has ended, and it has another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
}

/// Who is a thread's parent since its own has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Adopted {
    /// The nearest living thread above; none: it has no parent any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ThreadId>,
}

/// So many of the first events of each kind a thread is no longer shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cleared {
    /// How many events that a decision may see.
    pub visible: u64,
    /// How many events that a submodule may see.
    pub heard: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none_yet(seq: &Seq) -> bool {
    *seq == 0
}

/// A thread waits from now on, unless something waits for it already.
#[derive(Debug, Clone, PartialEq)]
pub struct Waits {
    /// For whom.
    pub waiting: Waiting,
    /// Everything in its mailbox up to here was looked at: none of it ends the wait.
    pub seen: Seq,
}

/// A member of `watches` or `gathers` by its id, and what it is now; `None`: it is gone.
pub type Member<T> = (String, Option<T>);

/// What one event does to a thread's standing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadStateChange {
    /// It was woken so.
    pub waking: Option<Waking>,
    /// It waits.
    pub waits: Option<Waits>,
    /// A turn began, with a batch up to here: it waits no longer.
    pub begins: Option<Seq>,
    /// Why it ended.
    pub reason: Option<String>,
    /// How its turn ended, if it did not end well.
    pub failed: Option<String>,
    /// More messages sent to others.
    pub sends: u32,
    /// More, or fewer, subthreads.
    pub subthreads: i32,
    /// A new plan.
    pub plan: Option<Value>,
    /// Only so many of the newest events are shown from now on.
    pub keep: Option<u64>,
    /// A watch changed.
    pub watch: Option<Member<Watch>>,
    /// What is gathered changed.
    pub gather: Option<Member<Gather>>,
    /// One of what is gathered has come back.
    pub part: Option<GatherPart>,
    /// Tools that its model is told of from now on.
    pub open: Option<Vec<String>>,
    /// It was put aside, or taken back.
    pub archived: Option<bool>,
    /// It has another parent.
    pub adopted: Option<Adopted>,
    /// What it does goes back to this event from now on.
    pub root: Option<Seq>,
}

impl ThreadState {
    /// As it is stored: nothing, for most.
    pub(super) fn to_column(&self) -> String {
        if *self == Self::default() { String::new() } else { serde_json::to_string(self).unwrap_or_default() }
    }

    /// Whether it waits for one thread alone.
    pub fn waits_for(&self) -> Option<&ThreadId> {
        self.waiting.as_ref().and_then(|waiting| waiting.from.as_ref())
    }
}

impl ThreadRow {
    /// Whether it has nothing to do, and nobody it waits for.
    pub fn is_asleep(&self) -> bool {
        let idle = matches!(self.status, Status::Idle | Status::Waiting);
        idle && self.woken <= self.handled && self.standing.waits_for().is_none()
    }

    /// The thread above it: the one that its id says, or, since that has ended, the nearest living one.
    pub fn parent(&self) -> Option<ThreadId> {
        match &self.standing.adopted {
            Some(adopted) => adopted.by.clone(),
            None => self.thread.parent(),
        }
    }

    /// Why it cannot go on, if it sleeps for another reason than that it asked to.
    pub fn stuck(&self) -> Option<&str> {
        let waiting = self.standing.waiting.as_ref().filter(|_| self.status == Status::Waiting)?;
        waiting.reason.as_deref()
    }

    /// How its last turn ended, if it did not end well and nothing has come since: nothing happens in it until something does.
    pub fn failed(&self) -> Option<&str> {
        let idle = matches!(self.status, Status::Idle | Status::Waiting) && self.woken <= self.handled;
        self.standing.failed.as_deref().filter(|_| idle)
    }

    /// The one thread that it waits for now, if it waits for one.
    pub fn awaits(&self) -> Option<&ThreadId> {
        self.standing.waits_for().filter(|_| self.status == Status::Waiting)
    }

    /// Takes over a change, after all counters but `visible` and `heard`.
    pub(super) fn stand(&mut self, change: &ThreadChange, seq: Seq) {
        let standing = &mut self.standing;
        let ThreadStateChange {
            waking,
            waits,
            begins,
            reason,
            failed,
            sends,
            subthreads,
            plan,
            keep,
            watch,
            gather,
            part,
            open,
            archived,
            adopted,
            root,
        } = &change.standing;
        standing.root = root.or(standing.root);
        if change.from_outside {
            standing.sends = 0;
        }
        standing.sends += sends;
        standing.subthreads = standing.subthreads.saturating_add_signed(*subthreads);
        if change.status.is_some_and(|status| status != Status::Thinking) {
            standing.taken = 0;
        }
        if let Some(last) = begins {
            standing.waiting = None;
            standing.taken = *last;
            standing.failed = None;
        }
        standing.failed = failed.clone().or(standing.failed.take());
        if let Some(reason) = reason {
            standing.reason = Some(reason.clone());
        }
        if let Some(plan) = plan {
            standing.plan = Some(plan.clone()).filter(|plan| !plan.is_null());
        }
        if let Some(keep) = keep {
            let (visible, heard) = (self.visible.saturating_sub(*keep), self.heard.saturating_sub(*keep));
            standing.cleared = Some(Cleared { visible, heard });
        }
        let opened = open.iter().flatten();
        opened.for_each(|name| {
            if !standing.open.contains(name) {
                standing.open.push(name.clone())
            }
        });
        set(&mut standing.watches, watch.as_ref());
        set(&mut standing.gathers, gather.as_ref());
        if change.status.is_some_and(Status::is_final) {
            standing.watches.clear();
            standing.gathers.clear();
        }
        let gathering = part.as_ref().and_then(|part| Some((standing.gathers.get_mut(&part.id)?, part)));
        let waking = if gathering.is_some_and(|(gather, part)| gather.take(part)) {
            // Nobody else looks after what has come back: the thread does, whoever it waits for.
            self.woken = seq;
            Some(Waking { by: None, outside: false, ends_any_wait: true })
        } else {
            waking.clone()
        };
        standing.archived = archived.unwrap_or(standing.archived);
        if let Some(adopted) = adopted {
            standing.adopted = Some(adopted.clone());
        }
        if let Some(waits) = waits
            && !self.status.is_final()
        {
            standing.waiting = Some(waits.waiting.clone());
            // What came meanwhile may be what it waits for: then it is looked at first, and not by this row.
            self.status = if self.woken <= waits.seen { Status::Waiting } else { Status::Idle };
        }
        if let Some(waking) = waking
            && self.status == Status::Waiting
            && standing.waiting.as_ref().is_none_or(|waiting| waiting.admits(&waking))
        {
            self.status = Status::Idle;
        }
    }
}

fn set<T: Clone>(members: &mut BTreeMap<String, T>, change: Option<&Member<T>>) {
    match change {
        Some((id, Some(value))) => drop(members.insert(id.clone(), value.clone())),
        Some((id, None)) => drop(members.remove(id)),
        None => {}
    }
}
