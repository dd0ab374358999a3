//! The memory of the role of a model's words: its answer, or thinking beside a tool call. It decides whether words are
//! shown while they arrive. In memory alone: a server that starts learns anew.

use thinkd_model::cache::Cache;

/// Most models that are remembered; with one more, all are forgotten.
const MODELS_MAX: usize = 64;
/// Answers in words, one after the other, before words are shown at once.
const NEEDED: u32 = 2;
/// Most answers that are needed of a model that was mistaken for one that answers in words.
const NEEDED_MAX: u32 = 64;

/// The roles of the words of models, by the model's name.
#[derive(Debug, Default)]
pub struct PlainWords(Cache<String, Record, MODELS_MAX>);

#[derive(Debug, Clone, Copy)]
struct Record {
    /// Answers in words since words last stood beside a call.
    run: u32,
    /// The number of such answers after which its words are an answer.
    needed: u32,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            run: 0,
            needed: NEEDED,
        }
    }
}

impl PlainWords {
    /// True if the words of this model are its answer, as far as is known.
    pub fn answers_in_words(&self, model: &str) -> bool {
        let record = self.0.get(model).unwrap_or_default();
        record.run >= record.needed
    }

    /// Its words were its answer.
    pub fn record_answer(&self, model: &str) {
        let answer = |record: &mut Record| record.run = record.run.saturating_add(1);
        self.0.change(model.to_owned(), answer);
    }

    /// Its words stood beside a tool call. A model that was believed to answer in words is believed less soon the next time.
    pub fn record_thinking(&self, model: &str) {
        self.0.change(model.to_owned(), |record| {
            if record.run >= record.needed {
                record.needed = (record.needed * 2).min(NEEDED_MAX);
            }
            record.run = 0;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_believed_later_each_time_that_it_was_mistaken() {
        let words = PlainWords::default();
        for needed in [2, 4, 8, 16, 32, 64, 64, 64] {
            for _ in 0..needed {
                assert!(!words.answers_in_words("m"), "before {needed} answers");
                words.record_answer("m");
            }
            assert!(words.answers_in_words("m"), "after {needed} answers");
            assert!(!words.answers_in_words("other"));
            words.record_thinking("m");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let words = PlainWords::default();
        for model in 0..10_000 {
            words.record_answer(&model.to_string());
            assert!(words.0.count() <= MODELS_MAX);
        }
    }
}
