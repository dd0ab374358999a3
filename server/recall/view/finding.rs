//! Hits of a question among the statements of a view, each with the reason for which it is found.

use serde::Serialize;

use super::View;
use crate::bm25::Asked;
use crate::fusion::{Candidate, Scores, keep_first, rank, share};
use crate::graph::{Doc, Node, Ways};
use crate::held::{Held, Memory, Saying};
use crate::pagerank::spread;
use crate::vectors::Vector;
use thinkd_event::statement::Status;
use thinkd_words::id::Seq;

/// Hits of the other legs from which the walk over the graph begins.
const SEEDS: usize = 2;
/// Statements that the vectors alone may bring.
const NEAREST: usize = 100;
/// Most statements that are ordered: the best by score.
const RANKED_MAX: usize = 500;

/// Most names along the way to a hit.
const WAY_MAX: usize = 3;

/// The scores by the legs of each statement, by its number; none: it is no candidate. An array,
/// since a common word makes candidates of most statements.
type ByDoc = Vec<Option<Scores>>;

/// A statement that is relevant and held, or recalled on a person's word. Nothing is ever proven: a held one is a hypothesis
/// that no test has refuted so far.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[schema(as = Recalled)]
pub struct Hit {
    /// The kind: `statements`.
    pub kind: Memory,
    /// The event that claimed it.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// The statement.
    #[serde(flatten)]
    pub held: Held,
    /// The relevance, 0 to 1, on the same scale for every question.
    pub score: f64,
    /// Why it is here.
    pub why: Why,
    /// The ids of others that say the same of the same time.
    pub same: Vec<String>,
    /// The statements that contradict it and are held, too: the first 8.
    pub contested_by: Vec<Held>,
    /// The number of statements that contradict it.
    pub contested_by_count: usize,
}

/// Why a statement was found.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Why {
    /// The scores of the legs.
    #[serde(flatten)]
    pub scores: Scores,
    /// The words of the question that it has.
    pub matched: Vec<String>,
    /// The names in the question that it is about, folded.
    pub names: Vec<String>,
    /// The ids of the statements by which one comes to it from a name in the question, this one last; empty: there is no such way.
    pub path: Vec<String>,
}

impl Hit {
    /// Returns all statements that it shows.
    pub fn shown(&self) -> impl Iterator<Item = &Held> {
        std::iter::once(&self.held).chain(&self.contested_by)
    }
}

impl View {
    /// Returns statements that are relevant to a question, best first; at most so many. Without
    /// vectors.
    pub fn find(&self, question: &str, limit: usize) -> Vec<Hit> {
        self.find_meant(question, None, limit)
    }

    /// The same, with the vector of the question.
    pub fn find_meant(&self, question: &str, vector: Option<&Vector>, limit: usize) -> Vec<Hit> {
        let (asked, names) = self.asked(question);
        let mut candidates = self.candidates(vector, &asked, &names);
        rank(&mut candidates, self.words.relevant(&asked), RANKED_MAX);
        self.hits(candidates, limit, &asked, &names)
    }

    /// Returns the scores by each leg of all statements that may be relevant, in no order: nothing,
    /// where the question is not answered.
    pub fn scored(&self, question: &str, vector: Option<&Vector>) -> Vec<(&Held, Scores)> {
        let (asked, names) = self.asked(question);
        let candidates = self.candidates(vector, &asked, &names).into_iter();
        candidates.map(|it| (it.held, it.scores)).collect()
    }

    /// Returns the words of a question, and the names of the graph in it, of those that tell of something.
    fn asked(&self, question: &str) -> (Asked, Vec<Node>) {
        let asked = self.words.asked(question);
        let names = self.graph.names_in(question).into_iter();
        let names = names.filter(|(_, words)| asked.tells_of(words));
        let names = names.map(|(name, _)| name).collect();
        (asked, names)
    }

    fn candidates(
        &self,
        vector: Option<&Vector>,
        asked: &Asked,
        names: &[Node],
    ) -> Vec<Candidate<'_>> {
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
            let held = self.held(doc)?;
            let mut scores = scores?;
            if scores.graph.is_none() && !self.graph.ends(doc).is_empty() {
                scores.graph = Some(0.0);
            }
            Some(Candidate { doc, held, scores })
        };
        (0..).zip(scores).filter_map(candidate).collect()
    }

    /// Returns the statements that a walk over the graph finds from the names in the question and
    /// the best hits of the other legs.
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

    /// Candidates as hits, without those that say the same as a better one.
    pub(super) fn hits(
        &self,
        candidates: Vec<Candidate<'_>>,
        limit: usize,
        asked: &Asked,
        names: &[Node],
    ) -> Vec<Hit> {
        let mut hits: Vec<(Saying, Hit)> = Vec::new();
        let mut ways = self.graph.ways(names, WAY_MAX);
        for candidate in candidates {
            let held = candidate.held;
            let saying = held.saying(&self.names);
            if let Some((_, hit)) = hits.iter_mut().find(|(other, _)| other.is_same(&saying)) {
                hit.same.push(held.id.clone());
            } else if hits.len() < limit {
                hits.push((saying, self.hit(candidate, asked, names, &mut ways)));
            } else {
                break;
            }
        }
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    fn hit(
        &self,
        candidate: Candidate<'_>,
        asked: &Asked,
        names: &[Node],
        ways: &mut Ways<'_>,
    ) -> Hit {
        let Candidate { doc, held, .. } = candidate;
        let about = names
            .iter()
            .filter(|name| self.graph.ends(doc).contains(name));
        let (against, against_count) = match held.status {
            Status::Contested => self.rivals.of(held, &self.names),
            _ => (Vec::new(), 0),
        };
        let against = against.into_iter().filter_map(|doc| self.held(doc));
        Hit {
            kind: Memory::Statements,
            seq: held.number,
            held: held.clone(),
            score: share(candidate.score()),
            why: Why {
                scores: candidate.scores,
                matched: self.words.matched(doc, asked),
                names: about
                    .map(|name| self.graph.key_of(*name).to_owned())
                    .collect(),
                path: self.way(doc, ways),
            },
            same: Vec::new(),
            contested_by: against.cloned().collect(),
            contested_by_count: against_count,
        }
    }

    /// The statements by which one comes to a statement from the names in a question; none: there is no such way.
    fn way(&self, doc: Doc, ways: &mut Ways<'_>) -> Vec<String> {
        let ends = self.graph.ends(doc);
        let way = (!ends.is_empty()).then(|| ways.to(ends).0).flatten();
        let before = way.iter().flatten().filter(|step| **step != doc);
        let steps = before.copied().chain(way.is_some().then_some(doc));
        steps
            .filter_map(|step| Some(self.held(step)?.id.clone()))
            .collect()
    }
}
