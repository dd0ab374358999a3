//! `set_timer`: wakes the thread when the time has come, once, also when the server was away meanwhile.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contacts::unreadable;
use super::tool::{Desk, Effect, Output, Typed};
use super::wait::millis;
use crate::event::draft::Draft;
use crate::event::process::Feedback;
use crate::words::failure::{Failure, FailureKind};
use crate::words::time::Timestamp;

/// See the module.
pub struct SetTimer;

/// When and what for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    after_s: f64,
    note: String,
}

#[async_trait]
impl Typed for SetTimer {
    type Input = Input;
    const NAME: &'static str = "set_timer";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let ms = millis(input.after_s)?.max(desk.budget.timer_ms);
        let set = desk.store.timers(&desk.space, &desk.thread..=&desk.thread).await.map_err(unreadable)?.len() as u64;
        let limit = desk.budget.timers;
        if set >= limit {
            let text = format!("{limit} timers are set already (budget.timers); wait until one is due");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let due = Timestamp::from_micros(desk.now.micros().saturating_add_unsigned(ms * 1000));
        let id = format!("t{}-{}", desk.turn, desk.call_id);
        let change = json!({ "due": due, "note": input.note });
        let attributes = [("id", Value::from(id.as_str())), ("due", due.to_string().into())];
        let told = Draft::feedback(&desk.thread, Some(desk.turn), Feedback::TimerSet, &attributes, &input.note);
        Ok(Output::events(vec![Draft::changed(&desk.thread, "timer", &id, change), told.of_call(&desk.call_id)]))
    }
}
