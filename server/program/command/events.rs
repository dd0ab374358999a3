//! `thinkd events`: the log as lines for people, from a running server; live with `--follow`.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::bail;
use futures_util::StreamExt as _;

use super::client::{Page, Server, Target};
use super::safe::say_json;
use crate::program::output::{complain, say};
use crate::program::settings::Settings;
use lines::Lines;
use thinkd_event::envelope::Event;
use thinkd_words::id::Seq;

mod lines;

/// The events to show, and their form.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Show new events as they come
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
    /// Show the N newest events
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Show the inner steps, too: remarks of submodules, calls of tools, states
    #[arg(short, long)]
    all: bool,
    /// Show the records of model calls and other details, too
    #[arg(long)]
    debug: bool,
    /// Print JSON, one event a line
    #[arg(long)]
    json: bool,
}

/// Tags of the talk: messages and replies, questions and approvals, failures.
const TALK: [&str; 7] = [
    "input", "response", "message", "question", "answer", "approval", "failure",
];

/// Most events of a page.
const PAGE: u32 = 500;

/// A server that says nothing for so long (it sends a comment every 15 s) is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// Longest line of the stream that is read: events are far smaller.
const LINE_MAX: usize = 64 << 20;

/// Shows the newest events and, with `--follow`, those to come.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let lines = RefCell::new(Lines::new(super::paint::is_wanted()));
    let reader = Reader {
        client: reqwest::Client::new(),
        server: &server,
        options,
        lines,
    };
    let mut filters = vec![reader.filters(&options.shown())];
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
    let after = events.last().map_or(0, |event| event.seq);
    if events.is_empty() && !options.follow {
        return reader.nothing().await;
    }
    reader.show_all(events.split_off(skip))?;
    if options.follow {
        let follows = filters.iter().map(|filter| reader.follow(filter, after));
        let follows = futures_util::future::try_join_all(follows);
        tokio::try_join!(follows, reader.show_overdue())?;
    }
    Ok(())
}

impl Options {
    /// Returns the tags of the events to show: the talk, unless something else is asked for. For
    /// programs, which read JSON, all.
    fn shown(&self) -> Vec<String> {
        let asked = !self.tags.is_empty() || self.text.is_some();
        match self.all || self.debug || self.json || asked {
            true => self.tags.clone(),
            false => TALK.map(str::to_owned).into(),
        }
    }
}

struct Reader<'a> {
    client: reqwest::Client,
    server: &'a Server,
    options: &'a Options,
    // One task: nothing waits while it is borrowed.
    lines: RefCell<Lines>,
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

    /// Says that no event was found. Fails if the thread is none.
    async fn nothing(&self) -> anyhow::Result<()> {
        if let Some(thread) = &self.options.thread {
            self.server.check_thread(&self.client, thread).await?;
        }
        complain("no such event is in the log");
        Ok(())
    }

    async fn newest(&self, filter: &[(&'static str, String)]) -> anyhow::Result<Vec<Event>> {
        let mut events = Vec::new();
        let mut cursor = None;
        while (events.len() as u32) < self.options.limit {
            let missing = self.options.limit - events.len() as u32;
            let mut query = filter.to_vec();
            query.push(("limit", missing.min(PAGE).to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let page: Page<Event> = self.server.ask(&self.client, "/events", &query).await?;
            events.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(events)
    }

    /// Shows the events after `after`, across lost connections. Ends only by failing: also when the
    /// log is another one.
    async fn follow(&self, filter: &[(&'static str, String)], after: Seq) -> anyhow::Result<()> {
        let mut last = after.to_string();
        loop {
            let request = self.server.get(&self.client, "/events/stream");
            let request = request.query(filter).header("last-event-id", &last);
            match self.server.answered(request).await {
                Ok(answer) => {
                    self.read_stream(answer, &mut last).await?;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Err(error) => self.server.wait_until_back(error).await?,
            }
        }
    }

    /// Reads server-sent events until the connection is lost.
    async fn read_stream(
        &self,
        answer: reqwest::Response,
        last: &mut String,
    ) -> anyhow::Result<()> {
        let mut pieces = answer.bytes_stream();
        let mut buffer = Vec::new();
        let mut id = String::new();
        while let Ok(Some(Ok(piece))) = tokio::time::timeout(SILENCE, pieces.next()).await {
            buffer.extend_from_slice(&piece);
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                if let Some(value) = line.strip_prefix(b"id:") {
                    id = String::from_utf8_lossy(value).trim().to_owned();
                }
                let Some(data) = line.strip_prefix(b"data:") else {
                    continue;
                };
                let Ok(event) = serde_json::from_slice::<Event>(data) else {
                    continue;
                };
                last.clone_from(&id);
                self.show(event)?;
            }
            if buffer.len() > LINE_MAX {
                bail!("{} sent a line without an end", self.server.base);
            }
        }
        Ok(())
    }

    /// Shows a list: each call has its result there.
    fn show_all(&self, events: Vec<Event>) -> anyhow::Result<()> {
        if self.options.json {
            return events.into_iter().try_for_each(|event| self.show(event));
        }
        let lines = self.lines.borrow_mut().list(events);
        lines.into_iter().try_for_each(|line| Ok(say(line)?))
    }

    fn show(&self, event: Event) -> anyhow::Result<()> {
        if self.options.json {
            return say_json(&event);
        }
        let lines = self.lines.borrow_mut().take(event);
        lines.into_iter().try_for_each(|line| Ok(say(line)?))
    }

    /// Shows calls that take long by themselves.
    async fn show_overdue(&self) -> anyhow::Result<()> {
        loop {
            tokio::time::sleep(lines::PATIENCE).await;
            let lines = self.lines.borrow_mut().overdue();
            lines.into_iter().try_for_each(say)?;
        }
    }
}
