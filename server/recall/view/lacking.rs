//! Statements of a view whose vector has not come yet, and their vectors as they come.

use std::collections::BTreeSet;

use super::View;
use crate::recall::graph::Doc;
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

    /// Some statements that have no vector yet.
    pub fn some_missing(&self, most: usize) -> Vec<Lacking> {
        self.missing
            .iter()
            .flatten()
            .filter_map(|doc| self.lacking(*doc))
            .take(most)
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
        let is_still = self
            .held(of.doc)
            .is_some_and(|held| held.id == of.id && held.text == of.text);
        if is_still && let Some(missing) = &mut self.missing {
            missing.remove(&of.doc);
            self.vectors.put(of.doc, vector);
        }
    }
}
