//! The part of an answer that readers are shown while it arrives: the text of its replies, and its words where they are known to be its answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::REPLY;
use super::arriving::Arriving;
use crate::call::TurnPlace;
use thinkd_log::begun::BegunReply;
use thinkd_log::hint::{Delta, DeltaEnd, DeltaOutcome, Hint};
use thinkd_log::kernel::Store;
use thinkd_model::provider::Piece;
use thinkd_model::written;
use thinkd_words::id::{self, Seq};

/// Beginnings of words that may come to be tool calls, thinking or elements: words that begin so are not shown before they are whole.
const UNCERTAIN: [char; 6] = ['<', '{', '[', '`', '✿', '"'];

/// The replies of an answer that readers have been shown a part of.
pub struct Streamed {
    readers: Readers,
    replies: BTreeMap<usize, (Arriving, Streaming)>,
    /// The answer's words, where they are shown at once.
    words: Option<Words>,
    /// All its words, shown or not, as long as no call came.
    said: String,
    is_calling: bool,
    /// The first call of the answer that will not run.
    end: usize,
}

/// The readers of a thread.
struct Readers {
    store: Arc<dyn Store>,
    place: TurnPlace,
    /// The last event that the decision has read: no piece of its replies is shown before that.
    read: Seq,
}

impl Readers {
    fn hint(&self, hint: Hint) {
        self.store.feed().hint(&self.place.space, self.read, hint);
    }
}

/// A reply as far as it was shown.
struct Streaming {
    event_id: Uuid,
    sent: String,
    scalars: usize,
    /// Its beginning, for readers that come while it is streamed.
    begun: Option<BegunReply>,
}

/// Words that are shown while they arrive.
struct Words {
    shown: Streaming,
    /// White space that the reply ends with if nothing follows: shown with the next word.
    held: String,
    /// They may come to be something else than words.
    is_uncertain: bool,
}

impl Streamed {
    /// Returns a stream of which readers of a thread have been shown nothing yet.
    pub fn new(store: Arc<dyn Store>, place: TurnPlace) -> Self {
        let readers = Readers {
            store,
            place,
            read: 0,
        };
        Self {
            readers,
            replies: BTreeMap::new(),
            words: None,
            said: String::new(),
            is_calling: false,
            end: 0,
        }
    }

    /// Begins to show an answer of a decision that has read up to `read`. Of its calls those before `end` are shown, and its words
    /// where `words` says so.
    pub(super) fn begin(&mut self, read: Seq, end: usize, words: bool) {
        self.readers.read = read;
        self.end = end;
        self.words = (words && end > 0).then(Words::new);
    }

    /// The words of an answer that broke off, where they are no beginning of anything else and no reader was shown a part.
    pub fn unshown(&self) -> Option<&str> {
        let words = written::apart(&self.said).1;
        let is_certain =
            !words.is_empty() && !words.starts_with(UNCERTAIN) && !written::has_mark(words);
        (is_certain && !self.is_calling && self.begun().next().is_none()).then_some(words)
    }

    /// The id that the reply made by the answer's call `index` was promised under.
    pub fn event_id(&self, index: usize) -> Option<Uuid> {
        let shown = self.begun().find(|(begun, ..)| *begun == index);
        let reply = self.replies.get(&index).map(|(_, shown)| shown.event_id);
        reply.or(shown.map(|(_, id, _)| id))
    }

    /// Replies of which something was shown: call index, id, text so far.
    pub fn begun(&self) -> impl Iterator<Item = (usize, Uuid, &str)> {
        let replies = self
            .replies
            .iter()
            .map(|(index, (_, shown))| (*index, shown));
        // Words are shown only of an answer without calls: the first is the one that they become.
        let words = self.words.iter().map(|words| (0, &words.shown));
        let begun = replies.chain(words).filter(|(_, it)| !it.sent.is_empty());
        begun.map(|(index, shown)| (index, shown.event_id, shown.sent.as_str()))
    }

