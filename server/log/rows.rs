//! Rows derived from events: the one fold behind every append and every rebuild. Pure; the databases only keep the rows.

use std::collections::BTreeMap;

use super::change::{Applied, Project, Spent};
use super::projections::{self, Change};
use super::table::{Key, Row, Table};
use super::thread_row::ThreadRow;
use super::upkeep::Unread;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Rows as they are to be; `None`: the row is to go.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Threads.
    pub threads: BTreeMap<(Space, ThreadId), ThreadRow>,
    /// Rows of projections, which are written one by one; of a row that only was altered, its new
    /// cells.
    pub single: BTreeMap<Key, Option<Row>>,
    /// Usage, by space and root; by `SPACE` that of the whole space. The sums are those that these
    /// events add: the stored ones need not be read to be written.
    pub roots: BTreeMap<(Space, Seq), Spent>,
    /// Changes that cannot be read and were not followed by one that can.
    pub unreadable: Vec<Unread>,
}

/// In the place of a root: no event has these seqs. The usage of a space and the number of threads
/// that have begun in it; the number that have ended.
pub(super) const SPACE: Seq = 0;
const ENDED: Seq = -1;
const ONE: Spent = Spent::threads(1);

impl Rows {
    /// The rows after one more event.
    pub fn apply(&mut self, space: &Space, event: &Event, project: Project) {
        let fact = event.fact();
        let mut is_new = false;
        let row = self
            .threads
            .entry((space.clone(), event.thread.clone()))
            .or_insert_with(|| {
                is_new = true;
                ThreadRow::first(&event.thread, event.ts)
            });
        let had_ended = row.status.is_final();
        let Applied {
            spent,
            mut unreadable,
        } = project(row, event, &fact);
        row.head = event.seq;
        row.updated = event.ts;
        let has_ended = row.status.is_final() && !had_ended;
        if is_new {
            self.add(space, SPACE, ONE);
        }
        if has_ended {
            self.add(space, ENDED, ONE);
        }
        if let Some((roots, spent)) = spent {
            let all = Spent {
                threads: 0,
                ..spent
            };
            self.add(space, SPACE, all);
            let roots = roots.into_iter().flatten();
            roots.for_each(|root| self.add(space, root, spent));
        }
        for projection in projections::all() {
            let (key, row) = match (projection.fold)(space, event, &fact) {
                None => continue,
                Some(Change::Unreadable) => {
                    unreadable = true;
                    continue;
                }
                Some(Change::Put(row)) => {
                    let row = row.clean();
                    (projection.table.key_of(&row), Some(row))
                }
                Some(Change::Alter(row)) => {
                    self.alter(projection.table, row.clean());
                    continue;
                }
                Some(Change::Remove(key)) => (projection.table.key_of(&key.clean()), None),
            };
            // What could not be read before does not matter any more.
            self.unreadable
                .retain(|it| changed(it) != Some(key.clone()));
            self.single.insert(key, row);
        }
        if let (true, Fact::Set(set)) = (unreadable, &fact) {
            let unread = Unread {
                space: space.clone(),
                thread: event.thread.clone(),
                seq: event.seq,
                kind: set.change.kind().as_str().to_owned(),
                key: set.key.to_owned(),
            };
            self.unreadable.retain(|it| !is_about_the_same(it, &unread));
            self.unreadable.push(unread);
        }
    }
}

/// The row that a change would have changed, if it has one of its own.
fn changed(unread: &Unread) -> Option<Key> {
    let table = projections::of_kind(&unread.kind)?.table;
    Some(table.changed(&unread.space, &unread.thread, &unread.key))
}

fn is_about_the_same(one: &Unread, other: &Unread) -> bool {
    match (changed(one), changed(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => {
            one.space == other.space
                && one.thread == other.thread
                && one.kind == other.kind
                && one.key == other.key
        }
        _ => false,
    }
}

impl Rows {
    fn alter(&mut self, table: &'static Table, row: Row) {
        let key = table.key_of(&row);
        match self.single.get_mut(&key) {
            Some(Some(known)) => known.alter(row),
            Some(None) => {}
            None => drop(self.single.insert(key, Some(row))),
        }
    }

    /// Adds to the use of a root.
    pub(super) fn add(&mut self, space: &Space, root: Seq, spent: Spent) {
        if spent == Spent::default() {
            return;
        }
        let sum = self.roots.entry((space.clone(), root)).or_default();
        *sum = sum.with(spent, u64::saturating_add);
    }

    /// The use of a root of a space, or of the space, here.
    pub(super) fn spent(&self, space: &Space, root: Seq) -> Spent {
        let spent = self.roots.get(&(space.clone(), root));
        spent.copied().unwrap_or_default()
    }

    /// Returns the number of threads of a space that begin here.
    pub fn begun(&self, space: &Space) -> u64 {
        self.spent(space, SPACE).threads
    }

    /// Returns the number of threads of a space that end here.
    pub fn ended(&self, space: &Space) -> u64 {
        self.spent(space, ENDED).threads
    }

    /// Keeps the row that is there, where the last change cannot be read.
    pub fn keep(&mut self, there: &Self) {
        for key in self.unreadable.iter().filter_map(changed) {
            if let Some(row) = there.single.get(&key) {
                self.single.insert(key, row.clone());
            }
        }
    }
}
