//! `reply`: says something to the user. The only way to reach them.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::words::failure::{Failure, FailureKind};

/// See the module.
pub struct Reply;

/// What to say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    text: String,
}

#[async_trait]
impl Typed for Reply {
    type Input = Input;
    const NAME: &'static str = "reply";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        if input.text.trim().is_empty() {
            let text = "reply needs a text that is not empty; to stay silent call do_nothing";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        let reply = Draft::reply(&desk.thread, desk.turn, &desk.call_id, &input.text, false);
        let reply = match desk.event_id {
            Some(id) => reply.with_id(id),
            None => reply,
        };
        Ok(Output::events(vec![reply]))
    }
}
