//! `/threads/{mission}/tasks`: the tasks of a mission.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Page};
use crate::edge::problem::Problem;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::task::TAG;
use crate::event::mission::{self, Check, TaskId, TaskStatus, Value};
use crate::log::projections::tasks::TaskRow;
use crate::log::query::{Order, Query};
use crate::session::handle::Session;
use crate::words::id::{Seq, ThreadId};
use crate::words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "missions": "What missions are made of: their tasks, and what was thought of each";
    "/threads/{thread}/tasks" => get(list);
}

/// Most events of a task that its stream of consciousness is made of.
const STREAM_MAX: u32 = 1000;

/// A task.
#[derive(Debug, Serialize, ToSchema)]
pub struct Task {
    /// Its id; ids only go up.
    #[schema(example = "t2")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub description: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it may cost.
    pub value: Value,
    /// The task that was split into it and others.
    pub parent: Option<String>,
    /// What has to end before it begins; of a task that was split: its parts.
    pub tasks_required: Vec<String>,
    /// The tasks that require it.
    pub tasks_depending: Vec<String>,
    /// What brought to it, as the planner says.
    pub tasks_and_thoughts_that_brought_to_it: Vec<String>,
    /// Its place among its siblings: the lowest goes first.
    pub rank: u64,
    /// How it may be done, as listed; empty before that was asked.
    pub routes: Vec<Route>,
    /// How its answer is checked; null before that was asked.
    pub check: Option<TaskCheck>,
    /// The answer that passed its check.
    pub answer: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// The thread in which it is worked on, and which has its thoughts; null before it begins.
    #[schema(value_type = Option<String>)]
    pub thread: Option<ThreadId>,
    /// All that was thought while it was worked on, in order; in answers about one task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_of_consciousness: Option<String>,
    /// The event that made it.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// When it was changed last.
    #[schema(value_type = String)]
    pub updated_at: Timestamp,
}

/// A way to do a task.
#[derive(Debug, Serialize, ToSchema)]
pub struct Route {
    /// Its name.
    pub name: String,
    /// How it goes.
    pub how: String,
    /// The chance that it works, from 0 to 1, as the model estimates it.
    pub estimate: f64,
    /// It splits the task instead of doing it as a whole.
    pub splits: bool,
    /// The same chance, as learned from what came of earlier routes of its kind; null: there were none.
    pub learned: Option<f64>,
}

impl From<mission::Route> for Route {
    fn from(it: mission::Route) -> Self {
        Self {
            name: it.name,
            how: it.how,
            estimate: it.estimate,
            splits: it.splits,
            learned: it.learned,
        }
    }
}

/// How the answer of a task is checked.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskCheck {
    /// `program`, `knowledge`, `agreement` or `rubric`.
    pub by: &'static str,
    /// The program, or what is searched.
    pub with: Option<String>,
    /// What a model goes by, where that decides nothing.
    pub rubric: String,
}

impl From<Check> for TaskCheck {
    fn from(check: Check) -> Self {
        let (by, with, rubric) = match check {
            Check::Program { code, rubric } => ("program", Some(code), rubric),
            Check::Knowledge { query, rubric } => ("knowledge", Some(query), rubric),
            Check::Agreement { rubric } => ("agreement", None, rubric),
            Check::Rubric { rubric } => ("rubric", None, rubric),
        };
        Self { by, with, rubric }
    }
}

/// Which tasks require which.
pub(super) fn depending(rows: &[TaskRow]) -> BTreeMap<TaskId, Vec<String>> {
    let mut depending: BTreeMap<TaskId, Vec<String>> = BTreeMap::new();
    for row in rows {
        for required in &row.new.requires {
            let of = depending.entry(*required).or_default();
            of.push(row.new.task.to_string());
        }
    }
    depending
}

