//! `thinkd events`: the log as lines for people, from a running server; live with `--follow`.

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::StreamExt as _;
use serde::Deserialize;

use super::client::{Server, Target};
use super::say;
use crate::event::{Event, Modality, Source, tag};
use crate::id::Seq;
use crate::settings::Settings;
use crate::telemetry::escaped;

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Go on with what comes
    #[arg(short, long)]
    follow: bool,
    /// Only this thread and those below it
    #[arg(long)]
    thread: Option<String>,
    /// Only events with any of these tags, separated by commas
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// Only events with these words
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// How many of the newest
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: u32,
    /// With the records of model calls and other details
    #[arg(long)]
    debug: bool,
    /// As JSON, one event a line
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Event>,
    next: Option<String>,
}

/// Most events of a page.
const PAGE: u32 = 500;

/// A server that says nothing for so long (it sends a comment every 15 s) is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// Longest line of the stream that is read: events are far smaller.
const LINE_MAX: usize = 64 << 20;

/// Shows the newest events and, with `--follow`, those to come.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let reader = Reader { client: reqwest::Client::new(), server: &server, options };
    let mut filters = vec![reader.filters(&options.tags)];
    if options.debug {
        // Debug events come only to those who ask for the tag: the union of both is all.
        filters.push(reader.filters(&["debug".to_owned()]));
    }
    let mut events = Vec::new();
    for filter in &filters {
        events.extend(reader.newest(filter).await?);
    }
    events.sort_by_key(|event| event.seq);
    events.dedup_by_key(|event| event.seq);
    let skip = events.len().saturating_sub(options.limit as usize);
    events.iter().skip(skip).try_for_each(|event| reader.show(event))?;
    if options.follow {
        let after = events.last().map_or(0, |event| event.seq);
        let follows = filters.iter().map(|filter| reader.follow(filter, after));
        futures_util::future::try_join_all(follows).await?;
    }
    Ok(())
}

struct Reader<'a> {
    client: reqwest::Client,
    server: &'a Server,
    options: &'a Options,
}

impl Reader<'_> {
    fn filters(&self, tags: &[String]) -> Vec<(&'static str, String)> {
        let mut filters: Vec<_> = tags.iter().map(|tag| ("tags", tag.clone())).collect();
        if let Some(thread) = &self.options.thread {
            filters.extend([("thread", thread.clone()), ("subtree", "true".to_owned())]);
        }
        filters.extend(self.options.text.clone().map(|words| ("q", words)));
        filters
    }

    async fn newest(&self, filter: &[(&'static str, String)]) -> anyhow::Result<Vec<Event>> {
        let mut events = Vec::new();
        let mut cursor = None;
        while (events.len() as u32) < self.options.limit {
            let missing = self.options.limit - events.len() as u32;
            let mut query = filter.to_vec();
            query.push(("limit", missing.min(PAGE).to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let request = self.server.get(&self.client, "/events").query(&query).timeout(SILENCE);
            let answer = request.send().await.with_context(|| self.server.unreachable())?;
            let page: Page = refused(answer).await?.json().await?;
            events.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(events)
    }

    /// Shows what comes after `after`, across lost connections. Ends only by failing: also when the log is another one.
    async fn follow(&self, filter: &[(&'static str, String)], after: Seq) -> anyhow::Result<()> {
        let mut last = after.to_string();
        loop {
            let request = self.server.get(&self.client, "/events/stream").query(filter);
            match request.header("last-event-id", &last).send().await {
                Ok(answer) => self.read_stream(refused(answer).await?, &mut last).await?,
                Err(error) => super::complain(&format!("{}: {error}; trying again", self.server.unreachable())),
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Reads server-sent events until the connection is lost.
    async fn read_stream(&self, answer: reqwest::Response, last: &mut String) -> anyhow::Result<()> {
        let mut pieces = answer.bytes_stream();
        let (mut buffer, mut id) = (Vec::new(), String::new());
        while let Ok(Some(Ok(piece))) = tokio::time::timeout(SILENCE, pieces.next()).await {
            buffer.extend_from_slice(&piece);
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                if let Some(value) = line.strip_prefix(b"id:") {
                    id = String::from_utf8_lossy(value).trim().to_owned();
                }
                let Some(data) = line.strip_prefix(b"data:") else { continue };
                let Ok(event) = serde_json::from_slice::<Event>(data) else { continue };
                last.clone_from(&id);
                self.show(&event)?;
            }
            if buffer.len() > LINE_MAX {
                bail!("{} sent a line without an end", self.server.base);
            }
        }
        Ok(())
    }

    fn show(&self, event: &Event) -> anyhow::Result<()> {
        let line = if self.options.json { serde_json::to_string(event)? } else { line(event) };
        Ok(say(line)?)
    }
}

/// The answer, unless it is a refusal: then its problem as an error.
async fn refused(answer: reqwest::Response) -> anyhow::Result<reqwest::Response> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let body = answer.bytes().await.unwrap_or_default();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let word = |name: &str| problem.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    let words = [word("title"), word("detail")];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    bail!("the server refused ({}): {}", status.as_u16(), escaped(&words.join(": ")));
}

/// One event as a line: when, where in the log, in which thread, who, what.
pub fn line(event: &Event) -> String {
    let Event { ts, seq, thread, .. } = event;
    format!("{ts} {seq:>6} {thread} {}: {}", escaped(&who(event)), escaped(&what(event)))
}

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
