//! `start_mission`: begins a mission beside the conversation. The call only begins it; its answer comes back as a message from its thread.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::condition::Condition;
use thinkd_event::fact::run::{Held, RunKey};
use thinkd_event::mission::{MISSION_MAX, MissionBudget, Plan, Value, Wanted};
use thinkd_log::kernel::Store;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id;

/// See the module.
pub struct StartMission {
    store: Arc<dyn Store>,
    budget: MissionBudget,
    /// Most threads of a space that have not ended.
    threads: u64,
}

impl StartMission {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            store: supplies.store.clone(),
            budget: supplies.mission.clone(),
            threads: supplies.limits.threads,
        }
    }
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    mission: String,
    value: Option<Worth>,
    plan: Option<When>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum When {
    Go,
    Ask,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Worth {
    Low,
    Medium,
    High,
}

impl Typed for StartMission {
    type Input = Input;
    const NAME: &'static str = "start_mission";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/start_mission.md");
    const EFFECT: Effect = Effect::Events;
    // The same mission twice in a turn is one.
    const READS_ROWS: bool = true;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let mission = input.mission.trim().to_owned();
        let count = mission.chars().count();
        if count == 0 || count > MISSION_MAX {
            let text = format!(
                "a mission says in 1 to {MISSION_MAX} characters what is wanted; this one has {count}"
            );
            let failure = Failure::new(FailureKind::Tool, text);
            return Err(failure.with(json!({ "reason": "invalid_arguments" })));
        }
        let value = match input.value {
            Some(Worth::Low) => Value::Low,
            Some(Worth::High) => Value::High,
            Some(Worth::Medium) | None => Value::Medium,
        };
        let plan = match input.plan {
            Some(When::Ask) => Plan::Ask,
            Some(When::Go) | None => Plan::Go,
        };
        let wanted = Wanted {
            mission,
            value,
            budget: self.budget.clone(),
            plan,
            by: Some(site.thread.clone()),
            root: site.so_far.purse.root(),
        };
        let CallSite { thread, turn, .. } = site;
        let same = json!([wanted.mission, wanted.value, wanted.plan]);
        let id = id::about(&format!("the mission {same} of turn {turn} of {thread}"));
        let key = RunKey::of_mission(id);
        let known = self.store.thread(&site.space, &key.thread).await?;
        if known.is_some() {
            let note = "this turn has begun the same mission already: it is one, and its answer will come as a message";
            let value = json!({ "mission": key.thread, "note": note });
            return Ok(Output::value(value));
        }
        let living = self.store.living(&site.space).await?;
        if living >= self.threads {
            let text = format!(
                "the space has {living} threads that have not ended, and may have no more: wait for one, or end one"
            );
            let failure = Failure::new(FailureKind::Budget, text);
            return Err(failure.with(json!({ "key": "limits.threads" })));
        }
        site.so_far.purse.take_thread()?;
        let room = Condition::FewerThreads(self.threads);
        let started = key.started(&Held::Here(json!(wanted)), None).only_if(room);
        let note = "it goes on beside this conversation; its answer will come as a message from that thread";
        Ok(Output {
            sent: 1,
            drafts: vec![started],
            ..Output::value(json!({ "mission": key.thread, "note": note }))
        })
    }
}
