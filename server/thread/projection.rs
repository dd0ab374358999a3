//! How events change rows: the one fold behind threads, submodules and state entries, live and in `thinkd rebuild`.
//! Pure; where rows are kept is the store's business.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::event::envelope::{Event, TurnOutcome, Visibility, tag};
use crate::event::process::{Feedback, Waiting};
use crate::log::change::{Change, Spent, ThreadChange};
use crate::log::standing::{Adopted, Member, Waits};
use crate::log::store::Status;
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::time::Timestamp;

/// What an event does to its thread's row and to other rows.
pub fn project(event: &Event) -> (ThreadChange, Option<Change>) {
    let visibility = event.visibility();
    let mut thread = ThreadChange {
        woken: event.wakes().then_some(event.seq),
        visible: u64::from(visibility >= Visibility::Voice),
        heard: u64::from(visibility >= Visibility::Heard),
        from_outside: event.is_from_outside(),
        from_others: (event.has(tag::MESSAGE) && !event.is_from_itself())
            || event.has(tag::THREAD_ENDED)
            || event.has(tag::THREAD_STUCK),
        self_messages: u32::from(event.is_from_itself()),
        ..ThreadChange::default()
    };
    thread.standing.waking = event.waking();
    let mut other = None;
    if event.has(tag::TURN) {
        other = turn(event, &mut thread);
    } else if event.has(tag::THREAD) {
        other = told(event, &mut thread);
    } else if event.has(tag::RESULT) {
        let sent = event.payload.get("sent").and_then(Value::as_u64).unwrap_or(0);
        thread.standing.sends = u32::try_from(sent).unwrap_or(u32::MAX);
    } else if event.has(tag::RUN) {
        run(event, &mut thread);
    } else if event.tag_value("call:").is_some() {
        // One that a budget refused was not made.
        if event.payload.get("outcome").and_then(Value::as_str) != Some("refused") {
            (thread.model_calls, thread.tokens) = (1, event.tokens());
            let spent = Spent { calls: 1, tokens: event.tokens(), threads: 0 };
            other = Some(Change::Spent { root: event.root(), spent });
        }
    } else if let Some(kind) = event.tag_value("set:") {
        other = set(event, kind, &mut thread);
    }
    (thread, other)
}

fn turn(event: &Event, thread: &mut ThreadChange) -> Option<Change> {
    if event.has(tag::STARTED) {
        thread.turn = event.turn();
        thread.status = Some(Status::Thinking);
        let batch = event.payload.get("batch").and_then(Value::as_array);
        thread.standing.root = event.root();
        thread.standing.begins = Some(batch.and_then(|batch| batch.last()?.as_i64()).unwrap_or(0));
        // A turn that ends a wait ends its time limit, too.
        let timer = event.payload.get("waited").and_then(Value::as_str)?;
        Some(Change::Timer { name: timer.to_owned(), value: None })
    } else {
        thread.status = Some(Status::Idle);
        // An interrupted turn leaves its batch in the mailbox.
        let outcome = event.payload.get("outcome").and_then(Value::as_str).and_then(TurnOutcome::parse);
        if outcome != Some(TurnOutcome::Interrupted) {
            thread.handled = event.payload.get("handled").and_then(Value::as_i64);
        }
        thread.standing.failed = match outcome {
            Some(TurnOutcome::Failed) => Some("its last turn failed".to_owned()),
            Some(TurnOutcome::Cancelled) => Some("its last turn was cancelled".to_owned()),
            _ => None,
        };
        thread.standing.waits = waits(&event.payload, "wait", thread.handled);
        None
    }
}

/// From when on the thread waits for whom, if an event says so.
fn waits(payload: &crate::event::envelope::Payload, key: &str, seen: Option<Seq>) -> Option<Waits> {
    let waiting = Waiting::deserialize(payload.get(key)?).ok()?;
    let seen = payload.get("seen").and_then(Value::as_i64).or(seen).unwrap_or(0);
    Some(Waits { waiting, seen })
}

/// What the core told the thread.
fn told(event: &Event, thread: &mut ThreadChange) -> Option<Change> {
    let text = |key: &str| event.payload.get(key).and_then(Value::as_str);
    let is = |what: Feedback| event.has(what.as_str());
    let is_child = |key| text(key).and_then(|id| ThreadId::parse(id).ok()?.parent()).as_ref() == Some(&event.thread);
    if is(Feedback::Spawned) {
        thread.standing.subthreads = 1;
        // Its end wakes the thread again: without a count that could go on for ever. What people make is from outside.
        thread.standing.sends = u32::from(event.turn().is_some());
        let spent = Spent { threads: 1, ..Spent::default() };
        return event.root().map(|root| Change::Spent { root: Some(root), spent });
    } else if is(Feedback::Ended) || is(Feedback::Archived) {
        let is_counted = is_child("id") && event.payload.get("archived").is_none();
        thread.standing.subthreads = -i32::from(is_counted);
        thread.standing.part = event.part();
    } else if is(Feedback::Stuck) {
        thread.standing.part = event.part();
    } else if is(Feedback::Resumed) && is_child("id") {
        thread.standing.subthreads = 1;
    } else if is(Feedback::Cleared) {
        thread.standing.keep = event.payload.get("kept_messages").and_then(Value::as_u64);
    } else if is(Feedback::Timer) {
        return Some(Change::Timer { name: text("timer")?.to_owned(), value: None });
    }
    None
}

