//! The free parameters of a program: it is tried with several sets of values, and the best is kept.
//! Pure.

use serde::{Deserialize, Serialize};

/// The result of a framework's program with one set of values for its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The values, as JSON.
    pub parameters: String,
    /// The answer, or its beginning; none: it came to none.
    pub answer: Option<String>,
    /// The score of the answer, as the program says.
    pub score: Option<f64>,
    /// True if the answer passes the task's check; none: no program and no query can tell.
    pub passes: Option<bool>,
}

impl Tuning {
    /// Returns the place of the best of these: one that passes the check before others, then the
    /// one with the highest score, then the first.
    pub fn best(all: &[Self]) -> Option<usize> {
        let worth = |it: &Self| (it.answer.is_some(), it.passes == Some(true));
        let score = |it: &Self| it.score.unwrap_or(f64::NEG_INFINITY);
        let better = |a: &Self, b: &Self| {
            let by_score = score(a).total_cmp(&score(b));
            worth(a).cmp(&worth(b)).then(by_score)
        };
        // Of equals the last is the largest: from behind, that is the first.
        (0..all.len())
            .rev()
            .max_by(|a, b| better(&all[*a], &all[*b]))
    }

    /// Returns how it reads.
    pub fn words(&self, is_best: bool) -> String {
        let is_best = if is_best { " (the best)" } else { "" };
        let score = self.score.map(|score| format!(", score {score}"));
        let passes = match self.passes {
            Some(true) => ", passes",
            Some(false) => ", does not pass",
            None => "",
        };
        let answer = self.answer.as_deref().unwrap_or("no answer");
        let parameters = &self.parameters;
        let score = score.unwrap_or_default();
        format!("{parameters}{is_best}: {answer}{score}{passes}")
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
