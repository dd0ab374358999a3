//! The instrument *code*: the value of a prediction's code says whether it is so. It runs where the
//! code of the tool `run_code` does, and no model is asked. `memory/said.rs` decides which
//! predictions have code.

use std::time::Duration;

use runner::request::{Answer as Ran, Error, Language, Request};
use serde_json::Value;
use tokio::time::timeout;

use super::said::{Said, Silent};
use thinkd_event::statement::{Answer, Later, Reading, SENTENCE_MAX, cut};
use thinkd_tools::code::runner::Runner;
use thinkd_words::id::Space;

/// Source of its readings.
const OUTPUT: &str = "the output of code";

/// Runs the code of a prediction, and returns its value, and the printed text. A value that is
/// neither true nor false says nothing, however it looks. `limit` is about the wait for a worker,
/// too.
pub(super) async fn run(
    runner: &Runner,
    space: &Space,
    code: &str,
    limit: Duration,
) -> Said<(bool, String)> {
    let request = Request {
        language: Language::JavaScript,
        code: code.to_owned(),
        input: Value::Null,
    };
    let why = match timeout(limit, runner.run(space, request)).await {
        Ok(Ok(Ran { outcome, printed })) => match outcome {
            Ok(Value::Bool(is_so)) => return Ok((is_so, cut(&printed, SENTENCE_MAX))),
            Ok(value) => format!("the value of the code is neither true nor false: {value}"),
            Err(thrown) => format!("the code ended in an error: {}", thrown.message),
        },
        Ok(Err(Error::Stopped { reason, detail, .. })) => {
            format!("the code was stopped ({}): {detail}", reason.as_str())
        }
        Ok(Err(Error::Unavailable(why))) => {
            return Err(Silent::Broke(format!("the code was not run: {why}")));
        }
        Err(_) => format!("the code did not end within {} ms", limit.as_millis()),
    };
    Err(Silent::Says(why))
}

/// Returns the value of code, and its printed text, as a reading.
pub(super) fn reading((is_so, printed): (bool, String), begun: Reading) -> Reading {
    let mut lines = printed.lines().rev();
    let last = lines.find(|line| !line.trim().is_empty() && !is_so);
    Reading {
        answer: if is_so { Answer::Yes } else { Answer::No },
        later: last.and_then(Later::said),
        note: format!("the value of the code is {is_so}"),
        // Code that prints nothing says its value.
        quote: Some(match printed.as_str() {
            "" => is_so.to_string(),
            _ => printed,
        }),
        source: Some(OUTPUT.into()),
        ..begun
    }
}
