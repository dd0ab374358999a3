//! The past of a thread at the end of one of its turns: its events, by reference, and the state
//! that the thread was in there. The state comes from the thread's row where nothing has changed
//! it since; else it is folded from those events that change it, which the index finds.

use serde_json::Value;

use super::error::StoreError;
use super::kernel::Store;
use super::projections::contacts::ContactRow;
use super::query::{Order, Query, Show};
use super::thread_row::ThreadRow;
use super::thread_state::{Position, ThreadState};
use thinkd_event::envelope::{Event, Visibility, tag};
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Contact, Set};
use thinkd_event::fact::told::{News, Told};
use thinkd_event::fact::{corrected, summary, turn, withdrawn};
use thinkd_event::fork::{Forked, Range, clipped};
use thinkd_event::mood::Mood;
use thinkd_event::unshown::Back;
use thinkd_words::id::{Name, Seq, Space, ThreadId};

mod left;

/// Events of a page. Of the newest, one is read before the index is asked.
const PAGE: u32 = 64;
/// Events of a page of the fold.
const FOLDED: u32 = 500;

/// The tag of the event that clears a thread's view.
const CLEARED: &str = "context-cleared";
/// Tags of events that change the part of a thread's state that a fork begins with.
const CHANGES: [&str; 9] = [
    "set:thread",
    "set:plan",
    "set:tools",
    "set:contact",
    CLEARED,
    summary::TAG,
    corrected::TAG,
    withdrawn::TAG,
    tag::FAILURE,
];

/// The past of a thread.
#[derive(Debug, Clone)]
pub struct Past {
    /// The part of it that the first event of a fork says.
    pub forked: Forked,
    /// The settings of the thread.
    pub settings: Value,
    /// The contacts that the thread had.
    pub contacts: Vec<ContactRow>,
    /// Inputs of the past that were taken back behind its end: they stay so in a fork.
    pub taken_back: Vec<Back>,
}

/// The end of a turn.
struct End {
    seq: Seq,
    thread: ThreadId,
    turn: u64,
    mood: Option<Mood>,
    /// The events of the thread behind it; none: more than a page.
    since: Option<Vec<Event>>,
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the past of a thread at the last end of a turn up to a seq, without the events from
    /// one to another, if some are to be left out. Without such an end the past is empty.
    pub async fn past(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
        without: Option<(Seq, Seq)>,
    ) -> Result<Past, StoreError> {
        let Some(end) = self.last_end(space, row, at).await? else {
            return self.empty_past(space, row, at).await;
        };
        let other;
        let owner = match end.thread == row.thread {
            true => row,
            false => {
                other = self.owner(space, &end.thread).await?;
                &other
            }
        };
        let since = end.since.as_ref().filter(|_| end.thread == row.thread);
        let is_as_now = since.is_some_and(|since| !since.iter().any(changes));
        let (mut state, contacts) = match is_as_now {
            true => {
                let contacts = self.contacts(space, &owner.thread).await?;
                (owner.state.clone(), contacts)
            }
            false => self.folded(space, owner, end.seq).await?,
        };
        let mood = match end.mood {
            Some(mood) => Some(mood),
            None => self.last_mood(space, owner, end.seq).await?,
        };
        (state.mood, state.points) = (mood, mood.map_or(0, |mood| mood.seen));
        let mut position = match since {
            Some(since) => {
                let count = |least| since.iter().filter(|it| it.visibility() >= least).count();
                Position {
                    visible: row.visible - count(Visibility::Submodule) as u64,
                    heard: row.heard - count(Visibility::Heard) as u64,
                }
            }
            None => self.position(space, row, end.seq).await?,
        };
        if let Some((first, last)) = without {
            let left_out = between(&row.thread, first, last.min(end.seq));
            position = position.before(self.count(space, &left_out).await?);
        }
        let known: Vec<Seq> = state.unshown.back.iter().map(|back| back.input).collect();
        let mut taken_back = owner.state.unshown.back.clone();
        taken_back.extend(&row.state.unshown.back);
        taken_back.retain(|back| back.input <= end.seq && !known.contains(&back.input));
        taken_back.sort_unstable_by_key(|back| back.input);
        taken_back.dedup_by_key(|back| back.input);
        if let Some((first, _)) = without {
            // They are made anew, without it.
            let kept = state.summaries.iter().position(|it| it.covers.to >= first);
            state.summaries.truncate(kept.unwrap_or(usize::MAX));
        }
        let is_left_as_now = since.is_some_and(|since| !since.iter().any(left::tells));
        let left = match is_left_as_now {
            true => self.left_now(space, owner).await?,
            false => self.left_by(space, owner, end.seq).await?,
        };
        let before = row.state.fork.as_deref();
        let mut ranges = before.map_or(Vec::new(), |fork| fork.ranges.clone());
        ranges.push(Range {
            thread: row.thread.clone(),
            from: before.map_or(1, |fork| fork.begins),
            to: Seq::MAX,
        });
        let state = serde_json::to_value(state.inherited());
        let forked = Forked {
            from: owner.thread.clone(),
            at: end.seq,
            ranges: clipped(&ranges, end.seq, without),
            turn: end.turn,
            visible: position.visible,
            heard: position.heard,
            left: left.into_iter().map(str::to_owned).collect(),
            // Made of maps with string keys: this cannot fail.
            state: state.unwrap_or_default(),
        };
        Ok(Past {
            forked,
            settings: owner.settings.clone(),
            contacts,
            taken_back,
        })
    }

