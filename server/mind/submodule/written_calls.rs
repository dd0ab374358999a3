//! The calls that a submodule wrote as text.

use crate::call::{Ended, Ready, TurnPlace};
use thinkd_model::provider::{Answer, ToolCall};
use thinkd_model::written::{self, Found};

/// The same with the calls that its words are, where all of them are calls; and whether they are.
pub(super) fn read(ended: Ended, ready: &Ready, place: &TurnPlace) -> (Ended, bool) {
    match ended {
        Ended::Answered(answer) if answer.calls.is_empty() => {
            let (thought, words) = written::apart(&answer.text);
            match written::find(words, ready.offered(), place.thread.label()) {
                // A voice has few tools, and is not told of more: its other calls are words.
                Found::Calls(before, calls) if are_offered(&calls, ready) => {
                    let text = format!("{thought}\n\n{before}").trim().to_owned();
                    let answer = Answer {
                        text,
                        calls,
                        ..answer
                    };
                    (Ended::Answered(answer), true)
                }
                _ => (Ended::Answered(answer), false),
            }
        }
        ended => (ended, false),
    }
}

fn are_offered(calls: &[ToolCall], ready: &Ready) -> bool {
    let has = |call: &ToolCall| ready.offered().iter().any(|tool| tool.name == call.name);
    calls.iter().all(has)
}
