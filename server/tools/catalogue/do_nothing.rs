//! `do_nothing`: the decision not to act, in the open.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_words::failure::Failure;

/// See the module.
pub struct DoNothing;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    reason: String,
}

impl Typed for DoNothing {
    type Input = Input;
    const NAME: &'static str = "do_nothing";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/do_nothing.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let draft = Draft::no_action(&site.thread, site.turn, &input.reason).of_call(&site.call_id);
        Ok(Output::events(vec![draft]))
    }
}