    /// Returns the past of a thread before the first end of a turn: nothing but the contacts.
    async fn empty_past(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<Past, StoreError> {
        let fork = row.state.fork.as_deref();
        // Before a fork's first range nothing is its own.
        let first = fork.map(|fork| {
            let range = fork.ranges.first();
            range.map_or(&fork.from, |range| &range.thread)
        });
        let other;
        let owner = match first {
            Some(first) => {
                other = self.owner(space, first).await?;
                &other
            }
            None => row,
        };
        let (_, contacts) = self.folded(space, owner, at.min(row.head)).await?;
        let forked = Forked {
            from: owner.thread.clone(),
            ..Forked::default()
        };
        Ok(Past {
            forked,
            settings: owner.settings.clone(),
            contacts,
            taken_back: Vec::new(),
        })
    }

    /// Returns the row of a thread that has events.
    async fn owner(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, StoreError> {
        let gone = || StoreError::Broken(format!("the thread {thread} has events and no row"));
        self.thread(space, thread).await?.ok_or_else(gone)
    }

    /// Returns the mood in which the last turns up to a seq left a thread; none: moods were off.
    async fn last_mood(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<Option<Mood>, StoreError> {
        let ends = Query {
            limit: PAGE,
            ..ends(&row.thread, at)
        };
        let ends = self.events(space, &ends).await?;
        Ok(ends.iter().find_map(|event| end_of(event)?.mood))
    }

    /// Returns the last end of a turn up to a seq: one of the newest events of the thread, or else
    /// by the index.
    async fn last_end(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<Option<End>, StoreError> {
        let newest = Query {
            thread: Some(row.thread.clone()),
            before: Some(row.head + 1),
            show: Show::All,
            order: Order::Descending,
            limit: PAGE,
            ..Query::default()
        };
        let mut newest_events = self.events(space, &newest).await?;
        let is_end = |event: &Event| event.seq <= at && end_of(event).is_some();
        if let Some(place) = newest_events.iter().position(is_end) {
            let event = newest_events.remove(place);
            newest_events.truncate(place);
            return Ok(end_of(&event).map(|end| End {
                since: Some(newest_events),
                ..end
            }));
        }
        let ends = ends(&row.thread, at.min(row.head));
        Ok(self.events(space, &ends).await?.first().and_then(end_of))
    }

    /// Returns the state of a thread and its contacts as they were at a seq, as far as a fork
    /// begins with them.
    async fn folded(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<(ThreadState, Vec<ContactRow>), StoreError> {
        let begins = row.state.fork.as_ref().map_or(1, |fork| fork.begins);
        let own = Query {
            thread: Some(row.thread.clone()),
            after: Some(begins - 1),
            before: Some(at + 1),
            show: Show::All,
            ..Query::default()
        };
        // Of several such events the last one counts, but for summaries.
        let cleared = Query {
            tags: vec![CLEARED.to_owned()],
            limit: 1,
            ..own.clone()
        };
        let cleared = self.events(space, &cleared).await?.pop();
        let cleared = cleared.map_or(0, |event| event.seq);
        let mut folded = ThreadRow::first(&row.thread, row.created);
        let mut contacts: Vec<ContactRow> = Vec::new();
        let mut query = Query {
            tags: CHANGES.map(str::to_owned).into(),
            order: Order::Ascending,
            limit: FOLDED,
            ..own
        };
        loop {
            let page = self.events(space, &query).await?;
            for event in &page {
                let fact = event.fact();
                match &fact {
                    Fact::Told(Told {
                        news: News::Cleared { .. },
                        ..
                    }) if event.seq != cleared && folded.state.summaries.is_empty() => continue,
                    Fact::Told(_) => {
                        let position = self.position(space, row, event.seq - 1).await?;
                        (folded.visible, folded.heard) = (position.visible, position.heard);
                    }
                    Fact::Set(set) => take_contact(&mut contacts, set),
                    _ => {}
                }
                folded.apply(event, &fact);
            }
            match page.last() {
                Some(last) if page.len() == FOLDED as usize => query.after = Some(last.seq),
                _ => return Ok((folded.state, contacts)),
            }
        }
    }

    /// Returns the position in a thread behind a seq. The shorter side of the seq is counted.
    async fn position(
        &self,
        space: &Space,
        row: &ThreadRow,
        at: Seq,
    ) -> Result<Position, StoreError> {
        let first = Query {
            order: Order::Ascending,
            limit: 1,
            ..between(&row.thread, 1, at)
        };
        let first = self.events(space, &first).await?;
        let first = first.first().map_or(at, |event| event.seq);
        if row.head - at < at - first {
            let behind = between(&row.thread, at + 1, row.head);
            let now = Position {
                visible: row.visible,
                heard: row.heard,
            };
            return Ok(now.before(self.count(space, &behind).await?));
        }
        self.count(space, &between(&row.thread, 1, at)).await
    }
}

/// Returns the query for the last end of a turn up to a seq.
fn ends(thread: &ThreadId, at: Seq) -> Query {
    Query {
        thread: Some(thread.clone()),
        tags: [tag::TURN, tag::ENDED].map(str::to_owned).into(),
        all_tags: true,
        before: Some(at + 1),
        show: Show::All,
        limit: 1,
        ..Query::default()
    }
}

fn between(thread: &ThreadId, from: Seq, to: Seq) -> Query {
    Query {
        thread: Some(thread.clone()),
        after: Some(from - 1),
        before: Some(to + 1),
        show: Show::All,
        ..Query::default()
    }
}

/// Returns the end of a turn that an event says.
fn end_of(event: &Event) -> Option<End> {
    let Fact::TurnEnded(turn::Ended { turn, mood, .. }) = event.fact() else {
        return None;
    };
    Some(End {
        seq: event.seq,
        thread: event.thread.clone(),
        turn,
        mood,
        since: None,
    })
}

/// Returns true if an event may change the part of the state that a fork begins with.
fn changes(event: &Event) -> bool {
    CHANGES.iter().any(|tag| event.has(tag))
}

fn take_contact(contacts: &mut Vec<ContactRow>, set: &Set<'_>) {
    let (Change::Contact(contact), Ok(name)) = (&set.change, Name::parse(set.key)) else {
        return;
    };
    contacts.retain(|it| it.name != name);
    if let Some(Contact {
        thread,
        description,
    }) = contact
    {
        contacts.push(ContactRow {
            name,
            target: thread.clone(),
            description: description.clone(),
        });
    }
}
