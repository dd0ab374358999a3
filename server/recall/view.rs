//! The held statements of a space in memory: their words and their graph, and what a question finds among them. Pure: it is told which rows changed
//! (`recall/finder.rs`), and holds a statement exactly while its row says that it is held.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::bm25::{Asked, Index};
use super::fusion::{Candidate, MEANT, SAID, SAID_OF_UNKNOWN, Scores, keep_first, ranked};
use super::graph::{Doc, Graph, Node};
use super::held::Held;
use super::hit::Hit;
use super::meant::Meant;
use super::pagerank::{Seeds, score, spread};
use super::rivals::Rivals;
use super::vectors::{Rows, Scale, Vector};
use crate::event::entity::Names;
use crate::log::projections::statements::StatementRow;
use crate::words::id::Seq;

mod hits;
mod lacking;
mod names;

pub use lacking::Lacking;

/// Hits of the other legs from which the walk over the graph begins.
const SEEDS: usize = 2;
/// So near has a statement to be to the question to begin a walk.
const SEED_LEAST: f32 = 0.2;
/// Statements that the vectors alone may bring.
pub(super) const NEAREST: usize = 100;
/// Most statements that are ordered: the best by score.
const RANKED_MAX: usize = 500;

/// What the legs say of each statement by its number; none: it is no candidate. An array, since a common word makes candidates of most statements.
type ByDoc = Vec<Option<Scores>>;

/// See the module.
#[derive(Debug)]
pub struct View {
    /// The last change that it knows.
    pub changed: Seq,
    /// The last change of merges that it knows.
    pub merged: Seq,
    /// The merges that stand, by their place in the log.
    merges: BTreeMap<Seq, Vec<String>>,
    names: Names,
    held: Vec<Option<Held>>,
    by_id: HashMap<String, Doc>,
    free: Vec<Doc>,
    words: Index,
    graph: Graph,
    rivals: Rivals,
    vectors: Rows,
    /// Where a model makes the vectors: the statements whose vector has not come yet.
    missing: Option<BTreeSet<Doc>>,
    /// Those whose vector lies in an index of the database.
    indexed: BTreeSet<Doc>,
    bytes: usize,
}

impl Default for View {
    fn default() -> Self {
        Self::of(Scale::LETTERS, None)
    }
}

impl View {
    /// One whose vectors a model makes: they are put in as they come (`give`).
    pub fn by_model() -> Self {
        Self::of(Scale::UNKNOWN, Some(BTreeSet::new()))
    }

    /// One of texts that stand for so many: what else there is was not read, since it has no word of the question.
    pub fn standing_for(texts: usize) -> Self {
        Self {
            words: Index::standing_for(texts),
            ..Self::default()
        }
    }

    fn of(scale: Scale, missing: Option<BTreeSet<Doc>>) -> Self {
        Self {
            changed: 0,
            merged: 0,
            merges: BTreeMap::new(),
            names: Names::default(),
            held: Vec::new(),
            by_id: HashMap::new(),
            free: Vec::new(),
            words: Index::default(),
            graph: Graph::default(),
            rivals: Rivals::default(),
            vectors: Rows::of(scale),
            missing,
            indexed: BTreeSet::new(),
            bytes: 0,
        }
    }

    /// Takes in a row that changed. Rows come in the order of their changes: one that is older than what is known was read by somebody who was
    /// overtaken, and may be held no more.
    pub fn take(&mut self, row: StatementRow) {
        if row.changed <= self.changed {
            return;
        }
        self.changed = row.changed;
        if row.status.is_held() {
            self.put(Held::of(row))
        } else {
            self.remove(&row.id)
        }
    }

    /// Takes in a statement, whatever its row says.
    pub fn put(&mut self, held: Held) {
        let ends = self.ends(&held);
        self.put_named(held, &ends.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// The same, where it connects these names.
    pub fn put_named(&mut self, held: Held, names: &[&str]) {
        self.remove(&held.id);
        let doc = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            Doc::try_from(self.held.len() - 1).unwrap_or(Doc::MAX)
        });
        self.words.put(doc, &held.words());
        self.graph.put(doc, held.number, names);
        self.rivals.put(doc, &held);
        match &mut self.missing {
            None => self.vectors.put(doc, Vector::built_in(&held.text).as_ref()),
            Some(missing) => {
                missing.insert(doc);
                self.vectors.put(doc, None);
            }
        }
        self.bytes += held.bytes();
        self.by_id.insert(held.id.clone(), doc);
        self.held[doc as usize] = Some(held);
    }

