//! A store in memory: the page that shows the promises of a store. It keeps every promise that the
//! databases keep, and has nothing that makes them fast: no cache, no index, no pools. It cannot be
//! chosen in the settings; tests and simulations make one.
//!
//! - **The log of a space is a list.** `seq` is the place in it, from 1 and without gaps. Nothing
//!   in it is changed or removed.
//! - **An append is all or nothing**, and is written before it is answered. Its events get the next
//!   places; their times never decrease. An event with an id that is stored already with the same
//!   content is a duplicate: it is answered with the first one. With other content the whole append
//!   is a conflict. The drafts' conditions and the lease are looked at in the same step.
//! - **Rows follow the log.** With the events, and in the same step, the derived rows change: of
//!   threads (`Project`), of projections (`projections/`), and the sums of usage. `rebuild` makes
//!   the same rows from the log alone.
//! - **A lease** is held by one at a time, until it ends. An append under a lease that has passed
//!   to another holder is stale: nothing of it is stored.
//! - **Followers are told after the step**, in the order of the log, each event once (`feed.rs`).
//! - **Spaces know nothing of one another.**
//!
//! The writer (`append.rs`) and the planner of appends (`append/plan.rs`) are those of the
//! databases.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::MutexGuard;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::append::Writer;
use super::appended::{Append, Appended};
use super::blob::Blob;
use super::change::{Project, Spent};
use super::error::StoreError;
use super::feed::Feed;
use super::fence::{Fence, Leased};
use super::fork::Pieces;
use super::head::Head;
use super::index::Index;
use super::kernel::{BlobStore, EventLog, ProjectionRows, Store, Threads, Upkeep};
use super::leases::Leases;
use super::options::Options;
use super::presence::Here;
use super::query::{Query, Show};
use super::rows::SPACE;
use super::select::Select;
use super::shown::{Shown, Written};
use super::table::{Row, Table};
use super::thread_row::{Span, ThreadRow, Wait};
use super::thread_state::Position;
use super::unserved::Unserved;
use super::upkeep::{Checked, Rebuilt};
pub use stored::Disk;
use stored::Stored;
use thinkd_event::envelope::{Event, Visibility};
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::text::sha256;
use writing::{Log, NoIndex};

mod stored;
mod vectors;
mod writing;

/// The store.
struct Memory {
    disk: Disk,
    writer: Writer,
    index: Index,
    feed: Arc<Feed>,
    leases: Arc<Leases>,
    here: Here,
    project: Project,
    closed: AtomicBool,
}

/// Opens a store in memory, for tests and simulations: its data lives as long as its disk. Fails
/// with [`StoreError::Unavailable`] where another store uses the disk.
pub fn open(
    disk: &Disk,
    options: &Options,
    project: Project,
) -> Result<Arc<dyn Store>, StoreError> {
    {
        let mut stored = disk.lock();
        if std::mem::replace(&mut stored.is_open, true) {
            return Err(StoreError::Unavailable(
                "another store uses this memory".into(),
            ));
        }
        if stored.epoch.is_nil() {
            stored.epoch = thinkd_words::id::fresh();
        }
    }
    let feed = Arc::new(Feed::default());
    let leases = Arc::new(Leases::new(thinkd_words::id::drawn() >> 1));
    let index = Index::start(NoIndex(disk.clone()), &options.supervisor);
    let log = Log {
        disk: disk.clone(),
        leases: leases.clone(),
    };
    let writer = Writer::start(log, feed.clone(), index.clone(), project, options);
    let closed = AtomicBool::new(false);
    Ok(Arc::new(Memory {
        disk: disk.clone(),
        writer,
        index,
        feed,
        leases,
        here: Here::new(),
        project,
        closed,
    }))
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.disk.lock().is_open = false;
    }
}

impl Memory {
    /// Returns the stored data; fails once the store is closed.
    fn stored(&self) -> Result<MutexGuard<'_, Stored>, StoreError> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(StoreError::closed());
        }
        Ok(self.disk.lock())
    }
}

impl Memory {
    /// Returns the events of a page, of a fork with its past.
    fn page(&self, space: &Space, query: &Query) -> Result<Vec<Arc<Shown>>, StoreError> {
        let stored = self.stored()?;
        let row = query.thread.as_ref();
        let row = row.and_then(|thread| stored.thread(space, thread));
        let fork = row.and_then(|row| row.state.fork.as_deref());
        let mut pieces = Pieces::of(fork, query);
        let mut page = Vec::new();
        while let Some(piece) = pieces.next(page.len()) {
            page.extend(stored.page(space, &piece));
        }
        Ok(page)
    }
}

