//! `mission_plan`: the tasks of a mission, which a person approves before they begin. No model
//! calls it: the mission itself puts it before people, and goes by their answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_words::failure::{Failure, FailureKind};

/// See the module.
pub struct MissionPlan;

/// The tasks of a mission, or the parts of a task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The list.
    pub tasks: Vec<Part>,
}

/// One of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub description: String,
    /// Numbers of parts in the list, from 1.
    pub requires: Vec<i64>,
    /// What it may cost.
    pub value: Option<String>,
    /// Names of tasks and thoughts that brought to it.
    pub brought_by: Vec<String>,
    /// Whether it is one plain step with a short answer.
    pub exact: Option<bool>,
}

impl Typed for MissionPlan {
    type Input = Plan;
    const NAME: &'static str = "mission_plan";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/mission_plan.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, _: Plan, _: &CallSite) -> Result<Output, Failure> {
        let text = "a plan is carried out by its mission, once a person has approved it";
        Err(Failure::new(FailureKind::Tool, text).with(json!({ "reason": "not_callable" })))
    }
}