    /// Holds these and nothing else: what is there already with the same text stays.
    pub(super) fn hold(&mut self, all: Vec<Held>) {
        let wanted: HashSet<&str> = all.iter().map(|held| held.id.as_str()).collect();
        let gone: Vec<String> = self
            .by_id
            .keys()
            .filter(|id| !wanted.contains(id.as_str()))
            .cloned()
            .collect();
        gone.iter().for_each(|id| self.remove(id));
        for held in all {
            let known = self
                .doc_of(&held.id)
                .and_then(|doc| self.held.get_mut(doc as usize)?.as_mut());
            match known.filter(|known| known.text == held.text) {
                Some(known) => known.changed = held.changed,
                None => self.put(held),
            }
        }
    }

    /// Lets a statement go, if it is there.
    pub fn remove(&mut self, id: &str) {
        let Some(doc) = self.by_id.remove(id) else {
            return;
        };
        let Some(held) = self.held[doc as usize].take() else {
            return;
        };
        self.words.remove(doc, &held.words());
        self.graph.remove(doc, held.number);
        self.rivals.remove(&held);
        self.vectors.put(doc, None);
        self.missing
            .iter_mut()
            .for_each(|missing| _ = missing.remove(&doc));
        self.indexed.remove(&doc);
        self.bytes -= held.bytes();
        self.free.push(doc);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
            + self.vectors.bytes()
            + self.words.bytes()
            + self.graph.bytes()
            + self.rivals.bytes()
            + 2 * self.names.bytes()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// A statement.
    pub fn held(&self, doc: Doc) -> Option<&Held> {
        self.held.get(doc as usize)?.as_ref()
    }

    /// The vectors, by the numbers of the statements.
    pub fn vectors(&self) -> &Rows {
        &self.vectors
    }

    /// The number of a statement.
    pub fn doc_of(&self, id: &str) -> Option<Doc> {
        self.by_id.get(id).copied()
    }

    /// A statement by its id.
    pub fn of_id(&self, id: &str) -> Option<&Held> {
        self.held(*self.by_id.get(id)?)
    }

    /// What is relevant to a question, best first; at most so many. With the built-in vectors, or without any.
    pub fn find(&self, question: &str, limit: usize) -> Vec<Hit> {
        self.find_meant(question, &self.built_in(question), limit)
    }

    /// The same, with what the question means.
    pub fn find_meant(&self, question: &str, meant: &Meant, limit: usize) -> Vec<Hit> {
        let asked = Asked::of(question);
        let names = self.graph.names_in(question);
        let candidates = self.candidates(meant, &asked, &names);
        self.hits(ranked(candidates, RANKED_MAX), limit, &asked, &names)
    }

    /// What each leg says of all that may be relevant, in no order: nothing, where the question is not answered.
    pub fn scored(&self, question: &str) -> Vec<(&Held, Scores)> {
        self.scored_meant(question, &self.built_in(question))
    }

    /// The same, with what the question means.
    pub fn scored_meant(&self, question: &str, meant: &Meant) -> Vec<(&Held, Scores)> {
        let names = self.graph.names_in(question);
        let candidates = self.candidates(meant, &Asked::of(question), &names);
        candidates
            .into_iter()
            .filter_map(|it| Some((self.held(it.doc)?, it.scores)))
            .collect()
    }

    fn built_in(&self, question: &str) -> Meant {
        if self.missing.is_none() {
            Meant::built_in(question)
        } else {
            Meant::default()
        }
    }

    fn candidates(&self, meant: &Meant, asked: &Asked, names: &[Node]) -> Vec<Candidate> {
        let words = self.words.scores(asked);
        let best = words.iter().copied().fold(0.0, f32::max);
        let is_of_unknown = self.words.names_unknown(asked);
        let is_said =
            !names.is_empty() || best >= if is_of_unknown { SAID_OF_UNKNOWN } else { SAID };
        // Only a model knows what means the same in other words, and nobody knows anything of a name that nothing names.
        if !is_said && (self.missing.is_none() || self.words.names_nobody(asked)) {
            return Vec::new();
        }
        let said = |words: f32| {
            (words > 0.0).then(|| Scores {
                words,
                ..Scores::default()
            })
        };
        let mut scores: ByDoc = words.into_iter().map(said).collect();
        scores.resize(self.held.len(), None);
        let nearest = self.add_nearest(meant, &mut scores);
        if !is_said && nearest < MEANT {
            return Vec::new();
        }
        self.add_graph(meant, names, &mut scores);
        let candidate = |(doc, scores): (Doc, Option<Scores>)| {
            let (held, mut scores) = (self.held(doc)?, scores?);
            if scores.graph.is_none() && !self.graph.ends(doc).is_empty() {
                scores.graph = Some(0.0);
            }
            let fused = scores.fused(self.vectors.scale().weight);
            Some(Candidate {
                doc,
                number: held.number,
                reflection_only: held.reflection_only,
                scores,
                fused,
            })
        };
        (0..).zip(scores).filter_map(candidate).collect()
    }

    /// Adds what a walk over the graph finds from the names in the question and the best hits of the other legs.
    fn add_graph(&self, meant: &Meant, names: &[Node], scores: &mut ByDoc) {
        let weight = self.vectors.scale().weight;
        let alone = |(doc, scores): (Doc, &Option<Scores>)| {
            Some((doc, scores.as_ref()?.without_graph(weight)))
        };
        let scored = (0..)
            .zip(scores.iter())
            .filter_map(alone)
            .filter(|(_, score)| *score >= SEED_LEAST);
        let seeds = self.best(scored.collect(), SEEDS);
        let has_none = |doc: Doc| {
            let is_missing = self
                .missing
                .as_ref()
                .is_some_and(|missing| missing.contains(&doc));
            is_missing || meant.beyond.is_none() && self.indexed.contains(&doc)
        };
        for (doc, weight) in spread(&self.graph, &Seeds::of(&self.graph, names, &seeds)) {
            let scores = scores[doc as usize].get_or_insert_default();
            if meant.vector.is_some() && !has_none(doc) {
                // Too far from the question for a vector of its own to count.
                scores.vectors.get_or_insert(0.0);
            }
            scores.graph = Some(score(weight));
        }
    }

    /// Adds what the vectors say of each candidate, and the nearest of the others; how near the nearest of all is.
    fn add_nearest(&self, meant: &Meant, scores: &mut ByDoc) -> f32 {
        let Some(vector) = &meant.vector else {
            return 0.0;
        };
        let (mut others, mut nearest) = (Vec::new(), 0.0_f32);
        for (doc, near) in self.vectors.near(vector).chain(self.near_beyond(meant)) {
            nearest = nearest.max(near);
            match &mut scores[doc as usize] {
                Some(scores) => scores.vectors = Some(near),
                None if near > 0.0 => others.push((doc, near)),
                None => {}
            }
        }
        for (doc, near) in self.best(others, NEAREST) {
            scores[doc as usize] = Some(Scores {
                vectors: Some(near),
                ..Scores::default()
            });
        }
        if meant.beyond.is_some() {
            // Neither among the nearest nor among the best by words.
            for doc in &self.indexed {
                scores[*doc as usize]
                    .iter_mut()
                    .for_each(|scores| _ = scores.vectors.get_or_insert(0.0));
            }
        }
        nearest
    }

    /// The best by score, and of equals those that were claimed first; at most so many, in that order.
    fn best(&self, mut scored: Vec<(Doc, f32)>, most: usize) -> Vec<(Doc, f32)> {
        let number = |doc: Doc| self.held(doc).map_or(Seq::MAX, |held| held.number);
        keep_first(&mut scored, most, |(a, one), (b, other)| {
            other
                .total_cmp(one)
                .then_with(|| number(*a).cmp(&number(*b)))
        });
        scored
    }
}
