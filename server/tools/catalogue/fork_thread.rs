//! `fork_thread`: makes a subthread with the past of the calling thread, up to the end of one of
//! its turns.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::spawning::{Child, Spawner};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::Seq;

/// See the module.
pub struct ForkThread(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    label: Option<String>,
    at: Option<Seq>,
    payload: Option<String>,
}

impl Typed for ForkThread {
    type Input = Input;
    const NAME: &'static str = "fork_thread";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/fork_thread.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let store = &self.0.store;
        let row = store.thread(&site.space, &site.thread).await?;
        let Some(row) = row else {
            let text = "this thread has no past yet";
            return Err(Failure::new(FailureKind::Tool, text));
        };
        let at = input.at.unwrap_or(row.head).min(row.head);
        let past = store.past(&site.space, &row, at, None).await?;
        let label = input.label.filter(|label| !label.trim().is_empty());
        let mut spawning = Spawner(self.0.clone()).begin(site).await?;
        let child = Child {
            label: label.as_deref(),
            prompt: None,
            payload: input.payload,
            gathered: None,
            past: Some(past),
        };
        Ok(match spawning.spawn(site, child).await? {
            Ok((_, drafts)) => Output::events(drafts),
            Err(refusal) => refusal,
        })
    }
}
