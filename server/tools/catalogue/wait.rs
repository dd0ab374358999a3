//! `wait`: no turn before a message of any sender, or of one contact (or its end), for so long at
//! most. And `set_wait`, which says the same in sub-steps, where going on is said as well.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::contacts::{nobody, resolve};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::intent::Intent;
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct Wait(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    from: Option<String>,
    timeout_s: Option<f64>,
}

impl Typed for Wait {
    type Input = Input;
    const NAME: &'static str = "wait";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/wait.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        wait(&self.0, input.from, input.timeout_s, site).await
    }
}

/// Waits, as both tools do.
async fn wait(
    supplies: &Supplies,
    from: Option<String>,
    timeout_s: Option<f64>,
    site: &CallSite,
) -> Result<Output, Failure> {
    let ms = timeout_s
        .map(millis)
        .transpose()?
        .map(|ms| ms.max(supplies.budget.timer_ms));
    let Some(name) = from.filter(|from| !from.trim().is_empty()) else {
        return Ok(Output::intent(
            Intent::Wait {
                from: None,
                name: None,
                ms,
            },
            "waits for anybody",
        ));
    };
    let thread = resolve(&supplies.store, site, &name).await?;
    let Some(thread) = thread.filter(|thread| *thread != site.thread) else {
        return Ok(nobody(site, &name));
    };
    // Nobody waits for ever for somebody who may not know of it.
    let ms = ms.unwrap_or(supplies.budget.wait_s.saturating_mul(1000));
    let value = format!("waits for {name}");
    Ok(Output::intent(
        Intent::Wait {
            from: Some(thread),
            name: Some(name),
            ms: Some(ms),
        },
        value,
    ))
}

/// Seconds as a model writes them, in milliseconds; a year at most.
pub(super) fn millis(seconds: f64) -> Result<u64, Failure> {
    const YEAR_MS: f64 = 366.0 * 86_400_000.0;
    let ms = seconds * 1000.0;
    if (0.0..=YEAR_MS).contains(&ms) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between 0 and a year"
        )]
        return Ok(ms as u64);
    }
    let text = format!("{seconds} seconds is no time to wait; give 0 to 31622400");
    Err(Failure::new(FailureKind::Tool, text))
}

/// `set_wait`. See the module.
pub struct SetWait(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetInput {
    wait: bool,
    from: Option<String>,
    timeout_s: Option<f64>,
}

impl Typed for SetWait {
    type Input = SetInput;
    const NAME: &'static str = "set_wait";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/set_wait.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: SetInput, site: &CallSite) -> Result<Output, Failure> {
        if input.wait {
            wait(&self.0, input.from, input.timeout_s, site).await
        } else {
            Ok(Output::intent(Intent::GoOn, "goes on at once"))
        }
    }
}
