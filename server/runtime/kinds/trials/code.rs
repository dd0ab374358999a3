//! The instrument *code*: what the code of a prediction comes to says whether it is so. It runs
//! where the code of the tool `run_code` does, and no model is asked. Which predictions have code
//! is in `trials/said.rs`.

use std::time::Duration;

use runner::request::{Answer as Ran, Error, Language, Request};
use serde_json::Value;
use tokio::time::timeout;

use super::said::Silent;
use crate::event::statement::{Answer, Later, Reading, SENTENCE_MAX, cut};
use crate::tools::code::runner::Runner;
use crate::words::id::Space;

/// Source of its readings.
const OUTPUT: &str = "the output of code";

/// Runs the code of a prediction, and returns what it comes to. `limit` is about the wait for a
/// worker, too.
pub(super) async fn run(
    runner: &Runner,
    space: &Space,
    code: &str,
    limit: Duration,
) -> Result<(bool, String), Silent> {
    let request = Request {
        language: Language::JavaScript,
        code: code.to_owned(),
        input: Value::Null,
    };
    let Ok(ran) = timeout(limit, runner.run(space, request)).await else {
        let why = format!("the code did not end within {} ms", limit.as_millis());
        return Err(Silent::says(why));
    };
    said(ran.map_err(|error| stopped(&error))?)
}

/// Returns the value of code, and what it printed, as a reading.
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

/// Returns the value, and the printed text. What is neither true nor false says nothing, however it
/// looks.
fn said(Ran { outcome, printed }: Ran) -> Result<(bool, String), Silent> {
    match outcome {
        Ok(Value::Bool(is_so)) => Ok((is_so, cut(&printed, SENTENCE_MAX))),
        Ok(value) => Err(Silent::says(format!(
            "the value of the code is neither true nor false: {value}"
        ))),
        Err(thrown) => Err(Silent::says(format!(
            "the code ended in an error: {}",
            thrown.message
        ))),
    }
}

fn stopped(error: &Error) -> Silent {
    match error {
        Error::Stopped { reason, detail, .. } => Silent::says(format!(
            "the code was stopped ({}): {detail}",
            reason.as_str()
        )),
        Error::Unavailable(why) => Silent::broke(format!("the code was not run: {why}")),
    }
}
