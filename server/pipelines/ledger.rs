//! The book of a run in the log: it writes node events, and reads their values in place of a second
//! run. Written with the hooks of `pipeline`; its core knows nothing of it.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde::Deserialize as _;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use unhurried::{
    Arguments, Call, Hook, Journal, JournalStore, Next, NodeExecutionError, Outcome, Record, Run,
};
use uuid::Uuid;

use super::past::Past;
use super::registry::Limits;
use thinkd_event::draft::{DEPTH_MAX, Draft, is_within_depth};
use thinkd_event::fact::Fact;
use thinkd_event::fact::run::{Held, NodeFact, NodeNews, RunKey, Slot};
use thinkd_log::blob::Blob;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{self, Space};

/// The longest JSON text of one value.
const VALUE_MAX: usize = 16 << 20;
/// Most characters of the name of a node in an event.
const NODE_MAX: usize = 200;
/// Most places that an event names of the values that flow into a node, and most bytes of one of
/// them. Others are counted.
const NEEDS_MAX: usize = 64;
const NEED_MAX: usize = 200;

/// Puts values where they have room: into events, or into blobs.
#[derive(Clone)]
pub struct Values {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The space.
    pub space: Space,
    /// Most bytes of a value in an event.
    pub event_bytes: usize,
}

/// Why a value was not kept.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// The value can never be kept.
    #[error("{0}")]
    Unfit(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Values {
    /// A value as an event can have it.
    pub async fn hold(&self, value: Value) -> Result<Held, NotKept> {
        if !is_within_depth(&value, DEPTH_MAX) {
            let why = format!("a value is nested deeper than {DEPTH_MAX}");
            return Err(NotKept::Unfit(why));
        }
        let text = value.to_string();
        if text.len() > VALUE_MAX {
            let bytes = text.len();
            return Err(NotKept::Unfit(format!(
                "a value has at most {VALUE_MAX} bytes as JSON; this one has {bytes}"
            )));
        }
        // An event cannot hold a NUL; a value is to come back as it was.
        if text.len() <= self.event_bytes && !text.contains("\\u0000") {
            return Ok(Held::Here(value));
        }
        let bytes = text.len() as u64;
        let blob = Blob {
            mime: "application/json".into(),
            bytes: text.into(),
        };
        Ok(Held::Blob {
            sha256: self.store.put_blob(&self.space, blob).await?,
            bytes,
        })
    }

    /// The value that an event has or names.
    pub async fn load(&self, held: Held) -> Result<Value, StoreError> {
        let sha256 = match held {
            Held::Here(value) => return Ok(value),
            Held::Blob { sha256, .. } => sha256,
        };
        let blob = self.store.blob(&self.space, &sha256).await?;
        let value = blob.and_then(|blob| serde_json::from_slice(&blob.bytes).ok());
        value.ok_or_else(|| {
            StoreError::Broken(format!("the value {sha256} is gone or cannot be read"))
        })
    }
}

/// The drafts to be stored with the value of the node that runs in a flow.
#[derive(Default)]
struct Beside {
    drafts: Vec<Draft>,
    /// All of it is stored with the next node's.
    joins_next: bool,
}

/// The book of one run. Clones share it.
#[derive(Clone)]
pub struct Ledger(Arc<Book>);

struct Book {
    run: RunKey,
    writer: TurnWriter,
    values: Values,
    limits: Limits,
    /// Number of nodes that were started, in earlier lives of the run too.
    nodes: AtomicU64,
    /// By place: the event that has the node's value.
    // A plain mutex: held for a look-up, never across an await.
    records: Mutex<HashMap<String, Uuid>>,
    /// By flow: the drafts of a body beside its value, to be stored with that.
    // A plain mutex: held to put and to take, never across an await.
    beside: Mutex<HashMap<String, Beside>>,
    lost: OnceLock<Lost>,
    closed: CancellationToken,
}

impl Ledger {
    /// A book that goes on where the past ends.
    pub fn new(
        run: RunKey,
        writer: TurnWriter,
        values: Values,
        limits: Limits,
        past: &Past,
    ) -> Self {
        Self(Arc::new(Book {
            run,
            writer,
            values,
            limits,
            nodes: AtomicU64::new(past.nodes),
            records: Mutex::new(past.records.clone()),
            beside: Mutex::default(),
            lost: OnceLock::new(),
            closed: CancellationToken::new(),
        }))
    }

    /// The run with its hooks: failures are seen outermost, also the journal's own; starts innermost, where a body really runs.
    pub fn hooked(&self) -> Run {
        self.hooked_without_starts().hook(Starts(self.clone()))
    }

    /// Returns the same for a run with bodies that tell their acts by facts of their own, and are
    /// bounded by a budget of their own.
    pub fn hooked_without_starts(&self) -> Run {
        Run::new(self.0.run.id.to_string())
            .hook(Failures(self.clone()))
            .hook(Journal::new(self.clone()))
    }

    /// Takes the drafts of the body that runs in this flow (`Run::branch`; the run itself is the
    /// flow ""), beside its value. They are stored in one append with the record of the node, or
    /// not at all. Where a condition of one is not met the flow stands still.
    pub fn beside(&self, flow: &str, drafts: impl IntoIterator<Item = Draft>) {
        let mut beside = self.0.beside.lock();
        let beside = beside.entry(flow.to_owned()).or_default();
        beside.drafts.extend(drafts);
    }

    /// The node that runs in this flow is recorded in one append with the next one there, which has to come: a crash before that repeats it.
    pub fn joins_next(&self, flow: &str) {
        let mut beside = self.0.beside.lock();
        beside.entry(flow.to_owned()).or_default().joins_next = true;
    }

    fn take_beside(&self, place: &str) -> Beside {
        let mut beside = self.0.beside.lock();
        beside.remove(flow(place)).unwrap_or_default()
    }

    /// Writes a draft that is not a node's. Does not return when the run is lost.
    pub async fn write(&self, draft: Draft) {
        if let Err(lost) = self.say(vec![draft]).await {
            self.lose::<()>(lost).await;
        }
    }

    /// Writes drafts that are not a node's, and returns an error when the run is lost.
    pub async fn say(&self, drafts: Vec<Draft>) -> Result<(), Lost> {
        self.0.writer.write(drafts).await.map(drop)
    }

    /// The values of this run's space.
    pub fn values(&self) -> &Values {
        &self.0.values
    }

    /// Writes the end, and gives the lease back.
    pub async fn close(&self, drafts: Vec<Draft>) -> Result<(), Lost> {
        self.0.writer.close(drafts).await.map(drop)
    }

    /// Waits until the run cannot go on here: the lease is another's, or the store failed.
    pub async fn lost(&self) -> Lost {
        self.0.closed.cancelled().await;
        match self.0.lost.get() {
            Some(Lost::Store(error)) => Lost::Store(error.clone()),
            _ => Lost::Stale,
        }
    }

    /// A run that cannot write must not go on, nor take this for a node's failure: it stands still until it is dropped.
    pub async fn lose<T>(&self, lost: Lost) -> T {
        // The first reason counts.
        let _ = self.0.lost.set(lost);
        self.0.closed.cancel();
        std::future::pending().await
    }

    async fn hold(&self, value: Value) -> io::Result<Held> {
        match self.0.values.hold(value).await {
            Ok(held) => Ok(held),
            Err(NotKept::Unfit(why)) => Err(io::Error::other(why)),
            Err(NotKept::Store(error)) => self.lose(Lost::Store(error)).await,
        }
    }

    async fn found<T>(&self, outcome: Result<T, StoreError>) -> T {
        match outcome {
            Ok(value) => value,
            Err(error) => self.lose(Lost::Store(error)).await,
        }
    }
}

/// Crates of nodes, and the modules that records name in their place, from before they were crates.
/// A run that began before goes on, also on an older server.
const MOVED: [(&str, &str); 2] = [
    ("thinkd_missions", "thinkd::runtime::kinds::missions"),
    ("thinkd_pipelines", "thinkd::pipelines"),
];

/// Returns the name that records have of a module.
fn first_named(module: &str) -> Option<String> {
    let first = |(now, first)| renamed(module, now, first);
    MOVED.into_iter().find_map(first)
}

/// Returns the name that a recorded module has now.
fn now_named(module: &str) -> Option<String> {
    let now = |(now, first)| renamed(module, first, now);
    MOVED.into_iter().find_map(now)
}

/// Returns the name of a module in `from` as one in `to`.
fn renamed(module: &str, from: &str, to: &str) -> Option<String> {
    let path = module.strip_prefix(from)?;
    path.starts_with("::").then(|| format!("{to}{path}"))
}

/// Reads and writes the log: the record of a node is its `finished` event, or the `abandoned` one.
#[async_trait]
impl JournalStore for Ledger {
    async fn find(&self, _: &str, place: &str) -> io::Result<Option<Record>> {
        let Some(id) = self.0.records.lock().get(place).copied() else {
            return Ok(None);
        };
        let values = &self.0.values;
        let event = self
            .found(values.store.event(&values.space, id).await)
            .await;
        let Some(event) = event else { return Ok(None) };
        let Fact::Node(NodeFact { node, what, .. }) = event.fact() else {
            return Ok(None);
        };
        let (call, held, abandoned) = match what {
            NodeNews::Recorded { call, value } => (call, value.map(Slot::to_held), false),
            NodeNews::Abandoned { call } => (call, None, true),
            NodeNews::Started { .. } | NodeNews::Passed => return Ok(None),
        };
        // Events of before arguments were recorded have none: the journal refuses them by name.
        let arguments = call.arguments.map(Arguments::deserialize).transpose()?;
        let arguments = arguments.map(|it: Arguments| it.with_module(now_named));
        let version = call
            .version
            .and_then(|version| version.try_into().ok())
            .unwrap_or(1);
        let value = self
            .found(values.load(held.unwrap_or(Held::Here(Value::Null))).await)
            .await;
        Ok(Some(Record {
            place: place.to_owned(),
            node: node.to_owned(),
            arguments,
            version,
            value,
            abandoned,
        }))
    }

    async fn keep(&self, _: &str, record: Record) -> io::Result<()> {
        let id = id::fresh();
        let arguments = record.arguments.map(|it| it.with_module(first_named));
        let arguments = serde_json::to_value(arguments)?;
        let Record {
            place,
            node,
            version,
            value,
            abandoned,
            ..
        } = record;
        let run = &self.0.run;
        let (draft, beside) = match abandoned {
            true => {
                let draft = run.node_abandoned(&node, &place, &arguments, version);
                (draft, Beside::default())
            }
            false => {
                let value = self.hold(value).await?;
                let draft = run.node_recorded(&node, &place, &arguments, version, &value);
                (draft, self.take_beside(&place))
            }
        };
        let Beside {
            mut drafts,
            joins_next,
        } = beside;
        drafts.push(draft.with_id(id));
        if joins_next {
            self.beside(flow(&place), drafts);
            return Ok(());
        }
        match self.0.writer.write(drafts).await {
            Ok(_) => {}
            // What it goes by is not so any more: this flow stands still until it is dropped by whoever hears of that.
            Err(Lost::Store(StoreError::Unmet(_))) => std::future::pending().await,
            Err(lost) => self.lose(lost).await,
        }
        self.0.records.lock().insert(place, id);
        Ok(())
    }

    async fn forget(&self, _: &str) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the records of a run are its log, which is kept",
        ))
    }
}