/// A run is a thread with one turn. It has no mailbox: its beginning wakes it, its end is the thread's.
fn run(event: &Event, thread: &mut ThreadChange) {
    if event.has(tag::STARTED) {
        thread.woken = Some(event.seq);
        thread.settings = Some(json!({ "pipeline": event.payload.get("pipeline") }));
    } else if event.has(tag::ENDED) {
        thread.handled = Some(event.seq);
        thread.status = Some(match event.payload.get("outcome").and_then(Value::as_str) {
            Some("done") => Status::Done,
            Some("failed") => Status::Failed,
            _ => Status::Stopped,
        });
    }
}

/// A note as `state_put` wrote it.
#[derive(Deserialize)]
struct Note {
    content: String,
    related_keys: Vec<String>,
    owner: String,
}

/// A contact as `connect` wrote it.
#[derive(Deserialize)]
struct Contact {
    thread: ThreadId,
    description: String,
}

/// Tools as they were opened.
#[derive(Deserialize)]
struct Opened {
    open: Vec<String>,
}

/// A timer as `set_timer` wrote it.
#[derive(Deserialize)]
struct Timer {
    due: Timestamp,
    note: String,
}

/// A submodule as it was created or changed.
#[derive(Deserialize)]
struct Voice {
    prompt: String,
}

/// What a change says: null is gone. None: it has a form that this build does not know, which is never "gone".
fn said<T: for<'a> Deserialize<'a>>(change: &Value) -> Option<Option<T>> {
    if change.is_null() { Some(None) } else { T::deserialize(change).ok().map(Some) }
}

fn member<T: for<'a> Deserialize<'a>>(id: &str, change: &Value) -> Option<Member<T>> {
    Some((id.to_owned(), said(change)?))
}

fn set(event: &Event, kind: &str, thread: &mut ThreadChange) -> Option<Change> {
    let key = event.payload.get("key").and_then(Value::as_str)?;
    let change = event.payload.get("change")?;
    let unreadable = || Some(Change::Unreadable { kind: kind.to_owned(), key: key.to_owned() });
    match kind {
        "thread" => {
            let status = change.get("status").and_then(Value::as_str);
            thread.status = status.and_then(Status::parse);
            thread.settings = change.get("settings").cloned();
            thread.standing.root = event.root();
            thread.standing.reason = change.get("reason").and_then(Value::as_str).map(str::to_owned);
            thread.standing.archived = change.get("archived").and_then(Value::as_bool);
            let by = |parent: &Value| parent.as_str().and_then(|id| ThreadId::parse(id).ok());
            thread.standing.adopted = change.get("parent").map(|parent| Adopted { by: by(parent) });
            if status.is_some() && thread.status.is_none() { unreadable() } else { None }
        }
        "wait" => {
            let payload = change.as_object()?;
            thread.standing.waits = waits(payload, "waiting", None);
            None
        }
        "plan" => {
            thread.standing.plan = Some(change.clone());
            None
        }
        "watch" => {
            thread.standing.watch = member(key, change);
            if thread.standing.watch.is_none() { unreadable() } else { None }
        }
        "gather" => {
            thread.standing.gather = member(key, change);
            if thread.standing.gather.is_none() { unreadable() } else { None }
        }
        "tools" => {
            thread.standing.open = Opened::deserialize(change).ok().map(|opened| opened.open);
            if thread.standing.open.is_none() { unreadable() } else { None }
        }
        "contact" => match (Name::parse(key), said::<Contact>(change)) {
            (Ok(name), Some(contact)) => {
                Some(Change::Contact { name, value: contact.map(|contact| (contact.thread, contact.description)) })
            }
            _ => unreadable(),
        },
        "timer" => match said::<Timer>(change) {
            Some(timer) => Some(Change::Timer {
                name: key.to_owned(),
                value: timer.map(|timer| (timer.due, timer.note, event.root())),
            }),
            None => unreadable(),
        },
        "submodule" => match (Name::parse(key), said::<Voice>(change)) {
            (Ok(name), Some(voice)) => Some(Change::Submodule { name, prompt: voice.map(|voice| voice.prompt) }),
            _ => unreadable(),
        },
        "entry" => match said::<Note>(change) {
            Some(note) => {
                let value = note.map(|note| (note.content, note.related_keys, note.owner));
                Some(Change::Entry { key: key.to_owned(), value })
            }
            None => unreadable(),
        },
        _ => None,
    }
}
