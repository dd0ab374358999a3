//! The fact of a turn that recalled the statements held and relevant before it asked any model, so
//! that every model of the turn is shown the same.

use thinkd_facts::Fact;

use super::Fact;
use super::family::{Byline, Family, Piece};
use crate::draft::Draft;
use crate::envelope::{Modality, Visibility};
use crate::raw::Raw;

/// The first tag.
pub const TAG: &str = "recall";
/// The tag of a statement that a recall returned begins so, in its turn's event and in the result of the tool.
pub const OF: &str = "recalled:";

/// A turn recalled the statements that are held and relevant to its batch. Where there are none,
/// it is of modality state, and seen by readers alone.
///
/// It does so once.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(name = "recalled", tags("recall", "recalled:<statement>*" = statements),
       modality = if statements.is_empty() { Modality::State } else { Modality::Text },
       visibility = if self.statements.is_empty() { Visibility::State } else { Visibility::Heard },
       role = Turn, label = "recall")]
pub struct Recalled<'a> {
    /// The turn.
    pub turn: u64,
    /// The findings, or why there are none.
    #[fact(or_default)]
    pub text: &'a str,
    /// The ids of the statements; empty: nothing relevant is held, and no model is shown it.
    #[fact(tag = "recalled:")]
    pub statements: Vec<&'a str>,
}

/// The statements that an event returned, of a recall of a turn or by the tool.
pub fn returned<'a>(fact: &Fact<'a>) -> Vec<&'a str> {
    match fact {
        Fact::Result(outcome) => outcome.recalled.clone(),
        Fact::Recalled(recalled) => recalled.statements.clone(),
        _ => Vec::new(),
    }
}

/// The tags that say which statements were returned.
pub(super) fn tags_of<'a>(
    statements: impl IntoIterator<Item = &'a str>,
) -> impl Iterator<Item = String> {
    statements
        .into_iter()
        .map(|statement| format!("{OF}{statement}"))
}

impl<'a> Family<'a> for Recalled<'a> {
    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word("recalled")]
    }
}

impl Draft {
    /// The same result, of a call that returned these statements.
    #[must_use]
    pub fn returning(self, statements: &[String]) -> Self {
        self.tagged(tags_of(statements.iter().map(String::as_str)))
    }
}
