//! The writes of one transaction. Drafts become events, at their places in the log, and rows; a
//! draft that is known, stale or in conflict is answered as such. Pure: `append.rs` decides the
//! time of the write, and the databases do it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::Found;
use super::condition::Before;
use crate::appended::{Append, Appended, Placed};
use crate::change::Project;
use crate::error::StoreError;
use crate::fence::Fence;
use crate::head::Position;
use crate::rows::Rows;
use crate::shown::{Shown, raw, shown, shown_with};
use crate::writes::{EventRow, Writes};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, Meta};
use thinkd_words::id::Space;
use thinkd_words::time::Timestamp;

/// A draft that has its id and its payload as it will be stored.
#[derive(Debug)]
pub(super) struct Ready {
    pub id: Uuid,
    pub given: bool,
    /// True if an earlier try of the same append may have written it: its outcome is unknown.
    tried: AtomicBool,
    payload: Box<RawValue>,
    pub draft: Draft,
}

#[derive(Debug)]
pub(super) struct Item {
    pub space: Space,
    pub drafts: Vec<Ready>,
    pub bytes: usize,
    pub fence: Option<Fence>,
    pub release: bool,
    pub answer: oneshot::Sender<Result<Appended, StoreError>>,
}

impl Item {
    pub fn new(
        append: Append,
        answer: oneshot::Sender<Result<Appended, StoreError>>,
    ) -> Result<Self, StoreError> {
        let mut bytes = 0;
        let mut drafts = Vec::with_capacity(append.drafts.len());
        for draft in append.drafts {
            let (draft, payload) = storable(draft)?;
            bytes += payload.get().len();
            // Every draft gets its id before the first try, so that a second one finds what the first one may have stored.
            let given = draft.event_id.is_some();
            let id = draft.event_id.unwrap_or_else(thinkd_words::id::fresh);
            drafts.push(Ready {
                id,
                given,
                tried: AtomicBool::new(false),
                payload,
                draft,
            });
        }
        Ok(Self {
            space: append.space,
            drafts,
            bytes,
            fence: append.fence,
            release: append.release,
            answer,
        })
    }
}

/// Returns a draft and its payload as JSON, without NUL: terms and rows with one could not be
/// stored everywhere.
fn storable(draft: Draft) -> Result<(Draft, Box<RawValue>), StoreError> {
    let payload = raw(&draft.payload)?;
    if !payload.get().contains("\\u0000") && !draft.tags.iter().any(|tag| tag.contains('\0')) {
        return Ok((draft, payload));
    }
    let draft = draft.without_nul();
    let payload = raw(&draft.payload)?;
    Ok((draft, payload))
}

pub(super) fn drafts(group: &[Item]) -> impl Iterator<Item = (&Space, &Ready)> {
    group
        .iter()
        .flat_map(|item| item.drafts.iter().map(move |ready| (&item.space, ready)))
}

/// An event to be written.
pub(super) struct Written {
    pub space: Space,
    pub shown: Arc<Shown>,
    payload: Box<RawValue>,
}

impl Written {
    fn row(&self) -> Result<EventRow<'_>, StoreError> {
        EventRow::of(&self.space, &self.shown.event, self.payload.get())
    }
}

/// Everything one transaction writes.
pub(crate) struct Plan {
    events: Vec<Written>,
    /// Events that an earlier try of their append has written: followers were not told of them.
    found: Vec<(Space, Arc<Shown>)>,
    pub rows: Rows,
    pub heads: BTreeMap<Space, Position>,
    pub released: Vec<Fence>,
    held: HashSet<Fence>,
    before: Before,
    now: Timestamp,
    known: HashMap<(Space, Uuid), Arc<Shown>>,
    pub(super) outcomes: Vec<Result<Appended, StoreError>>,
}

impl Plan {
    /// The last event that it writes, and its space.
    pub fn last(&self) -> Option<(&Space, &Event)> {
        let written = self.events.last()?;
        Some((&written.space, &written.shown.event))
    }

    pub(super) fn new(found: Found, before: Before, now: Timestamp) -> Result<Self, StoreError> {
        let known = found.events.into_iter();
        let known = known.map(|(space, event)| Ok(((space, event.event_id), shown(event)?)));
        Ok(Self {
            events: Vec::new(),
            found: Vec::new(),
            rows: Rows {
                threads: found.threads,
                ..Rows::default()
            },
            heads: found.heads,
            released: Vec::new(),
            held: found.held,
            before,
            now,
            known: known.collect::<Result<_, StoreError>>()?,
            outcomes: Vec::new(),
        })
    }

