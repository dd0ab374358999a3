//! How events change rows: the one fold behind threads, submodules and state entries, live and in `thinkd rebuild`.
//! Pure; where rows are kept is the store's business. A new kind of fact is decided about here before it compiles.

use serde_json::json;

use crate::event::calls::{CallOutcome, Record};
use crate::event::envelope::{Event, TurnOutcome, Visibility};
use crate::event::fact::Fact;
use crate::event::process::Waiting;
use crate::event::run::{RunFact, RunNews};
use crate::event::set::{self, Set};
use crate::event::told::{News, Told};
use crate::event::turn;
use crate::log::change::{Change, Spent, ThreadChange};
use crate::log::standing::{Adopted, Waits};
use crate::log::store::Status;
use crate::words::id::{Name, Seq, ThreadId};

/// What an event does to its thread's row and to other rows.
pub fn project(event: &Event) -> (ThreadChange, Option<Change>) {
    let (fact, visibility, own) = (event.fact(), event.visibility(), &event.thread);
    let mut thread = ThreadChange {
        woken: event.wakes().then_some(event.seq),
        visible: u64::from(visibility >= Visibility::Voice),
        heard: u64::from(visibility >= Visibility::Heard),
        from_outside: fact.is_from_outside(),
        from_others: fact.is_from_others(own),
        self_messages: u32::from(fact.is_from_itself(own)),
        ..ThreadChange::default()
    };
    thread.standing.waking = fact.waking();
    let other = match fact {
        Fact::TurnStarted(started) => turn_started(&started, &mut thread),
        Fact::TurnEnded(ended) => {
            turn_ended(ended, &mut thread);
            None
        }
        Fact::Told(told) => hear(told, own, &mut thread),
        Fact::Result(result) => {
            thread.standing.sends = u32::try_from(result.sent).unwrap_or(u32::MAX);
            None
        }
        Fact::Run(run) => {
            self::run(&run, event.seq, &mut thread);
            None
        }
        Fact::Call(record) => call(&record, &mut thread),
        Fact::Set(set) => self::set(set, &mut thread),
        Fact::Input(_)
        | Fact::Trigger(_)
        | Fact::TurnCancel(_)
        | Fact::Remark(_)
        | Fact::Decided(_)
        | Fact::Action(_)
        | Fact::Reply(_)
        | Fact::Message(_)
        | Fact::Failure(_)
        | Fact::ClientFailure(_)
        | Fact::Node(_)
        | Fact::Unknown(_) => None,
    };
    (thread, other)
}

fn turn_started(started: &turn::Started<'_>, thread: &mut ThreadChange) -> Option<Change> {
    thread.turn = Some(started.turn);
    thread.status = Some(Status::Thinking);
    thread.standing.root = started.root;
    thread.standing.begins = Some(started.batch.last().copied().unwrap_or(0));
    // A turn that ends a wait ends its time limit, too.
    Some(Change::Timer { name: started.waited?.to_owned(), value: None })
}

fn turn_ended(ended: turn::Ended, thread: &mut ThreadChange) {
    thread.status = Some(Status::Idle);
    // An interrupted turn leaves its batch in the mailbox.
    if ended.outcome != Some(TurnOutcome::Interrupted) {
        thread.handled = ended.handled;
    }
    thread.standing.failed = match ended.outcome {
        Some(TurnOutcome::Failed) => Some("its last turn failed".to_owned()),
        Some(TurnOutcome::Cancelled) => Some("its last turn was cancelled".to_owned()),
        Some(TurnOutcome::Done | TurnOutcome::Interrupted) | None => None,
    };
    thread.standing.waits = waits(ended.wait, ended.seen.or(thread.handled));
}

/// From when on the thread waits for whom, if an event says so.
fn waits(waiting: Option<Waiting>, seen: Option<Seq>) -> Option<Waits> {
    Some(Waits { waiting: waiting?, seen: seen.unwrap_or(0) })
}

fn call(record: &Record<'_>, thread: &mut ThreadChange) -> Option<Change> {
    // One that a budget refused was not made.
    if record.outcome() == Some(CallOutcome::Refused) {
        return None;
    }
    (thread.model_calls, thread.tokens) = (1, record.tokens());
    let spent = Spent { calls: 1, tokens: record.tokens(), threads: 0 };
    Some(Change::Spent { root: record.root(), spent })
}

