//! `terminate`: the thread ends with its turn. Its reason is the last its parent and its contacts hear of it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::intent::Intent;
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct Terminate;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    reason: String,
}

impl Typed for Terminate {
    type Input = Input;
    const NAME: &'static str = "terminate";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/terminate.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        if site.thread.is_main() {
            let text = "this thread does not end: who names no thread speaks to it; to be silent call do_nothing";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        Ok(Output::intent(
            Intent::Terminate {
                reason: input.reason,
            },
            "the thread ends with this turn",
        ))
    }
}
