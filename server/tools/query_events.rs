//! `query_events`: reads the log of the thread and those below it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::envelope::Event;
use crate::log::query::{Query, Show};
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::time::Timestamp;

/// See the module.
pub struct QueryEvents;

/// Most events one call returns.
const LATEST_MAX: u32 = 50;

/// Which events; null for what does not matter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// How many, at most 50; null for 20.
    latest: Option<u32>,
    /// An RFC 3339 time.
    since: Option<String>,
    /// Any of these.
    tags: Option<Vec<String>>,
    /// All of these words.
    text: Option<String>,
}

#[async_trait]
impl Typed for QueryEvents {
    type Input = Input;
    const NAME: &'static str = "query_events";
    const EFFECT: Effect = Effect::Repeatable;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let limit = input.latest.unwrap_or(20).min(LATEST_MAX);
        if limit == 0 {
            return Ok(Output::value(json!([])));
        }
        let query = Query {
            thread: Some(desk.thread.clone()),
            subtree: true,
            tags: input.tags.unwrap_or_default().into_iter().map(|tag| tag.to_lowercase()).collect(),
            text: input.text.filter(|text| !text.trim().is_empty()),
            since: input.since.filter(|since| !since.is_empty()).map(|since| moment(&since)).transpose()?,
            // Voices stay independent of each other here, too.
            show: if matches!(desk.by, Who::Submodule(_)) { Show::Heard } else { Show::Visible },
            limit,
            ..Query::default()
        };
        let (tags, most) = (query.tags().len(), desk.filter_tags);
        if tags > most {
            return Err(invalid(format!("{tags} tags are too many: ask for at most {most} tags at a time")));
        }
        let mut events = desk.store.events(&desk.space, &query).await.map_err(|error| {
            Failure::new(FailureKind::Store, format!("the log could not be read: {error}")).retryable()
        })?;
        events.reverse();
        Ok(Output::value(events.iter().map(brief).collect()))
    }
}

fn moment(since: &str) -> Result<Timestamp, Failure> {
    Timestamp::parse(since)
        .ok_or_else(|| invalid(format!("since {since:?} is not an RFC 3339 time such as 2026-11-21T04:25:00Z")))
}

fn invalid(text: String) -> Failure {
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": "invalid_arguments" }))
}

fn brief(event: &Event) -> Value {
    json!({
        "seq": event.seq, "ts": event.ts, "thread": event.thread, "source": event.source,
        "tags": event.meta.tags, "text": event.text(),
    })
}
