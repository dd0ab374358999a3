//! `terminate`: the thread ends with its turn. Its reason is the last its parent and its contacts hear of it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::intent::Intent;
use crate::words::failure::{Failure, FailureKind};

/// See the module.
pub struct Terminate;

/// Why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    reason: String,
}

#[async_trait]
impl Typed for Terminate {
    type Input = Input;
    const NAME: &'static str = "terminate";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        if desk.thread.is_main() {
            let text = "this thread does not end: who names no thread speaks to it; to be silent call do_nothing";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        Ok(Output::intent(Intent::Terminate { reason: input.reason }, "the thread ends with this turn"))
    }
}
