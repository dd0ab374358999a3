//! The size of a view: how many bytes of the log it holds, and where it begins so that it holds no more.

use std::sync::Arc;

use super::{Entry, Lengths, Options};
use thinkd_event::envelope::Event;
use thinkd_model::prompt::Prompts;

/// An entry is not made shorter than this, whatever must fit.
const ENTRY_MIN: usize = 256;

/// How many bytes of a view an event takes at least, with these settings: as short as it is ever made.
pub fn least(event: &Event, options: &Options, prompts: &Prompts) -> usize {
    let lengths = Lengths {
        event_chars: options.event_chars,
        entry_bytes: ENTRY_MIN,
    };
    Entry::of(event, lengths, prompts).written()
}

/// Which of these entries, by their sizes, a view begins with that may take `bytes`; the first stands at `position` in its thread.
/// It is filled from the newest backwards, and begins at the roundest position at which it is at least half full: there it
/// stays, turn after turn, until it is full. What begins at `kept` is never left out.
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

/// How many of these sizes, from the last backwards, take at most `most` together.
pub(super) fn newest(sizes: impl DoubleEndedIterator<Item = usize>, most: usize) -> usize {
    let mut sum = 0;
    let fits = sizes.rev().take_while(|size| {
        sum += size;
        sum <= most
    });
    fits.count()
}

/// What a view holds that has no room for all of what it is about and of what came since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// So many of the newest.
    pub newest: usize,
    /// How long entries may be.
    pub lengths: Lengths,
}

/// Fits what a view is about, and the newest of what came since, into `bytes`. What it is about is all there, shortened where it
/// must be, and has half of the view if it needs so much; more only where its entries are too many for that at their shortest.
/// The newest entry is there whatever has room.
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
