//! The held statements that contradict each other: their values for a subject and a relation, kept
//! side by side. Pure.

use std::collections::{BTreeMap, HashMap};

use super::graph::Doc;
use super::held::Held;
use thinkd_event::entity::{Names, normal};
use thinkd_event::method::Value;
use thinkd_event::statement::{AGAINST_MAX, folded};
use thinkd_words::id::Seq;

/// Bytes of one, roughly.
const BYTES: usize = 200;

/// A subject, by the name that it was said with, and a relation.
type About = (String, String);

/// See the module.
#[derive(Debug, Default)]
pub struct Rivals {
    all: HashMap<About, BTreeMap<Seq, (Doc, Value)>>,
    count: usize,
}

fn about(held: &Held) -> Option<About> {
    let triple = held.triple.as_ref()?;
    Some((normal(&triple.subject), folded(&triple.relation)))
}

impl Rivals {
    /// Takes in a statement.
    pub fn put(&mut self, doc: Doc, held: &Held) {
        if let (Some(about), Some(triple)) = (about(held), &held.triple) {
            let rival = (doc, Value::of(triple, held.valid()));
            let all = self.all.entry(about).or_default();
            self.count += usize::from(all.insert(held.number, rival).is_none());
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

    /// Returns the statements that contradict a statement by any name of its subject: the first few
    /// that were claimed, and how many there are.
    pub fn of(&self, held: &Held, names: &Names) -> (Vec<Doc>, usize) {
        let (Some((subject, relation)), Some(triple)) = (about(held), &held.triple) else {
            return (Vec::new(), 0);
        };
        let own = Value::of(triple, held.valid());
        let forms = names.forms_of(&subject).into_iter();
        let all = forms
            .filter_map(|form| self.all.get(&(form, relation.clone())))
            .flatten();
        let against = all.filter(|(_, (_, other))| own.contradicts(other, names));
        let against = against.map(|(seq, (doc, _))| (*seq, *doc));
        let mut against: Vec<(Seq, Doc)> = against.collect();
        against.sort_unstable();
        let first = against.iter().take(AGAINST_MAX).map(|(_, doc)| *doc);
        (first.collect(), against.len())
    }

    /// Memory that they take, roughly.
    pub fn bytes(&self) -> usize {
        self.count * BYTES
    }
}
