//! The terms of an event: under them it is found. A term is a scope (the space, its thread, below
//! an ancestor) alone or with one of the event's tags. Under each term the events stand sorted by
//! visibility, then by seq. So a page is the first rows of a few sorted postings, for any question
//! and however long the log is. Terms are many, and far apart: written with their events they would
//! be most of a commit. So they trail the log with the full-text index, in large pieces. A reader
//! by a scope alone reads the end of the log besides, event by event, and so does a reader by the
//! marks of a door, up to a length; a reader by other tags waits for the index.

use std::collections::BTreeSet;

use super::query::{Query, Show};
use thinkd_event::envelope::{Event, Modality, Source, Visibility, tag};
use thinkd_words::id::ThreadId;

/// Longer tags are known by their beginning and their hash: a database has a limit for the values
/// in an index.
const TAG_MAX: usize = 512;
/// Events at the end of the log without terms that a reader by the marks of a door reads itself. It asks
/// with each message: the index would be written with each, and that is most of a turn.
pub const END: i64 = 128;
/// The term of every event: that it is in its space.
pub const SPACE: &str = "";

/// Returns a tag (in lower case) as a term has it. Any text is taken, for a log may have been
/// written by a server that took more: every tag that could be stored can be indexed.
pub fn term_of_tag(tag: &str) -> String {
    if tag.len() <= TAG_MAX && !tag.contains('\0') {
        return format!("#{tag}");
    }
    let head = tag[..tag.floor_char_boundary(TAG_MAX)].replace('\0', "\u{fffd}");
    format!("#{head}…{}", thinkd_words::text::sha256(tag.as_bytes()))
}

/// The terms of an event, each once.
pub fn of_event(event: &Event) -> Vec<String> {
    terms_of(
        &event.thread,
        &event.meta.tags,
        event.source,
        event.modality,
    )
}

/// Returns the terms of an event of which these parts are known.
pub fn terms_of(thread: &ThreadId, tags: &[String], from: Source, kind: Modality) -> Vec<String> {
    let tags = tags.iter().map(|tag| term_of_tag(&tag.to_lowercase()));
    let alone = std::iter::once(String::new());
    let kinds: BTreeSet<String> = alone
        .chain(tags)
        .chain(source(from))
        .chain(modality(kind))
        .collect();
    scopes(thread)
        .flat_map(|scope| kinds.iter().map(move |kind| format!("{scope}{kind}")))
        .collect()
}

/// Returns true if a query has to wait for the terms of the last events.
pub fn needs_index(query: &Query) -> bool {
    kinds(query) != [""]
}

/// Returns true if the end of the log is read event by event: by a scope alone, and by marks of a door,
/// which are tags that only the server makes, in lower case.
pub fn reads_end(query: &Query) -> bool {
    let is_mark = |tag: &String| {
        let hash = tag::MARKS.iter().find_map(|mark| tag.strip_prefix(mark));
        hash.is_some_and(|hash| {
            let mut bytes = hash.bytes();
            bytes.all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        })
    };
    let are_marks = query.has_tags() && query.tags().iter().all(is_mark);
    query.text.is_none() && (are_marks || !needs_index(query))
}

/// Returns the postings that hold the events that a query asks for, besides the conditions that
/// `covers` leaves to be checked event by event.
pub fn postings(query: &Query) -> Vec<(String, Visibility)> {
    let scopes = match &query.thread {
        None => vec![SPACE.to_owned()],
        Some(thread) if query.subtree => vec![thread.to_string(), scope_below(thread)],
        Some(thread) => vec![thread.to_string()],
    };
    let kinds = kinds(query);
    let mut postings = Vec::new();
    for scope in &scopes {
        for kind in &kinds {
            let levels = query.levels();
            postings.extend(levels.map(|level| (format!("{scope}{kind}"), level)));
        }
    }
    postings
}

/// Returns true if the terms alone tell the source and the modality of an event.
pub fn covers(query: &Query) -> bool {
    let conditions = usize::from(query.has_tags())
        + usize::from(query.source.is_some())
        + usize::from(query.modality.is_some());
    conditions == 0 || (conditions == 1 && kinds(query) != [""])
}

/// Tags are the sharpest; then a rare source or modality; else anything.
fn kinds(query: &Query) -> Vec<String> {
    if query.has_tags() {
        let tags = query.tags();
        // Of several that are all wanted the longest is read: ids are rarer than kinds.
        let longest = tags.iter().max_by_key(|tag| tag.len());
        let is_read = |tag: &&String| !query.all_tags || Some(*tag) == longest;
        let read = tags.iter().filter(is_read);
        return read.map(|tag| term_of_tag(tag)).collect();
    }
    let rare = query.modality.and_then(modality);
    let rare = rare.or(query.source.and_then(source));
    vec![rare.unwrap_or_default()]
}

/// Most events are internal: those are found by leaving out the others.
fn source(source: Source) -> Option<String> {
    (source != Source::Internal).then(|| format!("={source}"))
}

/// Most events are text or state.
fn modality(modality: Modality) -> Option<String> {
    matches!(modality, Modality::Image | Modality::Audio).then(|| format!("={modality}"))
}

fn scopes(thread: &ThreadId) -> impl Iterator<Item = String> {
    [SPACE.to_owned(), thread.to_string()]
        .into_iter()
        .chain(thread.ancestors().map(|above| scope_below(&above)))
}

fn scope_below(thread: &ThreadId) -> String {
    format!("{thread}.")
}

impl Query {
    /// The tags that count: in lower case, each once, blank ones left out.
    pub fn tags(&self) -> BTreeSet<String> {
        let tags = self.tags.iter().map(|tag| tag.trim().to_lowercase());
        tags.filter(|tag| !tag.is_empty()).collect()
    }

    fn has_tags(&self) -> bool {
        self.tags.iter().any(|tag| !tag.trim().is_empty())
    }

    /// The least visible kind of event that is shown.
    pub fn least(&self) -> Visibility {
        match self.show {
            Show::All => Visibility::Debug,
            Show::Public if self.tags().contains(tag::DEBUG) => Visibility::Debug,
            Show::Public => Visibility::State,
            Show::Visible => Visibility::Submodule,
            Show::Heard => Visibility::Heard,
        }
    }

    fn levels(&self) -> impl Iterator<Item = Visibility> + use<> {
        let least = self.least();
        [
            Visibility::Debug,
            Visibility::State,
            Visibility::Submodule,
            Visibility::Heard,
        ]
        .into_iter()
        .filter(move |level| *level >= least)
    }
}
