//! Memory as the backend of the writer and of the index.

use std::sync::Arc;

use uuid::Uuid;

use super::stored::Disk;
use crate::append::{Asked, Backend, Before, Found, Plan, Wanted};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::index::{Added, Indexing};
use crate::indexed::Gap;
use crate::leases::Leases;
use thinkd_words::id::{Space, ThreadId};

/// The writer's hand on a disk.
pub(super) struct Log {
    pub disk: Disk,
    pub leases: Arc<Leases>,
}

impl Backend for Log {
    async fn read(&mut self, wanted: &Wanted) -> Result<Found, StoreError> {
        let stored = self.disk.lock();
        let head = |space: &Space| Some((space.clone(), stored.head(space)?));
        let event =
            |(space, id): &(Space, Uuid)| Some((space.clone(), stored.event(space, *id)?.clone()));
        let thread =
            |key: &(Space, ThreadId)| Some((key.clone(), stored.rows.threads.get(key)?.clone()));
        Ok(Found {
            held: self.leases.begin(&wanted.fences),
            heads: wanted.spaces.iter().filter_map(head).collect(),
            events: wanted.ids.iter().filter_map(event).collect(),
            threads: wanted.threads.iter().filter_map(thread).collect(),
        })
    }

    async fn asked(&mut self, asked: &Asked) -> Result<Before, StoreError> {
        let stored = self.disk.lock();
        let mut before = Before::default();
        for select in &asked.rows {
            // Another question may have read other columns of the same row.
            for row in select.among(stored.rows(select.table())) {
                let key = select.table().key_of(&row);
                before.rows.entry(key).or_default().alter(row);
            }
        }
        let threads = asked.threads.iter();
        before.threads = threads
            .map(|space| (space.clone(), stored.living(space)))
            .collect();
        Ok(before)
    }

    async fn write(&mut self, plan: &Plan) -> Result<(), StoreError> {
        self.disk.lock().write(plan);
        Ok(())
    }

    async fn rollback(&mut self, _: &StoreError) {}

    fn settled(&mut self, released: &[Fence]) {
        self.leases.settle(released);
    }

    async fn touch(&mut self, _: usize) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(self) {}
}

/// Pages are read from the log itself: every event is in the index at once.
pub(super) struct NoIndex(pub Disk);

impl Indexing for NoIndex {
    const SOON: i64 = i64::MAX;
    const MOST: i64 = i64::MAX;

    async fn behind(&mut self) -> Result<Vec<(Space, Gap)>, StoreError> {
        Ok(Vec::new())
    }

    async fn add(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        let stored = self.0.lock();
        let added = |space| Added {
            reached: stored.head(space).map_or(0, |head| head.seq),
            more: false,
        };
        Ok(spaces.iter().map(added).collect())
    }

    async fn close(self) {}
}
