//! The parts of a message, and the items that a client said it in.

use serde_json::{Map, Value, json};

use super::ids::message_id;
use crate::openai::kept::{Kept, Stands};
use crate::openai::tools::shown_id;
use crate::problem::Problem;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::Came;
use thinkd_event::fact::input::Content;
use thinkd_log::query::{Query, Show};
use thinkd_session::handle::Session;

/// Parts that are read at a time.
const PAGE: u32 = 50;

/// Returns the events of a message: its parts stand before its last one, without a gap.
pub async fn of(session: &Session, last: &Event) -> Result<Vec<Event>, Problem> {
    let mut parts = vec![last.clone()];
    loop {
        let before = parts.last().map(|first| first.seq);
        let query = Query {
            thread: Some(last.thread.clone()),
            before,
            show: Show::All,
            limit: PAGE,
            ..Query::default()
        };
        let page = session.events(&query).await?;
        let all = page.len();
        let known = parts.len();
        parts.extend(page.into_iter().take_while(is_part));
        if parts.len() - known < all.max(1) {
            parts.reverse();
            return Ok(parts);
        }
    }
}

/// Returns the items of a message as the client said it, oldest first.
pub async fn items(session: &Session, last: &Event) -> Result<Vec<Value>, Problem> {
    if let Fact::ClientResults(results) = last.fact() {
        return outputs(session, last, &results.requests).await;
    }
    let parts = of(session, last).await?;
    let text = parts.iter().find_map(words).unwrap_or_default();
    let media = Vec::from_iter(parts.iter().filter_map(image));
    let kept = Kept::of(last).filter(|kept| !kept.items.is_empty());
    let all = match kept {
        Some(kept) => kept.items,
        None => {
            let words = (!text.is_empty()).then_some(Stands::Text(0, text.len()));
            let media = (0..media.len()).map(Stands::Media);
            vec![words.into_iter().chain(media).collect()]
        }
    };
    let shown = all.iter().enumerate().map(|(index, stands)| {
        let content = stands.iter().filter_map(|it| match *it {
            Stands::Text(from, len) => {
                let words = text.get(from..from.checked_add(len)?)?;
                Some(json!({ "type": "input_text", "text": words }))
            }
            Stands::Media(number) => media.get(number).cloned(),
        });
        let id = format!("{}_{index}", message_id(last.event_id));
        json!({
            "id": id, "type": "message", "role": "user", "status": "completed",
            "content": Vec::from_iter(content),
        })
    });
    Ok(shown.collect())
}

/// Returns the results that a client gave of these calls, oldest first.
async fn outputs(
    session: &Session,
    given: &Event,
    requests: &[&str],
) -> Result<Vec<Value>, Problem> {
    let query = Query {
        thread: Some(given.thread.clone()),
        tags: vec!["result".to_owned()],
        before: Some(given.seq),
        limit: PAGE,
        ..Query::default()
    };
    let events = session.events(&query).await?;
    let shown = events.iter().rev().filter_map(|event| {
        let Fact::Result(outcome) = event.fact() else {
            return None;
        };
        let request = outcome.approval.filter(|it| requests.contains(it))?;
        let Came::Output(output) = outcome.came else {
            return None;
        };
        let output = match output.as_str() {
            Some(text) => text.to_owned(),
            None => output.to_string(),
        };
        Some(json!({
            "id": message_id(event.event_id), "type": "function_call_output", "status": "completed",
            "call_id": shown_id(request), "output": output,
        }))
    });
    Ok(shown.collect())
}

fn is_part(event: &Event) -> bool {
    matches!(event.fact(), Fact::Input(input) if input.is_part)
}

fn words(event: &Event) -> Option<&str> {
    match event.fact() {
        Fact::Input(input) => match input.content {
            Content::Text(text) => Some(text),
            Content::Media { .. } => None,
        },
        _ => None,
    }
}

fn image(event: &Event) -> Option<Value> {
    let Fact::Input(input) = event.fact() else {
        return None;
    };
    let Content::Media { blob, mime, .. } = input.content else {
        return None;
    };
    let kind = match mime.starts_with("image/") {
        true => "input_image",
        false => "input_audio",
    };
    let mut shown = Map::new();
    shown.insert("type".into(), kind.into());
    shown.insert("detail".into(), "auto".into());
    shown.insert("file_id".into(), blob.into());
    Some(Value::Object(shown))
}
