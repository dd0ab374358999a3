//! The renderer of prompt views: it selects the events of a view, and writes each of them. Pure. It
//! is the only place where events become the text that a model reads. An event is always written
//! the same way, and views are cut at block boundaries, so that a view that was sent is a prefix of
//! the next one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use thinkd_event::envelope::{Event, Modality};
use thinkd_event::fact::Fact;
use thinkd_event::fact::input::{Content, Input};
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_model::prompt::Prompts;
use thinkd_words::defaults::with_defaults;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

pub use clock::Clock;
pub use corrections::corrections;
pub use size::{Fit, begin, fit, least};
pub use summed::{Slice, Summary, fitting, piece, summed};
pub use unshown::{leave_out, refused, stretches};
use writing::line;
pub use writing::{beside, one_line};

mod clock;
mod corrections;
mod size;
mod summed;
mod unshown;
mod writing;

/// The version of the writing below; kept with every call, so that a rebuilt view can say that it cannot be exact.
pub const RENDERER: u64 = 4;

with_defaults! {
    /// The amount of history that a view holds.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// Fewest visible events in a prompt of the decision; it holds at most `block` − 1 more.
        pub decision: u64 = 60,
        /// Fewest visible events in a prompt of a voice; it holds at most `submodule_block` − 1 more.
        pub submodule: u64 = 60,
        /// Prompts of the decision begin at multiples of so many events of their thread, so that their beginnings repeat and
        /// providers' prompt caches serve them; 1 is exact.
        pub block: u64 = 300,
        /// Most bytes of the log in a prompt, at least 4096. The batch of the turn is shortened,
        /// never left out, and the events that have no room in it wait for the next turn. Set it to
        /// the size that the model takes.
        pub bytes: usize = 256 << 10,
        /// Prompts hold only events of the last so many seconds, and the turn's batch, however old it is; absent: the counts decide.
        pub window_s: Option<u64> = None,
        /// True if a model sums up the events that leave the prompts of a conversation's decision,
        /// in the background. The summaries stand before the events that are left there, and take
        /// at most a quarter of `bytes` more. One call for each `block` of events, and one for each
        /// eight of these.
        pub summaries: bool = false,
    }
    fixed {
        /// The same for prompts of voices; no more than `block` counts.
        pub submodule_block: u64 = 48,
        /// Most images and sounds that the model is sent, the newest; older ones are only
        /// mentioned.
        pub media: usize = 4,
        /// Length in characters above which prompts shorten tool arguments and results.
        pub event_chars: usize = 4000,
        /// The number of events that the first summary of a conversation goes back, at least
        /// `block`; it matters to a long one that was there before `summaries` was turned on. Older
        /// events are left out of its prompts, which say how many these are.
        pub summaries_back: u64 = 2000,
    }
}

impl Options {
    /// At multiples of how many events a view begins.
    pub fn block_of(&self, show: Show) -> u64 {
        if show == Show::Heard {
            self.submodule_block.min(self.block)
        } else {
            self.block
        }
    }
}

/// The limits of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lengths {
    /// Tool arguments and results, in characters.
    pub event_chars: usize,
    /// Any entry, in bytes.
    pub entry_bytes: usize,
}

impl Lengths {
    /// Of a view that may take so many bytes: one entry never fills more than a quarter of it.
    pub const fn of(bytes: usize, event_chars: usize) -> Self {
        Self {
            event_chars,
            entry_bytes: bytes / 4,
        }
    }
}

/// The style in which entries are written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// Their lengths.
    pub lengths: Lengths,
    /// In which zones their times are.
    pub clock: &'a Clock,
}

impl From<Lengths> for Style<'static> {
    /// In UTC.
    fn from(lengths: Lengths) -> Self {
        let clock = &clock::UTC;
        Self { lengths, clock }
    }
}

/// The events that a view holds: the last `take` of its kind up to `up_to` in its thread. Small
/// enough to keep with every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// The kind of events that the reader may see.
    pub show: Show,
    /// The last seq it may hold.
    pub up_to: Seq,
    /// Most events that it holds.
    pub take: u64,
    /// Number of events that were left out before it.
    pub omitted: u64,
    /// Only events since then.
    pub since: Option<Timestamp>,
    /// So many of the first are not shown any more, even if the view has room.
    pub cleared: u64,
}

