//! The part of an answer that readers are shown while it arrives: the text of its replies, and its words where they are known to be its answer.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::REPLY;
use super::arriving::Arriving;
use crate::log::begun::BegunReply;
use crate::log::hint::{Delta, DeltaEnd, DeltaOutcome, Hint};
use crate::log::kernel::EventLog;
use crate::mind::call::TurnPlace;
use crate::model::provider::Piece;
use crate::model::written;
use crate::words::id::{self, Seq};

/// Beginnings of words that may come to be tool calls, thinking or elements: words that begin so are not shown before they are whole.
const UNCERTAIN: [char; 6] = ['<', '{', '[', '`', '✿', '"'];

/// The replies of an answer that readers have been shown a part of.
#[derive(Default)]
pub struct Streamed {
    replies: BTreeMap<usize, (Arriving, Streaming)>,
    /// The answer's words, where they are shown at once.
    words: Option<Words>,
    /// All its words, shown or not, as long as no call came.
    said: String,
    is_calling: bool,
    /// The last event that the decision has read: no piece of its replies is shown before that.
    read: Seq,
    /// The first call of the answer that will not run.
    end: usize,
}

/// A reply as far as it was shown.
struct Streaming {
    event_id: Uuid,
    sent: String,
    scalars: usize,
    /// Its beginning, for readers who come while it is streamed.
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
    /// Begins to show an answer of a decision that has read up to `read`. Of its calls those before `end` are shown, and its words
    /// where `words` says so.
    pub(super) fn begin(&mut self, read: Seq, end: usize, words: bool) {
        self.read = read;
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
        replies
            .chain(words)
            .filter(|(_, shown)| !shown.sent.is_empty())
            .map(|(index, shown)| (index, shown.event_id, shown.sent.as_str()))
    }

    /// Takes back words that were shown, unless the reply that they became begins with them.
    pub fn keep_words(&mut self, reply: Option<&str>, store: &dyn EventLog, place: &TurnPlace) {
        let is_kept = |words: &Words| reply.is_some_and(|it| it.starts_with(&words.shown.sent));
        if !self.words.as_ref().is_none_or(is_kept) {
            self.discard_words(store, place);
        }
    }

    /// Tells readers the outcome of each reply, by id.
    pub fn end(
        &mut self,
        store: &dyn EventLog,
        place: &TurnPlace,
        outcome: impl Fn(Uuid) -> DeltaOutcome,
    ) {
        let replies = std::mem::take(&mut self.replies).into_values();
        let shown = replies.map(|(_, shown)| shown);
        let words = self.words.take().map(|words| words.shown);
        for shown in shown.chain(words) {
            shown.end(store, place, self.read, outcome(shown.event_id));
        }
    }

    /// Takes in a piece of the answer; what it adds to a reply is passed on.
    pub(super) fn take(&mut self, piece: &Piece, place: &TurnPlace, store: &dyn EventLog) {
        match piece {
            Piece::Text(text) => {
                self.said.push_str(text);
                if let Some(words) = &mut self.words {
                    let more = words.take(text);
                    words.shown.show(more, store, place, self.read);
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
                self.discard_words(store, place);
                self.take_call((*index, name.as_deref()), arguments, place, store);
            }
            Piece::End(_) => {}
        }
    }

    fn take_call(
        &mut self,
        (index, name): (usize, Option<&str>),
        arguments: &str,
        place: &TurnPlace,
        store: &dyn EventLog,
    ) {
        if index >= self.end {
            return;
        }
        if name == Some(REPLY) {
            let begun = || (Arriving::default(), Streaming::new());
            self.replies.entry(index).or_insert_with(begun);
        }
        if let Some((arriving, shown)) = self.replies.get_mut(&index) {
            shown.show(arriving.push(arguments), store, place, self.read);
        }
    }

    fn discard_words(&mut self, store: &dyn EventLog, place: &TurnPlace) {
        if let Some(words) = self.words.take() {
            words
                .shown
                .end(store, place, self.read, DeltaOutcome::Discarded);
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

    fn show(&mut self, text: String, store: &dyn EventLog, place: &TurnPlace, read: Seq) {
        if text.is_empty() {
            return;
        }
        let feed = store.feed();
        self.begun
            .get_or_insert_with(|| feed.begin(&place.space, self.event_id));
        let at = self.scalars;
        self.scalars += text.chars().count();
        self.sent.push_str(&text);
        let (thread, event_id) = (place.thread.clone(), self.event_id);
        feed.hint(
            &place.space,
            read,
            Hint::Delta(Delta {
                thread,
                event_id,
                at,
                text,
            }),
        );
    }

    /// Says the outcome, if anything was shown.
    fn end(&self, store: &dyn EventLog, place: &TurnPlace, read: Seq, outcome: DeltaOutcome) {
        if self.sent.is_empty() {
            return;
        }
        let (thread, event_id) = (place.thread.clone(), self.event_id);
        store.feed().hint(
            &place.space,
            read,
            Hint::DeltaEnd(DeltaEnd {
                thread,
                event_id,
                outcome,
            }),
        );
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
    if ended.is_ok() {
        DeltaOutcome::Partial
    } else {
        DeltaOutcome::Discarded
    }
}
