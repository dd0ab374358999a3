//! `clear_context`: from now on the thread is shown only its newest events, and those that come.
//! The log keeps all.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::fact::told::News;
use thinkd_words::failure::Failure;

/// See the module.
pub struct ClearContext(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    keep: u64,
}

impl Typed for ClearContext {
    type Input = Input;
    const NAME: &'static str = "clear_context";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/clear_context.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ASKS_AGAIN: bool = false;
    const LEAVES_ACTION: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let row = self.0.store.thread(&site.space, &site.thread).await?;
        let kept = input.keep.min(row.map_or(0, |row| row.visible));
        let draft = Draft::news(&site.thread, site.turn, News::Cleared { kept: Some(kept) });
        Ok(Output::events(vec![draft.of_call(&site.call_id)]))
    }
}
