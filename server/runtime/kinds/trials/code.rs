//! The instrument *code*: what the code of a prediction comes to says whether it is so. It runs where the code of the tool `run_code` does, and no
//! model is asked. Which predictions have code is in `trials/said.rs`.

use std::time::Duration;

use runner::request::{Answer as Ran, Error, Language, Request};
use serde_json::Value;
use tokio::time::timeout;

use super::said::{Silent, no_answer};
use crate::event::statement::{Answer, Instrument, Later, Reading, SENTENCE_MAX, cut};
use crate::tools::code::runner::Runner;
use crate::words::id::Space;

/// What its readings name as their source.
const OUTPUT: &str = "the output of code";

/// Runs the code of a prediction. `limit` is about the wait for a worker, too.
pub(super) async fn read(
    runner: &Runner,
    space: &Space,
    code: &str,
    limit: Duration,
    (prediction, choice): (usize, String),
) -> Reading {
    let request = Request {
        language: Language::JavaScript,
        code: code.to_owned(),
        input: Value::Null,
    };
    let ran = timeout(limit, runner.run(space, request)).await;
    let late = || {
        Silent::says(format!(
            "the code did not end within {} ms",
            limit.as_millis()
        ))
    };
    let said = ran
        .map_err(|_| late())
        .and_then(|ran| ran.map_err(|error| stopped(&error)))
        .and_then(said);
    match said {
        Err(silent) => no_answer(prediction, Instrument::Code, choice, &silent),
        Ok((is_so, printed)) => Reading {
            answer: if is_so { Answer::Yes } else { Answer::No },
            later: printed
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty() && !is_so)
                .and_then(Later::said),
            note: format!("the value of the code is {is_so}"),
            // Code that prints nothing says its value.
            quote: Some(if printed.is_empty() {
                is_so.to_string()
            } else {
                printed
            }),
            source: Some(OUTPUT.into()),
            ..no_answer(prediction, Instrument::Code, choice, &Silent::says(""))
        },
    }
}

/// Whether it is so, and what was printed. What is neither true nor false says nothing, however it looks.
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