    /// The rows of all that has bulk: everything but the rows of projections.
    pub fn writes(&self) -> Result<Writes<'_>, StoreError> {
        let events = self.events.iter().map(Written::row);
        let mut writes = Writes {
            events: events.collect::<Result<_, _>>()?,
            ..Writes::of(&self.heads, &self.rows)
        };
        writes.post(self.events.iter().map(|it| (&it.space, &it.shown.event)));
        Ok(writes)
    }

    /// The events, each with its space, in the order of their seqs.
    pub fn shown(&self) -> impl Iterator<Item = (&Space, &Arc<Shown>)> {
        let events = self.events.iter();
        events.map(|written| (&written.space, &written.shown))
    }

    /// Everything that is to be told, each with its space, in the order of their seqs.
    pub(super) fn news(&self) -> impl Iterator<Item = (&Space, &Arc<Shown>)> {
        let found = self.found.iter().map(|(space, shown)| (space, shown));
        found.chain(self.shown())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.released.is_empty()
    }

    pub(super) fn refuses_nothing(&self) -> bool {
        self.outcomes
            .iter()
            .all(|outcome| matches!(outcome, Ok(Appended::Stored(_))))
    }

    pub(super) fn add(&mut self, item: &Item, project: Project) -> Result<(), StoreError> {
        let outcome = match self.refusal(item) {
            Some(refusal) => refusal,
            None => {
                if item.release {
                    self.released.extend(item.fence.clone());
                }
                let drafts = item.drafts.iter();
                let placed = drafts.map(|ready| self.place(&item.space, ready, project));
                Ok(Appended::Stored(placed.collect::<Result<_, _>>()?))
            }
        };
        self.outcomes.push(outcome);
        Ok(())
    }

    /// Why nothing of an append is stored, if so.
    fn refusal(&self, item: &Item) -> Option<Result<Appended, StoreError>> {
        let mut own: HashMap<Uuid, &Draft> = HashMap::new();
        let mut fresh = false;
        let mut unmet = None;
        for ready in &item.drafts {
            match self.known.get(&(item.space.clone(), ready.id)) {
                Some(first) if !is_same(&first.event, &ready.draft) => {
                    return Some(Err(StoreError::Conflict(ready.id)));
                }
                Some(_) => {}
                None => {
                    fresh = true;
                    unmet = unmet.or(self.before.unmet(&self.rows, &item.space, &ready.draft));
                }
            }
            let first = own.insert(ready.id, &ready.draft);
            if first.is_some_and(|first| !is_like(first, &ready.draft)) {
                return Some(Err(StoreError::Conflict(ready.id)));
            }
        }
        // An append that is stored as a whole already is answered as such, even when its lease went with it.
        let is_lost = |it: &Fence| !self.held.contains(it) || self.released.contains(it);
        let stale = item.fence.as_ref().is_some_and(is_lost);
        if stale && (fresh || item.drafts.is_empty()) {
            return Some(Ok(Appended::Stale));
        }
        unmet.map(|condition| Err(StoreError::Unmet(condition)))
    }

    fn place(
        &mut self,
        space: &Space,
        ready: &Ready,
        project: Project,
    ) -> Result<Placed, StoreError> {
        if let Some(first) = self.known.get(&(space.clone(), ready.id)) {
            let shown = first.clone();
            // Who appends it hears of one try: that it was stored.
            let ours = ready.tried.swap(false, Ordering::Relaxed);
            if ours {
                self.found.push((space.clone(), shown.clone()));
            }
            return Ok(Placed {
                shown,
                duplicate: !ours,
            });
        }
        ready.tried.store(true, Ordering::Relaxed);
        let head = self.heads.entry(space.clone()).or_insert(Position {
            seq: 0,
            ts: self.now,
        });
        *head = Position {
            seq: head.seq + 1,
            ts: head.ts.max(self.now),
        };
        let event = ready.stamped(*head);
        self.rows.apply(space, &event, project);
        let shown = shown_with(event, &ready.payload)?;
        self.known.insert((space.clone(), ready.id), shown.clone());
        self.events.push(Written {
            space: space.clone(),
            shown: shown.clone(),
            payload: ready.payload.clone(),
        });
        Ok(Placed {
            shown,
            duplicate: false,
        })
    }
}

impl Ready {
    /// Notes that the first try wrote nothing, as is known: an event with its id belongs to another
    /// append.
    pub fn untried(&self) {
        self.tried.store(false, Ordering::Relaxed);
    }

    fn stamped(&self, at: Position) -> Event {
        let draft = &self.draft;
        Event {
            event_id: self.id,
            ts: at.ts,
            source: draft.source,
            modality: draft.modality,
            payload: draft.payload.clone(),
            meta: Meta {
                tags: draft.tags.clone(),
            },
            thread: draft.thread.clone(),
            seq: at.seq,
        }
    }
}

fn is_same(event: &Event, draft: &Draft) -> bool {
    event.thread == draft.thread
        && event.source == draft.source
        && event.modality == draft.modality
        && event.payload == draft.payload
        && event.meta.tags == draft.tags
}

fn is_like(a: &Draft, b: &Draft) -> bool {
    a.thread == b.thread
        && a.source == b.source
        && a.modality == b.modality
        && a.payload == b.payload
        && a.tags == b.tags
}
