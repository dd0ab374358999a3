//! The coverage of summaries: ranges of a thread's visible events, in order, none twice and none
//! left out between them. The row of a thread holds those that stand, and the next step is read
//! from it. Pure.

use serde::{Deserialize, Serialize};
use thinkd_facts::Members;

use thinkd_words::defaults::is_zero;
use thinkd_words::id::Seq;

/// So many summaries of a level stand beside each other; with one more the oldest so many are joined into one of the next level.
pub const GROUP: usize = 8;
/// Most summaries that stand for a thread, with those that could not be joined; the oldest goes.
const HELD_MAX: usize = 128;

/// The events that a summary stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
pub struct Covers {
    /// The first event that it stands for.
    pub from: Seq,
    /// The last event that it stands for.
    pub to: Seq,
    /// So many characters of the first event's entry are another summary's.
    #[fact(optional)]
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skip: u64,
    /// The character of the last event's entry that it goes up to; absent: to the end of the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto: Option<u64>,
    /// The number of events, of those that a decision may see, before its first one in the thread.
    pub position: u64,
    /// The number of events that it is about.
    pub events: u64,
    /// 0: made from events; otherwise from summaries of the level below.
    pub level: u32,
}

/// A place between two characters of the events that a view could show of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// So many visible events stand wholly before it.
    pub position: u64,
    /// And so many characters of the next one.
    pub skip: u64,
}

impl Covers {
    /// Returns the place of its beginning.
    pub const fn begins(&self) -> Place {
        Place {
            position: self.position,
            skip: self.skip,
        }
    }

    /// Returns the place of its end.
    pub fn ends(&self) -> Place {
        let position = self.position + self.events;
        self.upto.map_or(Place { position, skip: 0 }, |skip| Place {
            position: position.saturating_sub(1),
            skip,
        })
    }

    /// Returns the range that summaries in a row stand for together; none: there are none.
    pub fn joined(row: &[Held]) -> Option<Self> {
        let first = &row.first()?.covers;
        let last = &row.last()?.covers;
        Some(Self {
            to: last.to,
            upto: last.upto,
            events: last.position + last.events - first.position,
            level: row.iter().map(|held| held.covers.level).max()? + 1,
            ..first.clone()
        })
    }
}

/// A summary that stands for its range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The event that is the summary.
    pub seq: Seq,
    /// The range.
    #[serde(flatten)]
    pub covers: Covers,
}

/// A summary that was made, and those that it takes the place of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// The summary.
    pub held: Held,
    /// The seqs of the summaries that it joins; none: it was made from events.
    pub joins: Vec<Seq>,
}

/// Takes in a summary: one that goes on where the last one ends, or that joins some in a row. One
/// that was overtaken meanwhile (the view was cleared) stands for nothing.
pub fn take(all: &mut Vec<Held>, made: &Made, cleared: u64) {
    let Made { held, joins } = made;
    if held.covers.position < cleared {
        return;
    }
    let goes_on = |last: &Held| last.covers.ends() == held.covers.begins();
    if joins.is_empty() {
        if all.last().is_none_or(goes_on) {
            all.push(held.clone());
        }
    } else if let Some(at) = all.iter().position(|it| it.seq == joins[0]) {
        let row = all.get(at..at + joins.len()).unwrap_or_default();
        if row.iter().map(|it| it.seq).eq(joins.iter().copied()) {
            all.splice(at..at + joins.len(), [held.clone()]);
        }
    }
    all.drain(..all.len().saturating_sub(HELD_MAX));
}

/// Forgets the summaries of events that are not shown any more: so many of the first, and those
/// across that line.
pub fn clear(all: &mut Vec<Held>, cleared: u64) {
    all.retain(|held| held.covers.position >= cleared);
}

/// Returns the place where reading goes on for the next summary, if all before `target` is to be
/// summed up; none: it is. `back`: how far back the first summary of a thread goes, in visible
/// events.
pub fn goes_on(all: &[Held], cleared: u64, target: u64, back: u64) -> Option<Place> {
    let first = || Place {
        position: cleared.max(target.saturating_sub(back)),
        skip: 0,
    };
    let place = all.last().map_or_else(first, |last| last.covers.ends());
    (place.position < target).then_some(place)
}

/// The summaries that are to be joined next: the oldest of the lowest level that has too many.
pub fn to_join(all: &[Held]) -> Option<&[Held]> {
    let levels = all.iter().map(|held| held.covers.level);
    (0..=levels.max()?).find_map(|level| {
        // Older ones have higher levels: those of one level stand beside each other.
        let is_of_it = |held: &Held| held.covers.level == level;
        let from = &all[all.iter().position(is_of_it)?..];
        let count = from.iter().take_while(|held| is_of_it(held)).count();
        (count > GROUP).then(|| &from[..GROUP])
    })
}
