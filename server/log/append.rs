//! The one writer: gathers the appends of many tasks into one transaction (group commit), tells the
//! feed, answers. It is a task of its own, so that no commit lives in a future that a disconnect or
//! a time limit can drop. `Backend` is the work of a database for it; the steps of a transaction
//! are here, once; its writes are in `append/plan.rs`. Long because the writer is one protocol: the
//! work of a database, the right to append, and the retries of a group that fails.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::appended::{Append, Appended};
use super::change::Project;
use super::error::{StoreError, within};
use super::feed::Feed;
use super::fence::Fence;
use super::head::Position;
use super::index::Index;
use super::options::Options;
use super::shown::Shown;
use super::thread_row::ThreadRow;
use thinkd_event::envelope::Event;
use thinkd_tasks::supervisor;
use thinkd_words::id::{Space, ThreadId};

mod condition;
mod group;
mod plan;
mod queue;
mod soundness;

pub(super) use condition::{Asked, Before};
use group::Group;
pub(super) use plan::Plan;
use plan::{Item, drafts};
use queue::{Probe, Queue};
use soundness::Soundness;

/// Seconds that appends took that were stored, the wait for the writer among them.
const SECONDS: &str = "thinkd_append_seconds";
/// Longest wait of a commit for the writers of the last one to come back.
const GATHER: Duration = Duration::from_micros(500);

/// The state that a group of appends depends on.
pub(super) struct Wanted {
    pub fences: Vec<Fence>,
    pub spaces: BTreeSet<Space>,
    /// Events that may be stored already.
    pub ids: Vec<(Space, Uuid)>,
    pub threads: Vec<(Space, ThreadId)>,
}

/// The part of that state that exists.
#[derive(Default)]
pub(super) struct Found {
    /// The leases that hold.
    pub held: HashSet<Fence>,
    /// The ends of the logs.
    pub heads: BTreeMap<Space, Position>,
    pub events: Vec<(Space, Event)>,
    pub threads: BTreeMap<(Space, ThreadId), ThreadRow>,
}

