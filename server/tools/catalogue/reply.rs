//! `reply`: says something to the user. The only way to reach them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_model::answer::said;
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct Reply;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    text: String,
}

impl Typed for Reply {
    type Input = Input;
    const NAME: &'static str = "reply";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/reply.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let said = said(&input.text);
        if said.trim().is_empty() {
            let text = "reply needs a text that is not empty; to stay silent call do_nothing";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        let reply = Draft::reply(&site.thread, site.turn, &site.call_id, &said, false);
        Ok(Output::events(vec![reply]))
    }
}
