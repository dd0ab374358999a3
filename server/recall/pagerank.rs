//! The graph leg of a recall: personalised PageRank from the names in the question and the best
//! hits of the other legs (the idea of HippoRAG, without a model). Pure. Weights are whole numbers:
//! a sum is the same in any order, so that the order of hits is the same on every server.

use super::graph::{Doc, Graph, Node};

/// All the weight that there is.
const WHOLE: u64 = 1 << 40;
/// Half steps of a walk from name to name.
const ROUNDS: usize = 8;
/// Of 10 parts of a weight that arrives these go on.
const GOES_ON: u64 = 7;
/// A weight that is spread thinner than this is no hint, and goes no further: so the work is
/// bounded, in any graph.
const LEAST: u64 = WHOLE >> 16;

#[expect(clippy::cast_precision_loss, reason = "a count of statements")]
fn count(of: usize) -> f64 {
    of as f64
}

/// A weight, shared out.
fn shared(among: impl Iterator<Item = (u32, f64)> + Clone, whole: u64) -> Weights {
    let sum: f64 = among.clone().map(|(_, weight)| weight).sum();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the whole"
    )]
    let part = |weight: f64| (weight / sum * whole as f64) as u64;
    let mut weights = Weights::default();
    for (at, weight) in among.filter(|_| sum > 0.0) {
        weights.add(at, part(weight));
    }
    weights
}

/// Weights by number, and which numbers have any: an array, since a walk through a large graph comes to most of it.
#[derive(Default)]
struct Weights {
    at: Vec<u64>,
    touched: Vec<u32>,
}

impl Weights {
    fn add(&mut self, to: u32, weight: u64) {
        let place = to as usize;
        if self.at.len() <= place {
            self.at.resize((place + 1).next_power_of_two(), 0);
        }
        if weight > 0 && self.at[place] == 0 {
            self.touched.push(to);
        }
        self.at[place] += weight;
    }

    /// Takes all of them out.
    fn drain(&mut self) -> impl Iterator<Item = (u32, u64)> {
        let at = &mut self.at;
        self.touched
            .drain(..)
            .map(|to| (to, std::mem::take(&mut at[to as usize])))
    }
}

/// Returns the beginnings of a walk with their weights: names, and statements. Most of the weight is for names, the rest for statements by their
/// scores; all for one of the two where the other is empty. A name that few statements have tells more than one that many have.
fn seeds(graph: &Graph, names: &[Node], docs: &[(Doc, f32)]) -> (Weights, Weights) {
    let rarity = |node: Node| 1.0 / (1.0 + count(graph.of_name(node).len())).ln_1p();
    let (for_names, for_docs) = match (names.is_empty(), docs.is_empty()) {
        (false, false) => (WHOLE - WHOLE / 4, WHOLE / 4),
        _ => (WHOLE, WHOLE),
    };
    let names = names.iter().map(|node| (*node, rarity(*node)));
    let docs = docs.iter().map(|(doc, score)| (*doc, f64::from(*score)));
    (shared(names, for_names), shared(docs, for_docs))
}

/// Returns the nearness of each statement that a walk comes to, as a score from 0 to 1. The
/// beginnings of the walk do not count: they are no news.
pub fn spread(graph: &Graph, names: &[Node], docs: &[(Doc, f32)]) -> Vec<(Doc, f32)> {
    let mut rests = Weights::default();
    let (mut at_names, mut at_docs) = seeds(graph, names, docs);
    let mut next_docs = Weights::default();
    let mut next_names = Weights::default();
    for round in 0..ROUNDS {
        for (doc, weight) in at_docs.drain() {
            let on = weight / 10 * GOES_ON;
            let ends = graph.ends(doc);
            if round > 0 {
                rests.add(doc, weight - on);
            }
            ends.iter()
                .for_each(|end| next_names.add(*end, on / ends.len() as u64));
        }
        for (name, weight) in at_names.drain() {
            let docs = graph.of_name(name);
            let part = weight / 10 * GOES_ON / docs.len().max(1) as u64;
            if part >= LEAST {
                docs.for_each(|doc| next_docs.add(doc, part));
            }
        }
        std::mem::swap(&mut at_docs, &mut next_docs);
        std::mem::swap(&mut at_names, &mut next_names);
    }
    let found = rests.drain();
    found.map(|(doc, weight)| (doc, score(weight))).collect()
}

/// Returns a weight as a score from 0 to 1, by its order of magnitude: the more statements there
/// are, the less weight rests on each.
fn score(weight: u64) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a part of the whole")]
    let of = |weight: u64| (weight as f32 / LEAST as f32).max(1.0).ln();
    of(weight) / of(WHOLE)
}
