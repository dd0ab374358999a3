//! Which statements of a view have their vector in memory, which in an index of the database, and which none yet.

use std::collections::BTreeSet;

use super::{RANKED_MAX, View};
use crate::recall::bm25::Asked;
use crate::recall::fusion::keep_first;
use crate::recall::graph::Doc;
use crate::recall::meant::Meant;
use crate::recall::vectors::{Rows, Scale, Vector};

/// A statement whose vector is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// Its number in the view.
    doc: Doc,
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
}

impl View {
    /// Vectors are of this scale from now on: those of another one go, and are missing.
    pub fn measure(&mut self, scale: &Scale) {
        if let Some(missing) = self
            .missing
            .as_mut()
            .filter(|_| self.vectors.scale() != scale)
        {
            self.vectors = Rows::of(scale.clone());
            self.indexed.clear();
            missing.extend(self.by_id.values());
        }
    }

    /// How many statements have no vector yet.
    pub fn missing(&self) -> usize {
        self.missing.as_ref().map_or(0, BTreeSet::len)
    }

    /// How many have their vector in memory.
    pub fn scanned(&self) -> usize {
        self.vectors.count()
    }

    /// How many have it in an index of the database.
    pub fn indexed(&self) -> usize {
        self.indexed.len()
    }

    /// Some statements that have no vector yet.
    pub fn some_missing(&self, most: usize) -> Vec<Lacking> {
        self.missing
            .iter()
            .flatten()
            .filter_map(|doc| self.lacking(*doc))
            .take(most)
            .collect()
    }

    /// So many of those in the index, from all over it.
    pub fn some_indexed(&self, most: usize) -> Vec<Lacking> {
        let step = (self.indexed.len() / most.max(1)).max(1);
        self.indexed
            .iter()
            .step_by(step)
            .take(most)
            .filter_map(|doc| self.lacking(*doc))
            .collect()
    }

    /// Of those in the index, those that a question is compared with: what the index names, and the best by their words.
    pub fn compared(&self, question: &str, nearest: &[String]) -> Vec<Lacking> {
        let words = (0..).zip(self.words.scores(&Asked::of(question)));
        let mut words: Vec<(Doc, f32)> = words
            .filter(|(doc, score)| *score > 0.0 && self.indexed.contains(doc))
            .collect();
        keep_first(&mut words, RANKED_MAX, |one, other| {
            other.1.total_cmp(&one.1).then(one.0.cmp(&other.0))
        });
        let nearest = nearest.iter().filter_map(|id| self.doc_of(id));
        let all: BTreeSet<Doc> = nearest.chain(words.into_iter().map(|it| it.0)).collect();
        all.into_iter()
            .filter_map(|doc| self.lacking(doc))
            .collect()
    }

    fn lacking(&self, doc: Doc) -> Option<Lacking> {
        self.held(doc).map(|held| Lacking {
            doc,
            id: held.id.clone(),
            text: held.text.clone(),
        })
    }

    /// Puts in the vector of a statement, if it is the same still; none: there will be none.
    pub fn give(&mut self, of: &Lacking, vector: Option<&Vector>) {
        if self.is_still(of)
            && let Some(missing) = &mut self.missing
        {
            missing.remove(&of.doc);
            self.vectors.put(of.doc, vector);
        }
    }

    /// The vector of a statement lies in the index, if it is the same still.
    pub fn point(&mut self, of: &Lacking) {
        if self.is_still(of)
            && let Some(missing) = &mut self.missing
        {
            missing.remove(&of.doc);
            self.indexed.insert(of.doc);
        }
    }

    /// Nobody knows any more what lies in the index.
    pub fn unpoint(&mut self) {
        let indexed = std::mem::take(&mut self.indexed);
        self.missing
            .iter_mut()
            .for_each(|missing| missing.extend(&indexed));
    }

    fn is_still(&self, of: &Lacking) -> bool {
        self.held(of.doc)
            .is_some_and(|held| held.id == of.id && held.text == of.text)
    }

    /// How near those are whose vectors came from elsewhere.
    pub(super) fn near_beyond<'a>(
        &'a self,
        meant: &'a Meant,
    ) -> impl Iterator<Item = (Doc, f32)> + 'a {
        let beyond = meant
            .vector
            .iter()
            .flat_map(|vector| meant.beyond.iter().flatten().map(move |it| (vector, it)));
        beyond.filter_map(|(vector, (id, other))| {
            let doc = self.doc_of(id).filter(|doc| self.indexed.contains(doc))?;
            Some((doc, self.vectors.scale().score(vector.cosine(other))))
        })
    }
}
