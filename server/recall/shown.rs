//! Hits as minds are shown them: in a line of a turn, and as the result of a tool.

use serde_json::{Value, json};

use super::finder::Found;
use super::view::finding::{Hit, Why};
use thinkd_event::statement::spaced;
use thinkd_event::word::mark;

impl Found {
    /// Returns the text for a mind, in few words. `recalled` says that nothing of it is news.
    pub fn told(self) -> Value {
        let mut note = match (self.hits.is_empty(), self.left_out) {
            (true, 0) => "nothing that is held is relevant".to_owned(),
            (_, 0) => "held so far: hypotheses that no test has refuted".to_owned(),
            (_, more) => format!(
                "held so far: hypotheses that no test has refuted; {more} more have no room here"
            ),
        };
        if self.hits.iter().any(|hit| hit.held.said_by.is_some()) {
            note.push_str("; those with said_by are that person's word");
        }
        if let Some(why) = &self.without_vectors {
            note.push_str(&format!("; found by words and names alone ({why})"));
        }
        json!({ "recalled": self.hits.iter().map(told).collect::<Vec<_>>(), "note": note })
    }
}

/// A hit as a turn shows it, in a line of its own.
pub fn line(hit: &Hit) -> String {
    let held = &hit.held;
    let times = [("from", held.valid_from), ("until", held.valid_to)].into_iter();
    let times = times.filter_map(|(word, time)| Some(format!("{word} {}", time?)));
    let said = held.said_by.iter().map(|by| mark(held.status, by));
    let reflection = held.reflection_only.then(|| "reflection only".to_owned());
    let against = hit.contested_by.iter();
    let contested = against.map(|held| format!("contested by: {}", spaced(&held.text)));
    let marks = times.chain(said).chain(reflection).chain(contested);
    let text = spaced(&held.text);
    let marks = marks.collect::<Vec<_>>().join("; ");
    match marks.is_empty() {
        true => format!("- {text}"),
        false => format!("- {text} ({marks})"),
    }
}

fn told(hit: &Hit) -> Value {
    let Hit { held, why, .. } = hit;
    let Why { scores, names, .. } = why;
    let mut why = format!("words {:.2} ({})", scores.words, why.matched.join(" "));
    if let Some(score) = scores.vectors {
        why.push_str(&format!(", meaning {score:.2}"));
    }
    if let Some(score) = scores.graph {
        why.push_str(&format!(", graph {score:.2}"));
        if !names.is_empty() {
            why.push_str(&format!(" ({})", names.join(", ")));
        }
    }
    let mut told =
        json!({ "statement": held.id, "text": held.text, "status": held.status, "why": why });
    if held.reflection_only {
        told["tested_by"] = "reflection only".into();
    }
    if let Some(by) = &held.said_by {
        told["said_by"] = by.as_str().into();
        told["label"] = mark(held.status, by).into();
    }
    for (member, time) in [("valid_from", held.valid_from), ("valid_to", held.valid_to)] {
        if let Some(time) = time {
            told[member] = json!(time);
        }
    }
    if !hit.contested_by.is_empty() {
        let against = hit.contested_by.iter();
        let against = against.map(|held| json!({ "statement": held.id, "text": held.text }));
        told["contested_by"] = against.collect();
        if hit.contested_by_count > hit.contested_by.len() {
            told["contested_by_count"] = hit.contested_by_count.into();
        }
    }
    told
}
