//! `query_events`: reads the log of the thread and those below it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, invalid};
use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::query::{Query, Show};
use thinkd_log::shown_to_models::shown_to_models;
use thinkd_log::words::asked;
use thinkd_words::failure::{Failure, Who};
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::Timestamp;

/// See the module.
pub struct QueryEvents(pub Supplies);

/// So often does it read on where events that it read were taken back.
const PAGES_MAX: usize = 10;

/// Most events one call returns.
const LATEST_MAX: u32 = 50;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    latest: Option<u32>,
    since: Option<String>,
    tags: Option<Vec<String>>,
    text: Option<String>,
}

impl QueryEvents {
    /// The newest events of a query, without those that were taken back or that a provider refused.
    async fn shown(
        &self,
        (space, reader): (&Space, &ThreadId),
        mut query: Query,
    ) -> Result<Vec<Event>, StoreError> {
        let wanted = query.limit as usize;
        let mut shown = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = self.0.store.events(space, &query).await?;
            let is_last = page.len() < query.limit as usize;
            query.before = page.last().map(|event| event.seq);
            shown.extend(shown_to_models(&*self.0.store, space, Some(reader), page).await?);
            if is_last || shown.len() >= wanted {
                break;
            }
        }
        shown.truncate(wanted);
        Ok(shown)
    }
}

impl Typed for QueryEvents {
    type Input = Input;
    const NAME: &'static str = "query_events";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/query_events.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let limit = input.latest.unwrap_or(20).min(LATEST_MAX);
        if limit == 0 {
            return Ok(Output::value(json!([])));
        }
        let query = Query {
            thread: Some(site.thread.clone()),
            subtree: true,
            tags: input
                .tags
                .unwrap_or_default()
                .into_iter()
                .map(|tag| tag.to_lowercase())
                .collect(),
            text: input.text.filter(|text| !text.trim().is_empty()),
            since: input
                .since
                .filter(|since| !since.is_empty())
                .map(|since| moment(&since))
                .transpose()?,
            // Submodules stay independent of each other here, too.
            show: if matches!(site.by, Who::Submodule(_)) {
                Show::Heard
            } else {
                Show::Visible
            },
            limit,
            ..Query::default()
        };
        if let Some(text) = query.text.as_deref().filter(|text| asked(text).is_empty()) {
            return Err(invalid(format!(
                "text {text:?} has nothing that can be looked for: no letter, no digit, no emoji"
            )));
        }
        let tags = query.tags().len();
        let most = self.0.limits.filter_tags;
        if tags > most {
            return Err(invalid(format!(
                "{tags} tags are too many: ask for at most {most} tags at a time"
            )));
        }
        let mut events = self.shown((&site.space, &site.thread), query).await?;
        events.reverse();
        Ok(Output::value(events.iter().map(brief).collect()))
    }
}

fn moment(since: &str) -> Result<Timestamp, Failure> {
    Timestamp::parse(since).ok_or_else(|| {
        invalid(format!(
            "since {since:?} is not an RFC 3339 time such as 2026-11-21T04:25:00Z"
        ))
    })
}

fn brief(event: &Event) -> Value {
    json!({
        "seq": event.seq, "ts": event.ts, "thread": event.thread, "source": event.source,
        "tags": event.meta.tags, "text": event.text(),
    })
}