fn first<T>(found: impl Iterator<Item = T>, limit: u32) -> Vec<T> {
    found.take(limit as usize).collect()
}

#[async_trait]
impl EventLog for Memory {
    fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.writer.append(append).await
    }

    async fn head(&self, space: &Space) -> Result<Head, StoreError> {
        let stored = self.stored()?;
        Ok(Head {
            seq: stored.head(space).map_or(0, |head| head.seq),
            epoch: stored.epoch,
        })
    }

    async fn events(&self, space: &Space, query: &Query) -> Result<Vec<Event>, StoreError> {
        let page = self.page(space, query)?;
        Ok(page.iter().map(|shown| shown.event.clone()).collect())
    }

    async fn written(&self, space: &Space, query: &Query) -> Result<Vec<Written>, StoreError> {
        let written = |shown: &Arc<Shown>| Written {
            seq: shown.event.seq,
            json: RawValue::from_string(shown.json.to_string()).ok(),
        };
        let page = self.page(space, query)?;
        Ok(page.iter().map(written).collect())
    }

    async fn count(&self, space: &Space, query: &Query) -> Result<Position, StoreError> {
        let all = Query {
            show: Show::Visible,
            limit: u32::MAX,
            ..query.clone()
        };
        let all = self.page(space, &all)?;
        let is_heard = |shown: &&Arc<Shown>| shown.event.visibility() >= Visibility::Heard;
        Ok(Position {
            visible: all.len() as u64,
            heard: all.iter().filter(is_heard).count() as u64,
        })
    }

    async fn ever(&self, space: &Space, tag: &str) -> Result<bool, StoreError> {
        let has = |shown: &Arc<Shown>| {
            let mut tags = shown.event.meta.tags.iter();
            tags.any(|it| it.to_lowercase() == tag)
        };
        Ok(self.stored()?.log(space).iter().any(has))
    }

    async fn event(&self, space: &Space, event_id: Uuid) -> Result<Option<Event>, StoreError> {
        Ok(self.stored()?.event(space, event_id).cloned())
    }
}

