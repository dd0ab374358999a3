//! Rows derived from events: the one fold behind every append and every rebuild. Pure; the databases only keep the rows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::change::{Change, Spent, ThreadChange};
use super::standing::{ContactRow, Standing, TimerRow};
use super::store::{Entry, Project, Status, SubmoduleRow, ThreadRow, Unread};
use crate::event::envelope::Event;
use crate::words::id::{Name, Seq, Space, ThreadId};
use crate::words::time::Timestamp;

/// Rows as they are to be; `None`: the row is to go.
#[derive(Debug, Default)]
pub struct Rows {
    /// Threads.
    pub threads: BTreeMap<(Space, ThreadId), ThreadRow>,
    /// Submodules.
    pub submodules: BTreeMap<(Space, Name), Option<SubmoduleRow>>,
    /// State entries.
    pub entries: BTreeMap<(Space, String), Option<Entry>>,
    /// Contacts, by space, thread and name.
    pub contacts: BTreeMap<(Space, ThreadId, Name), Option<ContactRow>>,
    /// Timers, by space, thread and name.
    pub timers: BTreeMap<(Space, ThreadId, String), Option<TimerRow>>,
    /// What is used up, by space and root; by `SPACE` what the whole space has used. What these events add to it: it need not
    /// be read to be written.
    pub roots: BTreeMap<(Space, Seq), Spent>,
    /// Changes that cannot be read and were not followed by one that can.
    pub unreadable: Vec<Unread>,
}