/// Says of every node that failed why.
struct Failures(Ledger);

#[async_trait]
impl Hook for Failures {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let outcome = next.run().await;
        if let Err(cause) = &outcome {
            let book = &self.0;
            let place = call.place().unwrap_or_default();
            let failure = failure(&**cause);
            let failed = book.0.run.node_failed(&named(call), place, &failure);
            book.write(failed).await;
        }
        outcome
    }
}

/// Says of every body that it runs, within the limit.
struct Starts(Ledger);

#[async_trait]
impl Hook for Starts {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let book = &self.0;
        let place = call.place().unwrap_or_default();
        let node = named(call);
        let limit = book.0.limits.nodes;
        if book.0.nodes.fetch_add(1, Ordering::Relaxed) >= limit {
            let text = format!("a run starts at most {limit} nodes");
            let detail = json!({ "limit": limit, "key": "pipelines.nodes" });
            let failure = Failure::new(FailureKind::Budget, text).with(detail);
            return Err(Arc::new(failure));
        }
        let (needs, more) = needs(call);
        book.write(book.0.run.node_started(&node, place, &needs, more))
            .await;
        let outcome = next.run().await;
        // What is to be recorded is said to be finished by its record.
        if outcome.is_ok() && call.is_transient() {
            book.write(book.0.run.node_passed(&node, place)).await;
        }
        outcome
    }
}

