//! The free parameters of a program: it is tried with several sets of values, and the best is kept. Pure.

use serde::{Deserialize, Serialize};

/// What the program of a framework came to with one set of values for its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The values, as JSON.
    pub parameters: String,
    /// The answer, or its beginning; none: it came to none.
    pub answer: Option<String>,
    /// How good the answer is, as the program says.
    pub score: Option<f64>,
    /// Whether the answer passes the task's check; none: no program and no query can tell.
    pub passes: Option<bool>,
}

impl Tuning {
    /// The place of the best of these: one that passes the check before others, then the one with the highest score, then the first.
    pub fn best(all: &[Self]) -> Option<usize> {
        let worth = |it: &Self| {
            (
                it.answer.is_some(),
                it.passes == Some(true),
                it.score.unwrap_or(f64::NEG_INFINITY),
            )
        };
        let better = |a: &Self, b: &Self| {
            let (a, b) = (worth(a), worth(b));
            (a.0, a.1)
                .cmp(&(b.0, b.1))
                .then(a.2.total_cmp(&b.2))
                .is_gt()
        };
        (0..all.len()).reduce(|best, it| {
            if better(&all[it], &all[best]) {
                it
            } else {
                best
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_parameters_pass_the_check_and_then_score_highest() {
        let tuning = |answer: bool, passes, score| Tuning {
            parameters: "{}".into(),
            answer: answer.then(|| "x".to_owned()),
            score,
            passes,
        };
        let all = [
            tuning(false, None, Some(9.0)),
            tuning(true, Some(false), Some(8.0)),
            tuning(true, Some(true), Some(2.0)),
            tuning(true, Some(true), Some(3.0)),
            tuning(true, Some(true), Some(3.0)),
            tuning(true, Some(true), None),
        ];
        assert_eq!(Tuning::best(&all), Some(3));
        assert_eq!(Tuning::best(&all[..2]), Some(1), "an answer before none");
        assert_eq!(Tuning::best(&[]), None);
    }
}
