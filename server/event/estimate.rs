//! The worth of estimates of routes: the expected and the actual outcome of tries, by kind of route
//! and by framework. From that the next estimates are learned: a model's word counts as much as so
//! many outcomes. Pure.

use std::collections::BTreeMap;

use super::envelope::Event;
use super::fact::Fact;
use super::fact::task::{TaskFact, TaskNews};
use super::framework::Tries;
use super::mission::Expected;

/// The number of verdicts of a space, the newest, from which estimates are learned.
pub const VERDICTS: u32 = 500;
/// As many outcomes weigh as much as the word of a model.
const WORD: f64 = 10.0;

/// The outcomes of tries of one kind of route.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Record {
    /// The numbers of all, and of those that passed.
    pub came: Tries,
    /// Sums of squared errors: of the model's estimates, and of the learned ones.
    errors: [f64; 2],
}

impl Record {
    /// Returns the mean squared errors (Brier scores) of the model's estimates and of the learned
    /// ones: 0 is right each time, 0.25 is worth no more than a coin.
    pub fn brier(&self) -> [f64; 2] {
        let tried = f64::from(self.came.tried.max(1));
        self.errors.map(|sum| sum / tried)
    }
}

/// The records of a space, by kind of route.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records(BTreeMap<String, Record>);

impl Records {
    /// Returns the records by the verdicts among these events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut records = Self::default();
        for event in events {
            if let Fact::Task(TaskFact { what, .. }) = event.fact()
                && let TaskNews::Judged {
                    passes, expected, ..
                } = what
                && let Some(expected) = expected
            {
                records.note(&expected, passes);
            }
        }
        records
    }

    /// One more outcome.
    pub fn note(&mut self, expected: &Expected, worked: bool) {
        let record = self.0.entry(expected.kind.clone()).or_default();
        let came = f64::from(u8::from(worked));
        record.came = record.came.and(worked);
        let chances = [expected.said, expected.learned];
        for (sum, chance) in record.errors.iter_mut().zip(chances) {
            *sum += (chance - came).powi(2);
        }
    }

    /// Returns all of them, by kind.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Record)> {
        self.0.iter().map(|(kind, record)| (kind.as_str(), record))
    }

    /// Returns the chance of a route of this kind, of which a model says this; none: nothing came
    /// of such ones yet.
    pub fn learned(&self, kind: &str, said: f64) -> Option<f64> {
        learned(self.tries(kind), said)
    }

    /// Returns the outcomes of tries of this kind.
    pub fn tries(&self, kind: &str) -> Tries {
        self.0
            .get(kind)
            .map(|record| record.came)
            .unwrap_or_default()
    }
}

/// Returns the chance of a route of which a model says this, from the outcomes of its kind; none:
/// there are none yet.
pub fn learned(came: Tries, said: f64) -> Option<f64> {
    let Tries { tried, worked } = came;
    (tried > 0).then(|| (said * WORD + f64::from(worked)) / (WORD + f64::from(tried)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_move_from_what_is_said_to_what_came_of_it() {
        let mut records = Records::default();
        assert_eq!(records.learned("whole", 0.9), None);
        let expected = Expected {
            kind: "whole".into(),
            said: 0.9,
            learned: 0.9,
        };
        (0..5).for_each(|_| records.note(&expected, false));
        assert_eq!(records.learned("whole", 0.9), Some(0.6));
        (0..1000).for_each(|_| records.note(&expected, false));
        assert!(
            records
                .learned("whole", 0.9)
                .is_some_and(|chance| chance < 0.01)
        );
        assert_eq!(records.learned("split", 0.9), None, "each kind by itself");
    }

    #[test]
    fn the_brier_score_is_the_mean_squared_error() {
        let mut records = Records::default();
        for (learned, worked) in [(1.0, true), (0.5, false)] {
            records.note(
                &Expected {
                    kind: "whole".into(),
                    said: 0.0,
                    learned,
                },
                worked,
            );
        }
        let (_, record) = records.all().next().unwrap();
        assert_eq!(
            (record.came.tried, record.came.worked, record.brier()),
            (2, 1, [0.5, 0.125])
        );
    }
}
