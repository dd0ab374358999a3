//! The calls that a submodule wrote as text.

use crate::mind::call::{Ended, Ready, TurnPlace};
use crate::model::provider::Answer;
use crate::model::written;

/// The same with the calls that its words are, where all of them are calls; and whether they are.
pub(super) fn read(ended: Ended, ready: &Ready, place: &TurnPlace) -> (Ended, bool) {
    match ended {
        Ended::Answered(answer) if answer.calls.is_empty() => {
            let (thought, words) = written::apart(&answer.text);
            match written::read(words, ready.offered(), place.thread.label()) {
                Some(calls) => {
                    let text = thought.to_owned();
                    let answer = Answer {
                        text,
                        calls,
                        ..answer
                    };
                    (Ended::Answered(answer), true)
                }
                None => (Ended::Answered(answer), false),
            }
        }
        ended => (ended, false),
    }
}
