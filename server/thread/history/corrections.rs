//! The corrections of a view: lines after the transcript about statements that are not held any
//! more, or never were. Each names an entry, or one that a summary stands for, from which the
//! statement came, or that returned it. The lines move, so they stand behind the prefix of the next
//! view.

use std::sync::Arc;

use super::writing::quoted;
use super::{Entry, Summary};
use thinkd_event::correction::Correction;
use thinkd_model::prompt::Prompts;
use thinkd_words::id::Seq;

/// Most lines.
const LINES_MAX: usize = 16;

/// The lines, the newest first, as far as `bytes` go, and how many are left out; nothing where nothing is to be said.
pub fn corrections(
    all: &[Correction],
    (summaries, entries): (&[Arc<Summary>], &[Arc<Entry>]),
    bytes: usize,
    prompts: &Prompts,
) -> String {
    // What a summary says of an event came from it, too.
    let is_shown = |seq: &&Seq| {
        let entry = entries.binary_search_by_key(*seq, |entry| entry.seq);
        let covers = |it: &Arc<Summary>| (it.covers.from..=it.covers.to).contains(*seq);
        entry.is_ok() || summaries.iter().any(covers)
    };
    let of = |it: &Correction| {
        let seqs = it.of.iter().rev().filter(is_shown);
        Vec::from_iter(seqs.map(|seq| line(it, *seq, prompts)))
    };
    let lines: Vec<String> = all.iter().rev().flat_map(of).collect();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at == LINES_MAX || text.len() + line.len() > bytes {
            let count = (lines.len() - at).to_string();
            text.push_str(&prompts.view_corrections_omitted.fill(&[("count", &count)]));
            text.push('\n');
            break;
        }
        text.push_str(line);
    }
    text
}

fn line(correction: &Correction, seq: Seq, prompts: &Prompts) -> String {
    let seq = seq.to_string();
    let since = correction.since.to_string();
    let says = quoted(&correction.says);
    let values = [
        ("seq", &*seq),
        ("since", &*since),
        ("status", correction.status.as_str()),
        ("statement", &*says),
    ];
    let how = if correction.was_held {
        &prompts.view_correction
    } else {
        &prompts.view_never_held
    };
    how.fill(&values) + "\n"
}
