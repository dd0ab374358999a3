//! The held statements of a space in memory: their words and their graph, and what a question finds among them. Pure: it is told which rows changed
//! (`recall/finder.rs`), and holds a statement exactly while its row says that it is held, or recalled on a person's word.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::bm25::{Asked, Index};
use super::fusion::{Candidate, Scores, keep_first, ranked};
use super::graph::{Doc, Graph, Node};
use super::held::Held;
use super::pagerank::spread;
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
#[derive(Debug, Default)]
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

/// A statement that a question found, and why.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The statement.
    pub held: Held,
    /// What all legs say, in thousandths.
    pub score: i64,
    /// What each leg says.
    pub scores: Scores,
    /// The words of the question that it has.
    pub words: Vec<String>,
    /// The names in the question that it is about.
    pub names: Vec<String>,
    /// The statements by which one comes to it from a name in the question, this one last; empty: there is no such way.
    pub way: Vec<String>,
    /// Others that say the same.
    pub same: Vec<String>,
    /// What contradicts it and is held, too: the first few.
    pub against: Vec<Held>,
    /// How many there are.
    pub against_count: usize,
}

impl Hit {
    /// All statements that it shows.
    pub fn shown(&self) -> impl Iterator<Item = &Held> {
        std::iter::once(&self.held).chain(&self.against)
    }
}

impl View {
    /// One whose vectors a model makes: they are put in as they come (`give`).
    pub fn by_model() -> Self {
        Self {
            vectors: Rows::of(Scale::UNKNOWN),
            missing: Some(BTreeSet::new()),
            ..Self::default()
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
        self.put_named(held, &ends);
    }

    /// The same, where it connects these names.
    pub fn put_named(&mut self, held: Held, names: &[impl AsRef<str>]) {
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
        let wanted: HashSet<&String> = all.iter().map(|held| &held.id).collect();
        let gone = self.by_id.keys().filter(|id| !wanted.contains(id));
        for id in gone.cloned().collect::<Vec<_>>() {
            self.remove(&id);
        }
        for held in all {
            let doc = self.doc_of(&held.id);
            let known = doc.and_then(|doc| self.held.get_mut(doc as usize)?.as_mut());
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
        if let Some(missing) = &mut self.missing {
            missing.remove(&doc);
        }
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
        self.held(self.doc_of(id)?)
    }

    /// What is relevant to a question, best first; at most so many. Without vectors.
    pub fn find(&self, question: &str, limit: usize) -> Vec<Hit> {
        self.find_meant(question, None, limit)
    }

    /// The same, with the vector of the question.
    pub fn find_meant(&self, question: &str, vector: Option<&Vector>, limit: usize) -> Vec<Hit> {
        let (asked, names) = self.asked(question);
        let candidates = self.candidates(vector, &asked, &names);
        let ranked = ranked(candidates, self.words.relevant(&asked), RANKED_MAX);
        self.hits(ranked, limit, &asked, &names)
    }

    /// What each leg says of all that may be relevant, in no order: nothing, where the question is not answered.
    pub fn scored(&self, question: &str, vector: Option<&Vector>) -> Vec<(&Held, Scores)> {
        let (asked, names) = self.asked(question);
        let candidates = self.candidates(vector, &asked, &names).into_iter();
        candidates
            .filter_map(|it| Some((self.held(it.doc)?, it.scores)))
            .collect()
    }

    /// The words of a question, and the names of the graph in it, of those that tell of something.
    fn asked(&self, question: &str) -> (Asked, Vec<Node>) {
        let asked = self.words.asked(question);
        let names = self.graph.names_in(question).into_iter();
        let names = names.filter(|(_, words)| asked.tells_of(words));
        let names = names.map(|(name, _)| name).collect();
        (asked, names)
    }

    fn candidates(&self, vector: Option<&Vector>, asked: &Asked, names: &[Node]) -> Vec<Candidate> {
        let words = self.words.scores(asked);
        let relevant = self.words.relevant(asked);
        let near = self.near(vector, relevant);
        // The graph leads on from an answer, or from a name; alone it answers nothing.
        let said = words.iter().chain(near.iter().flatten()).copied();
        if names.is_empty() && said.fold(0.0, f32::max) < relevant {
            return Vec::new();
        }
        let of = |doc: Doc, words: f32| Scores {
            words,
            vectors: near[doc as usize],
            graph: None,
        };
        let said = |(doc, words): (Doc, f32)| (words > 0.0).then(|| of(doc, words));
        let mut scores: ByDoc = (0..).zip(words).map(said).collect();
        let is_other = |doc: Doc, near: f32| near > 0.0 && scores[doc as usize].is_none();
        let others = (0..)
            .zip(&near)
            .filter_map(|(doc, near)| Some((doc, (*near)?)));
        let others = others.filter(|(doc, near)| is_other(*doc, *near));
        for (doc, _) in self.best(others.collect(), NEAREST) {
            scores[doc as usize] = Some(of(doc, 0.0));
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
            Some(Candidate {
                doc,
                number: held.number,
                place: held.place(),
                scores,
                fused: scores.fused(),
            })
        };
        (0..).zip(scores).filter_map(candidate).collect()
    }

    /// Returns what a walk over the graph finds from the names in the question and the best hits of the other legs.
    fn walked(&self, names: &[Node], least: f32, scores: &ByDoc) -> Vec<(Doc, f32)> {
        let alone =
            |(doc, scores): (Doc, &Option<Scores>)| Some((doc, scores.as_ref()?.without_graph()));
        let scored = (0..).zip(scores).filter_map(alone);
        let scored = scored.filter(|(_, score)| *score >= least);
        spread(&self.graph, names, &self.best(scored.collect(), SEEDS))
    }

    /// Returns how far each statement stands out from the others by its vector, by its number, in the measure of
    /// words: an answer has the least relevant score.
    fn near(&self, vector: Option<&Vector>, least: f32) -> Vec<Option<f32>> {
        let mut near = vec![None; self.held.len()];
        let all = vector.map(|it| self.vectors.standing_out(it));
        for (doc, by) in all.into_iter().flatten() {
            near[doc as usize] = Some((by * least).clamp(0.0, 1.0));
        }
        near
    }

    /// The best by score, and of equals those that were claimed first; at most so many, in that order.
    fn best(&self, mut scored: Vec<(Doc, f32)>, most: usize) -> Vec<(Doc, f32)> {
        let number = |doc: Doc| self.held(doc).map_or(Seq::MAX, |held| held.number);
        keep_first(&mut scored, most, |(a, one), (b, other)| {
            let better = other.total_cmp(one);
            better.then_with(|| number(*a).cmp(&number(*b)))
        });
        scored
    }
}