impl Task {
    pub(super) fn new(
        mission: &ThreadId,
        row: TaskRow,
        depending: &BTreeMap<TaskId, Vec<String>>,
    ) -> Self {
        let id = |task: &TaskId| task.to_string();
        let thread = (row.began > 0).then(|| mission.of_task(row.new.task));
        Self {
            id: id(&row.new.task),
            parent: row.new.parent.as_ref().map(id),
            tasks_required: row.new.requires.iter().map(id).collect(),
            tasks_depending: depending.get(&row.new.task).cloned().unwrap_or_default(),
            tasks_and_thoughts_that_brought_to_it: row.new.brought_by,
            routes: row.routes.into_iter().map(Route::from).collect(),
            check: row.check.map(Into::into),
            thread,
            name: row.new.name,
            description: row.new.description,
            status: row.status,
            value: row.new.value,
            rank: row.new.rank,
            answer: row.answer,
            reason: row.reason,
            stream_of_consciousness: None,
            seq: row.seq,
            updated_at: row.updated,
        }
    }
}

pub(super) async fn rows(session: &Session, mission: &ThreadId) -> Result<Vec<TaskRow>, Problem> {
    let rows = session.tasks(mission).await?;
    rows.ok_or_else(|| Problem::not_found(format!("there is no mission {mission}")))
}

/// The tasks of a mission, in the order in which they were made.
#[utoipa::path(get, path = "/threads/{thread}/tasks", operation_id = "list_tasks", tag = "missions",
    params(("thread" = String, Path, description = "the mission"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")),
    responses((status = 200, body = Page<Task>)))]
pub async fn list(
    session: Needs<Read>,
    Path(mission): Path<ThreadId>,
    mut params: Params,
) -> Answer<Page<Task>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of(format!("tasks {mission} {}", session.space()))?;
    let after = part.at.as_deref().and_then(TaskId::parse);
    let rows = rows(&session, &mission).await?;
    let depending = depending(&rows);
    let behind = |row: &TaskRow| after.is_none_or(|after| row.new.task > after);
    let rows = rows.into_iter().skip_while(|row| !behind(row));
    let Page { items, next } = part.page(rows, |row: &TaskRow| row.new.task);
    let items = items.into_iter();
    let items = items.map(|row| Task::new(&mission, row, &depending));
    Ok(axum::Json(Page {
        items: items.collect(),
        next,
    }))
}

/// One task, with its stream of consciousness.
#[utoipa::path(get, path = "/threads/{thread}/tasks/{task}", operation_id = "get_task", tag = "missions",
    params(("thread" = String, Path, description = "the mission"), ("task" = String, Path, description = "the task's id")),
    responses((status = 200, body = Task)))]
pub async fn one(
    session: Needs<Read>,
    Path((mission, task)): Path<(ThreadId, TaskId)>,
    _: NoParams,
) -> Answer<Task> {
    shown(&session, &mission, task).await.map(axum::Json)
}

pub(super) async fn shown(
    session: &Session,
    mission: &ThreadId,
    task: TaskId,
) -> Result<Task, Problem> {
    let rows = rows(session, mission).await?;
    let depending = depending(&rows);
    let row = rows.into_iter().find(|row| row.new.task == task);
    let detail = || format!("{mission} has no such task");
    let row = row.ok_or_else(|| Problem::not_found(detail()))?;
    let thread = mission.of_task(row.new.task);
    let query = Query {
        thread: Some(thread),
        tags: vec![TAG.to_owned()],
        order: Order::Ascending,
        limit: STREAM_MAX,
        ..Query::default()
    };
    let said = session.events(&query).await?;
    let is_thought =
        |event: &&Event| matches!(event.fact(), Fact::Task(it) if it.what.is_thought());
    let thoughts = said.iter().filter(is_thought).map(Event::text);
    let stream = Vec::from_iter(thoughts).join("\n\n");
    Ok(Task {
        stream_of_consciousness: Some(stream),
        ..Task::new(mission, row, &depending)
    })
}
