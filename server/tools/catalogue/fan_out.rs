//! `fan_out` and `sequence`: several subthreads for one purpose, all at once or one after the
//! other. Their results come back together, by index, failures among them; or not at all, where
//! none were asked for.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::wait::millis;
use crate::spawning::{Child, Spawner};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Timer};
use thinkd_event::gather::Gather;
use thinkd_event::timer::Purpose;
use thinkd_thread::settings::Gathered;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::time::Timestamp;

/// Most items of one fan-out, most steps of one sequence.
const ITEMS_MAX: usize = 32;

/// `fan_out`. See the module.
pub struct FanOut(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    items: Vec<String>,
    prompt: Option<String>,
    gather: bool,
    timeout_s: Option<f64>,
}

impl Typed for FanOut {
    type Input = Input;
    const NAME: &'static str = "fan_out";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/fan_out.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        check(&input.items, "fan_out needs items")?;
        let spawner = Spawner(self.0.clone());
        spawner.check_prompt(input.prompt.as_deref())?;
        let id = gathering(site);
        let mut spawning = spawner.begin(site).await?;
        let mut drafts = Vec::new();
        for (index, item) in (0..).zip(&input.items) {
            let gathered = input.gather.then(|| Gathered {
                id: id.clone(),
                index,
            });
            let label = format!("{id}-{index}");
            let child = Child {
                label: Some(&label),
                prompt: input.prompt.clone(),
                payload: Some(item.clone()),
                gathered,
                past: None,
            };
            match spawning.spawn(site, child).await? {
                Ok((_, more)) => drafts.extend(more),
                // All of them or none.
                Err(refusal) => {
                    spawning.undo(site);
                    return Ok(refusal);
                }
            }
        }
        let total = input.items.len() as u64;
        if input.gather {
            let gather = Gather {
                total,
                ..Gather::default()
            };
            drafts.extend(gathered(
                site,
                &id,
                gather,
                input.timeout_s,
                self.0.budget.wait_s,
            )?);
        }
        let value = json!({ "dispatched": total, "id": input.gather.then_some(id) });
        Ok(Output::done(drafts, value))
    }
}

/// `sequence`. See the module.
pub struct Sequence(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    steps: Vec<String>,
    prompt: Option<String>,
    timeout_s: Option<f64>,
}

impl Typed for Sequence {
    type Input = Steps;
    const NAME: &'static str = "sequence";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/sequence.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;

    async fn call(&self, input: Steps, site: &CallSite) -> Result<Output, Failure> {
        check(&input.steps, "sequence needs steps")?;
        let spawner = Spawner(self.0.clone());
        spawner.check_prompt(input.prompt.as_deref())?;
        let id = gathering(site);
        let total = input.steps.len() as u64;
        let gather = Gather {
            total,
            steps: input.steps,
            prompt: input.prompt,
            ..Gather::default()
        };
        let wait_s = self.0.budget.wait_s;
        let begun = gathered(site, &id, gather.clone(), input.timeout_s, wait_s)?;
        let mut drafts = Vec::from(begun);
        let mut spawning = spawner.begin(site).await?;
        match spawning.next_step(site, &id, &gather).await? {
            Ok(first) => drafts.extend(first),
            Err(refusal) => return Ok(refusal),
        }
        let value = json!({ "steps": total, "id": id });
        Ok(Output::done(drafts, value))
    }
}

/// A call's id begins with its turn: it is the only one in its thread.
fn gathering(site: &CallSite) -> String {
    format!("g-{}", site.call_id.replace('.', "-"))
}

fn check(items: &[String], what: &str) -> Result<(), Failure> {
    if items.is_empty() || items.iter().any(|item| item.trim().is_empty()) {
        let text = format!("{what}, and none of them may be empty");
        return Err(Failure::new(FailureKind::Tool, text));
    }
    if items.len() > ITEMS_MAX {
        let text = format!("{what}, at most {ITEMS_MAX} of them");
        return Err(Failure::new(FailureKind::Tool, text));
    }
    Ok(())
}

/// The events that begin a gathering: itself, and the timer that ends it.
fn gathered(
    site: &CallSite,
    id: &str,
    gather: Gather,
    timeout_s: Option<f64>,
    wait_s: u64,
) -> Result<[Draft; 2], Failure> {
    let ms = timeout_s
        .map(millis)
        .transpose()?
        .unwrap_or(wait_s.saturating_mul(1000));
    let micros = ms.saturating_mul(1000);
    let due = Timestamp::from_micros(site.now.micros().saturating_add_unsigned(micros));
    let note = format!("not all of {id} came back in time");
    let timer = Timer {
        due,
        note,
        set: Some(site.now),
    };
    let timer = Change::Timer(Some(timer));
    let gather = Change::Gather(Some(gather));
    Ok([
        Draft::set(&site.thread, id, gather),
        Draft::set(&site.thread, &Purpose::Gathering(id).to_string(), timer),
    ])
}
