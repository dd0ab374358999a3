//! The pipeline `summary`: map and reduce over a thread. Parts are digested at the same time, digests are joined in groups
//! until one is left.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unhurried::{Context, NodeExecutionError, node};

use crate::host::Host;
use thinkd_event::envelope::Event;
use thinkd_log::query::{Order, Query, Show};
use thinkd_model::provider::Tier;
use thinkd_thread::history::{Block, Entry, Lengths, Omitted, joined};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Seq, ThreadId};

/// Most events of a thread that are summed up; older ones are left out, and the summary says so.
const EVENTS_MAX: u32 = 2000;
/// About how many bytes of the log a model reads at once.
const PART_BYTES: usize = 24 << 10;
/// Nothing is shortened.
const WHOLE: Lengths = Lengths {
    event_chars: usize::MAX,
    entry_bytes: usize::MAX,
};
/// Most digests that are joined at once.
const GROUP: usize = 8;

/// What to sum up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The thread.
    thread: String,
    /// Only what came after this position.
    #[serde(default)]
    after: Option<Seq>,
    /// Only what came before this position.
    #[serde(default)]
    before: Option<Seq>,
}

/// A thread as it was when it was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Parts {
    /// True if older events were left out.
    cut: bool,
    parts: Vec<Part>,
}

/// Some events in a row.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Part {
    from: Seq,
    up_to: Seq,
    text: String,
}

/// The output of the pipeline.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Summary {
    /// The summary.
    summary: String,
    /// The first and the last position it is about.
    from: Seq,
    up_to: Seq,
    /// True if there are older events that it is not about.
    cut: bool,
    /// Number of parts that were digested.
    parts: usize,
}

/// The pipeline. A group is joined as soon as its own digests are there.
pub async fn summary(
    wanted: Context<Wanted>,
    host: Host,
) -> Result<Context<Summary>, NodeExecutionError> {
    let read = read(wanted, host.clone());
    let Parts { cut, parts } = read.data().await?;
    let mut digests: Vec<_> = parts
        .iter()
        .map(|part| digest(read.taken(part.clone()), host.clone()))
        .collect();
    while digests.len() > 1 {
        digests = digests
            .chunks(GROUP)
            .map(|group| join(group, host.clone()))
            .collect();
    }
    let from = parts.first().map_or(0, |part| part.from);
    let up_to = parts.last().map_or(0, |part| part.up_to);
    let summary = match digests.first() {
        Some(digest) => digest.data().await?,
        None => String::new(),
    };
    Ok(Context::new(Summary {
        summary,
        from,
        up_to,
        cut,
        parts: parts.len(),
    }))
}

/// The thread as it is now, in parts.
#[node(name = "read")]
async fn read(wanted: Wanted, host: Host) -> Result<Parts, Failure> {
    let thread = ThreadId::parse(&wanted.thread)
        .map_err(|error| Failure::new(FailureKind::Node, error.to_string()))?;
    host.thread(&thread).await?;
    let query = Query {
        thread: Some(thread.clone()),
        show: Show::Visible,
        after: wanted.after,
        before: wanted.before,
        order: Order::Descending,
        limit: EVENTS_MAX + 1,
        ..Query::default()
    };
    let mut events = host.events(&query).await?;
    let cut = events.len() > EVENTS_MAX as usize;
    events.truncate(EVENTS_MAX as usize);
    events.reverse();
    if events.is_empty() {
        return Err(Failure::new(
            FailureKind::Node,
            format!("there is nothing to sum up in {thread}"),
        ));
    }
    Ok(Parts {
        cut,
        parts: parts(&events, &host),
    })
}

fn parts(events: &[Event], host: &Host) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for event in events {
        let line = written(event, host);
        match parts.last_mut() {
            Some(part) if part.text.len() + line.len() <= PART_BYTES => {
                part.text.push_str(&line);
                part.up_to = event.seq;
            }
            _ => parts.push(Part {
                from: event.seq,
                up_to: event.seq,
                text: line,
            }),
        }
    }
    parts
}

fn written(event: &Event, host: &Host) -> String {
    let entry = Arc::new(Entry::of(event, WHOLE, host.prompts()));
    let text = |block| match block {
        Block::Text(text) => Some(text),
        Block::Blob { .. } => None,
    };
    joined(&[entry], Omitted::default(), 0, host.prompts())
        .into_iter()
        .filter_map(text)
        .collect()
}

#[node]
async fn digest(part: Part, host: Host) -> Result<String, Failure> {
    let instructions = host.prompts().summary_part.source();
    host.ask(Tier::Low, instructions.as_str(), &part.text).await
}

#[node]
async fn join(digests: Vec<String>, host: Host) -> Result<String, Failure> {
    let instructions = host.prompts().summary_join.source();
    host.ask(Tier::Low, instructions.as_str(), &digests.join("\n\n"))
        .await
}
