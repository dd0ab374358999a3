//! `plan`: what is to be done until when, for everybody to see. The last one counts; it stops nobody.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::process::Feedback;
use crate::words::failure::{Failure, FailureKind};

/// See the module.
pub struct Plan;

/// The plan.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    condition: String,
    steps: Vec<Step>,
}

/// A step.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    text: String,
    done: bool,
}

/// Most steps.
const STEPS_MAX: usize = 100;

#[async_trait]
impl Typed for Plan {
    type Input = Input;
    const NAME: &'static str = "plan";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        if input.steps.len() > STEPS_MAX {
            return Err(Failure::new(FailureKind::Tool, format!("a plan has at most {STEPS_MAX} steps")));
        }
        let done = input.steps.iter().filter(|step| step.done).count();
        let complete = done == input.steps.len() && done > 0;
        let plan = json!({ "condition": input.condition, "steps": input.steps, "complete": complete });
        let mut drafts = vec![Draft::changed(&desk.thread, "plan", "plan", plan)];
        if complete {
            let attributes = [("condition", Value::from(input.condition))];
            drafts.push(Draft::feedback(&desk.thread, Some(desk.turn), Feedback::PlanComplete, &attributes, ""));
        }
        let value = json!({ "steps": input.steps.len(), "done": done, "complete": complete });
        Ok(Output { drafts, value: Some(value), ..Output::default() })
    }
}
