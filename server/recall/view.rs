//! The held statements of a space in memory: their words and their graph, and what a question finds among them. Pure: it is told which rows changed
//! (`recall/finder.rs`), and holds a statement exactly while its row says that it is held.

use std::collections::{BTreeSet, HashMap};

use super::bm25::{Asked, Index};
use super::fusion::{Candidate, SAID, SAID_OF_UNKNOWN, Scores, ranked};
use super::graph::{Doc, Graph, Node};
use super::pagerank::{Seeds, score, spread};
use super::vectors::{Rows, Vector};
use crate::event::statement::{Instrument, Status, Triple, Valid, folded};
use crate::log::projections::statements::StatementRow;
use crate::log::words::{atoms, sequence};
use crate::words::id::Seq;

/// Hits of the other legs from which the walk over the graph begins.
const SEEDS: usize = 2;
/// So near has a statement to be to the question to begin a walk.
const SEED_LEAST: f32 = 0.2;
/// Statements that the vectors alone may bring.
const NEAREST: usize = 100;
/// Most statements that are ordered: the best by score.
const RANKED_MAX: usize = 500;
/// Most names along the way to a hit.
const WAY_MAX: usize = 3;
/// Bytes of a statement besides its texts.
const DOC: usize = 400;

/// A held statement.
#[derive(Debug, Clone)]
pub struct Held {
    /// Its id.
    pub id: String,
    /// The position of its claim.
    pub number: Seq,
    /// The event that changed it last.
    pub changed: Seq,
    /// What it says.
    pub text: String,
    /// The same as an edge.
    pub triple: Option<Triple>,
    /// When it is said to hold.
    pub valid: Valid,
    /// `surviving` or `contested`.
    pub status: Status,
    /// What contradicts it.
    pub contested_by: Vec<String>,
    /// Nothing but reflection tested it.
    pub reflection_only: bool,
}

impl Held {
    /// What a view keeps of a row.
    pub fn of(row: StatementRow) -> Self {
        let judged = row.judged;
        let reflection_only = judged.as_ref().is_some_and(|judged| judged.carried == [Instrument::Reflection]);
        let contested_by = judged.filter(|_| row.status == Status::Contested).map(|judged| judged.others);
        Self {
            id: row.id,
            number: row.number,
            changed: row.changed,
            text: row.text,
            triple: row.triple,
            valid: row.valid,
            status: row.status,
            contested_by: contested_by.unwrap_or_default(),
            reflection_only,
        }
    }

    fn words(&self) -> Vec<String> {
        let mut words = sequence(&self.text);
        let known: BTreeSet<&String> = words.iter().collect();
        let names = self.triple.iter().flat_map(|triple| [&triple.subject, &triple.relation, &triple.object]);
        let more: BTreeSet<String> = names.flat_map(|name| sequence(name)).chain(atoms(&self.text)).collect();
        let more: Vec<String> = more.into_iter().filter(|word| !known.contains(word)).collect();
        words.extend(more);
        words
    }

    fn bytes(&self) -> usize {
        let names = self.triple.as_ref().map_or(0, |it| it.subject.len() + it.relation.len() + it.object.len());
        DOC + Rows::BYTES + self.text.len() + names + self.contested_by.len() * 64
    }
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
    /// What contradicts it, if that is held.
    pub against: Vec<Held>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct View {
    /// The last change that it knows.
    pub changed: Seq,
    held: Vec<Option<Held>>,
    by_id: HashMap<String, Doc>,
    free: Vec<Doc>,
    words: Index,
    graph: Graph,
    vectors: Rows,
    bytes: usize,
}

impl View {
    /// Takes in a row that changed. Rows come in the order of their changes: one that is older than what is known was read by somebody who was
    /// overtaken, and may be held no more.
    pub fn take(&mut self, row: StatementRow) {
        if row.changed <= self.changed {
            return;
        }
        self.changed = row.changed;
        if row.status.is_held() { self.put(Held::of(row)) } else { self.remove(&row.id) }
    }

    /// Takes in a statement, whatever its row says.
    pub fn put(&mut self, held: Held) {
        let triple = held.triple.clone();
        let names = triple.iter().flat_map(|triple| [triple.subject.as_str(), triple.object.as_str()]);
        self.put_named(held, &names.collect::<Vec<_>>());
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
        self.vectors.put(doc, Vector::built_in(&held.text).as_ref());
        self.bytes += held.bytes();
        self.by_id.insert(held.id.clone(), doc);
        self.held[doc as usize] = Some(held);
    }