/// A database, for the writer. `begin` … `write` is one transaction; `undo` and `rollback` end it, too.
pub(super) trait Backend: Send + 'static {
    /// Begins a transaction. Until its end no other writer can append to these logs; a writer that
    /// is appending to them is waited for.
    fn begin(
        &mut self,
        _: &BTreeSet<Space>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }
    /// Reads in it. Until its end the leases cannot be lost.
    fn read(&mut self, wanted: &Wanted) -> impl Future<Output = Result<Found, StoreError>> + Send;
    /// Returns the same without a transaction, if no other writer has written to the logs lately:
    /// as if the leases held and the events were not there.
    fn known(
        &mut self,
        _: &Wanted,
    ) -> impl Future<Output = Result<Option<Found>, StoreError>> + Send {
        std::future::ready(Ok(None))
    }
    /// Reads the rows that the conditions of drafts ask about.
    fn asked(&mut self, asked: &Asked) -> impl Future<Output = Result<Before, StoreError>> + Send;
    /// Writes, and commits.
    fn write(&mut self, plan: &Plan) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Writes and commits, in one trip, if the logs still end there and the leases hold. False: nothing is written.
    fn write_if(
        &mut self,
        _: &Plan,
        _: &BTreeMap<Space, Position>,
        _: &[Fence],
    ) -> impl Future<Output = Result<bool, StoreError>> + Send {
        std::future::ready(Ok(false))
    }
    /// Ends a transaction in which nothing was written.
    fn undo(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
    /// Undoes the transaction, if one is open, or at least sees to it that the next one starts afresh.
    fn rollback(&mut self, why: &StoreError) -> impl Future<Output = ()> + Send;
    /// The transaction is over; these leases were given back in it.
    /// Nothing where leases are rows: they went with the transaction.
    fn settled(&mut self, _: &[Fence]) {}
    /// Returns the number of bytes that are to be written next beside the appends, if any.
    fn aside(&mut self) -> Option<usize> {
        None
    }
    /// Writes that, in a transaction of its own.
    fn write_aside(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }
    /// Takes the result of that write; returns true if there is more.
    fn wrote_aside(&mut self, _: Result<(), StoreError>) -> bool {
        false
    }
    /// A space's log grew.
    fn committed(&mut self, _: &Space) {}
    /// Checks that there is a connection to write over; a lost one is made anew.
    fn ready(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send {
        std::future::ready(Ok(()))
    }
    /// Writes data that no reader reads, of so many bytes.
    fn touch(&mut self, bytes: usize) -> impl Future<Output = Result<(), StoreError>> + Send;
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// A way to the writer.
#[derive(Clone)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    soundness: Arc<Soundness>,
}

impl Writer {
    /// Starts the writer task over a database.
    pub fn start(
        backend: impl Backend,
        feed: Arc<Feed>,
        index: Index,
        project: Project,
        options: &Options,
    ) -> Self {
        let writer = Self {
            queue: Arc::new(Queue::new(options.space_share)),
            soundness: Arc::default(),
        };
        let limit = options.commit;
        let soundness = writer.soundness.clone();
        let queue = Taken(writer.queue.clone());
        let task = Task {
            backend,
            feed,
            index,
            project,
            limit,
            queue,
            soundness,
        };
        let task = options
            .supervisor
            .watch("the writer of the log", task.run());
        tokio::spawn(task);
        writer
    }

    pub async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let begun = Instant::now();
        let (answer, answered) = oneshot::channel();
        let item = Item::new(append, answer)?;
        self.queue.put(item).await?;
        let appended = answered.await.map_err(|_| StoreError::closed())?;
        if appended.is_ok() {
            metrics::histogram!(SECONDS).record(begun.elapsed());
        }
        appended
    }

    /// The backend has something to write aside.
    pub fn nudge(&self) -> Result<(), StoreError> {
        self.queue.nudge()
    }

    /// Checks that writing works: by the last writes, or, when one failed, by a try.
    pub async fn sound(&self) -> Result<(), StoreError> {
        if self.soundness.check()? {
            return Ok(());
        }
        self.ask(true).await
    }

    /// Checks that there is a connection to write over.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.soundness.check()?;
        self.ask(false).await
    }

    async fn ask(&self, writes: bool) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.queue.probe(Probe { answer, writes })?;
        answered.await.map_err(|_| StoreError::closed())?
    }

    /// Returns when everything sent before is done and the connection is closed.
    pub async fn close(&self) {
        let (answer, answered) = oneshot::channel();
        self.queue.close(answer);
        // Dropped by the task, or with it.
        let _ = answered.await;
    }
}

/// The queue, in the writer's hands: no caller waits for a writer that has ended.
struct Taken(Arc<Queue>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.end();
    }
}

struct Task<B> {
    backend: B,
    feed: Arc<Feed>,
    index: Index,
    project: Project,
    /// Longest time of a commit. Its future may be dropped then: the task lives on and the
    /// connection is not used again as it is.
    limit: Duration,
    queue: Taken,
    soundness: Arc<Soundness>,
}

/// Returns the result of a write within its limit. A defect of this server in it fails that write
/// alone, and does not end all writing.
async fn limited<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match AssertUnwindSafe(within(limit, work)).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => {
            let why = supervisor::words(&*panic);
            tracing::error!(
                why,
                "a defect of this server keeps something from being written"
            );
            Err(StoreError::Broken(format!(
                "a defect of this server: {why}"
            )))
        }
    }
}

/// Returns when there is something to do. Spaces of which the index has too little wait for it, and
/// no others do.
async fn something_to_do(queue: &Queue, index: &Index) {
    loop {
        let progress = index.progress();
        tokio::pin!(progress);
        // Enlisted before the look, so that no progress is missed.
        progress.as_mut().enable();
        if queue.is_ready(|space| index.has_room(space)) {
            return;
        }
        tokio::select! {
            () = queue.filled() => {}
            () = progress => {}
        }
    }
}

