//! The one writer: gathers the appends of many tasks into one transaction (group commit), tells the feed, answers.
//! It is a task of its own, so that no commit lives in a future that a disconnect or a time limit can drop.
//! What a database has to do for it is `Backend`; how a transaction is made up of that is here, once; what it writes is in
//! `append/plan.rs`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;

use super::feed::Feed;
use super::index::Index;
use super::{Append, Appended, Blob, Error, Fence, Options, Project, Shown, ThreadRow};
use crate::event::Event;
use crate::id::{Space, ThreadId};
use crate::supervisor;

mod condition;
mod plan;
mod soundness;

pub(super) use condition::{Asked, Before};
use plan::{Item, drafts};
pub(super) use plan::{Parts, Plan, Position, json, shown};
use soundness::Soundness;

/// Appends that may wait for the writer; more wait for a place.
const QUEUE: usize = 1024;
/// Most events of one commit, unless one append alone has more.
const GROUP_EVENTS: usize = 512;
/// Most payload bytes of one commit, unless one append alone has more.
const GROUP_BYTES: usize = 4 << 20;
/// How long a commit waits for the writers of the last one to come back.
const GATHER: Duration = Duration::from_micros(500);

/// What a database does for the writer. `begin` … `commit` is one transaction.
pub(super) trait Backend: Send + 'static {
    fn begin(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Those of the leases that hold. They cannot be lost before the end of the transaction.
    fn held(&mut self, fences: &[Fence]) -> impl Future<Output = Result<HashSet<Fence>, Error>> + Send;
    /// Where the logs end. Nobody else can append to them before the end of the transaction.
    fn heads(
        &mut self,
        spaces: &BTreeSet<Space>,
    ) -> impl Future<Output = Result<BTreeMap<Space, Position>, Error>> + Send;
    /// Those of the events that are stored.
    fn known(&mut self, ids: &[(Space, Uuid)]) -> impl Future<Output = Result<Vec<(Space, Event)>, Error>> + Send;
    /// Those of the threads that have rows.
    fn threads(
        &mut self,
        ids: &[(Space, ThreadId)],
    ) -> impl Future<Output = Result<Vec<(Space, ThreadRow)>, Error>> + Send;
    /// What the conditions of drafts ask about.
    fn asked(&mut self, asked: &Asked) -> impl Future<Output = Result<Before, Error>> + Send;
    fn write(&mut self, plan: &Plan) -> impl Future<Output = Result<(), Error>> + Send;
    /// Where the logs end, if that is known without asking, and nobody else has written to them lately.
    fn known_heads(&self, _: &BTreeSet<Space>) -> Option<BTreeMap<Space, Position>> {
        None
    }
    /// Writes and commits, in one trip, if the logs still end there and the leases hold. False: nothing is written.
    fn write_if(
        &mut self,
        _: &Plan,
        _: &BTreeMap<Space, Position>,
        _: &[Fence],
    ) -> impl Future<Output = Result<bool, Error>> + Send {
        std::future::ready(Ok(false))
    }
    fn commit(&mut self) -> impl Future<Output = Result<(), Error>> + Send;
    /// Undoes the transaction, if one is open, or at least sees to it that the next one starts afresh.
    fn rollback(&mut self) -> impl Future<Output = ()> + Send;
    /// The transaction is over; these leases were given back in it.
    fn settled(&mut self, released: &[Fence]);
    /// All of them, or none, in a transaction of their own.
    fn put_blobs(&mut self, blobs: &[Upload]) -> impl Future<Output = Result<(), Error>> + Send;
    /// A space's log grew.
    fn committed(&mut self, space: &Space);
    /// Writes something that nobody reads, as large as this.
    fn touch(&mut self, bytes: usize) -> impl Future<Output = Result<(), Error>> + Send;
    fn close(self) -> impl Future<Output = ()> + Send;
}

enum Command {
    Append(Item),
    Blob(Upload),
    Probe(oneshot::Sender<Result<(), Error>>),
    Close(oneshot::Sender<()>),
}

