//! `fan_out` and `sequence`: several subthreads for one purpose, all at once or one after the other. Their results come back
//! together, by index, failures among them; or not at all, where nobody asked for them.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contacts::unreadable;
use super::spawn_thread::{Child, Nest, check_prompt, labels};
use super::tool::{Desk, Effect, Output, Typed};
use super::wait::millis;
use crate::event::draft::Draft;
use crate::event::gather::Gather;
use crate::event::process::GATHER;
use crate::thread::settings::{Gathered, Settings};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::Name;
use crate::words::time::Timestamp;

/// Most items of one fan-out, most steps of one sequence.
const ITEMS_MAX: usize = 32;

/// `fan_out`. See the module.
pub struct FanOut;

/// What to whom.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Their first messages.
    items: Vec<String>,
    /// What they are for.
    prompt: Option<String>,
    gather: bool,
    /// For all together; null for the usual.
    timeout_s: Option<f64>,
}

#[async_trait]
impl Typed for FanOut {
    type Input = Input;
    const NAME: &'static str = "fan_out";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        check(&input.items, "fan_out needs items")?;
        check_prompt(desk, input.prompt.as_deref())?;
        let id = gathering(desk);
        let mut nest = Nest::of(desk).await?;
        let mut drafts = Vec::new();
        for (index, item) in (0..).zip(&input.items) {
            let gathered = input.gather.then(|| Gathered { id: id.clone(), index });
            let label = format!("{id}-{index}");
            let child =
                Child { label: Some(&label), prompt: input.prompt.clone(), payload: Some(item.clone()), gathered };
            match nest.hatch(desk, child).await? {
                Ok((_, more)) => drafts.extend(more),
                // All of them or none.
                Err(refusal) => {
                    nest.leave(desk);
                    return Ok(refusal);
                }
            }
        }
        let total = input.items.len() as u64;
        if input.gather {
            let gather = Gather { total, ..Gather::default() };
            drafts.extend(begin(desk, &id, &gather, input.timeout_s)?);
        }
        let value = json!({ "dispatched": total, "id": input.gather.then_some(id) });
        Ok(Output { drafts, value: Some(value), ..Output::default() })
    }
}

/// `sequence`. See the module.
pub struct Sequence;

/// Which steps.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Their first messages, in order.
    steps: Vec<String>,
    /// What they are for.
    prompt: Option<String>,
    /// For all together; null for the usual.
    timeout_s: Option<f64>,
}

#[async_trait]
impl Typed for Sequence {
    type Input = Steps;
    const NAME: &'static str = "sequence";
    const EFFECT: Effect = Effect::Events;
    const COUNTS: bool = true;

    async fn run(input: Steps, desk: &Desk) -> Result<Output, Failure> {
        check(&input.steps, "sequence needs steps")?;
        check_prompt(desk, input.prompt.as_deref())?;
        let id = gathering(desk);
        let total = input.steps.len() as u64;
        let gather = Gather { total, steps: input.steps, prompt: input.prompt, ..Gather::default() };
        let mut drafts = Vec::from(begin(desk, &id, &gather, input.timeout_s)?);
        match step(desk, &mut Nest::of(desk).await?, &id, &gather).await? {
            Ok(first) => drafts.extend(first),
            Err(refusal) => return Ok(refusal),
        }
        Ok(Output { drafts, value: Some(json!({ "steps": total, "id": id })), ..Output::default() })
    }
}

/// The events that begin the next step of a sequence, if there is one.
pub async fn step(
    desk: &Desk,
    nest: &mut Nest,
    id: &str,
    gather: &Gather,
) -> Result<Result<Vec<Draft>, Output>, Failure> {
    let Some((index, text)) = gather.next() else { return Ok(Ok(Vec::new())) };
    let label = format!("{id}-{index}");
    let begun = Gathered { id: id.to_owned(), index };
    for label in labels(Name::parse(&label).ok().as_ref()) {
        let Ok(child) = desk.thread.child(&label) else { break };
        // A thread of that name may be anybody's: then the step has another one.
        let Some(row) = desk.store.thread(&desk.space, &child).await.map_err(unreadable)? else { break };
        if Settings::of(&row.settings).gathered.as_ref() == Some(&begun) {
            // Begun already, by a turn that left its mailbox as it was.
            return Ok(Ok(Vec::new()));
        }
    }
    let before = index.checked_sub(1).and_then(|before| gather.results.get(&before));
    let payload = match before {
        Some(back) => format!("{text}\n\n{}", back.text),
        None => text.to_owned(),
    };
    let child =
        Child { label: Some(&label), prompt: gather.prompt.clone(), payload: Some(payload), gathered: Some(begun) };
    Ok(nest.hatch(desk, child).await?.map(|(_, drafts)| drafts))
}

/// A call's id begins with its turn: it is the only one in its thread.
fn gathering(desk: &Desk) -> String {
    format!("g-{}", desk.call_id.replace('.', "-"))
}

fn check(items: &[String], what: &str) -> Result<(), Failure> {
    if items.is_empty() || items.iter().any(|item| item.trim().is_empty()) {
        return Err(Failure::new(FailureKind::Tool, format!("{what}, and none of them may be empty")));
    }
    if items.len() > ITEMS_MAX {
        return Err(Failure::new(FailureKind::Tool, format!("{what}, at most {ITEMS_MAX} of them")));
    }
    Ok(())
}

fn begin(desk: &Desk, id: &str, gather: &Gather, timeout_s: Option<f64>) -> Result<[Draft; 2], Failure> {
    let ms = timeout_s.map(millis).transpose()?.unwrap_or(desk.budget.wait_s.saturating_mul(1000));
    let due = Timestamp::from_micros(desk.now.micros().saturating_add_unsigned(ms.saturating_mul(1000)));
    let note = format!("not all of {id} came back in time");
    let timer = Draft::changed(&desk.thread, "timer", &format!("{GATHER}{id}"), json!({ "due": due, "note": note }));
    let value = serde_json::to_value(gather).unwrap_or(Value::Null);
    Ok([Draft::changed(&desk.thread, "gather", id, value), timer])
}