    /// Takes back words that were shown, unless the reply that they became begins with them.
    pub fn keep_words(&mut self, reply: Option<&str>) {
        let is_kept = |words: &Words| reply.is_some_and(|it| it.starts_with(&words.shown.sent));
        if !self.words.as_ref().is_none_or(is_kept) {
            self.discard_words();
        }
    }

    /// Tells readers the outcome of each reply, by id.
    pub fn end(&mut self, outcome: impl Fn(Uuid) -> DeltaOutcome) {
        let replies = std::mem::take(&mut self.replies).into_values();
        let shown = replies.map(|(_, shown)| shown);
        let words = self.words.take().map(|words| words.shown);
        for shown in shown.chain(words) {
            shown.end(&self.readers, outcome(shown.event_id));
        }
    }

    /// Takes in a piece of the answer; the text that it adds to a reply is passed on.
    pub(super) fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => {
                self.said.push_str(text);
                if let Some(words) = &mut self.words {
                    let more = words.take(text);
                    words.shown.show(more, &self.readers);
                }
            }
            Piece::Call {
                index,
                name,
                arguments,
            } => {
                // Words beside a call are thinking.
                self.said.clear();
                self.is_calling = true;
                self.discard_words();
                self.take_call(*index, name.as_deref(), arguments);
            }
            Piece::End(_) => {}
        }
    }

    fn take_call(&mut self, index: usize, name: Option<&str>, arguments: &str) {
        if index >= self.end {
            return;
        }
        if name == Some(REPLY) {
            let begun = || (Arriving::default(), Streaming::new());
            self.replies.entry(index).or_insert_with(begun);
        }
        if let Some((arriving, shown)) = self.replies.get_mut(&index) {
            shown.show(arriving.push(arguments), &self.readers);
        }
    }

    fn discard_words(&mut self) {
        if let Some(words) = self.words.take() {
            words.shown.end(&self.readers, DeltaOutcome::Discarded);
        }
    }
}

impl Streaming {
    fn new() -> Self {
        Self {
            event_id: id::announced(),
            sent: String::new(),
            scalars: 0,
            begun: None,
        }
    }

    fn show(&mut self, text: String, readers: &Readers) {
        if text.is_empty() {
            return;
        }
        let Readers { store, place, .. } = readers;
        let begin = || store.feed().begin(&place.space, self.event_id);
        self.begun.get_or_insert_with(begin);
        let at = self.scalars;
        self.scalars += text.chars().count();
        self.sent.push_str(&text);
        readers.hint(Hint::Delta(Delta {
            thread: place.thread.clone(),
            event_id: self.event_id,
            at,
            text,
        }));
    }

    /// Says the outcome, if anything was shown.
    fn end(&self, readers: &Readers, outcome: DeltaOutcome) {
        if !self.sent.is_empty() {
            readers.hint(Hint::DeltaEnd(DeltaEnd {
                thread: readers.place.thread.clone(),
                event_id: self.event_id,
                outcome,
            }));
        }
    }
}

impl Words {
    fn new() -> Self {
        Self {
            shown: Streaming::new(),
            held: String::new(),
            is_uncertain: false,
        }
    }

    /// More words; returns those that can be shown: without white space around the whole.
    fn take(&mut self, text: &str) -> String {
        if self.is_uncertain {
            return String::new();
        }
        let begins = self.shown.sent.is_empty();
        let text = if begins { text.trim_start() } else { text };
        if begins && text.starts_with(UNCERTAIN) {
            self.is_uncertain = true;
            return String::new();
        }
        let words = text.trim_end();
        if words.is_empty() {
            self.held.push_str(text);
            return String::new();
        }
        let more = std::mem::take(&mut self.held) + words;
        self.held.push_str(&text[words.len()..]);
        more
    }
}

/// The outcome of a reply that was cut off: stored as far as it came, unless the store failed.
pub fn partial<T, E>(ended: &Result<T, E>) -> DeltaOutcome {
    match ended {
        Ok(_) => DeltaOutcome::Partial,
        Err(_) => DeltaOutcome::Discarded,
    }
}