/// A blob on its way, under its hash.
pub(super) struct Upload {
    pub space: Space,
    pub sha256: String,
    pub blob: Blob,
    answer: oneshot::Sender<Result<(), Error>>,
}

impl Upload {
    fn answered(self, result: Result<(), Error>) {
        // The caller may be gone; a blob that is stored stays stored.
        let _ = self.answer.send(result);
    }
}

/// A way to the writer.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Command>,
    soundness: Arc<Soundness>,
}

fn gone() -> Error {
    Error::Unavailable("the store is closed".into())
}

impl Writer {
    /// Starts the writer task over a database.
    pub fn start(backend: impl Backend, feed: Arc<Feed>, index: Index, project: Project, options: &Options) -> Self {
        let (queue, commands) = mpsc::channel(QUEUE);
        let writer = Self { queue, soundness: Arc::default() };
        let (limit, soundness) = (options.commit, writer.soundness.clone());
        let task = Task { backend, feed, index, project, limit, commands, soundness };
        tokio::spawn(options.supervisor.watch("the writer of the log", task.run()));
        writer
    }

    pub async fn append(&self, append: Append) -> Result<Appended, Error> {
        let (answer, answered) = oneshot::channel();
        let item = Item::new(append, answer)?;
        self.queue.send(Command::Append(item)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    pub async fn put_blob(&self, space: &Space, sha256: String, blob: Blob) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        let upload = Upload { space: space.clone(), sha256, blob, answer };
        self.queue.send(Command::Blob(upload)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Whether writing works: known from the last writes; when one failed, tried.
    pub async fn sound(&self) -> Result<(), Error> {
        if self.soundness.check()? {
            return Ok(());
        }
        let (answer, answered) = oneshot::channel();
        self.queue.send(Command::Probe(answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }

    /// Returns when everything sent before is done and the connection is closed.
    pub async fn close(&self) {
        let (answer, answered) = oneshot::channel();
        if self.queue.send(Command::Close(answer)).await.is_ok() {
            // Nobody answers when the task is gone already; that is closed, too.
            let _ = answered.await;
        }
    }
}

struct Task<B> {
    backend: B,
    feed: Arc<Feed>,
    index: Index,
    project: Project,
    /// How long a commit may take. Its future may be dropped then: the task lives on and the connection is not used again as it is.
    limit: Duration,
    commands: mpsc::Receiver<Command>,
    soundness: Arc<Soundness>,
}

/// What a write comes to within its limit. A defect of ours in it is one of that write, not the end of all writing.
async fn limited<T>(limit: Duration, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match AssertUnwindSafe(timeout(limit, work)).catch_unwind().await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(Error::Unavailable("the database does not answer".into())),
        Err(panic) => {
            let why = supervisor::words(&*panic);
            tracing::error!(why, "a defect of this server keeps something from being written");
            Err(Error::Broken(format!("a defect of this server: {why}")))
        }
    }
}

impl<B: Backend> Task<B> {
    async fn run(mut self) {
        let mut last = 1;
        let mut next = None;
        let closed = loop {
            let command = match next.take() {
                Some(command) => command,
                None => match self.commands.recv().await {
                    Some(command) => command,
                    None => break None,
                },
            };
            match command {
                Command::Append(first) => {
                    self.index.room().await;
                    let (group, other) = self.gather(first, last).await;
                    last = group.len();
                    self.append(group).await;
                    next = other;
                }
                Command::Blob(first) => next = self.keep(first).await,
                Command::Probe(answer) => self.probe(answer).await,
                Command::Close(answer) => break Some(answer),
            }
        };
        self.commands.close();
        self.backend.close().await;
        // Nobody may wait for the answer any more.
        closed.map(|answer| answer.send(()));
    }

    /// A blob, and those that wait behind it, in one commit; what comes next.
    async fn keep(&mut self, first: Upload) -> Option<Command> {
        let mut bytes = first.blob.bytes.len();
        let mut uploads = vec![first];
        let mut next = None;
        while bytes < GROUP_BYTES && next.is_none() {
            match self.commands.try_recv() {
                Ok(Command::Blob(upload)) => {
                    bytes += upload.blob.bytes.len();
                    uploads.push(upload);
                }
                Ok(other) => next = Some(other),
                Err(_) => break,
            }
        }
        match self.put_blobs(&uploads).await {
            // One of them is refused, perhaps: the others are not to suffer for it.
            Err(Error::Broken(_)) if uploads.len() > 1 => {
                for upload in uploads {
                    let single = [upload];
                    let result = self.put_blobs(&single).await;
                    let [upload] = single;
                    upload.answered(result);
                }
            }
            result => uploads.into_iter().for_each(|upload| upload.answered(result.clone())),
        }
        next
    }

    async fn put_blobs(&mut self, uploads: &[Upload]) -> Result<(), Error> {
        self.soundness.begins(uploads.iter().map(|upload| upload.blob.bytes.len()).sum());
        let result = limited(self.limit, self.backend.put_blobs(uploads)).await;
        self.soundness.ended(result.is_ok());
        if result.is_err() {
            self.backend.rollback().await;
        }
        result
    }

    async fn probe(&mut self, answer: oneshot::Sender<Result<(), Error>>) {
        // Who asked has waited long enough: whoever comes next asks anew.
        if answer.is_closed() {
            return;
        }
        let result = limited(self.limit, self.backend.touch(self.soundness.probe())).await;
        self.soundness.ended(result.is_ok());
        if result.is_err() {
            self.backend.rollback().await;
        }
        // Nobody may wait for the answer any more.
        let _ = answer.send(result);
    }

    /// What waits already, and whoever comes back at once from the last commit; up to the first other command.
    async fn gather(&mut self, first: Item, last: usize) -> (Vec<Item>, Option<Command>) {
        let mut events = first.drafts.len();
        let mut bytes = first.bytes;
        let mut group = vec![first];
        let until = Instant::now() + GATHER;
        while events < GROUP_EVENTS && bytes < GROUP_BYTES {
            let command = match self.commands.try_recv() {
                Ok(command) => command,
                // Without this, writers who wait for their answers would fall into two halves that take turns.
                Err(_) if group.len() < last => match timeout_at(until, self.commands.recv()).await {
                    Ok(Some(command)) => command,
                    _ => break,
                },
                Err(_) => break,
            };
            match command {
                Command::Append(item) => {
                    events += item.drafts.len();
                    bytes += item.bytes;
                    group.push(item);
                }
                other => return (group, Some(other)),
            }
        }
        (group, None)
    }

    /// One transaction for all. If that fails because of one of them, one for each.
    async fn append(&mut self, group: Vec<Item>) {
        let result = match self.commit(&group, false).await {
            // Perhaps only the connection was lost, perhaps after the commit: ids are looked up this time.
            Err(Error::Unavailable(reason)) => {
                tracing::warn!(reason, appends = group.len(), "appends failed; once more");
                self.commit(&group, true).await
            }
            other => other,
        };
        match result {
            Ok(outcomes) => answer(group, outcomes),
            Err(Error::Broken(_)) if group.len() > 1 => {
                for item in group {
                    let single = [item];
                    let result = self.commit(&single, true).await;
                    let [item] = single;
                    answer_one(item, result.and_then(|mut outcomes| outcomes.pop().unwrap_or_else(|| Err(gone()))));
                }
            }
            Err(error) => {
                for item in group {
                    answer_one(item, Err(error.clone()));
                }
            }
        }
    }

    async fn commit(&mut self, group: &[Item], again: bool) -> Result<Vec<Result<Appended, Error>>, Error> {
        self.soundness.begins(group.iter().map(|item| item.bytes).sum());
        let result = limited(self.limit, self.transaction(group, again)).await;
        self.soundness.ended(result.is_ok());
        match result {
            Ok(plan) => {
                self.backend.settled(&plan.released);
                self.tell(&plan);
                Ok(plan.outcomes)
            }
            Err(error) => {
                self.backend.rollback().await;
                self.backend.settled(&[]);
                // Nobody knows what is in the log now.
                self.feed.doubt();
                Err(error)
            }
        }
    }

    async fn transaction(&mut self, group: &[Item], again: bool) -> Result<Plan, Error> {
        let spaces: BTreeSet<Space> = group.iter().map(|item| item.space.clone()).collect();
        let fences: Vec<Fence> = group.iter().filter_map(|item| item.fence.clone()).collect();
        if !again
            && let Some(heads) = self.backend.known_heads(&spaces)
            && let Some(plan) = self.at_once(group, heads, &fences).await?
        {
            return Ok(plan);
        }
        let backend = &mut self.backend;
        backend.begin().await?;
        let held = if fences.is_empty() { HashSet::new() } else { backend.held(&fences).await? };
        let heads = backend.heads(&spaces).await?;
        let plan = self.plan(group, again, heads, &held).await?;
        if plan.is_empty() {
            self.backend.rollback().await;
        } else {
            self.backend.write(&plan).await?;
            self.backend.commit().await?;
        }
        Ok(plan)
    }

    /// One statement in place of a transaction: what it depends on is read, or known, before, and what it writes is written only if
    /// nobody else has written meanwhile. `None`: somebody has.
    async fn at_once(
        &mut self,
        group: &[Item],
        heads: BTreeMap<Space, Position>,
        fences: &[Fence],
    ) -> Result<Option<Plan>, Error> {
        let held = fences.iter().cloned().collect();
        let plan = self.plan(group, false, heads.clone(), &held).await?;
        let written = !plan.is_empty() && self.backend.write_if(&plan, &heads, fences).await?;
        if !written {
            drafts(group).for_each(|(_, ready)| ready.untried());
        }
        Ok(written.then_some(plan))
    }

    async fn plan(
        &mut self,
        group: &[Item],
        again: bool,
        heads: BTreeMap<Space, Position>,
        held: &HashSet<Fence>,
    ) -> Result<Plan, Error> {
        let backend = &mut self.backend;
        let ids: Vec<(Space, Uuid)> = drafts(group)
            .filter(|(_, ready)| again || ready.given)
            .map(|(space, ready)| (space.clone(), ready.id))
            .collect();
        let known = if ids.is_empty() { Vec::new() } else { backend.known(&ids).await? };
        let threads: BTreeSet<(Space, ThreadId)> =
            drafts(group).map(|(space, ready)| (space.clone(), ready.draft.thread.clone())).collect();
        let threads = backend.threads(&Vec::from_iter(threads)).await?;
        let asked = Asked::of(drafts(group));
        let before = if asked.is_empty() { Before::default() } else { backend.asked(&asked).await? };
        let mut plan = Plan::new(heads, known, threads, before, crate::time::now())?;
        for item in group {
            plan.add(item, held, self.project)?;
        }
        Ok(plan)
    }

    /// Tells the feed, one space after the other, in order.
    fn tell(&mut self, plan: &Plan) {
        let mut spaces: BTreeMap<&Space, Vec<Arc<Shown>>> = BTreeMap::new();
        for (space, shown) in plan.news() {
            spaces.entry(space).or_default().push(shown.clone());
        }
        for (space, events) in spaces {
            self.feed.committed(space, &events);
            self.backend.committed(space);
            self.index.grew(space, events.len());
        }
    }
}

fn answer(group: Vec<Item>, outcomes: Vec<Result<Appended, Error>>) {
    for (item, outcome) in group.into_iter().zip(outcomes) {
        answer_one(item, outcome);
    }
}

fn answer_one(item: Item, outcome: Result<Appended, Error>) {
    // The caller may be gone; what is committed stays committed.
    let _ = item.answer.send(outcome);
}
