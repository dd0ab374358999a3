//! `think`: a message of the thread to itself. The next turn starts with it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::words::failure::Failure;

/// See the module.
pub struct Think;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    thought: String,
}

#[async_trait]
impl Typed for Think {
    type Input = Input;
    const NAME: &'static str = "think";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let draft = Draft::thought(&desk.thread, desk.turn, &input.thought).of_call(&desk.call_id);
        Ok(Output::events(vec![draft]))
    }
}