/// The flow in which a place is: `t7` of `/t3/t7.2`.
fn flow(place: &str) -> &str {
    place
        .rsplit_once('/')
        .map_or("", |(_, own)| own.split('.').next().unwrap_or(own))
}

fn needs(call: &Call) -> (Vec<String>, u64) {
    let mut named = Vec::new();
    let mut more = 0;
    for place in call.needs() {
        if named.len() < NEEDS_MAX && place.len() <= NEED_MAX {
            named.push(place);
        } else {
            more += 1;
        }
    }
    (named, more)
}

fn named(call: &Call) -> String {
    call.node().chars().take(NODE_MAX).collect()
}

/// An error of a node or a pipeline as a failure: of the kind it was, in its words.
pub fn failure(error: &(dyn Error + 'static)) -> Failure {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.clone();
    }
    let inner = error
        .downcast_ref::<NodeExecutionError>()
        .map(|error| failure(error.cause()));
    let text = shortened(error.to_string());
    match inner {
        Some(inner) => Failure { text, ..inner },
        None => Failure::new(FailureKind::Node, text),
    }
}

/// Returns the text of an error, cut off after 4000 characters: errors quote their subject at any
/// length.
fn shortened(text: String) -> String {
    const MOST: usize = 4000;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text,
    }
}
