//! Cache of the last writes of the one connection that writes. It has the ends of the logs, the
//! rows of threads that were appended to lately, and those of their events that a model may see. It
//! also has the rows of projections that were asked for by space. On SQLite no other connection
//! writes, so none of it need be read again. On Postgres others do: there it is asked whether the
//! log, or the thread, still ends where it did. Data that is not here is in the database.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::append::Plan;
use super::fork::Fork;
use super::head::Position;
use super::query::{Order, Query};
use super::shown::Shown;
use super::table::{Cell, Row, Table};
use super::thread_row::ThreadRow;
use thinkd_event::envelope::{Event, Visibility};
use thinkd_words::id::{Seq, Space, ThreadId};

/// Most heads, and most spaces with kept rows of a table: more, and they are begun anew.
const SPACES: usize = 256;
/// Most threads of a generation.
const THREADS: usize = 512;
/// Most threads that are known to be forks, or none.
const FORKS: usize = 4096;
/// Most bytes of a generation's events, as JSON.
const BYTES: usize = 4 << 20;
/// Most events of a thread: a turn or two.
const EVENTS: usize = 32;

/// Shared by the connection that writes, which fills it after its commits, and the readers.
#[derive(Clone, Default)]
pub(crate) struct WriteCache(Arc<Mutex<Rows>>);

type Key = (Space, ThreadId);

/// The end of a space's log.
struct Head {
    position: Position,
    /// Rows that were written in this age of the space are as in the database, as long as the log
    /// ends here.
    age: u64,
    /// The last commit found the log where the one before it had left it.
    alone: bool,
}

#[derive(Default)]
struct Rows {
    heads: HashMap<Space, Head>,
    /// The number of ages there have been.
    ages: u64,
    /// Threads written to lately.
    young: Generation,
    /// The threads before them; when the young ones are too many, they become the old ones, and
    /// these are forgotten.
    old: Generation,
    /// All rows of a space, by the table's name and the space's.
    tables: HashMap<&'static str, HashMap<String, Arc<[Row]>>>,
    /// The number of times that rows of projections changed.
    changes: u64,
    /// The pasts of threads that were read or written, if they are forks: these never change.
    forks: HashMap<Key, Option<Box<Fork>>>,
    /// The former ends of the logs that the commit under way makes longer.
    writing: HashMap<Space, Seq>,
}

#[derive(Default)]
struct Generation {
    threads: HashMap<Key, Thread>,
    bytes: usize,
}

struct Thread {
    row: ThreadRow,
    /// See `Head::age`.
    age: u64,
    /// Every public event of the thread after this is among `events`.
    since: Seq,
    /// And every one at all that a model may see.
    has_visible: bool,
    events: VecDeque<Arc<Shown>>,
    bytes: usize,
}

impl WriteCache {
    pub fn head(&self, space: &Space) -> Option<Position> {
        self.0.lock().heads.get(space).map(|head| head.position)
    }

    /// Returns the ends of the logs, if no other writer has written to any of them lately.
    pub fn heads(&self, spaces: &BTreeSet<Space>) -> Option<BTreeMap<Space, Position>> {
        let cache = self.0.lock();
        let head = |space: &Space| {
            let head = cache.heads.get(space).filter(|head| head.alone)?;
            Some((space.clone(), head.position))
        };
        spaces.iter().map(head).collect()
    }

    /// Takes over the ends of the logs as the database has them, before a commit: the rows of a log
    /// that others have grown are forgotten.
    pub fn met(&self, heads: &BTreeMap<Space, Position>) {
        let mut cache = self.0.lock();
        for (space, position) in heads {
            match cache.heads.get_mut(space) {
                Some(head) if head.position == *position => head.alone = true,
                _ => cache.begin_age(space, *position),
            }
        }
    }

    /// A thread's row, as it was written last: it is the same as long as the thread ends where the row says.
    pub fn thread(&self, key: &Key) -> Option<ThreadRow> {
        self.0.lock().thread(key).map(|thread| thread.row.clone())
    }

