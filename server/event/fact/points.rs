//! The points of a fact: how good or bad it is for the thread in which it stands. By them its mood moves (`event/mood.rs`).

use super::Fact;
use super::framework::Said as OfFramework;
use crate::envelope::TurnOutcome;
use crate::statement::{Outcome, Status};
use crate::trial::News;

impl Fact<'_> {
    /// Returns its number of points: less than 0 for a failure, a claim that was refuted, a task
    /// that was not solved; more for a success.
    pub fn points(&self) -> i64 {
        match self {
            Self::Failure(_) => -2,
            Self::TurnEnded(ended) => ended.outcome.map_or(0, points_of_end),
            Self::Framework(fact) => match fact.what {
                OfFramework::Came { worked: true, .. } => 2,
                OfFramework::Came { worked: false, .. } => -2,
                OfFramework::Chosen { .. } => 0,
            },
            _ => match self.news() {
                Some((_, News::Judged(judged))) => match judged.outcome {
                    Outcome::Is(Status::Surviving) => 2,
                    Outcome::Is(Status::Falsified) => -2,
                    _ => 0,
                },
                _ => 0,
            },
        }
    }
}

/// Returns the number of points of a turn's end.
pub fn points_of_end(outcome: TurnOutcome) -> i64 {
    i64::from(outcome == TurnOutcome::Done)
}
