//! Recall of what is no statement: notes, thoughts and frameworks. Words of the question find candidates by the store's indexes, and these are ranked as
//! statements are, above the same threshold. They claim nothing of the world, and say of themselves what they are.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::finder::{Error, Question, Recall, apart};
use super::fusion::tokens;
use super::held::Held;
use super::hit::Hit;
use super::view::View;
use crate::event::envelope::{Event, tag};
use crate::log::query::{Query, Show};
use crate::log::shown_to_models::{is_taken_back, shown_to_models};
use crate::log::words::asked;
use crate::words::id::{Seq, Space};

/// What can be recalled.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// What is held to be so.
    Statements,
    /// What modules noted for themselves.
    Notes,
    /// What was thought.
    Thoughts,
    /// How kinds of tasks are solved.
    Frameworks,
}

impl Memory {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Statements,
        Self::Notes,
        Self::Thoughts,
        Self::Frameworks,
    ];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Statements => "statements",
            Self::Notes => "notes",
            Self::Thoughts => "thoughts",
            Self::Frameworks => "frameworks",
        }
    }

    /// The memory of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|memory| memory.as_str() == word)
    }
}

/// A note, a thought or a framework that a question found.
#[derive(Debug, Clone)]
pub struct OtherHit {
    /// What it is.
    pub kind: Memory,
    /// The key of a note, the event of a thought, the id of a framework.
    pub id: String,
    /// The event that said it last.
    pub seq: Seq,
    /// What it says.
    pub text: String,
    /// How relevant it is, in thousandths.
    pub score: i64,
    /// The words of the question that it has.
    pub words: Vec<String>,
}

/// Words of a question by which candidates are found: the longest ones, since the short ones are the common ones.
const WORDS: usize = 8;
/// Most thoughts that are looked at for one word, the newest, and most notes of all words.
const THOUGHTS: u32 = 50;
const NOTES: u32 = 200;

/// A candidate: what it is shown as, and the text by which it is ranked.
struct Candidate {
    seq: Seq,
    text: String,
    ranked_by: String,
}

impl Recall {
    /// What is relevant to a question among notes, thoughts and frameworks, as they are now, best first; and how many more are that have no room.
    pub async fn others(
        &self,
        space: &Space,
        question: &Question,
        among: &[Memory],
    ) -> Result<(Vec<OtherHit>, usize), Error> {
        let mut words = asked(&question.text);
        words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
        words.truncate(WORDS);
        let mut hits = Vec::new();
        if among.contains(&Memory::Notes) {
            let notes = self.notes(space, &words).await?;
            for hit in ranked(Memory::Notes, notes, question).await? {
                if !is_taken_back(&*self.store, space, hit.seq).await? {
                    hits.push(hit);
                }
            }
        }
        if among.contains(&Memory::Thoughts) {
            hits.extend(
                ranked(
                    Memory::Thoughts,
                    self.thoughts(space, &words).await?,
                    question,
                )
                .await?,
            );
        }
        if among.contains(&Memory::Frameworks) {
            let found = self.frameworks(space, &question.text).await?;
            hits.extend(found.into_iter().map(|hit| {
                let text = hit.held.text.clone();
                other(Memory::Frameworks, hit, text)
            }));
        }
        hits.sort_by(|one, other| {
            other
                .score
                .cmp(&one.score)
                .then(one.kind.cmp(&other.kind))
                .then(other.seq.cmp(&one.seq))
        });
        hits.truncate(question.limit);
        let (mut room, all) = (self.room_of(question), hits.len());
        hits.retain(|hit| {
            let takes = tokens(&hit.text);
            let fits = takes <= room;
            room -= if fits { takes } else { 0 };
            fits
        });
        let left_out = all - hits.len();
        Ok((hits, left_out))
    }

    /// The notes that have any of these words, by their keys.
    async fn notes(
        &self,
        space: &Space,
        words: &[String],
    ) -> Result<BTreeMap<String, Candidate>, Error> {
        if words.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rows = self
            .store
            .search_entries(space, &words.join(" "), NOTES)
            .await?;
        let candidate = |row: crate::log::projections::entries::EntryRow| {
            let ranked_by = format!("{}\n{}", row.key, row.content);
            (
                row.key,
                Candidate {
                    seq: row.seq,
                    text: row.content,
                    ranked_by,
                },
            )
        };
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// The newest thoughts that have any of these words, by their events.
    async fn thoughts(
        &self,
        space: &Space,
        words: &[String],
    ) -> Result<BTreeMap<String, Candidate>, Error> {
        let with = |word: &String| {
            let query = Query {
                tags: vec![tag::THOUGHT.to_owned()],
                text: Some(word.clone()),
                show: Show::Visible,
                limit: THOUGHTS,
                ..Query::default()
            };
            async move { self.store.events(space, &query).await }
        };
        let found = try_join_all(words.iter().map(with)).await?;
        let found = found.into_iter().flatten().collect();
        let found = shown_to_models(&*self.store, space, found).await?;
        let candidate = |event: Event| {
            let text = event.text().to_owned();
            // A thought of a mission has a name besides.
            let name = event
                .payload
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            (
                event.event_id.to_string(),
                Candidate {
                    seq: event.seq,
                    ranked_by: format!("{name}\n{text}"),
                    text,
                },
            )
        };
        Ok(found.into_iter().map(candidate).collect())
    }
}

/// The candidates that are relevant, best first.
async fn ranked(
    kind: Memory,
    mut candidates: BTreeMap<String, Candidate>,
    question: &Question,
) -> Result<Vec<OtherHit>, Error> {
    let held: Vec<Held> = candidates
        .iter_mut()
        .map(|(id, it)| Held::plain(id.clone(), it.seq, std::mem::take(&mut it.ranked_by)))
        .collect();
    let (text, limit) = (question.text.clone(), question.limit);
    let found = apart(move || {
        let mut view = View::default();
        held.into_iter().for_each(|held| view.put(held));
        view.find(&text, limit)
    })
    .await?;
    Ok(found
        .into_iter()
        .filter_map(|hit| {
            let text = candidates.remove(&hit.held.id)?.text;
            Some(other(kind, hit, text))
        })
        .collect())
}

fn other(kind: Memory, hit: Hit, text: String) -> OtherHit {
    let Hit {
        held, score, words, ..
    } = hit;
    OtherHit {
        kind,
        id: held.id,
        seq: held.changed,
        text,
        score,
        words,
    }
}

/// What a mind is told of these.
pub fn told(hits: &[OtherHit]) -> Value {
    let told = |hit: &OtherHit| json!({ "kind": hit.kind, "id": hit.id, "seq": hit.seq, "text": hit.text, "why": format!("words {:.2} ({})", share(hit.score), hit.words.join(" ")) });
    hits.iter().map(told).collect()
}

/// Thousandths as a share.
#[expect(clippy::cast_precision_loss, reason = "at most 1000")]
pub fn share(score: i64) -> f64 {
    score as f64 / 1000.0
}
