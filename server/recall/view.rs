//! The held statements of a space in memory: their words and their graph, and what a question finds among them. Pure: it is told which rows changed
//! (`recall/finder.rs`), and holds a statement exactly while its row says that it is held, or recalled on a person's word.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::bm25::{Asked, Index};
use super::fusion::{Candidate, Scores, keep_first, ranked};
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
/// Statements that the vectors alone may bring.
const NEAREST: usize = 100;
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
        if row.status.is_held() || row.word().is_some() {
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

    /// What is relevant to a question, best first; at most so many. Without vectors.
    pub fn find(&self, question: &str, limit: usize) -> Vec<Hit> {
        self.find_meant(question, &Meant::default(), limit)
    }

    /// The same, with what the question means.
    pub fn find_meant(&self, question: &str, meant: &Meant, limit: usize) -> Vec<Hit> {
        let asked = self.words.asked(question);
        let names = self.names_in(question, &asked);
        let candidates = self.candidates(meant, &asked, &names);
        let least = self.words.relevant(&asked);
        let ranked = ranked(candidates, least, RANKED_MAX);
        self.hits(ranked, limit, &asked, &names)
    }

    /// What each leg says of all that may be relevant, in no order: nothing, where the question is not answered.
    pub fn scored(&self, question: &str) -> Vec<(&Held, Scores)> {
        self.scored_meant(question, &Meant::default())
    }

    /// The same, with what the question means.
    pub fn scored_meant(&self, question: &str, meant: &Meant) -> Vec<(&Held, Scores)> {
        let asked = self.words.asked(question);
        let names = self.names_in(question, &asked);
        let candidates = self.candidates(meant, &asked, &names);
        candidates
            .into_iter()
            .filter_map(|it| Some((self.held(it.doc)?, it.scores)))
            .collect()
    }

    /// The names of the graph in a question, of those that tell of something.
    fn names_in(&self, question: &str, asked: &Asked) -> Vec<Node> {
        let names = self.graph.names_in(question).into_iter();
        names
            .filter_map(|(name, words)| asked.tells_of(&words).then_some(name))
            .collect()
    }

    fn candidates(&self, meant: &Meant, asked: &Asked, names: &[Node]) -> Vec<Candidate> {
        let words = self.words.scores(asked);
        let best = words.iter().copied().fold(0.0, f32::max);
        let relevant = self.words.relevant(asked);
        let near = self.near(meant, relevant);
        let near_of = |doc: Doc| near.get(doc as usize).copied().flatten();
        let of = |doc: Doc, words: f32| Scores {
            words,
            vectors: near_of(doc),
            graph: None,
        };
        let said = |(doc, words): (Doc, f32)| (words > 0.0).then(|| of(doc, words));
        let mut scores: ByDoc = (0..).zip(words).map(said).collect();
        scores.resize(self.held.len(), None);
        let others = (0..).zip(&near).filter_map(|(doc, near)| {
            let is_other = scores[doc as usize].is_none();
            Some((doc, near.filter(|near| is_other && *near > 0.0)?))
        });
        for (doc, _) in self.best(others.collect(), NEAREST) {
            scores[doc as usize] = Some(of(doc, 0.0));
        }
        let nearest = near.iter().flatten().copied().fold(0.0, f32::max);
        // The graph leads on from an answer, or from a name; alone it answers nothing.
        if names.is_empty() && best < relevant && nearest < relevant {
            return Vec::new();
        }
        for (doc, graph) in self.walked(names, relevant, &scores) {
            let scores = scores[doc as usize].get_or_insert_with(|| of(doc, 0.0));
            scores.graph = Some(graph);
        }
        let candidate = |(doc, scores): (Doc, Option<Scores>)| {
            let (held, mut scores) = (self.held(doc)?, scores?);
            if scores.graph.is_none() && !self.graph.ends(doc).is_empty() {
                scores.graph = Some(0.0);
            }
            let fused = scores.fused();
            Some(Candidate {
                doc,
                number: held.number,
                place: held.place(),
                scores,
                fused,
            })
        };
        (0..).zip(scores).filter_map(candidate).collect()
    }

    /// Returns what a walk over the graph finds from the names in the question and the best hits of the other legs.
    fn walked(&self, names: &[Node], least: f32, scores: &ByDoc) -> Vec<(Doc, f32)> {
        let alone =
            |(doc, scores): (Doc, &Option<Scores>)| Some((doc, scores.as_ref()?.without_graph()));
        let scored = (0..)
            .zip(scores)
            .filter_map(alone)
            .filter(|(_, score)| *score >= least);
        let seeds = self.best(scored.collect(), SEEDS);
        let found = spread(&self.graph, &Seeds::of(&self.graph, names, &seeds));
        let found = found.into_iter();
        found.map(|(doc, weight)| (doc, score(weight))).collect()
    }

    /// Returns how far each statement stands out from the others by its vector, by its number, in the measure of
    /// words: an answer has the least relevant score.
    fn near(&self, meant: &Meant, least: f32) -> Vec<Option<f32>> {
        let mut near = vec![None; self.held.len()];
        for (doc, by) in meant
            .vector
            .iter()
            .flat_map(|it| self.vectors.standing_out(it))
        {
            near[doc as usize] = Some((by * least).clamp(0.0, 1.0));
        }
        near
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
