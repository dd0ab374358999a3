//! What the cosines of a model mean: measured on pairs of a question and a statement that answers it, and on the same texts paired wrongly. Pure.

use std::sync::Arc;

use super::vectors::{Common, MEASURED_BY, Scale, Vector};

/// Questions, each with what answers it, about things that have nothing to do with each other.
pub const PAIRS: [(&str, &str); MEASURED_BY] = [
    (
        "When does the library open?",
        "The reading rooms are accessible from nine in the morning.",
    ),
    (
        "Who runs the bakery on Mill Street?",
        "The bread shop in Mill Street belongs to Tom Alder.",
    ),
    (
        "How tall is the lighthouse?",
        "The beacon by the harbour rises forty metres above the sea.",
    ),
    (
        "What does the cat eat?",
        "The kitten is fed salmon twice a day.",
    ),
    (
        "Where was the physicist born?",
        "The researcher came into the world in Graz.",
    ),
    (
        "Which instrument does Ines play?",
        "Ines performs on the cello in an orchestra.",
    ),
    (
        "Why was the bridge closed?",
        "Traffic over the river was stopped because of cracks in a pillar.",
    ),
    (
        "What is the train ticket to the coast worth?",
        "A ride by rail to the seaside costs eleven euros.",
    ),
    (
        "Who won the chess tournament?",
        "First place among the players went to Ruth Okafor.",
    ),
    (
        "What illness does the patient have?",
        "The doctor found that she suffers from asthma.",
    ),
    (
        "Which language is the program written in?",
        "The software's source code is in Rust.",
    ),
    (
        "How is the soil of the vineyard?",
        "The grapes grow on chalk and clay.",
    ),
];

/// What a model's numbers mean, by its vectors of the questions and of the statements of [`PAIRS`]; none: it tells nothing apart.
pub fn scale(questions: &[Vector], statements: &[Vector]) -> Option<Scale> {
    let common = Common {
        questions: mean(questions),
        statements: mean(statements),
    };
    let without = |all: &[Vector], common| {
        all.iter()
            .map(|it| it.without(common))
            .collect::<Option<Vec<Vector>>>()
    };
    let (questions, statements) = (
        without(questions, &common.questions)?,
        without(statements, &common.statements)?,
    );
    let (mut related, mut unrelated) = (Vec::new(), Vec::new());
    for (one, question) in questions.iter().enumerate() {
        for (other, statement) in statements.iter().enumerate() {
            if one == other {
                &mut related
            } else {
                &mut unrelated
            }
            .push(question.cosine(statement));
        }
    }
    let (near, _) = spread(&related);
    let (far, deviation) = spread(&unrelated);
    let unrelated = far + deviation;
    let is_useful = near > unrelated + LEAST;
    is_useful.then(|| {
        Scale::of_model(
            questions[0].dimensions(),
            unrelated,
            near,
            Some(Arc::new(common)),
        )
    })
}

/// The mean of some vectors.
fn mean(of: &[Vector]) -> Box<[f32]> {
    let mut sum = vec![0.0_f32; of.first().map_or(0, Vector::dimensions)];
    of.iter().for_each(|vector| {
        sum.iter_mut()
            .zip(vector.values())
            .for_each(|(sum, value)| *sum += value)
    });
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    let count = of.len() as f32;
    sum.into_iter().map(|sum| sum / count).collect()
}

/// So much nearer are a question and its answer, at the least, in a model that is of use.
const LEAST: f32 = 0.01;

/// The mean, and the standard deviation.
fn spread(values: &[f32]) -> (f32, f32) {
    #[expect(clippy::cast_precision_loss, reason = "some hundred values")]
    let count = values.len() as f32;
    let mean = values.iter().sum::<f32>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f32>()
        / count;
    (mean, variance.sqrt())
}
