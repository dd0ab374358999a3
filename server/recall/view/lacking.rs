//! Statements of a view whose vector has not come yet, and their vectors as they come.

use std::collections::BTreeSet;

use super::View;
use crate::recall::vectors::{Rows, Scale, Vector};

/// The id of a statement whose vector is wanted, and what it says.
pub type Lacking = (String, String);

impl View {
    /// Vectors are of this scale from now on: those of another one go, and are missing.
    pub fn measure(&mut self, scale: &Scale) {
        let is_other = self.vectors.scale() != scale;
        if let Some(missing) = self.missing.as_mut().filter(|_| is_other) {
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
        let docs = self.missing.iter().flatten();
        docs.filter_map(|doc| self.held(*doc))
            .map(|held| (held.id.clone(), held.text.clone()))
            .take(most)
            .collect()
    }

    /// Puts in the vector of a statement, if it is the same still; none: there will be none.
    pub fn give(&mut self, (id, text): &Lacking, vector: Option<&Vector>) {
        let is_same = |doc: &u32| self.held(*doc).is_some_and(|held| held.text == *text);
        let doc = self.doc_of(id).filter(is_same);
        if let (Some(doc), Some(missing)) = (doc, &mut self.missing) {
            missing.remove(&doc);
            self.vectors.put(doc, vector);
        }
    }
}
