//! How events change rows: the one fold behind threads, submodules and state entries, live and in `thinkd rebuild`.
//! Pure; where rows are kept is the store's business.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::event::{Event, TurnOutcome, Visibility, tag};
use crate::id::Name;
use crate::store::{Change, Status, ThreadChange};

/// What an event does to its thread's row and to other rows.
pub fn project(event: &Event) -> (ThreadChange, Option<Change>) {
    let visibility = event.visibility();
    let mut thread = ThreadChange {
        woken: event.wakes().then_some(event.seq),
        visible: u64::from(visibility >= Visibility::Voice),
        heard: u64::from(visibility >= Visibility::Heard),
        from_outside: event.is_from_outside(),
        self_messages: u32::from(event.has(tag::THOUGHT)),
        ..ThreadChange::default()
    };
    let mut other = None;
    if event.has(tag::TURN) {
        turn(event, &mut thread);
    } else if event.has(tag::RUN) {
        run(event, &mut thread);
    } else if event.tag_value("call:").is_some() {
        thread.model_calls = 1;
        thread.tokens = event.tokens();
    } else if let Some(kind) = event.tag_value("set:") {
        other = set(event, kind, &mut thread);
    }
    (thread, other)
}

fn turn(event: &Event, thread: &mut ThreadChange) {
    if event.has(tag::STARTED) {
        thread.turn = event.turn();
        thread.status = Some(Status::Thinking);
    } else {
        thread.status = Some(Status::Idle);
        // An interrupted turn leaves its batch in the mailbox.
        let outcome = event.payload.get("outcome").and_then(Value::as_str).and_then(TurnOutcome::parse);
        if outcome != Some(TurnOutcome::Interrupted) {
            thread.handled = event.payload.get("handled").and_then(Value::as_i64);
        }
    }
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

fn set(event: &Event, kind: &str, thread: &mut ThreadChange) -> Option<Change> {
    let key = event.payload.get("key").and_then(Value::as_str)?;
    let change = event.payload.get("change")?;
    match kind {
        "thread" => {
            if let Some(status) = change.get("status").and_then(Value::as_str).and_then(Status::parse) {
                thread.status = Some(status);
            }
            thread.settings = change.get("settings").cloned();
            None
        }
        "submodule" => {
            let prompt = change.get("prompt").and_then(Value::as_str).map(str::to_owned);
            Some(Change::Submodule { name: Name::parse(key).ok()?, prompt })
        }
        "entry" => {
            let note = Note::deserialize(change).ok();
            let value = note.map(|note| (note.content, note.related_keys, note.owner));
            Some(Change::Entry { key: key.to_owned(), value })
        }
        _ => None,
    }
}
