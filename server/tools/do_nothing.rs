//! `do_nothing`: the decision not to act, in the open.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::words::failure::Failure;

/// See the module.
pub struct DoNothing;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    reason: String,
}

#[async_trait]
impl Typed for DoNothing {
    type Input = Input;
    const NAME: &'static str = "do_nothing";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let draft = Draft::no_action(&desk.thread, desk.turn, &input.reason).of_call(&desk.call_id);
        Ok(Output::events(vec![draft]))
    }
}
