//! The judgement of an answer that has ended: whole, or a failure that says why it is none.

use serde_json::json;

use super::Call;
use crate::answer::{Ending, Whole, is_refusal};
use crate::habits::Habit;
use crate::provider::Answer;
use thinkd_words::failure::{Failure, UNSAID};

impl Call {
    /// The answer, unless it was withheld, failed, or was cut before anything of it was whole.
    pub(super) fn judged(&self, whole: Whole) -> Result<Answer, Failure> {
        let Whole {
            mut answer,
            ending,
            cut_calls,
            ..
        } = whole;
        let has_words = !answer.text.trim().is_empty();
        match ending {
            Ending::Filtered => return Err(self.withheld(&answer.finish)),
            Ending::Failed => return Err(self.failed_answer(&answer.finish)),
            Ending::Done if is_refusal(&answer.finish) && answer.calls.is_empty() && !has_words => {
                return Err(self.withheld(&answer.finish));
            }
            Ending::Cut if answer.calls.is_empty() && cut_calls > 0 => {
                return Err(self.cut_off(
                    "in the middle of a tool call, which was not run",
                    &answer.finish,
                ));
            }
            Ending::Cut if answer.calls.is_empty() && !has_words => {
                let failure = self.cut_off("before its first word", &answer.finish);
                // Not even a thought: the prompt alone fills the window of the model.
                let is_limited = ["max_tokens", "max_completion_tokens"]
                    .iter()
                    .any(|key| self.prepared.parameters.get(key).is_some());
                let is_full = answer.usage.input_tokens > 0 && answer.usage.output_tokens <= 1;
                return Err(match is_full && !is_limited {
                    true => failure.with(json!({ "reason": UNSAID })),
                    false => failure,
                });
            }
            _ => {}
        }
        answer.is_cut = ending == Ending::Cut;
        answer.adjusted = self.habits();
        answer.adjusted.retain(Habit::changes_requests);
        Ok(answer)
    }

    fn withheld(&self, word: &str) -> Failure {
        let failure = self.wire.failure(format_args!(
            "withheld its answer: the provider's filter stopped it ({word})"
        ));
        failure.with(json!({ "reason": "withheld", "finish": word }))
    }

    pub(super) fn failed_answer(&self, word: &str) -> Failure {
        let failure = self
            .wire
            .failure(format_args!("failed while it answered ({word})"));
        failure.retryable().with(json!({ "finish": word }))
    }

    /// An answer that a limit of tokens cut. The advice names the limit that is set, if one is.
    fn cut_off(&self, place: &str, word: &str) -> Failure {
        let keys = ["max_tokens", "max_completion_tokens"];
        let set = keys
            .iter()
            .find_map(|key| Some((*key, self.prepared.parameters.get(key)?)))
            .filter(|_| !word.contains("window"));
        let advice = match set {
            Some((key, most)) => format!("{key} is {most}: raise it or leave it out"),
            None => {
                "the provider's own limit of tokens was reached: set max_tokens for this model, \
                or a smaller history.bytes where its window is full"
                    .to_owned()
            }
        };
        let failure = self
            .wire
            .failure(format_args!("was cut off {place}; {advice}"));
        failure.with(json!({ "reason": "cut_off", "key": "max_tokens" }))
    }
}
