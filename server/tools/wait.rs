//! `wait`: no turn before somebody writes: anybody, or one contact (or its end), for so long at most. And `set_wait`, which says
//! the same in sub-steps, where going on is said as well.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;

use super::contacts::{nobody, resolve};
use super::tool::{Desk, Effect, Output, Typed};
use crate::event::intent::Intent;
use crate::words::failure::{Failure, FailureKind};

/// See the module.
pub struct Wait;

/// For whom, and how long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A contact; null for anybody.
    from: Option<String>,
    timeout_s: Option<f64>,
}

#[async_trait]
impl Typed for Wait {
    type Input = Input;
    const NAME: &'static str = "wait";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        waits(input.from, input.timeout_s, desk).await
    }
}

async fn waits(from: Option<String>, timeout_s: Option<f64>, desk: &Desk) -> Result<Output, Failure> {
    let ms = timeout_s.map(millis).transpose()?.map(|ms| ms.max(desk.budget.timer_ms));
    let Some(name) = from.filter(|from| !from.trim().is_empty()) else {
        return Ok(Output::intent(Intent::Wait { from: None, name: None, ms }, "waits for anybody"));
    };
    let Some(thread) = resolve(desk, &name).await?.filter(|thread| *thread != desk.thread) else {
        let (error, text) = nobody(desk, &name);
        return Ok(Output::failed(vec![error], Failure::new(FailureKind::Tool, text)));
    };
    // Nobody waits for ever for somebody who may not know of it.
    let ms = ms.unwrap_or(desk.budget.wait_s.saturating_mul(1000));
    let value = format!("waits for {name}");
    Ok(Output::intent(Intent::Wait { from: Some(thread), name: Some(name), ms: Some(ms) }, value))
}

/// Seconds as a model writes them, in milliseconds; a year at most.
pub(super) fn millis(seconds: f64) -> Result<u64, Failure> {
    const YEAR_MS: f64 = 366.0 * 86_400_000.0;
    let ms = seconds * 1000.0;
    if (0.0..=YEAR_MS).contains(&ms) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and a year")]
        return Ok(ms as u64);
    }
    Err(Failure::new(FailureKind::Tool, format!("{seconds} seconds is no time to wait; give 0 to 31622400")))
}

/// `set_wait`. See the module.
pub struct SetWait;

/// Whether, for whom, and how long.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetInput {
    /// False: the next step comes at once.
    wait: bool,
    /// A contact; null for anybody.
    from: Option<String>,
    timeout_s: Option<f64>,
}

#[async_trait]
impl Typed for SetWait {
    type Input = SetInput;
    const NAME: &'static str = "set_wait";
    const EFFECT: Effect = Effect::Events;

    async fn run(input: SetInput, desk: &Desk) -> Result<Output, Failure> {
        if input.wait {
            waits(input.from, input.timeout_s, desk).await
        } else {
            Ok(Output::intent(Intent::GoOn, "goes on at once"))
        }
    }
}