#[async_trait]
impl Threads for Memory {
    async fn thread(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadRow>, StoreError> {
        Ok(self.stored()?.thread(space, thread).cloned())
    }

    async fn threads(
        &self,
        space: &Space,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let stored = self.stored()?;
        let asked = stored
            .threads(space)
            .filter(|row| after.is_none_or(|after| row.thread > *after));
        Ok(first(asked.cloned(), limit))
    }

    async fn descendants(
        &self,
        space: &Space,
        thread: &ThreadId,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let stored = self.stored()?;
        let is_below = |row: &&ThreadRow| row.thread != *thread && row.thread.is_within(thread);
        let below = stored.threads(space).filter(is_below);
        let living = below.filter(|row| !row.status.is_final());
        let asked = living.filter(|row| after.is_none_or(|after| row.thread > *after));
        Ok(first(asked.cloned(), limit))
    }

    async fn spent(&self, space: &Space, root: Option<Seq>) -> Result<Spent, StoreError> {
        Ok(self.stored()?.rows.spent(space, root.unwrap_or(SPACE)))
    }

    async fn living(&self, space: &Space) -> Result<u64, StoreError> {
        Ok(self.stored()?.living(space))
    }

    async fn queued(
        &self,
        space: &Space,
        thread: &ThreadId,
        after: Seq,
        limit: u32,
    ) -> Result<u32, StoreError> {
        let stored = self.stored()?;
        let Some(row) = stored.thread(space, thread) else {
            return Ok(0);
        };
        let after = after.max(row.handled);
        let waits = |shown: &&Arc<Shown>| {
            shown.event.thread == *thread && shown.event.seq > after && shown.event.wakes()
        };
        let waiting = stored.log(space).iter().filter(waits);
        Ok(u32::try_from(waiting.take(limit as usize).count()).unwrap_or(limit))
    }

    async fn waiting(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, StoreError> {
        let stored = self.stored()?;
        let spaces: BTreeSet<&Space> = stored.rows.threads.keys().map(|(space, _)| space).collect();
        let mut waiting = Vec::new();
        for space in spaces {
            let ready =
                |row: &&ThreadRow| row.has_work() && !self.leases.is_held(space, &row.thread);
            let ready = stored.threads(space).filter(ready);
            let ready = ready.map(|row| (space.clone(), row.thread.clone()));
            waiting.extend(first(ready, limit));
        }
        Ok(waiting)
    }

    async fn awaiting(
        &self,
        space: &Space,
        of: Span<'_>,
        limit: u32,
    ) -> Result<Vec<(ThreadId, ThreadId)>, StoreError> {
        let stored = self.stored()?;
        let pair = |row: &ThreadRow| Some((row.awaits()?.clone(), row.thread.clone()));
        let pairs = stored.threads(space).filter_map(pair);
        let mut pairs = Vec::from_iter(pairs.filter(|(it, _)| of.contains(&it)));
        pairs.sort_unstable();
        Ok(first(pairs.into_iter(), limit))
    }

    async fn waits(&self, after: Option<&Wait>, limit: u32) -> Result<Vec<Wait>, StoreError> {
        let stored = self.stored()?;
        let wait = |((space, thread), row): (&(Space, ThreadId), &ThreadRow)| {
            Some(Wait {
                space: space.clone(),
                target: row.awaits()?.clone(),
                thread: thread.clone(),
            })
        };
        let mut waits: Vec<Wait> = stored.rows.threads.iter().filter_map(wait).collect();
        let place = |it: &Wait| (it.space.clone(), it.target.clone(), it.thread.clone());
        waits.sort_by_key(place);
        let is_asked = |it: &Wait| after.is_none_or(|after| place(it) > place(after));
        Ok(first(waits.into_iter().filter(is_asked), limit))
    }
}

#[async_trait]
impl ProjectionRows for Memory {
    async fn select(&self, select: Select) -> Result<Vec<Row>, StoreError> {
        Ok(select.among(self.stored()?.rows(select.table())))
    }

    async fn all_rows(
        &self,
        table: &'static Table,
        space: &Space,
    ) -> Result<Arc<[Row]>, StoreError> {
        Ok(Select::all(table, space)
            .among(self.stored()?.rows(table))
            .into())
    }

    async fn rows_with(
        &self,
        table: &'static Table,
        space: &Space,
        words: &[String],
        limit: u32,
    ) -> Result<Vec<Row>, StoreError> {
        let Some(of) = table.words.as_ref().map(|words| words.of) else {
            return Ok(Vec::new());
        };
        let rows = Select::of(table, space).among(self.stored()?.rows(table));
        let has = |row: &Row| {
            let all = of(row);
            words.iter().all(|word| all.contains(word))
        };
        Ok(first(rows.into_iter().filter(has), limit))
    }
}

super::leases::leasing!(Memory);

#[async_trait]
impl BlobStore for Memory {
    async fn put_blob(&self, space: &Space, blob: Blob) -> Result<String, StoreError> {
        let hash = sha256(&blob.bytes);
        let key = (space.clone(), hash.clone());
        self.stored()?.blobs.entry(key).or_insert(blob);
        Ok(hash)
    }

    async fn blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, StoreError> {
        let key = (space.clone(), sha256.to_owned());
        Ok(self.stored()?.blobs.get(&key).cloned())
    }
}

#[async_trait]
impl Upkeep for Memory {
    async fn rebuild(&self, check: bool) -> Result<Rebuilt, StoreError> {
        let mut stored = self.stored()?;
        let tables = stored.tables();
        let mut log = stored.derived(self.project);
        log.rows.keep(&tables.rows);
        if !check {
            stored.rows = log.rows.clone();
            stored.rows.unreadable.clear();
            let rows = &mut stored.rows.single;
            rows.retain(|(table, _), row| row.as_ref().is_some_and(|row| table.is_whole(row)));
        }
        Ok(tables.against(log))
    }

    async fn check(&self, _: Duration) -> Result<Checked, StoreError> {
        let stored = self.stored()?;
        let events = stored.logs.values().map(|log| log.len() as u64).sum();
        Ok(Checked::sound(0, events))
    }

    fn unserved(&self) -> &Unserved {
        self.index.unserved()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        drop(self.stored()?);
        self.writer.sound().await
    }

    async fn close(&self) {
        self.index.close().await;
        self.writer.close().await;
        self.closed.store(true, Ordering::Relaxed);
    }
}
