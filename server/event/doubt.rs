//! Doubts about a statement, as far as its own row says: the rule of the audit. Pure.

use serde::Serialize;

use super::statement::{Instrument, Judged, Status};
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

words! {
    /// A doubt about a statement.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
    #[serde(rename_all = "kebab-case")]
    pub enum Doubt {
        /// Another one that is held says the same of the same time, by its edge or its text.
        Duplicate = "duplicate",
        /// Others look alike: perhaps they say the same. Nothing merges them.
        Near = "near",
        /// None of the recalls that were looked at returned it.
        NeverRecalled = "never-recalled",
        /// One instrument alone carried it, and that is not reflection; or a person's word.
        OneInstrument = "one-instrument",
        /// Nothing but reflection has tested it.
        ReflectionOnly = "reflection-only",
        /// Not tested for a long time.
        Overdue = "overdue",
        /// One that contradicts it survived, too.
        Contested = "contested",
        /// Claimed, and its trial has not come to its end.
        Waiting = "waiting",
        /// Its trials had no outcome, and it is not tried any more.
        Undecided = "undecided",
        /// A statement that it was derived from was withdrawn.
        Untested = "untested",
    }
}

/// Returns the doubts that a row raises about a statement. `old`: a statement last tested before
/// this time is overdue.
pub fn doubts(
    (status, judged): (Status, Option<&Judged>),
    (due, tested): (Option<Timestamp>, Option<Timestamp>),
    old: Timestamp,
) -> Vec<Doubt> {
    match status {
        Status::Proposed if due.is_some() => vec![Doubt::Waiting],
        Status::Proposed => vec![Doubt::Undecided],
        Status::Untested => vec![Doubt::Untested],
        Status::Falsified | Status::Ended | Status::Retracted => Vec::new(),
        Status::Surviving | Status::Contested => {
            let by = match judged.map(|judged| judged.carried.as_slice()) {
                Some([Instrument::Reflection]) => Some(Doubt::ReflectionOnly),
                // A person's word is one, and has no age.
                Some([_] | []) => Some(Doubt::OneInstrument),
                _ => None,
            };
            let is_word = judged.is_some_and(|judged| judged.carried.is_empty());
            let is_old = !is_word && tested.is_none_or(|tested| tested < old);
            let overdue = is_old.then_some(Doubt::Overdue);
            let contested = (status == Status::Contested).then_some(Doubt::Contested);
            by.into_iter().chain(overdue).chain(contested).collect()
        }
    }
}