impl Wanted {
    /// `again`: an earlier try may have stored any of the events.
    fn by(group: &[Item], again: bool) -> Self {
        let threads: BTreeSet<(Space, ThreadId)> = drafts(group)
            .map(|(space, ready)| (space.clone(), ready.draft.thread.clone()))
            .collect();
        Self {
            fences: group.iter().filter_map(|item| item.fence.clone()).collect(),
            spaces: group.iter().map(|item| item.space.clone()).collect(),
            ids: drafts(group)
                .filter(|(_, ready)| again || ready.given)
                .map(|(space, ready)| (space.clone(), ready.id))
                .collect(),
            threads: Vec::from_iter(threads),
        }
    }
}

impl<B: Backend> Task<B> {
    async fn run(mut self) {
        let mut last = 1;
        loop {
            something_to_do(&self.queue.0, &self.index).await;
            for probe in self.queue.0.take_probes() {
                self.probe(probe).await;
            }
            let group = self.gather(last).await;
            if !group.items.is_empty() {
                last = self.append(group).await;
            }
            // A little after every commit, and no more: who appends waits for it.
            if self.queue.0.take_nudge() {
                self.write_aside().await;
            }
            if self.queue.0.is_over() {
                break;
            }
        }
        // Only then is nobody left who waits (`Taken`).
        self.backend.close().await;
    }

    /// Writes a little of the data that the backend has to write besides.
    async fn write_aside(&mut self) {
        let Some(bytes) = self.backend.aside() else {
            return;
        };
        self.soundness.begins(bytes);
        let result = limited(self.limit, self.backend.write_aside()).await;
        self.soundness.ended(result.is_ok());
        if let Err(why) = &result {
            self.backend.rollback(why).await;
        }
        if self.backend.wrote_aside(result) {
            self.queue.0.nudge_again();
        }
    }

    async fn probe(&mut self, Probe { answer, writes }: Probe) {
        // Who asked has waited long enough: whoever comes next asks anew.
        if answer.is_closed() {
            return;
        }
        if !writes {
            // Nobody may wait for the answer any more.
            let _ = answer.send(limited(self.limit, self.backend.ready()).await);
            return;
        }
        let result = limited(self.limit, self.backend.touch(self.soundness.probe())).await;
        self.soundness.ended(result.is_ok());
        if let Err(why) = &result {
            self.backend.rollback(why).await;
        }
        // Nobody may wait for the answer any more.
        let _ = answer.send(result);
    }

    /// Returns the appends that wait already, space by space, and those of writers that come back
    /// at once from the last commit.
    async fn gather(&mut self, last: usize) -> Group {
        let mut group = Group::default();
        let until = Instant::now() + GATHER;
        while group.has_room() {
            match self.queue.0.next(|space| self.index.has_room(space)) {
                Some(item) => group.push(item),
                None if group.items.is_empty() || group.items.len() >= last => break,
                // Without this, writers who wait for their answers would fall into two halves that take turns.
                None => match timeout_at(until, self.queue.0.filled()).await {
                    Ok(()) => {}
                    Err(_) => break,
                },
            }
        }
        group
    }

    /// Adds the appends to these logs that came while another server's commit to them was waited
    /// for.
    fn gather_more(&self, group: &mut Group, spaces: &BTreeSet<Space>) {
        let is_wanted = |space: &Space| spaces.contains(space) && self.index.has_room(space);
        while group.has_room()
            && let Some(item) = self.queue.0.next(is_wanted)
        {
            group.push(item);
        }
    }

