//! The summaries of a view, which stand for events that it does not show; and the pieces that are read to make them: each is so large at most,
//! and they are disjoint, down to the characters of a long entry.

use std::sync::Arc;

use super::size::newest;
use super::writing::write_indented;
use super::{Block, Entry, Omitted, joined};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::summary::{Covers, Place};
use thinkd_model::prompt::Prompts;
use thinkd_words::id::Seq;

/// The part of its entries that a view shows: the first without some characters, the last only up
/// to a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slice {
    /// Characters of the first entry that are left out.
    pub skip: u64,
    /// The character at which the last entry is cut off; none: the entry is whole.
    pub upto: Option<u64>,
}

impl Slice {
    /// Returns true if it leaves nothing out.
    pub fn is_whole(self) -> bool {
        self == Self::default()
    }

    /// The entries as a view shows them.
    pub fn of(self, entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
        let mut entries = entries.to_vec();
        let with = |entry: &Entry, line: String| {
            let entry = entry.clone();
            Arc::new(Entry { line, ..entry })
        };
        // The end first: it counts from the beginning of its entry.
        if let (Some(upto), Some(last)) = (self.upto, entries.last_mut()) {
            *last = with(last, format!("{}…", &last.line[..at(&last.line, upto)]));
        }
        if let Some(first) = entries.first_mut().filter(|_| self.skip > 0) {
            let rest = &first.line[at(&first.line, self.skip)..];
            *first = with(first, format!("#{} (continued): …{rest}", first.seq));
        }
        entries
    }
}

/// The byte at which a character begins.
fn at(text: &str, char: u64) -> usize {
    let char = usize::try_from(char).unwrap_or(usize::MAX);
    let at = text.char_indices().nth(char);
    at.map_or(text.len(), |(at, _)| at)
}

/// Returns the number of entries in the next piece, at most `events` and of `bytes`, and the
/// character at which it cuts off the last one. Of the first entry `skip` characters were read
/// already. An entry that is longer by itself is read in several pieces.
pub fn piece(
    entries: &[Arc<Entry>],
    skip: u64,
    bytes: usize,
    events: usize,
) -> (usize, Option<u64>) {
    let Some(first) = entries.first() else {
        return (0, None);
    };
    let rest = &first.line[at(&first.line, skip)..];
    if rest.len() > bytes {
        let fits = rest.floor_char_boundary(bytes);
        // A piece is never empty, whatever a character takes.
        let chars = rest[..fits].chars().count().max(1) as u64;
        return (1, Some(skip + chars));
    }
    let mut sum = rest.len() + 1;
    let more = entries[1..].iter().take_while(|entry| {
        sum += entry.written();
        sum <= bytes
    });
    ((1 + more.count()).min(events.max(1)), None)
}

/// A summary as views show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its position.
    pub seq: Seq,
    /// The events that it stands for.
    pub covers: Covers,
    line: String,
}

impl Summary {
    /// Writes a summary; none: the event is none.
    pub fn of(event: &Event) -> Option<Self> {
        let Fact::Summary(summary) = event.fact() else {
            return None;
        };
        let covers = &summary.covers;
        let mut line = format!("#{}", covers.from);
        if covers.skip > 0 {
            line += &format!(" from character {}", covers.skip + 1);
        }
        line += &format!(" to #{}", covers.to);
        if let Some(upto) = covers.upto {
            line += &format!(" up to character {upto}");
        }
        line += " [summary]: ";
        write_indented(summary.text, &mut line);
        line.push('\n');
        Some(Self {
            seq: event.seq,
            covers: summary.covers,
            line,
        })
    }

    /// Returns the bytes of a view that it takes.
    pub fn written(&self) -> usize {
        self.line.len()
    }
}

/// The newest of these summaries that take at most `bytes`: they go without a gap up to the last one.
pub fn fitting(summaries: Vec<Arc<Summary>>, bytes: usize) -> Vec<Arc<Summary>> {
    let fits = newest(summaries.iter().map(|it| it.written()), bytes);
    summaries[summaries.len() - fits..].to_vec()
}

/// Returns a transcript after the summaries of the events before it. Events that neither has are
/// mentioned at the place where they are missing.
pub fn summed(
    summaries: &[Arc<Summary>],
    entries: &[Arc<Entry>],
    omitted: Omitted,
    media: usize,
    prompts: &Prompts,
) -> Vec<Block> {
    if summaries.is_empty() {
        return joined(entries, omitted, media, prompts);
    }
    let mut text = format!("{}\n", prompts.view_summed.source().as_str());
    let mut left = omitted.count;
    // So many of the first events are summed up whole, or said to be left out.
    let mut told = 0;
    let mut next = Place {
        position: 0,
        skip: 0,
    };
    for summary in summaries {
        let begins = summary.covers.begins();
        let ends = summary.covers.ends();
        // An event of which the beginning is missing is missing.
        let whole = if begins == next {
            told
        } else {
            begins.position + u64::from(begins.skip > 0)
        };
        let gap = whole.saturating_sub(told).min(left);
        if gap > 0 {
            text.push_str(&prompts.view_omitted.fill(&[("count", &gap.to_string())]));
            text.push('\n');
        }
        text.push_str(&summary.line);
        let upto = whole.max(ends.position);
        left = left.saturating_sub(upto.saturating_sub(told));
        (told, next) = (upto.max(told), ends);
    }
    let mut blocks = vec![Block::Text(text)];
    let omitted = Omitted {
        count: left,
        ..omitted
    };
    blocks.extend(joined(entries, omitted, media, prompts));
    blocks
}
