//! Rows on their way into a database.

use std::collections::BTreeMap;

use super::change::Spent;
use super::error::StoreError;
use super::head::Position;
use super::rows::Rows;
use super::shown::json;
use super::thread_row::ThreadRow;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};

/// An event as its row has it.
pub(super) struct EventRow<'a> {
    pub space: &'a Space,
    pub event: &'a Event,
    pub payload: &'a str,
    pub tags: String,
}

impl<'a> EventRow<'a> {
    pub fn of(space: &'a Space, event: &'a Event, payload: &'a str) -> Result<Self, StoreError> {
        Ok(Self {
            space,
            event,
            payload,
            tags: json(&event.meta.tags)?,
        })
    }
}

/// Rows that are written together.
#[derive(Default)]
pub(super) struct Writes<'a> {
    pub heads: Vec<(&'a Space, Position)>,
    pub events: Vec<EventRow<'a>>,
    /// The events that go into mailboxes.
    pub mail: Vec<(&'a Space, &'a ThreadId, Seq)>,
    pub threads: Vec<(&'a Space, &'a ThreadRow)>,
    /// The usage that is added to the sums of roots.
    pub roots: Vec<(&'a Space, Seq, Spent)>,
}

impl<'a> Writes<'a> {
    /// Rows that were derived, and where the logs end.
    pub fn of(heads: &'a BTreeMap<Space, Position>, rows: &'a Rows) -> Self {
        let threads = rows.threads.iter().map(|((space, _), row)| (space, row));
        let roots = rows.roots.iter();
        Self {
            heads: heads.iter().map(|(space, head)| (space, *head)).collect(),
            threads: threads.collect(),
            roots: roots
                .map(|((space, root), spent)| (space, *root, *spent))
                .collect(),
            ..Self::default()
        }
    }

    /// The events that wake a thread go into its mailbox.
    pub fn post(&mut self, events: impl Iterator<Item = (&'a Space, &'a Event)>) {
        let mail = events
            .filter(|(_, event)| event.wakes())
            .map(|(space, event)| (space, &event.thread, event.seq));
        self.mail.extend(mail);
    }
}
