//! One order out of the legs of a recall: the mean of their scores of a statement, each 0 to 1. A
//! leg that has no score of it counts as if it had that of the others. Pure.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use super::held::Held;

/// The scores of the legs for a statement, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Scores {
    /// The share of the question that it says in the same words.
    #[serde(serialize_with = "thousandths")]
    pub words: f32,
    /// The degree to which its meaning stands out from that of others; null: it has no vector, or
    /// the question has none.
    #[serde(serialize_with = "thousandths")]
    pub vectors: Option<f32>,
    /// The nearness in the graph to the names in the question and to the statements that the other
    /// legs found; null: it is no edge.
    #[serde(serialize_with = "thousandths")]
    pub graph: Option<f32>,
}

/// Writes the score of a leg in thousandths.
fn thousandths<S: Serializer>(
    score: &(impl Copy + Into<Option<f32>>),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let score: Option<f32> = (*score).into();
    let score = score.map(|score| (score * 1000.0).round() / 1000.0);
    score.serialize(serializer)
}

impl Scores {
    /// All of them in one.
    pub fn fused(&self) -> f32 {
        let legs = [Some(self.words), self.vectors, self.graph].into_iter();
        let add = |(sum, count), leg| (sum + leg, count + 1.0);
        let (sum, count) = legs.flatten().fold((0.0, 0.0), add);
        sum / count
    }

    /// The same without the graph: from these hits a walk over the graph begins.
    pub fn without_graph(&self) -> f32 {
        let graph = None;
        Self { graph, ..*self }.fused()
    }
}

/// A candidate: a statement, and its scores by the legs.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its number in the view.
    pub doc: u32,
    /// The statement.
    pub held: &'a Held,
    /// The scores by the legs.
    pub scores: Scores,
}

impl Candidate<'_> {
    /// Returns its score, in thousandths: scores that differ by less are the same.
    pub fn score(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1000")]
        let score = (self.scores.fused() * 1000.0).round() as i64;
        score
    }
}

/// Thousandths as a share.
#[expect(clippy::cast_precision_loss, reason = "at most 1000")]
pub fn share(score: i64) -> f64 {
    score as f64 / 1000.0
}

/// Keeps the candidates with such a score at least, best first; at most so many.
pub fn rank(candidates: &mut Vec<Candidate<'_>>, least: f32, limit: usize) {
    candidates.retain(|it| it.scores.fused() >= least);
    // How it was tested comes first; the position of its claim decides between equals, the same way everywhere.
    let key = |it: &Candidate<'_>| (it.held.place(), -it.score(), it.held.number);
    keep_first(candidates, limit, |one, other| key(one).cmp(&key(other)));
}

/// Keeps so many of the first in an order, and sorts these alone.
pub fn keep_first<T>(all: &mut Vec<T>, most: usize, order: impl Fn(&T, &T) -> Ordering) {
    if most == 0 {
        all.clear();
    }
    if all.len() > most {
        all.select_nth_unstable_by(most - 1, &order);
        all.truncate(most);
    }
    all.sort_by(&order);
}

/// Keeps the items that have room, in order, and returns the number of the others: an item without
/// room leaves it to those behind it.
pub fn keep_fitting<T>(all: &mut Vec<T>, mut room: usize, takes: impl Fn(&T) -> usize) -> usize {
    let count = all.len();
    all.retain(|it| {
        let left = room.checked_sub(takes(it));
        room = left.unwrap_or(room);
        left.is_some()
    });
    count - all.len()
}

/// Returns about how many tokens a text has: one for four ASCII characters, and one for each other
/// character.
pub fn tokens(text: &str) -> usize {
    let count = text.chars().count();
    let plain = text.chars().filter(char::is_ascii).count();
    plain.div_ceil(4) + count - plain
}
