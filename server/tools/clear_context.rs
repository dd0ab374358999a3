//! `clear_context`: from now on the thread is shown only its newest events, and what comes. The log keeps all.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::contacts::unreadable;
use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::process::Feedback;
use crate::words::failure::Failure;

/// See the module.
pub struct ClearContext;

/// How much stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    keep: u64,
}

#[async_trait]
impl Typed for ClearContext {
    type Input = Input;
    const NAME: &'static str = "clear_context";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;
    const BRINGS_BACK: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
        let kept = input.keep.min(row.map_or(0, |row| row.visible));
        let attributes = [("kept_messages", Value::from(kept))];
        let draft = Draft::feedback(&desk.thread, Some(desk.turn), Feedback::Cleared, &attributes, "");
        Ok(Output::events(vec![draft.of_call(&desk.call_id)]))
    }
}