/// Most events of any view, in any configuration.
pub const VIEW_MAX: u64 = 2000;

/// Most events that a turn is about, with those between them: half of a view, so that there is room
/// for the events that the turn itself adds.
pub const BATCH_MAX: usize = 1000;

/// The events that a turn is about, with those between, take at most this part of a view when they
/// are as short as can be. So they have room, and the turn's own events beside them. There is room,
/// too, in the half of a view that is asked about where a provider refused the whole. One input
/// that is larger by itself is not taken apart.
pub const BATCH_PART: usize = 4;

/// The smallest view that can be configured: an entry with the longest head, shortened, fits into a half of it.
pub const BYTES_MIN: usize = 4096;

impl Window {
    /// Returns the window of a decision (`Show::Visible`) or a submodule (`Show::Heard`) over a
    /// thread as its row stands. A thread that thinks by itself is shown all its events, one that
    /// talks with people the newest; neither those that it has cleared away.
    pub fn over(
        row: &ThreadRow,
        whole: bool,
        show: Show,
        options: &Options,
        now: Timestamp,
    ) -> Self {
        let cleared = row.state.cleared.unwrap_or_default();
        let (count, keep, cleared) = match show {
            Show::Heard => (row.heard, options.submodule, cleared.heard),
            _ => (row.visible, options.decision, cleared.visible),
        };
        let window_s = options.window_s.filter(|_| !whole);
        let micros = window_s.map(|s| s.saturating_mul(1_000_000));
        let since = micros.map(|micros| now.micros().saturating_sub_unsigned(micros));
        let keep = if whole { VIEW_MAX } else { keep };
        let omitted = if since.is_some() {
            count.saturating_sub(VIEW_MAX)
        } else {
            cut(count, keep, options.block_of(show))
        };
        let omitted = omitted.max(cleared).min(count);
        let take = (count - omitted).min(VIEW_MAX);
        Self {
            show,
            up_to: row.head,
            take,
            omitted: count - take,
            since: since.map(Timestamp::from_micros),
            cleared,
        }
    }

    /// The question that fetches its events, newest first; `None` when it is empty.
    pub fn query(&self, thread: &ThreadId) -> Option<Query> {
        (self.take > 0).then(|| Query {
            thread: Some(thread.clone()),
            show: self.show,
            since: self.since,
            before: Some(self.up_to + 1),
            order: Order::Descending,
            limit: u32::try_from(self.take).unwrap_or(u32::MAX),
            ..Query::default()
        })
    }
}

/// Returns how many of `count` events to leave out so that between `keep` and `keep + block - 1`
/// remain, in whole blocks.
pub fn cut(count: u64, keep: u64, block: u64) -> u64 {
    let block = block.max(1);
    count.saturating_sub(keep.min(VIEW_MAX)) / block * block
}

/// A piece of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Text(String),
    /// Media, by the hash of its bytes.
    Blob {
        /// SHA-256.
        sha256: String,
        /// The media type.
        mime: String,
    },
}

/// An event as views show it: always the same, so it is written once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its position.
    pub seq: Seq,
    /// True if it starts a turn.
    pub wakes: bool,
    /// True if it came to the thread, rather than from it.
    pub arrives: bool,
    /// The input that it says was taken back, from its first part on: that is not shown.
    takes_back: Option<(Seq, Seq)>,
    line: String,
    /// Most bytes besides its text, if that is shortened.
    around: usize,
    /// The turn that it is of, if it is of one.
    turn: Option<u64>,
    /// A provider refused it: it is left out, or its image or sound is.
    is_refused: bool,
    /// Hash and type of the image or sound it carries.
    media: Option<(String, String)>,
}

