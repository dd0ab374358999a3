//! A statement as a view holds it. Pure.

use std::collections::BTreeSet;

use super::forms::{characters, forms};
use crate::event::statement::{Instrument, Status, Triple, Valid};
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
        let reflection_only = row
            .judged
            .as_ref()
            .is_some_and(|judged| judged.carried == [Instrument::Reflection]);
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
        let (valid, status) = (Valid::default(), Status::Surviving);
        Self {
            id,
            number,
            changed: number,
            text,
            triple: None,
            valid,
            status,
            reflection_only: false,
            said_by: None,
        }
    }

    /// The forms of the words by which it is found: those of its text in order, then those of its names.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = forms(&self.text);
        let known: BTreeSet<&String> = words.iter().collect();
        let names = self
            .triple
            .iter()
            .flat_map(|triple| [&triple.subject, &triple.relation, &triple.object]);
        let more: BTreeSet<String> = names
            .flat_map(|name| forms(name))
            .chain(characters(&self.text))
            .collect();
        let more: Vec<String> = more
            .into_iter()
            .filter(|word| !known.contains(word))
            .collect();
        words.extend(more);
        words
    }

    /// Memory that it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        let names = self.triple.as_ref().map_or(0, |it| {
            it.subject.len() + it.relation.len() + it.object.len()
        });
        DOC + self.text.len() + names
    }
}
