//! `spawn_thread`: makes a subthread, at once. The core gives it its id; a label is a wish.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::spawning::{Child, Spawner};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_words::failure::Failure;

/// See the module.
pub struct SpawnThread(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    label: Option<String>,
    prompt: Option<String>,
    payload: Option<String>,
}

impl Typed for SpawnThread {
    type Input = Input;
    const NAME: &'static str = "spawn_thread";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/spawn_thread.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let label = input.label.filter(|label| !label.trim().is_empty());
        let spawner = Spawner(self.0.clone());
        spawner.check_prompt(input.prompt.as_deref())?;
        let mut spawning = spawner.begin(site).await?;
        let child = Child {
            label: label.as_deref(),
            prompt: input.prompt,
            payload: input.payload,
            gathered: None,
            past: None,
        };
        Ok(match spawning.spawn(site, child).await? {
            Ok((_, drafts)) => Output::events(drafts),
            Err(refusal) => refusal,
        })
    }
}
