//! A model for vectors is measured before it is used: the meaning of its numbers, and whether the
//! vectors that are stored under its name are of its kind. It is measured on pairs of a question
//! and a statement that answers it, and on the same texts paired wrongly.

use std::sync::Arc;

use super::meaning::{Meaning, Why, told};
use super::shelf::Slot;
use super::vectors::{Common, MEASURED_BY, Scale, Vector, mean};

/// Questions, each with its answer behind a tab, about things that have nothing to do with each
/// other.
const PAIRS: &str = include_str!("pairs.txt");
/// So much nearer are a question and its answer, at the least, in a model that is of use.
const LEAST: f32 = 0.01;
/// As near as one can be to be told from the very same text.
const SAME: f32 = 0.99;

impl Meaning {
    /// Returns the scale of the model, measured once. Fails if vectors of the same model with other
    /// dimensions are stored.
    pub(super) async fn scale(&self) -> Result<Scale, Why> {
        if let Some(known) = &*self.scale.read().await {
            return Ok(known.clone());
        }
        let mut scale = self.scale.write().await;
        if let Some(known) = &*scale {
            return Ok(known.clone());
        }
        Ok(scale.insert(self.measured(true).await?).clone())
    }

    /// Returns the scale; none: the model was not measured yet.
    pub(super) fn known_scale(&self) -> Option<Scale> {
        self.scale.try_read().ok()?.clone()
    }

    /// Measures the model. `is_alone`: only where no vectors of other dimensions are stored under its name.
    pub(super) async fn measured(&self, is_alone: bool) -> Result<Scale, Why> {
        let pairs = PAIRS.lines().filter_map(|pair| pair.split_once('\t'));
        let sent = pairs.map(|(one, other)| (self.as_question(one), self.as_statement(other)));
        let (questions, statements): (Vec<String>, Vec<String>) = sent.unzip();
        let first = self.embedded(&questions[..1]).await?.pop().flatten();
        let first = first.ok_or("the model for vectors has none for a plain question")?;
        let unmeasured = Scale {
            dimensions: first.dimensions(),
            ..Scale::UNKNOWN
        };
        let others = self.store.other_dimensions(&self.maker(&unmeasured)).await;
        if let Some(other) = others.map_err(told)?.filter(|_| is_alone) {
            return Err(self.other_dimensions(first.dimensions(), other as usize));
        }
        let sent = [questions, statements].concat();
        let vectors = self.vectors(&unmeasured, &sent).await?;
        let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
        let all = (vectors.len() == 2 * MEASURED_BY).then(|| vectors.split_at(MEASURED_BY));
        let scale = all.and_then(|(questions, statements)| scale(questions, statements));
        let model = self.embedder.model();
        scale.ok_or_else(|| {
            format!("{model} does not tell texts apart: is it a model for embeddings?")
        })
    }

    pub(super) fn other_dimensions(&self, now: usize, before: usize) -> Why {
        format!(
            "{} makes vectors of {now} numbers now, and those that are stored have {before}: `thinkd reembed` makes them all anew, or give the model \
             another name",
            self.embedder.model()
        )
    }

    /// Returns true if the vectors of a view are of another scale than the model has now.
    pub(super) fn is_stale(&self, slot: &Slot) -> bool {
        let is_other = |scale| slot.read(|it| !it.is_empty() && *it.vectors.scale() != scale);
        self.known_scale().is_some_and(is_other)
    }
}

/// Returns the scale of a model, by its vectors of the questions and of the statements; none: it tells nothing apart.
fn scale(questions: &[Vector], statements: &[Vector]) -> Option<Scale> {
    let common = Common {
        questions: middle(questions),
        statements: middle(statements),
    };
    let without = |all: &[Vector], common: &[f32]| -> Option<Vec<Vector>> {
        all.iter().map(|it| it.without(common)).collect()
    };
    let questions = without(questions, &common.questions)?;
    let statements = without(statements, &common.statements)?;
    let mut related = Vec::new();
    let mut unrelated = Vec::new();
    for (one, question) in questions.iter().enumerate() {
        for (other, statement) in statements.iter().enumerate() {
            let cosines = match one == other {
                true => &mut related,
                false => &mut unrelated,
            };
            cosines.push(question.cosine(statement));
        }
    }
    let near = mean(&related);
    let far = mean(&unrelated);
    let squares: Vec<f32> = unrelated.iter().map(|it| (it - far).powi(2)).collect();
    let unrelated = far + mean(&squares).sqrt();
    (near > unrelated + LEAST).then(|| Scale {
        dimensions: questions[0].dimensions(),
        unrelated,
        related: near.min(SAME),
        common: Some(Arc::new(common)),
    })
}

/// Returns the mean of some vectors.
fn middle(of: &[Vector]) -> Box<[f32]> {
    let mut sum = vec![0.0_f32; of.first().map_or(0, Vector::dimensions)];
    for vector in of {
        let values = sum.iter_mut().zip(vector.values());
        values.for_each(|(sum, value)| *sum += value);
    }
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    let count = of.len() as f32;
    sum.into_iter().map(|sum| sum / count).collect()
}