impl Entry {
    /// Writes an event, shortened where it is too long.
    pub fn of<'s>(event: &Event, style: impl Into<Style<'s>>, prompts: &Prompts) -> Self {
        let fact = event.fact();
        let (line, around) = line(event, &fact, style.into(), prompts);
        let wakes = event.wakes();
        let thought = fact.is_thought();
        let takes_back = match fact {
            Fact::Withdrawn(Withdrawn { from, input, .. }) => Some((from, input)),
            _ => None,
        };
        Self {
            seq: event.seq,
            wakes,
            arrives: wakes && !thought,
            takes_back,
            line,
            around,
            turn: event.turn(),
            is_refused: false,
            media: blob(&fact),
        }
    }

    /// True if it has a word, in small letters or not. `word` is in small letters.
    pub fn says(&self, word: &str) -> bool {
        self.line.to_lowercase().contains(word)
    }

    /// Returns the bytes of a view that it takes.
    pub fn written(&self) -> usize {
        self.line.len() + 1
    }

    /// Returns the most bytes that it takes if its text may have so many.
    fn at_most(&self, entry_bytes: usize) -> usize {
        self.written().min(entry_bytes.saturating_add(self.around))
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.line.len()
    }
}

/// Writes events (oldest first) as a transcript, media in their places.
pub fn transcript(
    events: &[Event],
    omitted: u64,
    media: usize,
    lengths: Lengths,
    prompts: &Prompts,
) -> Vec<Block> {
    let entries = events.iter();
    let entries = entries.map(|event| Arc::new(Entry::of(event, lengths, prompts)));
    let omitted = Omitted {
        count: omitted,
        gap: None,
    };
    joined(&Vec::from_iter(entries), omitted, media, prompts)
}

/// The events of its thread that a view does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Omitted {
    /// Number of these events.
    pub count: u64,
    /// Some of them stood before the entry at this seq; all of them before the first one, where there is none.
    pub gap: Option<Seq>,
}

/// Returns the test of whether a view shows one of these entries: not if another one says that it
/// was taken back.
pub fn shown(entries: &[Arc<Entry>]) -> impl Fn(&Entry) -> bool + use<> {
    let back = entries.iter().filter_map(|entry| entry.takes_back);
    let back = Vec::from_iter(back.map(|(from, input)| from..=input));
    move |entry| !back.iter().any(|stretch| stretch.contains(&entry.seq))
}

/// Entries (oldest first) as a transcript.
pub fn joined(
    entries: &[Arc<Entry>],
    omitted: Omitted,
    media: usize,
    prompts: &Prompts,
) -> Vec<Block> {
    let mut blocks = vec![];
    let mut text = String::new();
    let count = omitted.count.to_string();
    if omitted.count > 0 && omitted.gap.is_none() {
        text.push_str(&prompts.view_omitted.fill(&[("count", &count)]));
        text.push('\n');
    }
    let is_shown = shown(entries);
    let has_media = |entry: &&Arc<Entry>| entry.media.is_some() && is_shown(entry);
    let with_media = entries.iter().filter(has_media).count();
    let mut seen = 0;
    for entry in entries {
        if omitted.gap == Some(entry.seq) {
            text.push_str(&prompts.view_gap.fill(&[("count", &count)]));
            text.push('\n');
        }
        if !is_shown(entry) {
            continue;
        }
        text.push_str(&entry.line);
        text.push('\n');
        if let Some((sha256, mime)) = &entry.media {
            seen += 1;
            if seen + media > with_media {
                blocks.push(Block::Text(std::mem::take(&mut text)));
                let sha256 = sha256.clone();
                let mime = mime.clone();
                blocks.push(Block::Blob { sha256, mime });
            }
        }
    }
    blocks.push(Block::Text(text));
    blocks
}

/// Returns hash and type of the image or sound that an event carries, also of an event that a newer
/// build wrote.
fn blob(fact: &Fact<'_>) -> Option<(String, String)> {
    match fact {
        Fact::Input(Input {
            content: Content::Media { blob, mime, .. },
            ..
        }) => Some(((*blob).to_owned(), (*mime).to_owned())),
        Fact::Unknown(raw) if matches!(raw.modality, Modality::Image | Modality::Audio) => {
            Some((raw.text("blob")?.to_owned(), raw.text("mime")?.to_owned()))
        }
        _ => None,
    }
}

/// Positions as views name them: `#41, #42`.
pub fn positions(seqs: &[Seq]) -> String {
    let positions = seqs.iter().map(|seq| format!("#{seq}"));
    Vec::from_iter(positions).join(", ")
}
