//! The pieces of a request: its texts, its events, the size of each. For people; nothing is built
//! from it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Question;
use thinkd_thread::history::{self, Entry, Summary};
use thinkd_words::id::Seq;

/// A piece of a request, in the order in which models read it, tools first, as providers cache them.
pub(super) struct Section {
    /// Its kind.
    kind: &'static str,
    /// The event it is made of.
    seq: Option<Seq>,
    /// Its size.
    bytes: usize,
}

/// The texts behind the transcript.
pub(super) struct Around<'a> {
    /// The text about entries that are no longer held.
    pub corrections: &'a str,
    /// The asker's own events.
    pub own: &'a [Arc<Entry>],
    /// The asker's task and mood.
    pub now: &'a str,
}

/// The pieces of a request.
pub(super) fn sections(
    question: &Question,
    summaries: &[Arc<Summary>],
    entries: &[Arc<Entry>],
    around: &Around<'_>,
) -> Vec<Section> {
    let text = |kind, bytes| Section {
        kind,
        seq: None,
        bytes,
    };
    let event = |kind| {
        move |entry: &Arc<Entry>| Section {
            kind,
            seq: Some(entry.seq),
            bytes: entry.written(),
        }
    };
    let mut all = vec![
        text("tools", question.tools.text.as_str().len()),
        text("system", question.system.as_str().len()),
    ];
    let summaries = summaries.iter().map(|it| text("summary", it.written()));
    all.extend(summaries);
    let is_shown = history::shown(entries);
    let shown = entries.iter().filter(|entry| is_shown(entry));
    all.extend(shown.map(event("event")));
    all.push(text("corrections", around.corrections.len()));
    all.push(text("task", question.task().len()));
    let prompt = question.prompt.as_ref().map_or(0, String::len);
    all.push(text("prompt", prompt));
    all.extend(around.own.iter().map(event("own")));
    all.push(text("self", around.now.len()));
    all.retain(|section| section.bytes > 0);
    all
}

/// The pieces as JSON. `input_tokens`, where the provider counted them, are shared out by size; else four bytes are taken for a token.
pub(super) fn shown(sections: &[Section], input_tokens: Option<u64>) -> Value {
    let all: usize = sections.iter().map(|section| section.bytes).sum();
    let all = all.max(1) as u64;
    let counted = input_tokens;
    let tokens = |bytes: usize| {
        counted.map_or(bytes as u64 / 4, |tokens| {
            tokens.saturating_mul(bytes as u64) / all
        })
    };
    let one = |section: &Section| {
        let Section { kind, seq, bytes } = section;
        json!({ "kind": kind, "seq": seq, "bytes": bytes, "tokens_estimated": tokens(*bytes) })
    };
    sections.iter().map(one).collect()
}
