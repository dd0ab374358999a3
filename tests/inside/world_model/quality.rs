//! Measures recall@5 of each leg and of all together, on planted worlds (`planted_recall.rs`) and on
//! real passages (`real_passages.rs`). Both print their tables with `--nocapture`.

use std::collections::BTreeMap;

use thinkd::event::statement::{Status, Triple};
use thinkd::recall::held::Held;
use thinkd::recall::meaning::Meant;
use thinkd::recall::view::View;

use kit::planted::{Dice, Kind, Question};

/// Hits that count.
const BEST: usize = 5;
/// Samples of the bootstrap.
const SAMPLES: usize = 2000;

pub(super) fn held(number: i64, text: String, edge: Option<[String; 3]>) -> Held {
    let triple = edge.map(|[subject, relation, object]| Triple {
        subject,
        relation,
        object,
        single: false,
    });
    Held {
        id: number.to_string(),
        number,
        changed: number,
        text,
        triple,
        valid_from: None,
        valid_to: None,
        status: Status::Surviving,
        label: Default::default(),
        reflection_only: false,
        said_by: None,
    }
}

/// The share of the answers that are among the first.
fn recall(answers: &[usize], found: &[usize]) -> f64 {
    let hits = answers
        .iter()
        .filter(|answer| found.iter().take(BEST).any(|it| it == *answer))
        .count();
    hits as f64 / answers.len() as f64
}

/// Returns the statements that each leg, all legs together and recall find of a question. Recall
/// leaves out those below its threshold.
fn found(view: &View, question: &str, meant: &Meant) -> BTreeMap<&'static str, Vec<usize>> {
    let scored = view.scored(question, meant.vector.as_ref());
    let by = |score: &dyn Fn(&thinkd::recall::fusion::Scores) -> f32| {
        let mut all: Vec<(f32, usize)> = scored
            .iter()
            .map(|(held, it)| (score(it), held.number as usize))
            .collect();
        all.retain(|(score, _)| *score > 0.0);
        all.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        all.into_iter()
            .map(|(_, number)| number)
            .collect::<Vec<_>>()
    };
    let ours = view
        .find_meant(question, meant.vector.as_ref(), 50)
        .into_iter()
        .map(|hit| hit.held.number as usize)
        .collect();
    BTreeMap::from([
        ("1 words", by(&|it| it.words)),
        ("2 vectors", by(&|it| it.vectors.unwrap_or(0.0))),
        ("3 graph", by(&|it| it.graph.unwrap_or(0.0))),
        ("4 fused", by(&|it| it.fused())),
        ("5 recall", ours),
    ])
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The value below which the mean difference lies in 2.5 % of samples: above 0, one is better than the other.
fn lower_bound(one: &[f64], other: &[f64]) -> f64 {
    let differences: Vec<f64> = one
        .iter()
        .zip(other)
        .map(|(one, other)| one - other)
        .collect();
    let mut dice = Dice::new(7);
    let sample = |_| {
        mean(
            &(0..differences.len())
                .map(|_| differences[dice.below(differences.len())])
                .collect::<Vec<_>>(),
        )
    };
    let mut means: Vec<f64> = (0..SAMPLES).map(sample).collect();
    means.sort_by(f64::total_cmp);
    means[SAMPLES / 40]
}

/// The results of a measurement.
pub(super) struct Measured {
    pub legs: BTreeMap<&'static str, Vec<f64>>,
    pub abstained: f64,
}

impl Measured {
    pub fn of(leg: &str, view: &View, questions: &[Question]) -> Self {
        let meant: Vec<Meant> = questions.iter().map(|_| Meant::default()).collect();
        Self::of_meant(leg, view, questions, &meant)
    }

    pub fn of_meant(leg: &str, view: &View, questions: &[Question], meant: &[Meant]) -> Self {
        let (mut legs, mut kinds): (BTreeMap<_, Vec<f64>>, BTreeMap<_, Vec<f64>>) =
            Default::default();
        let mut none = 0;
        let mut abstained = 0;
        for (question, meant) in questions.iter().zip(meant) {
            let found = found(view, &question.text, meant);
            if question.kind == Kind::None {
                none += 1;
                abstained += usize::from(found["5 recall"].is_empty());
                continue;
            }
            for (leg, found) in found {
                let score = recall(&question.answers, &found);
                legs.entry(leg).or_default().push(score);
                kinds.entry((question.kind, leg)).or_default().push(score);
            }
        }
        println!(
            "{leg}: {} statements, {} questions, recall@{BEST}",
            view.len(),
            questions.len()
        );
        kinds.iter().for_each(|((kind, leg), scores)| {
            println!("  {kind:<10?} {leg:<10} {:.3}", mean(scores))
        });
        legs.iter()
            .for_each(|(leg, scores)| println!("  all        {leg:<10} {:.3}", mean(scores)));
        let abstained = if none == 0 {
            1.0
        } else {
            f64::from(abstained as u32) / f64::from(none)
        };
        let measured = Self { legs, abstained };
        println!(
            "  above the best leg by at least {:.3} (97.5 %)",
            measured.above()
        );
        println!(
            "  abstains where nothing is known {abstained:.3}, loses by that {:.3}",
            measured.lost()
        );
        measured
    }

    fn legs_alone(&self) -> [&[f64]; 3] {
        ["1 words", "2 vectors", "3 graph"].map(|leg| self.legs[leg].as_slice())
    }

    /// By how much recall is at least better than the best leg.
    pub fn above(&self) -> f64 {
        let best = self
            .legs_alone()
            .into_iter()
            .max_by(|one, other| mean(one).total_cmp(&mean(other)))
            .unwrap();
        lower_bound(&self.legs["5 recall"], best)
    }

    /// Returns the loss of recall by the threshold.
    pub fn lost(&self) -> f64 {
        mean(&self.legs["4 fused"]) - mean(&self.legs["5 recall"])
    }
}

pub(super) const NO_E5: &str = "THINKD_E5 names no endpoint of e5-small: not measured with it";
