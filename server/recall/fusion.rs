//! One order out of the legs of a recall: a convex combination of scores that mean the same for every question, so that what is below a fixed
//! threshold is nothing (Bruch et al. 2023). Pure.

use std::cmp::Ordering;

use serde::Serialize;

use super::vectors::RELATED;

/// What a leg counts.
const WORDS: f32 = 0.40;
const GRAPH: f32 = 0.45;
/// Below this nothing is relevant.
pub const RELEVANT: f32 = 0.17;
/// A question without a known name is answered only if some statement says so much of it; one with a name that nobody knows, so much.
pub const SAID: f32 = 0.3;
/// See `SAID`.
pub const SAID_OF_UNKNOWN: f32 = 0.5;
/// So near in meaning, by the vectors of a model, a statement answers a question whose words no statement says.
pub const MEANT: f32 = 0.7 * RELATED;
/// Below this part of the best hit the rest is beside the point.
const OF_BEST: f32 = 0.4;

/// What each leg says of a statement, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Scores {
    /// How much of what is asked it says in the same words.
    pub words: f32,
    /// How near its meaning is; null: it has no vector, or the question has none.
    pub vectors: Option<f32>,
    /// How near it is in the graph to the names in the question and to what the other legs found; null: it is no edge.
    pub graph: Option<f32>,
}

impl Scores {
    /// All of them in one. A leg that can say nothing counts as if it said what the others say.
    /// `vectors`: what the vectors count.
    pub fn fused(&self, vectors: f32) -> f32 {
        mean([
            (WORDS, Some(self.words)),
            (vectors, self.vectors),
            (GRAPH, self.graph),
        ])
    }

    /// The same without the graph: from these hits a walk over the graph begins.
    pub fn without_graph(&self, vectors: f32) -> f32 {
        mean([
            (WORDS, Some(self.words)),
            (vectors, self.vectors),
            (GRAPH, None),
        ])
    }
}

/// The mean of what there is, weighted.
fn mean(legs: [(f32, Option<f32>); 3]) -> f32 {
    let add = |(sum, weights): (f32, f32), (weight, score): (f32, Option<f32>)| match score {
        Some(score) => (weight.mul_add(score, sum), weights + weight),
        None => (sum, weights),
    };
    let (sum, weights) = legs.into_iter().fold((0.0, 0.0), add);
    sum / weights
}

/// A candidate: what it is to the caller, when it was claimed, whether nothing but reflection tested it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// The statement.
    pub doc: u32,
    /// The position of its claim: it decides between equals, the same way everywhere.
    pub number: i64,
    /// Nothing but reflection tested it: it stands below all that was tested.
    pub reflection_only: bool,
    /// What the legs say.
    pub scores: Scores,
    /// All of them in one.
    pub fused: f32,
}

impl Candidate {
    /// Its score, in thousandths: what differs by less is the same.
    pub fn score(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1000")]
        let score = (self.fused * 1000.0).round() as i64;
        score
    }
}

/// The relevant ones, best first; at most so many.
pub fn ranked(mut candidates: Vec<Candidate>, limit: usize) -> Vec<Candidate> {
    let best = candidates.iter().map(|it| it.fused).fold(0.0, f32::max);
    let least = RELEVANT.max(best * OF_BEST);
    candidates.retain(|it| it.fused >= least);
    let key = |it: &Candidate| (it.reflection_only, -it.score(), it.number);
    keep_first(&mut candidates, limit, |one, other| {
        key(one).cmp(&key(other))
    });
    candidates
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

/// About how many tokens a text has: of what is written with spaces a token for four characters, else one for each.
pub fn tokens(text: &str) -> usize {
    let (plain, other) = text
        .chars()
        .fold((0, 0), |(plain, other), c| match c.is_ascii() {
            true => (plain + 1, other),
            false => (plain, other + 1),
        });
    usize::div_ceil(plain, 4) + other
}
