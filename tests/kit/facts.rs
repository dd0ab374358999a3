//! Checks of the fact in every event: this build knows its kind, it is as documented, and decoding and encoding return the same.

use std::sync::OnceLock;

use serde_json::Value;
use thinkd_event::catalogue::Facts;
use thinkd_event::envelope::Event;
use thinkd_event::raw::Raw;

/// Kinds of facts that a test added to the server's own.
pub static ADDED: OnceLock<Facts> = OnceLock::new();

/// The text of every event that a test writes in the name of a newer build: such an event need not
/// be known.
const NEWER: &str = "newer";

/// Returns the faults of an event's fact; empty without any.
pub fn faults(event: &Value) -> Vec<String> {
    if event["payload"]["text"] == NEWER {
        return Vec::new();
    }
    let read: Event = match serde_json::from_value(event.clone()) {
        Ok(read) => read,
        Err(error) => return vec![format!("it is no event: {error}")],
    };
    let fact = read.fact();
    let Some(kind) = fact.kind() else {
        let of_feature = ADDED.get().map(|added| &added.specs);
        let mut faults = of_feature
            .into_iter()
            .flatten()
            .map(|spec| spec.faults(Raw::from(&read)));
        return match faults.any(|faults| faults.is_empty()) {
            true => Vec::new(),
            false => vec!["it is of no kind that this build knows".to_owned()],
        };
    };
    let mut faults = kind.spec().faults(Raw::from(&read));
    let same = (fact.visibility(), fact.wakes()) == (read.visibility(), read.wakes());
    faults.extend(
        (!same).then(|| "who sees it, or whether it wakes, is not what its tags say".to_owned()),
    );
    let again = fact.encode(&read.thread);
    if (&again.tags, &again.payload) != (&read.meta.tags, &read.payload) {
        faults.push(format!(
            "it would be written as {:?} {:?}",
            again.tags, again.payload
        ));
    }
    faults
}

/// Fails if an event says something that this build does not know, or otherwise than the documents say.
#[track_caller]
pub fn check(event: &Value) {
    assert_eq!(faults(event), Vec::<String>::new(), "{event}");
}
