//! Candidates as hits, each with what shows why it is one.

use super::{Hit, View};
use crate::event::statement::Status;
use crate::recall::bm25::Asked;
use crate::recall::fusion::Candidate;
use crate::recall::graph::{Doc, Node, Ways};
use crate::recall::held::{Held, Saying};

/// Most names along the way to a hit.
const WAY_MAX: usize = 3;

impl View {
    /// Candidates as hits, without those that say the same as a better one.
    pub(super) fn hits(
        &self,
        candidates: Vec<Candidate>,
        limit: usize,
        asked: &Asked,
        names: &[Node],
    ) -> Vec<Hit> {
        let mut hits: Vec<(Saying, Hit)> = Vec::new();
        let mut ways = self.graph.ways(names, WAY_MAX);
        for candidate in candidates {
            let Some(held) = self.held(candidate.doc) else {
                continue;
            };
            let saying = held.saying(&self.names);
            if let Some((_, hit)) = hits.iter_mut().find(|(other, _)| other.is_same(&saying)) {
                hit.same.push(held.id.clone());
            } else if hits.len() < limit {
                hits.push((saying, self.hit(candidate, held, asked, (names, &mut ways))));
            } else {
                break;
            }
        }
        hits.into_iter().map(|(_, hit)| hit).collect()
    }

    fn hit(
        &self,
        candidate: Candidate,
        held: &Held,
        asked: &Asked,
        (names, ways): (&[Node], &mut Ways),
    ) -> Hit {
        let doc = candidate.doc;
        let about = names
            .iter()
            .filter(|name| self.graph.ends(doc).contains(name));
        let (against, against_count) = match held.status {
            Status::Contested => self.rivals.of(held, &self.names),
            _ => (Vec::new(), 0),
        };
        let against = against.into_iter().filter_map(|doc| self.held(doc));
        Hit {
            score: candidate.score(),
            scores: candidate.scores,
            words: self.words.matched(doc, asked),
            names: about
                .map(|name| self.graph.key_of(*name).to_owned())
                .collect(),
            way: self.way(doc, names, ways),
            same: Vec::new(),
            against: against.cloned().collect(),
            against_count,
            held: held.clone(),
        }
    }

    /// The statements by which one comes to a statement from the names in a question.
    fn way(&self, doc: Doc, names: &[Node], ways: &mut Ways) -> Vec<String> {
        let ends = self.graph.ends(doc);
        if names.is_empty() || ends.is_empty() {
            return Vec::new();
        }
        let Some(way) = ways.to(ends).0 else {
            return Vec::new();
        };
        let way = way.into_iter().filter(|step| *step != doc).chain([doc]);
        way.filter_map(|step| Some(self.held(step)?.id.clone()))
            .collect()
    }
}
