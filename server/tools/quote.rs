//! Quotes: finds the events in which a person or a tool said their words.

use crate::word::person;
use thinkd_event::envelope::{Event, tag};
use thinkd_event::evidence::strings;
use thinkd_event::statement::spaced;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::query::{Query, Show};
use thinkd_log::shown_to_models::shown_to_models;
use thinkd_words::id::{Seq, Space};

/// Events up to a result among which its call is looked for.
const CALLED: u32 = 500;

/// Tools with results that show words of the mind, or of the world model.
const OF_MIND: [&str; 5] = [
    "tool:recall",
    "tool:remember",
    "tool:reply",
    "tool:think",
    "tool:query_events",
];

/// Returns true if words that went through [`spaced`] stand in a message or an answer, or in the result of a tool that shows no
/// words of the mind.
pub fn says(event: &Event, words: &str) -> bool {
    if person(event).is_some() {
        return has_words(event.text(), words);
    }
    let is_read = event.has(tag::RESULT) && !OF_MIND.iter().any(|tool| event.has(tool));
    let output = event.payload.get("output").filter(|_| is_read);
    output.is_some_and(|output| strings(output).iter().any(|text| has_words(text, words)))
}

/// Returns true if words stand in a text, not as a part of other words.
fn has_words(text: &str, words: &str) -> bool {
    let text = spaced(text);
    let is_part = |one: Option<char>, other: Option<char>| {
        let mut both = [one, other].into_iter();
        both.all(|c| c.is_some_and(|c| c.is_ascii_alphanumeric()))
    };
    text.match_indices(words).any(|(at, _)| {
        let before = &text[..at];
        let after = &text[at + words.len()..];
        !is_part(before.chars().next_back(), words.chars().next())
            && !is_part(words.chars().next_back(), after.chars().next())
    })
}

/// Returns the position of an event, behind that of its call if it is the result of a tool: the call names the address read.
pub fn with_call(event: &Event, events: &[Event]) -> Vec<Seq> {
    let id = event.payload.get("call_id");
    let id = id.filter(|_| event.has(tag::RESULT));
    let is_call = |it: &&Event| it.has(tag::ACTION) && it.payload.get("call_id") == id;
    let call = events.iter().find(is_call).filter(|_| id.is_some());
    call.into_iter().chain([event]).map(|it| it.seq).collect()
}

/// Returns the positions that a quote rests on, if its words stand in the event at `seq`: that of the event, and of its call.
/// An event that was taken back, or that models may not see, says nothing. Fails if the log cannot be read.
pub async fn checked(
    store: &dyn Store,
    space: &Space,
    quote: &str,
    seq: Seq,
) -> Result<Option<Vec<Seq>>, StoreError> {
    let at = Query {
        show: Show::Visible,
        ..Query::at(seq)
    };
    let found = store.events(space, &at).await?;
    let shown = shown_to_models(store, space, None, found).await?;
    let words = spaced(quote);
    let Some(event) = shown.first().filter(|event| says(event, &words)) else {
        return Ok(None);
    };
    let before = Query {
        thread: Some(event.thread.clone()),
        after: None,
        limit: CALLED,
        ..at
    };
    let before = store.events(space, &before).await?;
    Ok(Some(with_call(event, &before)))
}
