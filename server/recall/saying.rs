//! Whether two statements say the same, so that only the better one is a hit. Pure.

use crate::event::entity::Names;
use crate::event::statement::{Triple, Valid, folded};

/// What a statement says, as it is compared: its time, its edge if it is one, its text.
pub(super) struct Saying {
    valid: Valid,
    edge: Option<[String; 3]>,
    text: String,
}

impl Saying {
    pub fn of(triple: Option<&Triple>, text: &str, valid: Valid, names: &Names) -> Self {
        let edge = triple.map(|it| {
            [
                names.resolve(&it.subject),
                folded(&it.relation),
                names.resolve(&it.object),
            ]
        });
        Self {
            valid,
            edge,
            text: folded(text),
        }
    }

    /// Whether two say the same of the same time: by their edges, or where one has none, by their words in order. Never by likeness.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = match (&self.edge, &other.edge) {
            (Some(one), Some(other)) => one == other,
            _ => self.text == other.text,
        };
        same && self.valid == other.valid
    }
}
