//! The size of a view: how many bytes of the log it holds, and where it begins so that it holds no more.

use std::sync::Arc;

use super::{Entry, Lengths, Options};
use thinkd_event::envelope::Event;
use thinkd_model::prompt::Prompts;

/// Fewest bytes that an entry is shortened to, however little room there is.
const ENTRY_MIN: usize = 256;

/// Returns the fewest bytes of a view that an event takes with these settings: as short as it is
/// ever made.
pub fn least(event: &Event, options: &Options, prompts: &Prompts) -> usize {
    let lengths = Lengths {
        event_chars: options.event_chars,
        entry_bytes: ENTRY_MIN,
    };
    Entry::of(event, lengths, prompts).written()
}

/// Returns the index of the entry with which a view begins that may take `bytes`, by the sizes of
/// all entries. The first of them stands at `position` in its thread.
pub fn begin(sizes: &[usize], position: u64, block: u64, bytes: usize, kept: usize) -> usize {
    let holds = |most: usize| sizes.len() - newest(sizes.iter().copied(), most);
    let full = holds(bytes);
    if full == 0 || full >= kept {
        return full.min(kept);
    }
    let half = holds(bytes / 2).min(kept);
    let round = |grain: u64| (position + full as u64).next_multiple_of(grain) - position;
    let grains = std::iter::successors(Some(block.clamp(1, 1 << 40) << 16), |grain| {
        (*grain > 1).then_some(grain / 2)
    });
    let begins = grains.map(round).find(|at| *at <= half as u64);
    begins
        .and_then(|at| usize::try_from(at).ok())
        .unwrap_or(full)
}

/// Returns how many of these sizes, from the last backwards, take at most `most` together.
pub(super) fn newest(sizes: impl DoubleEndedIterator<Item = usize>, most: usize) -> usize {
    let mut sum = 0;
    let fits = sizes.rev().take_while(|size| {
        sum += size;
        sum <= most
    });
    fits.count()
}

/// The contents of a view that has no room for all that it is about and all that came since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// So many of the newest.
    pub newest: usize,
    /// The limits of entries.
    pub lengths: Lengths,
}

/// Fits the entries that a view is about, and the newest of those since, into `bytes`. The entries
/// that it is about are all there, shortened if they must be, and have half of the view if they
/// need so much. They have more only if they are too many for half at their shortest. The newest
/// entry is always there.
pub fn fit(about: &[Arc<Entry>], since: &[Arc<Entry>], lengths: Lengths, bytes: usize) -> Fit {
    let at_most = |entries: &[Arc<Entry>], most: usize| {
        entries.iter().map(|it| it.at_most(most)).sum::<usize>()
    };
    let share = at_most(about, usize::MAX).min((bytes / 2).max(at_most(about, ENTRY_MIN)));
    let sizes = since.iter().map(|entry| entry.written());
    let newest = newest(sizes, bytes.saturating_sub(share));
    let newest = newest.max(since.len().min(1));
    let kept = &since[since.len() - newest..];
    let mut entry_bytes = lengths.entry_bytes;
    while at_most(about, entry_bytes) + at_most(kept, entry_bytes) > bytes
        && entry_bytes > ENTRY_MIN
    {
        entry_bytes = (entry_bytes / 2).max(ENTRY_MIN);
    }
    Fit {
        newest,
        lengths: Lengths {
            entry_bytes,
            ..lengths
        },
    }
}
