//! `set_timer`: wakes the thread when the time has come, once, also when the server was away meanwhile.

use schemars::JsonSchema;
use serde::Deserialize;

use super::wait::millis;
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Timer};
use thinkd_event::fact::told::News;
use thinkd_event::timer::Purpose;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::time::Timestamp;

/// See the module.
pub struct SetTimer(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    after_s: f64,
    note: String,
}

impl Typed for SetTimer {
    type Input = Input;
    const NAME: &'static str = "set_timer";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/set_timer.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let ms = millis(input.after_s)?.max(self.0.budget.timer_ms);
        let set = self
            .0
            .store
            .timers(&site.space, &site.thread..=&site.thread)
            .await?;
        // How many requests to people a thread may have open has a limit of its own.
        let set = set
            .iter()
            .filter(|timer| !matches!(Purpose::of(&timer.name), Purpose::Request(_)))
            .count() as u64;
        let limit = self.0.budget.timers;
        if set >= limit {
            let text = format!("{limit} timers are set already; wait until one is due");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let due = Timestamp::from_micros(site.now.micros().saturating_add_unsigned(ms * 1000));
        let id = format!("t{}-{}", site.turn, site.call_id);
        let news = News::TimerSet {
            timer: &id,
            due: &due.to_string(),
            note: &input.note,
        };
        let told = Draft::news(&site.thread, site.turn, news);
        let timer = Timer {
            due,
            note: input.note,
            set: Some(site.now),
        };
        let change = Draft::set(&site.thread, &id, Change::Timer(Some(timer)));
        Ok(Output::events(vec![change, told.of_call(&site.call_id)]))
    }
}