    /// Lets a statement go, if it is there.
    pub fn remove(&mut self, id: &str) {
        let Some(doc) = self.by_id.remove(id) else { return };
        let Some(held) = self.held[doc as usize].take() else { return };
        self.words.remove(doc, &held.words());
        self.graph.remove(doc, held.number);
        self.vectors.put(doc, None);
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
        self.bytes + self.words.bytes() + self.graph.bytes()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// A statement.
    pub fn held(&self, doc: Doc) -> Option<&Held> {
        self.held.get(doc as usize)?.as_ref()
    }

    /// A statement by its id.
    pub fn of_id(&self, id: &str) -> Option<&Held> {
        self.held(*self.by_id.get(id)?)
    }

    /// What is relevant to a question, best first; at most so many.
    pub fn find(&self, question: &str, limit: usize) -> Vec<Hit> {
        let asked = Asked::of(question);
        let names = self.graph.names_in(question);
        let candidates = self.candidates(question, &asked, &names);
        self.hits(ranked(candidates, RANKED_MAX), limit, &asked, &names)
    }

    /// What each leg says of all that may be relevant, in no order: nothing, where the question is not answered.
    pub fn scored(&self, question: &str) -> Vec<(&Held, Scores)> {
        let names = self.graph.names_in(question);
        let candidates = self.candidates(question, &Asked::of(question), &names);
        candidates.into_iter().filter_map(|it| Some((self.held(it.doc)?, it.scores))).collect()
    }

    fn candidates(&self, question: &str, asked: &Asked, names: &[Node]) -> Vec<Candidate> {
        let mut scores: HashMap<Doc, Scores> = HashMap::new();
        for (doc, words) in self.words.scores(asked) {
            scores.insert(doc, Scores { words, ..Scores::default() });
        }
        let best = scores.values().map(|scores| scores.words).fold(0.0, f32::max);
        let enough = if self.words.names_unknown(asked) { SAID_OF_UNKNOWN } else { SAID };
        if names.is_empty() && best < enough {
            return Vec::new();
        }
        self.add_nearest(question, &mut scores);
        let mut seeds: Vec<(Doc, f32)> = scores.iter().map(|(doc, scores)| (*doc, scores.without_graph())).collect();
        seeds.retain(|(_, score)| *score >= SEED_LEAST);
        self.sort(&mut seeds);
        seeds.truncate(SEEDS);
        for (doc, weight) in spread(&self.graph, &Seeds::of(&self.graph, names, &seeds)) {
            let scores = scores.entry(doc).or_default();
            // Too far from the question for a vector of its own to count.
            scores.vectors.get_or_insert(0.0);
            scores.graph = Some(score(weight));
        }
        let candidate = |(doc, mut scores): (Doc, Scores)| {
            let held = self.held(doc)?;
            if scores.graph.is_none() && !self.graph.ends(doc).is_empty() {
                scores.graph = Some(0.0);
            }
            Some(Candidate { doc, number: held.number, reflection_only: held.reflection_only, scores })
        };
        scores.into_iter().filter_map(candidate).collect()
    }

    /// Adds what the vectors say of each candidate, and the nearest of the others.
    fn add_nearest(&self, question: &str, scores: &mut HashMap<Doc, Scores>) {
        let Some(vector) = Vector::built_in(question) else { return };
        let mut others = Vec::new();
        for (doc, near) in self.vectors.near(&vector) {
            match scores.get_mut(&doc) {
                Some(scores) => scores.vectors = Some(near),
                None if near > 0.0 => others.push((doc, near)),
                None => {}
            }
        }
        self.sort(&mut others);
        others.truncate(NEAREST);
        let with = |(doc, near)| (doc, Scores { vectors: Some(near), ..Scores::default() });
        scores.extend(others.into_iter().map(with));
    }

    /// Sorts by score, and equals by when they were claimed.
    fn sort(&self, scored: &mut [(Doc, f32)]) {
        let number = |doc: Doc| self.held(doc).map_or(Seq::MAX, |held| held.number);
        scored.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| number(*a).cmp(&number(*b))));
    }

    /// Candidates as hits, without those that say the same as a better one.
    fn hits(&self, candidates: Vec<Candidate>, limit: usize, asked: &Asked, names: &[Node]) -> Vec<Hit> {
        let mut hits: Vec<(Saying, Hit)> = Vec::new();
        for candidate in candidates {
            let Some(held) = self.held(candidate.doc) else { continue };
            let saying = Saying::of(held);
            if let Some((_, hit)) = hits.iter_mut().find(|(other, _)| other.is_same(&saying)) {
                hit.same.push(held.id.clone());
            } else if hits.len() < limit {
                hits.push((saying, self.hit(candidate, held, asked, names)));
            } else {
                break;
            }
        }
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    fn hit(&self, Candidate { doc, scores, .. }: Candidate, held: &Held, asked: &Asked, names: &[Node]) -> Hit {
        let ends = self.graph.ends(doc);
        let about = names.iter().filter(|name| ends.contains(name));
        let against = held.contested_by.iter().filter_map(|id| self.of_id(id)).cloned().collect();
        Hit {
            score: Candidate { doc, number: 0, reflection_only: false, scores }.score(),
            scores,
            words: self.words.matched(doc, asked),
            names: about.map(|name| self.graph.key_of(*name).to_owned()).collect(),
            way: self.way(doc, names),
            same: Vec::new(),
            against,
            held: held.clone(),
        }
    }

    /// The statements by which one comes to a statement from the names in a question.
    fn way(&self, doc: Doc, names: &[Node]) -> Vec<String> {
        let ends = self.graph.ends(doc);
        if names.is_empty() || ends.is_empty() {
            return Vec::new();
        }
        let Some(way) = self.graph.way(names, ends, WAY_MAX).0 else { return Vec::new() };
        let way = way.into_iter().filter(|step| *step != doc).chain([doc]);
        way.filter_map(|step| Some(self.held(step)?.id.clone())).collect()
    }
}

/// What a statement says, as it is compared: its time, its edge if it is one, its text.
struct Saying {
    valid: Valid,
    edge: Option<[String; 3]>,
    text: String,
}

impl Saying {
    fn of(held: &Held) -> Self {
        let edge = held.triple.as_ref().map(|it| [&it.subject, &it.relation, &it.object].map(|name| folded(name)));
        Self { valid: held.valid, edge, text: folded(&held.text) }
    }

    /// Whether two say the same of the same time: by their edges, or where one has none, by their words in order. Never by likeness.
    fn is_same(&self, other: &Self) -> bool {
        let same = match (&self.edge, &other.edge) {
            (Some(one), Some(other)) => one == other,
            _ => self.text == other.text,
        };
        same && self.valid == other.valid
    }
}
