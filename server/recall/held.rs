//! A statement as a view holds it, and as it is shown. Pure.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::forms::{characters, forms};
use thinkd_event::entity::Names;
use thinkd_event::statement::{Instrument, Status, Triple, Valid, folded};
use thinkd_event::word::label;
use thinkd_log::projections::statements::StatementRow;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// Bytes of a statement besides its texts.
const DOC: usize = 400;

/// A kind of entry that can be recalled.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// Statements that are held to be so.
    Statements,
    /// Notes of modules for themselves.
    Notes,
    /// Thoughts.
    Thoughts,
    /// The methods by which kinds of tasks are solved.
    Frameworks,
}

impl Memory {
    /// The words for all of them.
    pub const WORDS: [&str; 4] = ["statements", "notes", "thoughts", "frameworks"];
}

/// A statement that is held, or recalled on a person's word.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
#[schema(as = HeldStatement)]
pub struct Held {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// The text of the statement.
    #[schema(example = "The library opens at nine.")]
    pub text: String,
    /// The same as an edge of a graph; null: it is none.
    pub triple: Option<Triple>,
    /// From when on it is said to hold; null: no beginning is known.
    #[schema(value_type = Option<String>)]
    pub valid_from: Option<Timestamp>,
    /// Until when it held; null: no end is known.
    #[schema(value_type = Option<String>)]
    pub valid_to: Option<Timestamp>,
    /// `surviving`, or `contested`: something that contradicts it survived, too. `proposed`: a person said it, and nothing has
    /// tested it.
    pub status: Status,
    /// The same in words.
    #[schema(value_type = String, example = "a hypothesis that no test has refuted so far")]
    pub label: Cow<'static, str>,
    /// Nothing but reflection has tested it.
    pub reflection_only: bool,
    /// The person, if the statement is recalled on their word alone; null: it is on no word.
    #[schema(example = "clara")]
    pub said_by: Option<String>,
    /// The position of its claim.
    #[serde(skip)]
    pub number: Seq,
    /// The event that changed it last.
    #[serde(skip)]
    pub changed: Seq,
}

impl Held {
    /// Returns the statement that a view keeps of a row.
    pub fn of(row: StatementRow) -> Self {
        let judged = row.judged.as_ref();
        let reflection_only = judged.is_some_and(|it| it.carried == [Instrument::Reflection]);
        let said_by = row.word().map(|by| by.shown().to_owned());
        Self {
            label: label(row.status, reflection_only, said_by.as_deref()),
            // What is not held leads nowhere in the graph, and contradicts nothing.
            triple: row.triple.filter(|_| row.status != Status::Proposed),
            valid_from: row.valid.from,
            valid_to: row.valid.to,
            status: row.status,
            reflection_only,
            said_by,
            changed: row.changed,
            ..Self::plain(row.id, row.number, row.text)
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
            valid_from: None,
            valid_to: None,
            status: Status::Surviving,
            label: Cow::default(),
            reflection_only: false,
            said_by: None,
        }
    }

    /// When it is said to hold.
    pub fn valid(&self) -> Valid {
        Valid {
            from: self.valid_from,
            to: self.valid_to,
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

    /// Returns its content, as it is compared with that of others.
    pub(super) fn saying(&self, names: &Names) -> Saying {
        let edge = self.triple.as_ref().map(|it| {
            let [subject, object] = [&it.subject, &it.object].map(|name| names.resolve(name));
            [subject, folded(&it.relation), object]
        });
        Saying {
            valid: self.valid(),
            edge,
            text: folded(&self.text),
        }
    }

    /// Memory that it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        DOC + self.text.len() + self.label.len() + self.names().map(String::len).sum::<usize>()
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