    /// Returns the past of a thread, if it is a fork; none: the thread is not here.
    pub fn fork(&self, key: &Key) -> Option<Option<Box<Fork>>> {
        let cache = self.0.lock();
        cache.forks.get(key).cloned()
    }

    /// Keeps the past of a thread that is there, as it was read.
    pub fn keep_fork(&self, key: Key, fork: Option<Box<Fork>>) {
        let mut cache = self.0.lock();
        cache.keep_fork(key, fork);
    }

    /// A thread's row, as long as its log ends where it is known to.
    pub fn current(&self, key: &Key) -> Option<ThreadRow> {
        let cache = self.0.lock();
        let age = cache.heads.get(&key.0)?.age;
        let thread = cache.thread(key).filter(|thread| thread.age == age);
        thread.map(|thread| thread.row.clone())
    }

    /// Takes a thread's row as the database has it: when others have appended to the thread, its
    /// known row and events are forgotten.
    pub fn met_thread(&self, key: &Key, row: &ThreadRow) {
        let mut cache = self.0.lock();
        let known = cache.thread(key);
        if known.is_some_and(|known| known.row.head < row.head) {
            drop(cache.young.remove(key).or_else(|| cache.old.remove(key)));
        }
    }

    /// Returns the events that a query asks for, if all are here, and the seq of its thread's last
    /// event.
    pub fn events(&self, space: &Space, query: &Query) -> Option<(Vec<Event>, Seq)> {
        let thread = query.thread.as_ref()?;
        if query.subtree || query.text.is_some() || query.least() < Visibility::State {
            return None;
        }
        let (found, head) = {
            let cache = self.0.lock();
            let thread = cache.thread(&(space.clone(), thread.clone()))?;
            (thread.page(query)?, thread.row.head)
        };
        let events = found.iter().map(|shown| shown.event.clone());
        Some((events.collect(), head))
    }

    /// All rows that a table has of a space, or else how often rows have changed until now.
    pub fn rows(&self, table: &Table, space: &Space) -> Result<Arc<[Row]>, u64> {
        let cache = self.0.lock();
        let spaces = cache.tables.get(table.name);
        let rows = spaces.and_then(|spaces| spaces.get(space.as_str()));
        rows.cloned().ok_or(cache.changes)
    }

    /// Keeps all rows that a table has of a space as they were read, unless any have changed since `changes` was said.
    pub fn keep_rows(&self, table: &Table, space: &Space, changes: u64, rows: &Arc<[Row]>) {
        let mut cache = self.0.lock();
        if cache.changes == changes {
            let spaces = cache.tables.entry(table.name).or_default();
            if spaces.len() >= SPACES {
                spaces.clear();
            }
            spaces.insert(space.to_string(), rows.clone());
        }
    }

    /// A commit begins, with these events in the order of their seqs. It can be read in the database a moment before it is here.
    pub fn begins<'a>(&self, events: impl Iterator<Item = (&'a Space, Seq)>) {
        let mut cache = self.0.lock();
        for (space, seq) in events {
            cache.writing.entry(space.clone()).or_insert(seq - 1);
        }
    }

    /// Returns the end of a log before the commit under way; none: that does not make it longer, or
    /// there is none.
    pub fn before_commit(&self, space: &Space) -> Option<Seq> {
        self.0.lock().writing.get(space).copied()
    }

    /// Takes over the rows and events that were committed.
    pub fn take(&self, plan: &Plan) {
        let mut cache = self.0.lock();
        cache.writing.clear();
        if cache.heads.len() + plan.heads.len() > SPACES {
            cache.heads.clear();
        }
        for (space, position) in &plan.heads {
            match cache.heads.get_mut(space) {
                Some(head) => head.position = *position,
                None => cache.begin_age(space, *position),
            }
        }
        for (table, key) in plan.rows.single.keys() {
            if let (Some(spaces), Some(Cell::Text(space))) =
                (cache.tables.get_mut(table.name), key.first())
            {
                spaces.remove(space);
            }
            cache.changes += 1;
        }
        let mut events: HashMap<(&Space, &ThreadId), Vec<&Arc<Shown>>> = HashMap::new();
        for (space, shown) in plan.shown() {
            events
                .entry((space, &shown.event.thread))
                .or_default()
                .push(shown);
        }
        for (key, row) in &plan.rows.threads {
            let events = events.remove(&(&key.0, &key.1));
            cache.write(key, row, events.unwrap_or_default());
        }
    }

    /// After a commit that failed, perhaps, and after rows were made anew.
    pub fn forget(&self) {
        let mut cache = self.0.lock();
        *cache = Rows {
            changes: cache.changes + 1,
            ages: cache.ages,
            // These never change.
            forks: std::mem::take(&mut cache.forks),
            ..Rows::default()
        };
    }
}

