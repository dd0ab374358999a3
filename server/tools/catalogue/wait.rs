//! `wait`: no turn before somebody writes: anybody, or one contact (or its end), for so long at most. And `set_wait`, which says
//! the same in sub-steps, where going on is said as well.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::event::intent::Intent;
use crate::tools::contacts::{Contacts, nobody};
use crate::tools::supplies::Supplies;
use crate::tools::tool::{CallSite, Effect, Output, Typed};
use crate::words::budget::Budget;
use crate::words::failure::{Failure, FailureKind};

/// See the module.
pub struct Wait {
    wait: WaitFor,
}

impl Wait {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            wait: WaitFor::new(supplies),
        }
    }
}

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
        self.wait.on(input.from, input.timeout_s, site).await
    }
}

/// What both tools know of waiting.
struct WaitFor {
    contacts: Contacts,
    budget: Arc<Budget>,
}

impl WaitFor {
    fn new(supplies: &Supplies) -> Self {
        Self {
            contacts: Contacts::new(supplies),
            budget: supplies.budget.clone(),
        }
    }

    async fn on(
        &self,
        from: Option<String>,
        timeout_s: Option<f64>,
        site: &CallSite,
    ) -> Result<Output, Failure> {
        let ms = timeout_s
            .map(millis)
            .transpose()?
            .map(|ms| ms.max(self.budget.timer_ms));
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
        let Some(thread) = self
            .contacts
            .resolve(site, &name)
            .await?
            .filter(|thread| *thread != site.thread)
        else {
            let (error, text) = nobody(site, &name);
            return Ok(Output::failed(
                vec![error],
                Failure::new(FailureKind::Tool, text),
            ));
        };
        // Nobody waits for ever for somebody who may not know of it.
        let ms = ms.unwrap_or(self.budget.wait_s.saturating_mul(1000));
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
    Err(Failure::new(
        FailureKind::Tool,
        format!("{seconds} seconds is no time to wait; give 0 to 31622400"),
    ))
}

/// `set_wait`. See the module.
pub struct SetWait {
    wait: WaitFor,
}

impl SetWait {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            wait: WaitFor::new(supplies),
        }
    }
}

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
            self.wait.on(input.from, input.timeout_s, site).await
        } else {
            Ok(Output::intent(Intent::GoOn, "goes on at once"))
        }
    }
}
