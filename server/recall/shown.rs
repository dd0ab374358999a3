//! Hits as they are shown: to people over HTTP, and to minds as the result of a tool.

use serde::Serialize;
use serde_json::{Value, json};

use super::finder::Found;
use super::fusion::{Scores, share};
use super::held::Held;
use super::memories::Memory;
use super::view::finding::Hit;
use crate::event::statement::{Status, Triple, spaced};
use crate::event::word::{label, mark};
use crate::words::id::Seq;
use crate::words::time::Timestamp;

/// A statement that is relevant and held, or recalled on a person's word. Nothing is ever proven: a held one is a hypothesis
/// that no test has refuted so far.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Recalled {
    /// What it is: `statements`.
    pub kind: Memory,
    /// The event that claimed it.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// The statement.
    #[serde(flatten)]
    pub statement: HeldStatement,
    /// How relevant it is, 0 to 1: the same for every question.
    pub score: f64,
    /// Why it is here.
    pub why: Why,
    /// The ids of others that say the same of the same time.
    pub same: Vec<String>,
    /// What contradicts it and is held, too: the first 8.
    pub contested_by: Vec<HeldStatement>,
    /// How many contradict it.
    pub contested_by_count: usize,
}

/// A statement that is held, or recalled on a person's word.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct HeldStatement {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// What it says.
    #[schema(example = "The library opens at nine.")]
    pub text: String,
    /// The same as an edge of a graph; null: it is none.
    pub triple: Option<Triple>,
    /// From when on it is said to hold; null: no beginning is known.
    #[schema(value_type = Option<String>)]
    pub valid_from: Option<Timestamp>,
    /// Until when it held; null: no end is known.
    #[schema(value_type = Option<String>)]
    pub valid_to: Option<Timestamp>,
    /// `surviving`, or `contested`: something that contradicts it survived, too. `proposed`: a person said it, and nothing has
    /// tested it.
    pub status: Status,
    /// The same in words.
    #[schema(example = "a hypothesis that no test has refuted so far")]
    pub label: String,
    /// Nothing but reflection has tested it.
    pub reflection_only: bool,
    /// The person on whose word alone it is recalled; null: it is on no word.
    #[schema(example = "clara")]
    pub said_by: Option<String>,
}

/// Why a statement was found.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Why {
    /// What each leg says.
    #[serde(flatten)]
    pub scores: Scores,
    /// The words of the question that it has.
    pub matched: Vec<String>,
    /// The names in the question that it is about, folded.
    pub names: Vec<String>,
    /// The ids of the statements by which one comes to it from a name in the question, this one last; empty: there is no such way.
    pub path: Vec<String>,
}

impl From<Held> for HeldStatement {
    fn from(held: Held) -> Self {
        Self {
            label: label(held.status, held.reflection_only, held.said_by.as_deref()),
            id: held.id,
            text: held.text,
            triple: held.triple,
            valid_from: held.valid.from,
            valid_to: held.valid.to,
            status: held.status,
            reflection_only: held.reflection_only,
            said_by: held.said_by,
        }
    }
}

impl From<Hit> for Recalled {
    fn from(hit: Hit) -> Self {
        let scores = Scores {
            words: thousandths(hit.scores.words),
            vectors: hit.scores.vectors.map(thousandths),
            graph: hit.scores.graph.map(thousandths),
        };
        Self {
            kind: Memory::Statements,
            seq: hit.held.number,
            statement: hit.held.into(),
            score: share(hit.score),
            why: Why {
                scores,
                matched: hit.words,
                names: hit.names,
                path: hit.way,
            },
            same: hit.same,
            contested_by: hit.against.into_iter().map(Into::into).collect(),
            contested_by_count: hit.against_count,
        }
    }
}

fn thousandths(score: f32) -> f32 {
    (score * 1000.0).round() / 1000.0
}

impl Found {
    /// What a mind is told, in few words. `recalled` says that nothing of it is news.
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
    let times = [("from", held.valid.from), ("until", held.valid.to)].into_iter();
    let times = times.filter_map(|(word, time)| Some(format!("{word} {}", time?)));
    let said = held.said_by.iter().map(|by| mark(held.status, by));
    let reflection = held.reflection_only.then(|| "reflection only".to_owned());
    let against = hit.against.iter();
    let contested = against.map(|held| format!("contested by: {}", spaced(&held.text)));
    let marks = times.chain(said).chain(reflection).chain(contested);
    let (text, marks) = (spaced(&held.text), marks.collect::<Vec<_>>().join("; "));
    match marks.is_empty() {
        true => format!("- {text}"),
        false => format!("- {text} ({marks})"),
    }
}

fn told(hit: &Hit) -> Value {
    let Hit { held, scores, .. } = hit;
    let mut why = format!("words {:.2} ({})", scores.words, hit.words.join(" "));
    if let Some(score) = scores.vectors {
        why.push_str(&format!(", meaning {score:.2}"));
    }
    if let Some(score) = scores.graph {
        why.push_str(&format!(", graph {score:.2}"));
        if !hit.names.is_empty() {
            why.push_str(&format!(" ({})", hit.names.join(", ")));
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
    for (member, time) in [("valid_from", held.valid.from), ("valid_to", held.valid.to)] {
        if let Some(time) = time {
            told[member] = json!(time);
        }
    }
    if !hit.against.is_empty() {
        let against = hit.against.iter();
        let against = against.map(|held| json!({ "statement": held.id, "text": held.text }));
        told["contested_by"] = against.collect();
        if hit.against_count > hit.against.len() {
            told["contested_by_count"] = hit.against_count.into();
        }
    }
    told
}
