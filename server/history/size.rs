//! How many bytes of the log a view holds, and where it begins so that it holds no more.

use super::{Entry, Lengths, Options};
use crate::event::Event;
use crate::prompt::Prompts;

/// An entry is not made shorter than this, whatever must fit.
const ENTRY_MIN: usize = 256;

/// About what an entry has besides its text: its head, and the mark that it was shortened.
const AROUND: usize = 160;

/// How many bytes of a view an event takes, with these settings.
pub fn bytes_in_view(event: &Event, options: &Options, prompts: &Prompts) -> usize {
    Entry::of(event, Lengths::of(options.bytes, options.event_chars), prompts).written()
}

/// Which of these entries, by their sizes, a view begins with that may take `bytes`; the first stands at `position` in its thread.
/// It is filled from the newest backwards, and begins at the roundest position at which it is at least half full: there it
/// stays, turn after turn, until it is full. What begins at `kept` is never left out.
pub fn begin(sizes: &[usize], position: u64, block: u64, bytes: usize, kept: usize) -> usize {
    let holds = |most: usize| {
        let mut sum = 0;
        let fits = sizes.iter().rev().take_while(|size| {
            sum += **size;
            sum <= most
        });
        sizes.len() - fits.count()
    };
    let full = holds(bytes);
    if full == 0 || full >= kept {
        return full.min(kept);
    }
    let half = holds(bytes / 2).min(kept);
    let round = |grain: u64| (position + full as u64).next_multiple_of(grain) - position;
    let grains = std::iter::successors(Some(block.clamp(1, 1 << 40) << 16), |grain| (*grain > 1).then_some(grain / 2));
    let begins = grains.map(round).find(|at| *at <= half as u64);
    begins.and_then(|at| usize::try_from(at).ok()).unwrap_or(full)
}

/// How long each of these may be for all of them to take at most `bytes`, about; as they are, if they do.
pub fn squeezed(sizes: &[usize], lengths: Lengths, bytes: usize) -> Lengths {
    let mut entry_bytes = lengths.entry_bytes;
    let takes = |most: usize| sizes.iter().map(|size| (*size).min(most + AROUND)).sum::<usize>();
    while sizes.iter().sum::<usize>() > bytes && takes(entry_bytes) > bytes && entry_bytes > ENTRY_MIN {
        entry_bytes = (entry_bytes / 2).max(ENTRY_MIN);
    }
    Lengths { entry_bytes, ..lengths }
}
