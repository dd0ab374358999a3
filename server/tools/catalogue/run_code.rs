//! `run_code`: runs code that a model wrote in a worker process that reaches nothing (the crate `runner`). An error of the code is its
//! result; code that was stopped is a failure with the reason.

use runner::request::{Answer, Error, Language, Reason, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::code;
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, invalid, refused};
use thinkd_event::draft::{DEPTH_MAX, is_within_depth};
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct RunCode(pub Supplies);

/// Most bytes of the output of stopped code that its failure shows.
const PRINTED_MAX: usize = 1000;

/// The languages there are.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum In {
    JavaScript,
    #[cfg(feature = "python")]
    Python,
}

#[cfg(not(feature = "python"))]
const PROMPT: &str = include_str!("../../../prompts/tools/run_code.md");
#[cfg(feature = "python")]
const PROMPT: &str = include_str!("../../../prompts/tools/run_code_python.md");

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    language: In,
    code: String,
    // Strict schemas know no "anything": it is told as a text, and taken as it comes.
    #[schemars(with = "Option<String>")]
    input: Option<Value>,
}

impl Typed for RunCode {
    type Input = Input;
    const NAME: &'static str = code::RUN_CODE;
    const PROMPT: &'static str = PROMPT;
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(
        &self,
        Input {
            language,
            code,
            input,
        }: Input,
        site: &CallSite,
    ) -> Result<Output, Failure> {
        if code.trim().is_empty() {
            return Err(invalid("there is no code to run"));
        }
        let language = match language {
            In::JavaScript => Language::JavaScript,
            #[cfg(feature = "python")]
            In::Python => Language::Python,
        };
        let input = match input {
            // What is no JSON is a text.
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            other => other.unwrap_or_default(),
        };
        let request = Request {
            language,
            code,
            input,
        };
        let ran = self.0.code.run(&site.space, request).await;
        ran.map(|answer| Output::value(shown(answer)))
            .map_err(failure)
    }
}

/// Returns the result of code that ended by itself.
fn shown(Answer { outcome, printed }: Answer) -> Value {
    match outcome {
        Ok(value) if is_within_depth(&value, DEPTH_MAX) => {
            json!({ "value": value, "printed": printed })
        }
        Ok(_) => {
            let message = format!("the value is nested deeper than {DEPTH_MAX}");
            json!({ "error": { "message": message, "line": null }, "printed": printed })
        }
        Err(thrown) => {
            json!({ "error": { "message": thrown.message, "line": thrown.line }, "printed": printed })
        }
    }
}

fn failure(error: Error) -> Failure {
    let (reason, detail, printed) = match error {
        Error::Stopped {
            reason,
            detail,
            printed,
        } => (reason, detail, printed),
        Error::Unavailable(error) => {
            let text =
                format!("the code was not run to its end, for no worker is to be had: {error}");
            return refused(text, "unavailable").retryable();
        }
    };
    let (kind, key) = match reason {
        Reason::Time => (FailureKind::Timeout, Some("tools.code.time_ms")),
        Reason::Memory => (FailureKind::Tool, Some("tools.code.memory_bytes")),
        Reason::Output => (FailureKind::Tool, Some("tools.code.output_bytes")),
        Reason::Crash => (FailureKind::Tool, None),
    };
    let printed = &printed[..printed.floor_char_boundary(PRINTED_MAX)];
    let before = if printed.is_empty() {
        String::new()
    } else {
        format!(". It had printed: {printed}")
    };
    Failure::new(kind, format!("the code was stopped: {detail}{before}"))
        .with(json!({ "reason": reason.as_str(), "key": key, "printed": printed }))
}
