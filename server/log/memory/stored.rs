//! What a store in memory keeps: the logs, and the rows that are derived from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use uuid::Uuid;

use crate::event::envelope::Event;
use crate::log::append::Plan;
use crate::log::blob::Blob;
use crate::log::change::Project;
use crate::log::change::Spent;
use crate::log::head::Position;
use crate::log::query::{Order, Query};
use crate::log::rebuild::Derived;
use crate::log::rows::{ENDED, Rows, SPACE};
use crate::log::shown::Shown;
use crate::log::table::{Key, Row, Table};
use crate::log::thread_row::ThreadRow;
use crate::log::vectors::{Hash, Maker};
use crate::words::id::{Seq, Space, ThreadId};

/// What outlives a store in memory, as a file outlives the process that wrote it. A clone is the same disk. One store at a time uses it.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<Stored>>);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub epoch: Uuid,
    pub is_open: bool,
    pub logs: BTreeMap<Space, Vec<Arc<Shown>>>,
    pub threads: BTreeMap<(Space, ThreadId), ThreadRow>,
    /// The rows of projections.
    pub rows: BTreeMap<Key, Row>,
    pub roots: BTreeMap<(Space, Seq), Spent>,
    pub blobs: BTreeMap<(Space, String), Blob>,
    pub vectors: BTreeMap<(Maker, Hash), Vec<u8>>,
}

impl Disk {
    pub(super) fn lock(&self) -> MutexGuard<'_, Stored> {
        // Whoever panics while it is locked has not changed anything yet.
        self.0.lock()
    }
}

impl Stored {
    pub fn log(&self, space: &Space) -> &[Arc<Shown>] {
        self.logs.get(space).map_or(&[], Vec::as_slice)
    }

    pub fn head(&self, space: &Space) -> Option<Position> {
        let last = self.log(space).last()?;
        Some(Position::of(&last.event))
    }

    pub fn event(&self, space: &Space, id: Uuid) -> Option<&Event> {
        self.log(space)
            .iter()
            .map(|shown| &shown.event)
            .find(|event| event.event_id == id)
    }

    pub fn page(&self, space: &Space, query: &Query) -> Vec<Arc<Shown>> {
        let asked = self
            .log(space)
            .iter()
            .filter(|shown| query.matches(&shown.event))
            .cloned();
        let limit = query.limit.max(1) as usize;
        match query.order {
            Order::Ascending => asked.take(limit).collect(),
            Order::Descending => asked.rev().take(limit).collect(),
        }
    }

    pub fn thread(&self, space: &Space, thread: &ThreadId) -> Option<&ThreadRow> {
        self.threads.get(&(space.clone(), thread.clone()))
    }

    pub fn threads<'a>(&'a self, space: &'a Space) -> impl Iterator<Item = &'a ThreadRow> {
        self.threads
            .iter()
            .filter(move |((of, _), _)| of == space)
            .map(|(_, row)| row)
    }

    pub fn living(&self, space: &Space) -> u64 {
        let threads = |root| {
            self.roots
                .get(&(space.clone(), root))
                .map_or(0, |sum| sum.threads)
        };
        threads(SPACE) - threads(ENDED)
    }

    pub fn rows(&self, table: &'static Table) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(move |((of, _), _)| *of == table)
            .map(|(_, row)| row)
    }

    /// What an append writes, in one step.
    pub fn write(&mut self, plan: &Plan) {
        for (space, shown) in plan.shown() {
            self.logs
                .entry(space.clone())
                .or_default()
                .push(shown.clone());
        }
        self.threads.extend(plan.rows.threads.clone());
        for (key, row) in plan.rows.single.clone() {
            match row {
                Some(row) if key.0.is_whole(&row) => drop(self.rows.insert(key, row)),
                Some(row) => self
                    .rows
                    .get_mut(&key)
                    .into_iter()
                    .for_each(|known| known.alter(row.clone())),
                None => drop(self.rows.remove(&key)),
            }
        }
        for (root, more) in &plan.rows.roots {
            let sum = self.roots.entry(root.clone()).or_default();
            *sum = sum.with(*more, u64::saturating_add);
        }
    }

    /// What the rows are.
    pub fn tables(&self) -> Derived {
        let mail = self.logs.values().flatten();
        let mail = mail.filter(|shown| shown.event.wakes());
        let heads = self.logs.keys();
        let single = self.rows.iter();
        Derived {
            heads: heads
                .filter_map(|space| Some((space.clone(), self.head(space)?)))
                .collect(),
            rows: Rows {
                threads: self.threads.clone(),
                single: single
                    .map(|(key, row)| (key.clone(), Some(row.clone())))
                    .collect(),
                roots: self.roots.clone(),
                unreadable: Vec::new(),
            },
            mail: mail.count() as i64,
            ..Derived::default()
        }
    }

    /// What the rows should be, made of the log alone.
    pub fn derived(&self, project: Project) -> Derived {
        let mut derived = Derived::default();
        for (space, log) in &self.logs {
            log.iter()
                .for_each(|shown| derived.take(space, &shown.event, project));
        }
        derived
    }
}
