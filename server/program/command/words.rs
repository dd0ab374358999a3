//! Events in the words of the command line: who speaks or acts, and what.

use crate::event::envelope::{Event, Modality, Source, tag};

/// Who speaks or acts, in a few words.
pub fn who(event: &Event) -> String {
    let value = |prefix: &str| event.tag_value(prefix);
    let who = match (value("submodule:"), value("tool:")) {
        _ if event.has(tag::QUESTION) && event.has(tag::DECISION) => {
            format!("decision asks {}", value("submodule:").unwrap_or("?"))
        }
        _ if event.has(tag::RESPONSE) => "reply".to_owned(),
        _ if event.has(tag::INPUT) => input(event),
        (Some(submodule), Some(tool)) => format!("{submodule} → {tool}"),
        (Some(submodule), None) => submodule.to_owned(),
        (None, Some(tool)) if event.has(tag::ACTION) => format!("decision → {tool}"),
        (None, Some(tool)) => tool.to_owned(),
        _ if event.has(tag::DECISION) => "decision".to_owned(),
        _ if event.has(tag::TURN) => "turn".to_owned(),
        _ if event.modality == Modality::State => value("set:").or(value("call:")).unwrap_or("state").to_owned(),
        _ => event.source.to_string(),
    };
    let marks = [tag::THOUGHT, tag::NO_ACTION, tag::LATE, tag::FOLLOW_UP, tag::PARTIAL, tag::FAILURE];
    let marks: Vec<&str> = marks.into_iter().filter(|mark| event.has(mark)).collect();
    if marks.is_empty() { who } else { format!("{who} ({})", marks.join(", ")) }
}

fn input(event: &Event) -> String {
    let user = event.payload.get("user").and_then(serde_json::Value::as_str).unwrap_or("user");
    match (event.tag_value("trigger:"), event.source) {
        (Some(trigger), _) => format!("trigger {trigger}"),
        (None, Source::User) if event.has("type:sensory") => format!("{user} (sensory)"),
        _ => user.to_owned(),
    }
}

/// What is said; of media, what they are.
pub fn what(event: &Event) -> String {
    let field = |name: &str| event.payload.get(name).and_then(serde_json::Value::as_str);
    match (field("blob"), field("mime")) {
        (Some(blob), Some(mime)) => format!("[{mime} {blob}] {}", event.text()).trim_end().to_owned(),
        _ => event.text().to_owned(),
    }
}