/// A log may have been written by a server that took NUL; the columns of a row cannot hold it everywhere.
fn clean(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

fn copy<K: Ord, V: Clone>(to: &mut BTreeMap<K, V>, from: &BTreeMap<K, V>, key: K) {
    if let Some(row) = from.get(&key) {
        to.insert(key, row.clone());
    }
}

/// In the place of a root: no event has these seqs. What a space has used and how many threads have begun in it; how many have ended.
pub(super) const SPACE: Seq = 0;
pub(super) const ENDED: Seq = -1;
const ONE: Spent = Spent { calls: 0, tokens: 0, threads: 1 };

impl Rows {
    /// The rows after one more event.
    pub fn apply(&mut self, space: &Space, event: &Event, project: Project) {
        let (thread, other) = project(event);
        self.apply_to_thread(space, event, thread);
        if let Some(change) = &other {
            self.supersede(space, &event.thread, change);
        }
        match other {
            Some(Change::Unreadable { kind, key }) => {
                self.unreadable.push(Unread {
                    space: space.clone(),
                    thread: event.thread.clone(),
                    seq: event.seq,
                    kind,
                    key,
                });
            }
            Some(Change::Submodule { name, prompt }) => {
                let row =
                    prompt.map(clean).map(|prompt| SubmoduleRow { name: name.clone(), prompt, updated: event.ts });
                self.submodules.insert((space.clone(), name), row);
            }
            Some(Change::Entry { key, value }) => {
                let key = clean(key);
                let row = value.map(|(content, related_keys, owner)| Entry {
                    key: key.clone(),
                    content: clean(content),
                    related_keys: related_keys.into_iter().map(clean).collect(),
                    owner: clean(owner),
                    updated: event.ts,
                });
                self.entries.insert((space.clone(), key), row);
            }
            Some(Change::Contact { name, value }) => {
                let row = value.map(|(target, description)| ContactRow {
                    name: name.clone(),
                    target,
                    description: clean(description),
                });
                self.contacts.insert((space.clone(), event.thread.clone(), name), row);
            }
            Some(Change::Timer { name, value }) => {
                let name = clean(name);
                let (space, thread) = (space.clone(), event.thread.clone());
                let row = value.map(|(due, note, root)| TimerRow {
                    space: space.clone(),
                    thread: thread.clone(),
                    name: name.clone(),
                    due,
                    note: clean(note),
                    root,
                });
                self.timers.insert((space, thread, name), row);
            }
            Some(Change::Spent { root, spent }) => {
                let all = Spent { threads: 0, ..spent };
                let sums = [(Some(SPACE), all), (root, spent)].into_iter();
                for (root, spent) in sums.filter_map(|(root, spent)| Some((root?, spent))) {
                    if spent != Spent::default() {
                        self.add(space, root, spent);
                    }
                }
            }
            None => {}
        }
    }
}

impl Rows {
    fn apply_to_thread(&mut self, space: &Space, event: &Event, change: ThreadChange) {
        let mut is_new = false;
        let row = self.threads.entry((space.clone(), event.thread.clone())).or_insert_with(|| {
            is_new = true;
            ThreadRow::first(&event.thread, event.ts)
        });
        let had_ended = row.status.is_final();
        row.take(change, event.seq, event.ts);
        let has_ended = row.status.is_final() && !had_ended;
        if is_new {
            self.add(space, SPACE, ONE);
        }
        if has_ended {
            self.add(space, ENDED, ONE);
        }
    }

    fn add(&mut self, space: &Space, root: Seq, spent: Spent) {
        let sum = self.roots.entry((space.clone(), root)).or_default();
        *sum = sum.with(spent, u64::saturating_add);
    }

    /// How many threads of a space begin here.
    pub fn begun(&self, space: &Space) -> u64 {
        self.roots.get(&(space.clone(), SPACE)).map_or(0, |spent| spent.threads)
    }

    /// How many end.
    pub fn ended(&self, space: &Space) -> u64 {
        self.roots.get(&(space.clone(), ENDED)).map_or(0, |spent| spent.threads)
    }

    /// What could not be read before does not matter any more.
    fn supersede(&mut self, space: &Space, thread: &ThreadId, change: &Change) {
        let (kind, key, of_thread) = match change {
            Change::Submodule { name, .. } => ("submodule", name.as_str(), false),
            Change::Entry { key, .. } => ("entry", key.as_str(), false),
            Change::Contact { name, .. } => ("contact", name.as_str(), true),
            Change::Timer { name, .. } => ("timer", name.as_str(), true),
            Change::Unreadable { kind, key } => {
                (kind.as_str(), key.as_str(), !matches!(kind.as_str(), "submodule" | "entry"))
            }
            // A sum: it has no form that could be unknown.
            Change::Spent { .. } => return,
        };
        self.unreadable
            .retain(|it| it.space != *space || it.kind != kind || it.key != key || (of_thread && it.thread != *thread));
    }

    /// Where the last change cannot be read, the row is what it is there.
    pub fn keep(&mut self, there: &Self) {
        for Unread { space, thread, kind, key, .. } in &self.unreadable {
            let (space, thread) = (space.clone(), thread.clone());
            match (kind.as_str(), Name::parse(key)) {
                ("submodule", Ok(name)) => copy(&mut self.submodules, &there.submodules, (space, name)),
                ("contact", Ok(name)) => copy(&mut self.contacts, &there.contacts, (space, thread, name)),
                ("entry", _) => copy(&mut self.entries, &there.entries, (space, key.clone())),
                ("timer", _) => copy(&mut self.timers, &there.timers, (space, thread, key.clone())),
                _ => {}
            }
        }
    }

    /// Whether there are rows that are written one by one.
    pub fn has_single(&self) -> bool {
        !(self.submodules.is_empty() && self.entries.is_empty() && self.contacts.is_empty() && self.timers.is_empty())
    }
}

impl ThreadRow {
    fn first(thread: &ThreadId, ts: Timestamp) -> Self {
        Self {
            thread: thread.clone(),
            settings: Value::Object(Map::new()),
            status: Status::Idle,
            head: 0,
            woken: 0,
            handled: 0,
            turn: 0,
            visible: 0,
            heard: 0,
            self_messages: 0,
            model_calls: 0,
            tokens: 0,
            standing: Standing::default(),
            created: ts,
            updated: ts,
        }
    }

    fn take(&mut self, mut change: ThreadChange, seq: Seq, ts: Timestamp) {
        if let Some(settings) = change.settings.take() {
            self.settings = settings;
        }
        // What has ended stays ended, whatever its last turn still writes.
        if !self.status.is_final() {
            self.status = change.status.unwrap_or(self.status);
        }
        self.woken = change.woken.unwrap_or(self.woken);
        self.handled = change.handled.unwrap_or(self.handled);
        self.turn = change.turn.unwrap_or(self.turn);
        self.stand(&change, seq);
        self.visible += change.visible;
        self.heard += change.heard;
        if change.from_outside || change.from_others {
            self.self_messages = 0;
        }
        self.self_messages += change.self_messages;
        self.model_calls += change.model_calls;
        self.tokens += change.tokens;
        self.head = seq;
        self.updated = ts;
    }
}
