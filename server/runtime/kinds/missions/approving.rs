//! The plan of a mission before a person: which tasks it comes to is proposed, and none is made before somebody has approved them, perhaps as other ones.
//! Nodes of the pipeline in `missions/flow.rs`.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::node;

use super::asking::Came;
use super::desk::Desk;
use super::said::Decompose;
use crate::event::condition::{Condition, RequestState};
use crate::event::draft::Draft;
use crate::event::envelope::{Event, tag};
use crate::event::fact::Fact;
use crate::event::fact::approval::{Pending, Ruling};
use crate::event::fact::calls::Call;
use crate::event::mission::{NAME_MAX, TEXT_MAX, TaskId};
use crate::event::statement::cut;
use crate::tools::approval::hash_of;
use crate::tools::catalogue::mission_plan::{MissionPlan, Part};
use crate::tools::tool::Typed as _;
use crate::words::failure::Who;
use crate::words::id;
use crate::words::time;

/// The id of the call that stands for a plan.
const CALL: &str = "plan";

/// What came of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Approved {
    /// These tasks are to be done.
    Plan(Json),
    /// None, and why.
    Rejected(String),
}

/// The plan that is put before people: what a model makes of the mission, or else the mission as its only task.
#[node]
pub(super) async fn propose(nothing: (), desk: Desk) -> Came<Json> {
    let () = nothing;
    let mut plan = match desk.parts(None).await {
        Came::To(plan) => plan,
        Came::Spent(why) => return Came::Spent(why),
        Came::ToNothing(why) => {
            desk.refuse(
                None,
                [(
                    TaskId(0),
                    "a plan of several tasks".to_owned(),
                    format!("{why}; the mission is one task"),
                )],
            );
            let (name, description) = ("the mission".to_owned(), desk.wanted().mission.clone());
            let whole = Part {
                name,
                description,
                requires: Vec::new(),
                value: None,
                brought_by: Vec::new(),
                exact: None,
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
    while plan.tasks.len() > 1 && json!(plan).to_string().len() > desk.event_bytes() {
        plan.tasks.pop();
    }
    if plan.tasks.len() < wanted {
        let why = format!(
            "a plan of {} tasks is what there is room for, and {wanted} are wanted",
            plan.tasks.len()
        );
        desk.refuse(
            None,
            [(TaskId(0), "what follows in the list".to_owned(), why)],
        );
    }
    Came::To(json!(plan))
}

/// Puts a plan before people, and waits for their verdict. That nobody gives one in time counts as no.
#[node]
pub(super) async fn approve(plan: Json, desk: Desk) -> Approved {
    let mission = desk.mission_thread().clone();
    let id = id::about(&format!("the plan of {mission}"));
    let approval = id.to_string();
    let pending = Pending {
        approval: &approval,
        turn: 1,
        call_id: CALL,
        tool: MissionPlan::NAME,
        arguments: &plan,
        arguments_sha256: &hash_of(&plan),
        tool_version: desk.plan_version(),
        diff: None,
        expires: &desk
            .approvals()
            .expires(MissionPlan::NAME, time::now())
            .to_string(),
    };
    let asked = Fact::ApprovalPending(pending).encode(&mission).with_id(id);
    let stands = vec![Condition::Request {
        id: approval.clone(),
        state: RequestState::Approval,
    }];
    let approved = desk
        .ask_for(id, asked, stands, tag::APPROVAL, |event| {
            verdict(event, &approval)
        })
        .await;
    if let Approved::Plan(plan) = &approved {
        let call = Call {
            turn: 1,
            by: &Who::Decision,
            tool: MissionPlan::NAME,
            call_id: CALL,
        };
        let tasks = plan["tasks"].as_array().map_or(0, Vec::len);
        let result = Draft::result(&mission, &call, json!({ "tasks": tasks }), 0);
        desk.beside(None, [result.of_approval(&approval)]);
    }
    approved
}

/// Makes the tasks of a plan that was approved.
#[node]
pub(super) async fn adopt(plan: Json, desk: Desk) -> Came<Vec<TaskId>> {
    match serde_json::from_value::<Decompose>(plan) {
        Ok(plan) => desk.made_of(None, plan),
        // It was checked when it was approved.
        Err(error) => Came::To(desk.one_task(&format!("the plan cannot be read: {error}"))),
    }
}

fn verdict(event: &Event, approval: &str) -> Option<Approved> {
    let Fact::ApprovalVerdict(verdict) = event.fact() else {
        return None;
    };
    if verdict.approval != approval {
        return None;
    }
    let by = verdict.by.map(|by| format!(" by {by}")).unwrap_or_default();
    let colon = if verdict.reason.is_empty() { "" } else { ": " };
    let rejected =
        |how: &str| Approved::Rejected(format!("the plan was {how}{colon}{}", verdict.reason));
    Some(match verdict.ruling {
        Ruling::Granted(granted) => Approved::Plan(granted.arguments.clone()),
        Ruling::Denied => rejected(&format!("rejected{by}")),
        Ruling::Answered => rejected(&format!("not approved but answered{by}")),
        Ruling::Expired => rejected("not approved in time"),
        Ruling::Withdrawn => rejected("withdrawn"),
    })
}
