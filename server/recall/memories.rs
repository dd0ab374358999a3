//! Recall of notes, thoughts and frameworks, which are no statements. Words of the question find
//! candidates by the store's indexes, and these are ranked as statements are, above the same
//! threshold. They claim nothing of the world, and each tells its kind.

use std::cmp::Reverse;
use std::collections::HashMap;

use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::{Value, json};

use super::finder::{Error, Question, Recall, apart};
use super::fusion::{keep_fitting, tokens};
use super::held::{Held, Memory};
use super::view::View;
use super::view::finding::Hit;
use thinkd_event::envelope::{Event, tag};
use thinkd_log::projections::entries::EntryRow;
use thinkd_log::query::{Query, Show};
use thinkd_log::shown_to_models::{is_taken_back, shown_to_models};
use thinkd_log::words::asked;
use thinkd_words::id::{Seq, Space};

/// A note, a thought or a framework that is relevant.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Other {
    /// The kind: `notes`, `thoughts` or `frameworks`.
    pub kind: Memory,
    /// The key of a note, the event of a thought, the id of a framework.
    pub id: String,
    /// The event that said it last.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// The text of the entry.
    pub text: String,
    /// The relevance, 0 to 1, on the same scale for every question.
    pub score: f64,
    /// The words of the question that it has.
    pub matched: Vec<String>,
}

/// Words of a question by which candidates are found: the longest ones, since the short ones are the common ones.
const WORDS: usize = 8;
/// Most thoughts that are looked at for one word, the newest, and most notes of all words.
const THOUGHTS: u32 = 50;
const NOTES: u32 = 200;

/// Texts that may be relevant, as they are ranked, each with the text that is shown.
type Candidates = Vec<(Held, String)>;

impl Recall {
    /// Returns the notes, thoughts and frameworks that are relevant to a question, as they are now,
    /// best first. Also returns the number of those that have no room.
    pub async fn others(
        &self,
        space: &Space,
        question: &Question,
        among: &[Memory],
    ) -> Result<(Vec<Other>, usize), Error> {
        let mut words = asked(&question.text);
        words.sort_by_key(|word| Reverse(word.chars().count()));
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
            let thoughts = self.thoughts(space, &words).await?;
            hits.extend(ranked(Memory::Thoughts, thoughts, question).await?);
        }
        if among.contains(&Memory::Frameworks) {
            let found = self.frameworks(space, &question.text).await?.into_iter();
            hits.extend(found.map(|hit| Other::of(Memory::Frameworks, hit, None)));
        }
        hits.sort_by(|one, other| {
            let better = other.score.total_cmp(&one.score);
            better.then((one.kind, other.seq).cmp(&(other.kind, one.seq)))
        });
        hits.truncate(question.limit);
        let room = self.room_of(question);
        let left_out = keep_fitting(&mut hits, room, |hit| tokens(&hit.text));
        Ok((hits, left_out))
    }

    /// The notes that have any of these words.
    async fn notes(&self, space: &Space, words: &[String]) -> Result<Candidates, Error> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let words = words.join(" ");
        let rows = self.store.search_entries(space, &words, NOTES).await?;
        let candidate = |row: EntryRow| {
            let ranked_by = format!("{}\n{}", row.key, row.content);
            (Held::plain(row.key, row.seq, ranked_by), row.content)
        };
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// The newest thoughts that have any of these words.
    async fn thoughts(&self, space: &Space, words: &[String]) -> Result<Candidates, Error> {
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
        let found = shown_to_models(&*self.store, space, None, found).await?;
        let candidate = |event: Event| {
            // A thought of a mission has a name besides.
            let name = event.payload.get("name").and_then(Value::as_str);
            let ranked_by = format!("{}\n{}", name.unwrap_or_default(), event.text());
            let held = Held::plain(event.event_id.to_string(), event.seq, ranked_by);
            (held, event.text().to_owned())
        };
        Ok(found.into_iter().map(candidate).collect())
    }
}

/// The candidates that are relevant, best first.
async fn ranked(
    kind: Memory,
    candidates: Candidates,
    question: &Question,
) -> Result<Vec<Other>, Error> {
    let (held, texts): (Vec<Held>, Vec<String>) = candidates.into_iter().unzip();
    let ids = held.iter().map(|held| held.id.clone());
    let mut texts: HashMap<String, String> = ids.zip(texts).collect();
    let text = question.text.clone();
    let limit = question.limit;
    let found = apart(move || {
        let mut view = View::default();
        held.into_iter().for_each(|held| view.put(held));
        view.find(&text, limit)
    });
    let other = |hit: Hit| {
        let text = texts.remove(&hit.held.id);
        Other::of(kind, hit, text)
    };
    Ok(found.await?.into_iter().map(other).collect())
}

impl Other {
    /// Returns a hit with the text that is shown; none: its own.
    fn of(kind: Memory, hit: Hit, text: Option<String>) -> Self {
        Self {
            kind,
            id: hit.held.id,
            seq: hit.held.changed,
            text: text.unwrap_or(hit.held.text),
            score: hit.score,
            matched: hit.why.matched,
        }
    }
}

/// Returns these as a mind is told them.
pub fn told(others: &[Other]) -> Value {
    let why = |it: &Other| format!("words {:.2} ({})", it.score, it.matched.join(" "));
    let told = |it: &Other| json!({ "kind": it.kind, "id": it.id, "seq": it.seq, "text": it.text, "why": why(it) });
    others.iter().map(told).collect()
}
