//! The data of a store in memory: the logs, and the rows that are derived from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use uuid::Uuid;

use crate::append::Plan;
use crate::blob::Blob;
use crate::change::Project;
use crate::head::Position;
use crate::query::{Order, Query};
use crate::rebuild::Derived;
use crate::rows::Rows;
use crate::shown::Shown;
use crate::table::{Row, Table};
use crate::thread_row::ThreadRow;
use crate::vectors::{Hash, Maker};
use thinkd_event::envelope::Event;
use thinkd_words::id::{Space, ThreadId};

/// The disk of a store in memory: it outlives the store, as a file outlives the process that wrote
/// it. A clone is the same disk. One store at a time uses it.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<Stored>>);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub epoch: Uuid,
    pub is_open: bool,
    pub logs: BTreeMap<Space, Vec<Arc<Shown>>>,
    /// The rows that the logs add up to. Every row of a projection is there, and whole.
    pub rows: Rows,
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
        let mut events = self.log(space).iter().map(|shown| &shown.event);
        events.find(|event| event.event_id == id)
    }

    pub fn page(&self, space: &Space, query: &Query) -> Vec<Arc<Shown>> {
        let log = self.log(space).iter();
        let asked = log.filter(|shown| query.matches(&shown.event)).cloned();
        let limit = query.limit.max(1) as usize;
        match query.order {
            Order::Ascending => asked.take(limit).collect(),
            Order::Descending => asked.rev().take(limit).collect(),
        }
    }

    pub fn thread(&self, space: &Space, thread: &ThreadId) -> Option<&ThreadRow> {
        self.rows.threads.get(&(space.clone(), thread.clone()))
    }

    pub fn threads<'a>(&'a self, space: &'a Space) -> impl Iterator<Item = &'a ThreadRow> {
        let threads = self.rows.threads.iter();
        let of_space = threads.filter(move |((of, _), _)| of == space);
        of_space.map(|(_, row)| row)
    }

    pub fn living(&self, space: &Space) -> u64 {
        self.rows.begun(space) - self.rows.ended(space)
    }

    pub fn rows(&self, table: &'static Table) -> impl Iterator<Item = &Row> {
        let rows = self.rows.single.iter();
        let of_table = rows.filter(move |((of, _), _)| *of == table);
        of_table.filter_map(|(_, row)| row.as_ref())
    }

    /// Writes the events and rows of an append, in one step.
    pub fn write(&mut self, plan: &Plan) {
        for (space, shown) in plan.shown() {
            self.logs
                .entry(space.clone())
                .or_default()
                .push(shown.clone());
        }
        let Rows {
            threads, single, ..
        } = &mut self.rows;
        threads.extend(plan.rows.threads.clone());
        for (key, row) in plan.rows.single.clone() {
            match row {
                Some(row) if key.0.is_whole(&row) => drop(single.insert(key, Some(row))),
                Some(row) => {
                    if let Some(Some(known)) = single.get_mut(&key) {
                        known.alter(row);
                    }
                }
                None => drop(single.remove(&key)),
            }
        }
        for ((space, root), more) in &plan.rows.roots {
            self.rows.add(space, *root, *more);
        }
    }

    /// Returns the rows as they are.
    pub fn tables(&self) -> Derived {
        let mail = self.logs.values().flatten();
        let mail = mail.filter(|shown| shown.event.wakes());
        let heads = self.logs.keys();
        Derived {
            heads: heads
                .filter_map(|space| Some((space.clone(), self.head(space)?)))
                .collect(),
            rows: self.rows.clone(),
            mail: mail.count() as i64,
            ..Derived::default()
        }
    }

    /// Returns the rows as they should be, made of the log alone.
    pub fn derived(&self, project: Project) -> Derived {
        let mut derived = Derived::default();
        for (space, log) in &self.logs {
            log.iter()
                .for_each(|shown| derived.take(space, &shown.event, project));
        }
        derived
    }
}
