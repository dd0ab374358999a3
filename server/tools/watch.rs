//! `watch` and `close_watch`: to be told, once, when a message of some kind comes from somebody, and reminded until one has seen
//! to it.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contacts::{nobody, resolve, unreadable};
use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::process::{ErrorCode, Feedback, Watch};
use crate::words::failure::{Failure, FailureKind};

/// `watch`. See the module.
pub struct SetWatch;

/// For what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    kind: String,
    from: Option<String>,
    note: String,
}

#[async_trait]
impl Typed for SetWatch {
    type Input = Input;
    const NAME: &'static str = "watch";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;
    const COUNTS: bool = true;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let kind = input.kind.trim().to_lowercase();
        if kind.is_empty() {
            return Err(Failure::new(FailureKind::Tool, "watch needs a kind: a tag of the events to watch for"));
        }
        let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
        let limit = desk.budget.watches;
        if row.is_some_and(|row| row.standing.watches.len() as u64 >= limit) {
            let text = format!("{limit} watches are open already (budget.watches); close one");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let from = match input.from.filter(|from| !from.trim().is_empty()) {
            None => None,
            Some(name) => match resolve(desk, &name).await? {
                Some(thread) => Some(thread),
                None => {
                    let (error, text) = nobody(desk, &name);
                    return Ok(Output::failed(vec![error], Failure::new(FailureKind::Tool, text)));
                }
            },
        };
        let id = format!("w{}-{}", desk.turn, desk.call_id);
        let attributes = [
            ("id", Value::from(id.as_str())),
            ("kind", kind.as_str().into()),
            ("from", from.as_ref().map_or(Value::Null, |from| from.as_str().into())),
        ];
        let told = Draft::feedback(&desk.thread, Some(desk.turn), Feedback::WatchSet, &attributes, &input.note);
        let watch = Watch { kind, from, note: input.note, raised: false };
        let change = Draft::changed(&desk.thread, "watch", &id, serde_json::to_value(watch).unwrap_or_default());
        Ok(Output::events(vec![change, told.of_call(&desk.call_id)]))
    }
}

/// `close_watch`. See the module.
pub struct CloseWatch;

/// Which.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseInput {
    id: String,
}

#[async_trait]
impl Typed for CloseWatch {
    type Input = CloseInput;
    const NAME: &'static str = "close_watch";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;
    const COUNTS: bool = true;

    async fn run(input: CloseInput, desk: &Desk) -> Result<Output, Failure> {
        let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
        let watch = row.and_then(|row| row.standing.watches.get(&input.id).cloned());
        let Some(watch) = watch else {
            let given: String = input.id.chars().take(100).collect();
            let text = format!("there is no open watch {given:?}");
            let error = Draft::thread_error(&desk.thread, Some(desk.turn), &given, ErrorCode::UnknownWatch, &text);
            return Ok(Output::failed(vec![error], Failure::new(FailureKind::Tool, text)));
        };
        let attributes = [("id", Value::from(input.id.as_str())), ("raised", json!(watch.raised))];
        let told = Draft::feedback(&desk.thread, Some(desk.turn), Feedback::WatchClosed, &attributes, "");
        let change = Draft::changed(&desk.thread, "watch", &input.id, Value::Null);
        Ok(Output::events(vec![change, told.of_call(&desk.call_id)]))
    }
}
