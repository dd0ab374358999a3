//! `watch` and `close_watch`: a thread is told, once, when a message of some kind comes from a
//! sender, and reminded until it has seen to it.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::contacts::{nobody, resolve};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::fact::told::News;
use thinkd_event::process::{ErrorCode, Watch};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::ThreadId;

/// `watch`. See the module.
pub struct SetWatch(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    kind: String,
    from: Option<String>,
    note: String,
}

impl Typed for SetWatch {
    type Input = Input;
    const NAME: &'static str = "watch";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/watch.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let kind = input.kind.trim().to_lowercase();
        if kind.is_empty() {
            let text = "watch needs a kind: a tag of the events to watch for";
            return Err(Failure::new(FailureKind::Tool, text));
        }
        let row = self.0.store.thread(&site.space, &site.thread).await?;
        let limit = self.0.budget.watches;
        if row.is_some_and(|row| row.state.watches.len() as u64 >= limit) {
            let text = format!("{limit} watches are open already; close one");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let from = match input.from.filter(|from| !from.trim().is_empty()) {
            None => None,
            Some(name) => match resolve(&self.0.store, site, &name).await? {
                Some(thread) => Some(thread),
                None => return Ok(nobody(site, &name)),
            },
        };
        let id = format!("w{}-{}", site.turn, site.call_id);
        let whom = from.as_ref().map(ThreadId::as_str);
        let news = News::WatchSet {
            watch: &id,
            kind: &kind,
            from: whom,
            note: &input.note,
        };
        let told = Draft::news(&site.thread, site.turn, news);
        let watch = Watch {
            kind,
            from,
            note: input.note,
            raised: false,
        };
        let change = Draft::set(&site.thread, &id, Change::Watch(Some(watch)));
        Ok(Output::events(vec![change, told.of_call(&site.call_id)]))
    }
}

/// `close_watch`. See the module.
pub struct CloseWatch(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseInput {
    id: String,
}

impl Typed for CloseWatch {
    type Input = CloseInput;
    const NAME: &'static str = "close_watch";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/close_watch.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;
    const READS_ROWS: bool = true;

    async fn call(&self, input: CloseInput, site: &CallSite) -> Result<Output, Failure> {
        let row = self.0.store.thread(&site.space, &site.thread).await?;
        let watch = row.and_then(|row| row.state.watches.get(&input.id).cloned());
        let Some(watch) = watch else {
            let given: String = input.id.chars().take(100).collect();
            let text = format!("there is no open watch {given:?}");
            let error = Draft::thread_error(
                &site.thread,
                Some(site.turn),
                &given,
                ErrorCode::UnknownWatch,
                &text,
            );
            let failure = Failure::new(FailureKind::Tool, text);
            return Ok(Output::failed(vec![error], failure));
        };
        let news = News::WatchClosed {
            watch: &input.id,
            was_raised: watch.raised,
        };
        let told = Draft::news(&site.thread, site.turn, news);
        let change = Draft::set(&site.thread, &input.id, Change::Watch(None));
        Ok(Output::events(vec![change, told.of_call(&site.call_id)]))
    }
}
