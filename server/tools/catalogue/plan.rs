//! `plan`: the condition under which the thread is finished, and the steps there, for everybody to
//! see. The last plan counts; it stops no one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::fact::told::News;
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct Plan;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    condition: String,
    steps: Vec<Step>,
}

/// Its arguments.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    text: String,
    done: bool,
}

/// Most steps.
const STEPS_MAX: usize = 100;

impl Typed for Plan {
    type Input = Input;
    const NAME: &'static str = "plan";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/plan.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        if input.steps.len() > STEPS_MAX {
            let text = format!("a plan has at most {STEPS_MAX} steps");
            return Err(Failure::new(FailureKind::Tool, text));
        }
        let done = input.steps.iter().filter(|step| step.done).count();
        let complete = done == input.steps.len() && done > 0;
        let plan =
            json!({ "condition": input.condition, "steps": input.steps, "complete": complete });
        let mut drafts = vec![Draft::set(&site.thread, "plan", Change::Plan(&plan))];
        if complete {
            let news = News::PlanComplete {
                condition: &input.condition,
            };
            drafts.push(Draft::news(&site.thread, site.turn, news));
        }
        let value = json!({ "steps": input.steps.len(), "done": done, "complete": complete });
        Ok(Output::done(drafts, value))
    }
}
