//! A model for vectors is measured before it is used: what its numbers mean, and whether those that are stored under its name are of its kind.

use super::calibration::{self, PAIRS};
use super::meaning::{Meaning, Why, lock};
use super::shelf::Slot;
use super::vectors::{Scale, Vector};
use super::view::View;

impl Meaning {
    /// What the numbers of the model mean, measured once. Vectors of the same model with other dimensions are in the way.
    pub(super) async fn scale(&self) -> Result<Scale, Why> {
        let known = || lock(&self.scale).clone();
        if let Some(scale) = known() {
            return Ok(scale);
        }
        let _measuring = self.measuring.lock().await;
        if let Some(scale) = known() {
            return Ok(scale);
        }
        let scale = self.measured(true).await?;
        *lock(&self.scale) = Some(scale.clone());
        Ok(scale)
    }

    /// Measures the model. `is_alone`: only where no vectors of other dimensions are stored under its name.
    pub(super) async fn measured(&self, is_alone: bool) -> Result<Scale, Why> {
        let question =
            |(question, _): &(&str, &str)| format!("{}{question}", self.options.question_prefix);
        let questions: Vec<String> = PAIRS.iter().map(question).collect();
        let first = self.embedded(&questions[..1]).await?.pop().flatten();
        let dimensions = first
            .ok_or("the model for vectors has none for a plain question")?
            .dimensions();
        let unmeasured = Scale::of_model(dimensions, 0.0, 1.0, None);
        let others = self
            .store
            .other_dimensions(&self.maker(&unmeasured))
            .await
            .map_err(|error| error.to_string())?;
        if let Some(other) = others.filter(|_| is_alone) {
            return Err(self.other_dimensions(dimensions, other as usize));
        }
        let statements: Vec<String> = PAIRS
            .iter()
            .map(|(_, text)| self.as_statement(text))
            .collect();
        let vectors = self
            .vectors(&unmeasured, &[questions, statements].concat())
            .await?;
        let vectors: Vec<Vector> = vectors.into_iter().flatten().collect();
        let measured = (vectors.len() == 2 * PAIRS.len()).then(|| vectors.split_at(PAIRS.len()));
        let scale =
            measured.and_then(|(questions, statements)| calibration::scale(questions, statements));
        scale.ok_or_else(|| {
            format!(
                "{} does not tell texts apart: is it a model for embeddings?",
                self.embedder.model()
            )
        })
    }

    pub(super) fn other_dimensions(&self, now: usize, before: usize) -> Why {
        format!(
            "{} makes vectors of {now} numbers now, and those that are stored have {before}: `thinkd reembed` makes them all anew, or give the model \
             another name",
            self.embedder.model()
        )
    }

    /// Whether the vectors of a view are of another scale than the model has now.
    pub(super) fn is_stale(&self, slot: &Slot) -> bool {
        let known = lock(&self.scale).clone();
        known.is_some_and(|scale| {
            slot.read(|view| !view.is_empty() && *view.vectors().scale() != scale)
        })
    }

    /// The vectors in force in a space, for people; by its view, where one is kept.
    pub fn in_force(&self, slot: Option<&Slot>) -> String {
        let (model, scale) = (self.embedder.model(), lock(&self.scale).clone());
        let in_force = match (&lock(&self.trouble).last, scale) {
            (Some((why, _)), _) => format!("{model}, not in use now: {why}"),
            (None, Some(scale)) => format!("{model}, {} numbers", scale.dimensions),
            (None, None) => format!("{model}, not asked yet"),
        };
        if slot.is_some_and(|slot| self.is_full(slot) && slot.read(View::missing) > 0) {
            let most = self.options.exact;
            return format!(
                "{in_force}; beyond {most} statements (memory.exact_vectors) none: words and names alone"
            );
        }
        in_force
    }
}
