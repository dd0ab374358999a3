//! The entries of the search index for one event, as they are made and as rows have them; and how far the index trails the log.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use super::columns::{parse, readable, space, thread_id, unreadable};
use super::error::StoreError;
use super::{terms, words};
use thinkd_event::envelope::{Event, Modality, Source};
use thinkd_words::id::{Seq, Space};

macro_rules! index_columns {
    () => {
        "e.seq, e.thread, e.source, e.modality, e.tags, e.visibility, e.payload"
    };
}
pub(super) use index_columns;

/// The distance of the index of a space behind its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    /// The last event that is in the index.
    pub indexed: Seq,
    /// The last event of the log.
    pub head: Seq,
}

/// Spaces with how far their index is and where their log ends.
pub(super) fn gaps(rows: Vec<(String, i64, i64)>) -> Vec<(Space, Gap)> {
    let gap = |(name, indexed, head): (String, i64, i64)| {
        let space = space(name)?;
        Ok((space, Gap { indexed, head }))
    };
    readable(rows.into_iter().map(gap))
}

/// A term as its row has it: with the visibility and the seq of its event.
pub(super) type TermRow<'a> = (&'a str, i16, Seq);

/// The entry of an event in the index that trails the log.
pub(super) struct Indexed {
    pub seq: Seq,
    pub level: i16,
    pub terms: Vec<String>,
    pub words: BTreeSet<String>,
}

/// The columns of an event that the index is made of.
pub(super) type IndexColumns = (i64, String, String, String, String, i16, String);

impl Indexed {
    pub fn of(event: &Event) -> Self {
        Self {
            seq: event.seq,
            level: event.visibility() as i16,
            terms: terms::of_event(event),
            words: words::tokens(event.text()),
        }
    }

    /// Returns the entry of a stored event, and the error if not all of it can be read. The parts
    /// that can be read are in the index: the event is found by them, though not shown.
    pub fn read(columns: IndexColumns) -> (Self, Result<(), StoreError>) {
        let (seq, thread, source, modality, tags, level, payload) = columns;
        let mut all = Ok(());
        let from = Source::parse(&source).ok_or_else(|| unreadable(source));
        let from = kept(&mut all, from);
        let kind = Modality::parse(&modality).ok_or_else(|| unreadable(modality));
        let kind = kept(&mut all, kind);
        let tags: Option<Vec<String>> = kept(&mut all, parse(&tags));
        let text = kept(&mut all, payload_text(&payload));
        let terms = match kept(&mut all, thread_id(thread)) {
            Some(thread) => {
                // These two have no terms of their own.
                let from = from.unwrap_or(Source::Internal);
                let kind = kind.unwrap_or(Modality::Text);
                terms::terms_of(&thread, &tags.unwrap_or_default(), from, kind)
            }
            None => vec![terms::SPACE.to_owned()],
        };
        let event = Self {
            seq,
            level,
            terms,
            words: words::tokens(&text.unwrap_or_default()),
        };
        (event, all)
    }
}

/// `payload.text` of an event's payload column. Read here: Postgres cannot take a NUL out of JSON.
fn payload_text(payload: &str) -> Result<String, StoreError> {
    #[derive(serde::Deserialize)]
    struct Parts<'a> {
        #[serde(borrow)]
        text: Option<&'a RawValue>,
    }
    let text = parse::<Parts<'_>>(payload)?.text;
    // What is not a text has no words.
    Ok(text
        .and_then(|text| serde_json::from_str(text.get()).ok())
        .unwrap_or_default())
}

/// Returns the value that was read; otherwise keeps the error.
fn kept<T>(all: &mut Result<(), StoreError>, read: Result<T, StoreError>) -> Option<T> {
    read.map_err(|error| *all = Err(error)).ok()
}

/// The terms of these events, in the order of their key: neighbours share pages.
pub(super) fn term_rows(events: &[Indexed]) -> Vec<TermRow<'_>> {
    let mut rows = Vec::with_capacity(events.iter().map(|it| it.terms.len()).sum());
    for Indexed {
        seq, level, terms, ..
    } in events
    {
        rows.extend(terms.iter().map(|term| (term.as_str(), *level, *seq)));
    }
    rows.sort_unstable();
    rows
}