/// What the core told the thread.
fn hear(told: Told<'_>, own: &ThreadId, thread: &mut ThreadChange) -> Option<Change> {
    let is_child = |id: &str| ThreadId::parse(id).ok().and_then(|id| id.parent()).as_ref() == Some(own);
    match told.news {
        News::Spawned { .. } => {
            thread.standing.subthreads = 1;
            // Its end wakes the thread again: without a count that could go on for ever. What people make is from outside.
            thread.standing.sends = u32::from(told.turn.is_some());
            let spent = Spent { threads: 1, ..Spent::default() };
            return told.root.map(|root| Change::Spent { root: Some(root), spent });
        }
        News::Ended { thread: id, counted, was_archived, .. } => {
            thread.standing.subthreads = -i32::from(is_child(id) && !was_archived);
            thread.standing.part = counted.part;
        }
        News::Archived { thread: id } => thread.standing.subthreads = -i32::from(is_child(id)),
        News::Stuck { counted, .. } => thread.standing.part = counted.part,
        News::Resumed { thread: id } => thread.standing.subthreads = i32::from(is_child(id)),
        News::Cleared { kept } => thread.standing.keep = kept,
        News::Timer { timer, .. } => return Some(Change::Timer { name: timer.to_owned(), value: None }),
        News::TimerSet { .. }
        | News::PlanComplete { .. }
        | News::WatchRaised { .. }
        | News::WatchSet { .. }
        | News::WatchClosed { .. }
        | News::Gathered { .. }
        | News::Error { .. } => {}
    }
    None
}

/// A run is a thread with one turn. It has no mailbox: its beginning wakes it, its end is the thread's.
fn run(run: &RunFact<'_>, seq: Seq, thread: &mut ThreadChange) {
    match run.what {
        RunNews::Started { .. } => {
            thread.woken = Some(seq);
            thread.settings = Some(json!({ "pipeline": run.pipeline }));
        }
        RunNews::Ended { outcome, .. } => {
            thread.handled = Some(seq);
            thread.status = Some(match outcome {
                "done" => Status::Done,
                "failed" => Status::Failed,
                _ => Status::Stopped,
            });
        }
        RunNews::Resumed { .. } | RunNews::Cancel { .. } => {}
    }
}

fn set(set: Set<'_>, thread: &mut ThreadChange) -> Option<Change> {
    let Set { key, change, root, .. } = set;
    let (kind, standing) = (change.kind(), &mut thread.standing);
    let unreadable = || Some(Change::Unreadable { kind: kind.as_str().to_owned(), key: key.to_owned() });
    match change {
        set::Change::Thread(change) => {
            thread.status = change.status.and_then(Status::parse);
            thread.settings = change.settings.cloned();
            standing.root = root;
            standing.reason = change.reason.map(str::to_owned);
            standing.archived = change.archived;
            let by = |parent: Option<&str>| parent.and_then(|id| ThreadId::parse(id).ok());
            standing.adopted = change.parent.map(|parent| Adopted { by: by(parent) });
            if change.status.is_some() && thread.status.is_none() { unreadable() } else { None }
        }
        set::Change::Wait(wait) => {
            standing.waits = waits(wait.waiting, wait.seen);
            None
        }
        set::Change::Plan(plan) => {
            standing.plan = Some(plan.clone());
            None
        }
        set::Change::Watch(watch) => {
            standing.watch = Some((key.to_owned(), watch));
            None
        }
        set::Change::Gather(gather) => {
            standing.gather = Some((key.to_owned(), gather));
            None
        }
        set::Change::Tools(open) => {
            standing.open = Some(open);
            None
        }
        set::Change::Contact(contact) => {
            let Ok(name) = Name::parse(key) else { return unreadable() };
            Some(Change::Contact { name, value: contact.map(|contact| (contact.thread, contact.description)) })
        }
        set::Change::Timer(timer) => {
            let value = timer.map(|timer| (timer.due, timer.note, root));
            Some(Change::Timer { name: key.to_owned(), value })
        }
        set::Change::Submodule(submodule) => {
            let Ok(name) = Name::parse(key) else { return unreadable() };
            Some(Change::Submodule { name, prompt: submodule.map(|submodule| submodule.prompt) })
        }
        set::Change::Entry(note) => {
            let value = note.map(|note| (note.content, note.related_keys, note.owner));
            Some(Change::Entry { key: key.to_owned(), value })
        }
        // What has rows, in a form of a newer build: a row stays as it is. What only readers look at has none.
        set::Change::Unreadable { kind: set::Kind::Wait, .. } => None,
        set::Change::Unreadable { .. } => unreadable(),
        set::Change::Step(_) | set::Change::Doctor(_) => None,
    }
}