impl Rows {
    fn keep_fork(&mut self, key: Key, fork: Option<Box<Fork>>) {
        if self.forks.len() >= FORKS {
            self.forks.clear();
        }
        self.forks.insert(key, fork);
    }

    fn begin_age(&mut self, space: &Space, position: Position) {
        self.ages += 1;
        let head = Head {
            position,
            age: self.ages,
            alone: false,
        };
        self.heads.insert(space.clone(), head);
    }

    fn thread(&self, key: &Key) -> Option<&Thread> {
        let young = self.young.threads.get(key);
        young.or_else(|| self.old.threads.get(key))
    }

    fn write(&mut self, key: &Key, row: &ThreadRow, events: Vec<&Arc<Shown>>) {
        let age = self.heads.get(&key.0).map_or(0, |head| head.age);
        if !self.forks.contains_key(key) {
            self.keep_fork(key.clone(), row.state.fork.clone());
        }
        let before = self.young.remove(key).or_else(|| self.old.remove(key));
        let row = row.clone();
        let since = events.first().map(|it| it.event.seq - 1);
        let thread = match before {
            Some(thread) => Thread { row, age, ..thread },
            None => Thread {
                since: since.unwrap_or(row.head),
                row,
                age,
                has_visible: false,
                events: VecDeque::new(),
                bytes: 0,
            },
        };
        if self.young.threads.len() >= THREADS || self.young.bytes >= BYTES {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key.clone(), thread.with(events));
    }
}

impl Generation {
    fn remove(&mut self, key: &Key) -> Option<Thread> {
        let thread = self.threads.remove(key)?;
        self.bytes -= thread.bytes;
        Some(thread)
    }

    fn insert(&mut self, key: Key, thread: Thread) {
        self.bytes += thread.bytes;
        self.threads.insert(key, thread);
    }
}

impl Thread {
    fn with(mut self, events: Vec<&Arc<Shown>>) -> Self {
        let is_public = |shown: &&Arc<Shown>| shown.event.visibility() >= Visibility::State;
        for shown in events.into_iter().filter(is_public) {
            self.bytes += shown.json.len();
            self.events.push_back(shown.clone());
        }
        while self.events.len() > EVENTS || (self.bytes > BYTES / 16 && self.events.len() > 1) {
            self.forget_oldest();
        }
        let is_visible = |shown: &&Arc<Shown>| shown.event.visibility() >= Visibility::Submodule;
        let visible = self.events.iter().filter(is_visible).count();
        self.has_visible = visible as u64 == self.row.visible;
        self
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= oldest.json.len();
            self.since = oldest.event.seq;
        }
    }

    fn page(&self, query: &Query) -> Option<Vec<Arc<Shown>>> {
        let limit = usize::try_from(query.limit.max(1)).unwrap_or(usize::MAX);
        let is_whole = query.after.unwrap_or(0) >= self.since
            || (self.has_visible && query.least() >= Visibility::Submodule);
        let events = self.events.iter();
        let asked = events.filter(|shown| query.matches(&shown.event)).cloned();
        let found: Vec<_> = match query.order {
            Order::Descending => asked.rev().take(limit).collect(),
            Order::Ascending if is_whole => asked.take(limit).collect(),
            Order::Ascending => return None,
        };
        (is_whole || found.len() == limit).then_some(found)
    }
}
