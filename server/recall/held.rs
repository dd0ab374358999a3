//! A statement as a view holds it. Pure.

use std::collections::BTreeSet;

use super::forms::{characters, forms};
use crate::event::entity::Names;
use crate::event::statement::{Instrument, Status, Triple, Valid, folded};
use crate::log::projections::statements::StatementRow;
use crate::words::id::Seq;

/// Bytes of a statement besides its texts.
const DOC: usize = 400;

/// A held statement, or one that is recalled on a person's word.
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
    /// `surviving` or `contested`; `proposed`: a person said it, and nothing has tested it.
    pub status: Status,
    /// Nothing but reflection tested it.
    pub reflection_only: bool,
    /// The person on whose word alone it is recalled.
    pub said_by: Option<String>,
}

impl Held {
    /// What a view keeps of a row.
    pub fn of(row: StatementRow) -> Self {
        let judged = row.judged.as_ref();
        let reflection_only = judged.is_some_and(|it| it.carried == [Instrument::Reflection]);
        let said_by = row.word().map(|by| by.shown().to_owned());
        // What is not held leads nowhere in the graph, and contradicts nothing.
        let triple = row.triple.filter(|_| row.status != Status::Proposed);
        Self {
            id: row.id,
            number: row.number,
            changed: row.changed,
            text: row.text,
            triple,
            valid: row.valid,
            status: row.status,
            reflection_only,
            said_by,
        }
    }

    /// Its place among statements as relevant: those that are tested, or held on a person's word, stand first, then those that
    /// reflection alone has tested, then those that nothing has.
    pub(super) fn place(&self) -> u8 {
        match self.status {
            Status::Proposed => 2,
            _ => u8::from(self.reflection_only),
        }
    }

    /// A text that claims nothing of the world: a framework, a note, a thought.
    pub(super) fn plain(id: String, number: Seq, text: String) -> Self {
        Self {
            id,
            number,
            changed: number,
            text,
            triple: None,
            valid: Valid::default(),
            status: Status::Surviving,
            reflection_only: false,
            said_by: None,
        }
    }

    /// Returns the names and the relation of its edge.
    fn names(&self) -> impl Iterator<Item = &String> {
        let triples = self.triple.iter();
        triples.flat_map(|it| [&it.subject, &it.relation, &it.object])
    }

    /// The forms of the words by which it is found: those of its text in order, then those of its names.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = forms(&self.text);
        let known: BTreeSet<&String> = words.iter().collect();
        let more: BTreeSet<String> = (self.names().flat_map(|name| forms(name)))
            .chain(characters(&self.text))
            .filter(|word| !known.contains(word))
            .collect();
        words.extend(more);
        words
    }

    /// Returns what it says, as it is compared with what others say.
    pub(super) fn saying(&self, names: &Names) -> Saying {
        let edge = self.triple.as_ref().map(|it| {
            let [subject, object] = [&it.subject, &it.object].map(|name| names.resolve(name));
            [subject, folded(&it.relation), object]
        });
        Saying {
            valid: self.valid,
            edge,
            text: folded(&self.text),
        }
    }

    /// Memory that it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        DOC + self.text.len() + self.names().map(String::len).sum::<usize>()
    }
}

/// The content of a statement: its time, its edge if it is one, its text.
pub(super) struct Saying {
    valid: Valid,
    edge: Option<[String; 3]>,
    text: String,
}

impl Saying {
    /// Returns true if two say the same of the same time: by their edges, or where one has none, by their words in order. Never by likeness.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = match (&self.edge, &other.edge) {
            (Some(one), Some(other)) => one == other,
            _ => self.text == other.text,
        };
        same && self.valid == other.valid
    }

    /// Returns true if two say another value, or the same one, of the same.
    pub fn is_of_same(&self, other: &Self) -> bool {
        let edges = self.edge.as_ref().zip(other.edge.as_ref());
        edges.is_some_and(|(one, other)| one[..2] == other[..2])
    }
}
