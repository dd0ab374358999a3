//! Which of the held statements contradict each other: what each says of its subject and relation, kept side by side. Pure.

use std::collections::{BTreeMap, HashMap};

use super::graph::Doc;
use super::held::Held;
use crate::event::method::Value;
use crate::event::statement::{AGAINST_MAX, folded};
use crate::words::id::Seq;

/// Bytes of one, roughly.
const BYTES: usize = 200;

/// A subject and a relation.
type About = (String, String);

/// See the module.
#[derive(Debug, Default)]
pub struct Rivals {
    all: HashMap<About, BTreeMap<Seq, (Doc, Value)>>,
    count: usize,
}

fn about(held: &Held) -> Option<About> {
    held.triple.as_ref().map(|triple| (folded(&triple.subject), folded(&triple.relation)))
}

impl Rivals {
    /// Takes in a statement.
    pub fn put(&mut self, doc: Doc, held: &Held) {
        if let (Some(about), Some(triple)) = (about(held), &held.triple) {
            let before = self.all.entry(about).or_default().insert(held.number, (doc, Value::of(triple, held.valid)));
            self.count += usize::from(before.is_none());
        }
    }

    /// Lets it go.
    pub fn remove(&mut self, held: &Held) {
        let Some(about) = about(held) else { return };
        if let Some(all) = self.all.get_mut(&about) {
            self.count -= usize::from(all.remove(&held.number).is_some());
            if all.is_empty() {
                self.all.remove(&about);
            }
        }
    }

    /// What contradicts a statement: the first few that were claimed, and how many there are.
    pub fn of(&self, held: &Held) -> (Vec<Doc>, usize) {
        let all = about(held).and_then(|about| self.all.get(&about));
        let Some((all, (_, own))) = all.and_then(|all| Some((all, all.get(&held.number)?))) else {
            return (Vec::new(), 0);
        };
        let against = all.values().filter(|(_, other)| own.contradicts(other));
        let first = against.clone().take(AGAINST_MAX).map(|(doc, _)| *doc).collect();
        (first, against.count())
    }

    /// Memory that they take, roughly.
    pub fn bytes(&self) -> usize {
        self.count * BYTES
    }
}
