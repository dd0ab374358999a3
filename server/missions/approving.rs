//! The plan of a mission before a person. The tasks are proposed; none is made before a person has
//! approved them, possibly changed. Nodes of the pipeline in `missions/flow.rs`.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::node;

use super::asking::Came;
use super::desk::Desk;
use super::people::ask_for;
use super::planning::{is_one_task, made_of, parts};
use super::said::Decompose;
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;
use thinkd_event::fact::approval::{Pending, Ruling};
use thinkd_event::fact::calls::Call;
use thinkd_event::mission::{NAME_MAX, TEXT_MAX, TaskId};
use thinkd_event::statement::cut;
use thinkd_tools::approval::hash_of;
use thinkd_tools::catalogue::mission_plan::{MissionPlan, Part};
use thinkd_tools::gate::version_of;
use thinkd_tools::tool::Typed as _;
use thinkd_words::failure::Who;
use thinkd_words::id;
use thinkd_words::time;

/// The id of the call that stands for a plan.
const CALL: &str = "plan";

/// The result of a proposed plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Approved {
    /// These tasks are to be done.
    Plan(Json),
    /// None, and why.
    Rejected(String),
}

/// Returns the plan that is put before people: a model's plan of the mission, or else the mission
/// as its only task.
#[node]
pub(super) async fn propose(nothing: (), desk: Desk) -> Came<Json> {
    let () = nothing;
    let mut plan = match parts(&desk, None).await {
        Came::To(plan) => plan,
        Came::Spent(why) => return Came::Spent(why),
        Came::ToNothing(why) => {
            is_one_task(&desk, &why);
            let whole = Part {
                name: "the mission".to_owned(),
                description: desk.wanted.mission.clone(),
                ..Part::default()
            };
            Decompose { tasks: vec![whole] }
        }
    };
    let wanted = plan.tasks.len();
    plan.tasks.truncate(desk.options().tasks as usize);
    for part in &mut plan.tasks {
        part.name = cut(&part.name, NAME_MAX);
        part.description = cut(&part.description, TEXT_MAX);
    }
    // A person reads it in one event.
    let most = desk.ground.options.tool_limits.output_bytes;
    while plan.tasks.len() > 1 && json!(plan).to_string().len() > most {
        plan.tasks.pop();
    }
    let left = plan.tasks.len();
    if left < wanted {
        let why =
            format!("a plan of {left} tasks is what there is room for, and {wanted} are wanted");
        desk.journal.refuse(None, "what follows in the list", why);
    }
    Came::To(json!(plan))
}

/// Puts a plan before people, and waits for their verdict. If none comes in time, the plan is
/// rejected.
#[node]
pub(super) async fn approve(plan: Json, desk: Desk) -> Approved {
    let mission = &desk.journal.mission;
    let tool = MissionPlan::NAME;
    let id = id::about(&format!("the plan of {mission}"));
    let approval = id.to_string();
    let toolbox = desk.ground.mind.tools.mission.now(&desk.space);
    let version = toolbox.get(tool).map(|tool| version_of(tool.spec()));
    let expires = desk.ground.approvals.expires(time::now());
    let pending = Pending {
        approval: &approval,
        turn: 1,
        call_id: CALL,
        tool,
        arguments: &plan,
        arguments_sha256: &hash_of(&plan),
        tool_version: &version.unwrap_or_default(),
        diff: None,
        expires: &expires.to_string(),
    };
    let asked = Fact::ApprovalPending(pending).encode(mission).with_id(id);
    let stands = vec![Condition::Request {
        id: approval.clone(),
        state: RequestState::Approval,
    }];
    let verdict = |event: &Event| verdict(event, &approval);
    let approved = ask_for(&desk, (id, asked), (stands, tag::APPROVAL), verdict).await;
    if let Approved::Plan(plan) = &approved {
        let call = Call {
            turn: 1,
            by: &Who::Decision,
            tool,
            call_id: CALL,
        };
        let tasks = plan["tasks"].as_array().map_or(0, Vec::len);
        let result = Draft::result(mission, &call, json!({ "tasks": tasks }), 0);
        desk.journal.beside(None, [result.of_approval(&approval)]);
    }
    approved
}

/// Makes the tasks of a plan that was approved.
#[node]
pub(super) async fn adopt(plan: Json, desk: Desk) -> Came<Vec<TaskId>> {
    match serde_json::from_value::<Decompose>(plan) {
        Ok(plan) => made_of(&desk, None, plan),
        // It was checked when it was approved.
        Err(error) => Came::ToNothing(format!("the approved plan cannot be read: {error}")),
    }
}

fn verdict(event: &Event, approval: &str) -> Option<Approved> {
    let verdict = match event.fact() {
        Fact::ApprovalVerdict(verdict) if verdict.approval == approval => verdict,
        _ => return None,
    };
    let by = verdict.by.map(|by| format!(" by {by}")).unwrap_or_default();
    let how = match verdict.ruling {
        Ruling::Granted(granted) => return Some(Approved::Plan(granted.arguments.clone())),
        Ruling::Denied => format!("rejected{by}"),
        Ruling::Answered => format!("not approved but answered{by}"),
        Ruling::Expired => "not approved in time".to_owned(),
        Ruling::Withdrawn => "withdrawn".to_owned(),
    };
    let colon = if verdict.reason.is_empty() { "" } else { ": " };
    Some(Approved::Rejected(format!(
        "the plan was {how}{colon}{}",
        verdict.reason
    )))
}
