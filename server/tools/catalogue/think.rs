//! `think`: a message of the thread to itself. The next turn starts with it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_words::failure::Failure;

/// See the module.
pub struct Think;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    thought: String,
}

impl Typed for Think {
    type Input = Input;
    const NAME: &'static str = "think";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/think.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let draft = Draft::thought(&site.thread, site.turn, &input.thought).of_call(&site.call_id);
        Ok(Output::events(vec![draft]))
    }
}