    /// One transaction for all. If that fails because of one of them, one for each. Returns how many appends there were in the end.
    async fn append(&mut self, mut group: Group) -> usize {
        let result = match self.commit(&mut group, false).await {
            // Perhaps only the connection was lost, perhaps after the commit: ids are looked up this time.
            Err(StoreError::Unavailable(reason)) => {
                tracing::warn!(
                    reason,
                    appends = group.items.len(),
                    "appends failed; once more"
                );
                self.commit(&mut group, true).await
            }
            other => other,
        };
        let appends = group.items.len();
        match result {
            Err(StoreError::Broken(_)) if appends > 1 => {
                for item in group.items {
                    let mut single = Group::of(item);
                    let result = self.commit(&mut single, true).await;
                    answer(single.items, result);
                }
            }
            result => answer(group.items, result),
        }
        appends
    }

    async fn commit(
        &mut self,
        group: &mut Group,
        again: bool,
    ) -> Result<Vec<Result<Appended, StoreError>>, StoreError> {
        self.soundness.begins(group.bytes);
        let result = limited(self.limit, self.transaction(group, again)).await;
        self.soundness.ended(result.is_ok());
        match result {
            Ok(plan) => {
                self.backend.settled(&plan.released);
                self.tell(&plan);
                Ok(plan.outcomes)
            }
            Err(error) => {
                self.backend.rollback(&error).await;
                self.backend.settled(&[]);
                // Nobody knows what is in the log now.
                self.feed.doubt();
                Err(error)
            }
        }
    }

    async fn transaction(&mut self, group: &mut Group, again: bool) -> Result<Plan, StoreError> {
        let mut wanted = Wanted::by(&group.items, again);
        if !again
            && let Some(found) = self.backend.known(&wanted).await?
            && let Some(plan) = self.at_once(&group.items, found, &wanted.fences).await?
        {
            return Ok(plan);
        }
        self.backend.begin(&wanted.spaces).await?;
        if !again {
            self.gather_more(group, &wanted.spaces);
            wanted = Wanted::by(&group.items, again);
        }
        let found = self.backend.read(&wanted).await?;
        let plan = self.plan(&group.items, found).await?;
        if plan.is_empty() {
            self.backend.undo().await;
        } else {
            self.backend.write(&plan).await?;
        }
        Ok(plan)
    }

    /// Commits in one statement in place of a transaction. The state it depends on is read, or
    /// known, before. It writes only if no other writer has written meanwhile, and none of the ids
    /// is in the log. `None`: it takes a transaction.
    async fn at_once(
        &mut self,
        group: &[Item],
        found: Found,
        fences: &[Fence],
    ) -> Result<Option<Plan>, StoreError> {
        // As if no id were known: nearly none is, and the database sees to it that none is stored twice. What would be refused may
        // be in the log already.
        let heads = found.heads.clone();
        let plan = self.plan(group, found).await?;
        let written = !plan.is_empty()
            && plan.refuses_nothing()
            && self.backend.write_if(&plan, &heads, fences).await?;
        if !written {
            drafts(group).for_each(|(_, ready)| ready.untried());
        }
        Ok(written.then_some(plan))
    }

    async fn plan(&mut self, group: &[Item], found: Found) -> Result<Plan, StoreError> {
        let asked = Asked::of(drafts(group).map(|(space, ready)| (space, &ready.draft)));
        let before = if asked.is_empty() {
            Before::default()
        } else {
            self.backend.asked(&asked).await?
        };
        let mut plan = Plan::new(found, before, thinkd_words::time::now())?;
        for item in group {
            plan.add(item, self.project)?;
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
            if let (Some(first), Some(last)) = (events.first(), events.last()) {
                self.index.grew(space, first.event.seq, last.event.seq);
            }
        }
    }
}

/// Sends each append its result; a caller may be gone, and a committed append stays committed.
fn answer(items: Vec<Item>, result: Result<Vec<Result<Appended, StoreError>>, StoreError>) {
    let outcomes = result.unwrap_or_else(|error| vec![Err(error); items.len()]);
    for (item, outcome) in items.into_iter().zip(outcomes) {
        let _ = item.answer.send(outcome);
    }
}
