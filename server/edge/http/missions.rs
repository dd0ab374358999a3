//! Missions: the request for one, its tasks, its thoughts and its working memory, and people's
//! interventions while it runs.
//! Long because a resource is one file: its shapes, their validation, and its operations.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::thread::Thread;
use super::{Answer, Only, Page, bounds};
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::envelope::Event;
use thinkd_event::estimate::{Record, Records};
use thinkd_event::fact::Fact;
use thinkd_event::fact::task::{TAG, TaskFact};
use thinkd_event::mission::{
    self, BudgetWanted, Check, MISSION_MAX, NAME_MAX, TEXT_MAX, TaskEdit, TaskId, TaskStatus, Value,
};
use thinkd_log::projections::tasks::TaskRow;
use thinkd_log::query::{Order, Query};
use thinkd_recall::finder::Question;
use thinkd_recall::view::finding::Hit;
use thinkd_session::handle::Session;
use thinkd_thread::settings::Settings;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "missions": "What missions are made of: their tasks, and what was thought of each";
    "/threads/{thread}/tasks" => get(tasks);
    "/threads/{thread}/tasks/{task}" => get(task) patch(edit) delete(skip);
    "/threads/{thread}/thoughts" => get(thoughts);
    "/threads/{thread}/memory" => get(memory);
    "/threads/{thread}/pause" => post(pause);
    "/threads/{thread}/resume" => post(resume);
    bounds: |document| {
        let list = json!({ "items": { "type": "string", "pattern": "^t[1-9][0-9]*$" }, "maxItems": REQUIRED_MAX });
        let text = |most: usize| json!({ "minLength": 1, "maxLength": most });
        let members = [
            ("name", text(NAME_MAX)),
            ("description", text(TEXT_MAX)),
            ("tasks_required", list),
        ];
        bounds::of_body(document, "EditTask", members);
    };
}

/// Most tasks, thoughts and statements of a working memory, and most characters that are recalled by.
const TASKS_MAX: usize = 500;
const THOUGHTS_MAX: u32 = 100;
const STATEMENTS_MAX: usize = 8;
const QUESTION_MAX: usize = 1000;
/// Most events of a task that its stream of consciousness is made of.
const STREAM_MAX: u32 = 1000;
/// Most tasks that one may be given to require.
const REQUIRED_MAX: usize = 100;

/// Checks a mission to be, and adds its errors to `wrongs`.
pub(super) fn check(mission: Option<&str>, budget: Option<&BudgetWanted>, wrongs: &mut Wrongs) {
    let text = mission.unwrap_or_default().trim();
    wrongs.unsaid("/mission", text, "a mission says what is wanted");
    if text.chars().count() > MISSION_MAX {
        let detail = format!("a mission has at most {MISSION_MAX} characters");
        wrongs.add(Slug::TextTooLarge, "/mission", detail);
    }
    let Some(budget) = budget else { return };
    for (pointer, value) in [
        ("/budget/model_calls", budget.model_calls),
        ("/budget/tokens", budget.tokens),
        ("/budget/time_ms", budget.time_ms),
    ] {
        if value == Some(0) {
            let detail = "a budget of 0 would do nothing";
            wrongs.add(Slug::Unprocessable, pointer, detail);
        }
    }
}

/// A task.
#[derive(Debug, Serialize, ToSchema)]
pub struct Task {
    /// Its id; ids only go up.
    #[schema(example = "t2")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// The work to be done.
    pub description: String,
    /// Its status.
    pub status: TaskStatus,
    /// The highest cost that it may have.
    pub value: Value,
    /// The task that was split into it and others.
    pub parent: Option<String>,
    /// The tasks that have to end before it begins; of a task that was split: its parts.
    pub tasks_required: Vec<String>,
    /// The tasks that require it.
    pub tasks_depending: Vec<String>,
    /// The names of the tasks and thoughts that led to it, as the planner says.
    pub tasks_and_thoughts_that_brought_to_it: Vec<String>,
    /// Its place among its siblings: the lowest goes first.
    pub rank: u64,
    /// The ways to do it, as listed; empty before a model was asked for them.
    pub routes: Vec<Route>,
    /// The check of its answer; null before a model was asked for it.
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
    /// The way it goes, in words.
    pub how: String,
    /// The chance that it works, from 0 to 1, as the model estimates it.
    pub estimate: f64,
    /// True if it splits the task instead of doing it as a whole.
    pub splits: bool,
    /// The same chance, as learned from the outcomes of earlier routes of its kind; null: there
    /// were none.
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

/// The check of a task's answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskCheck {
    /// `program`, `knowledge`, `agreement` or `rubric`.
    pub by: &'static str,
    /// The program, or the query of a search.
    pub with: Option<String>,
    /// The rule that a model goes by, where the program or the search decides nothing.
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

/// Returns, for each task, the tasks that require it.
fn depending(rows: &[TaskRow]) -> BTreeMap<TaskId, Vec<String>> {
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
    fn new(mission: &ThreadId, row: TaskRow, depending: &BTreeMap<TaskId, Vec<String>>) -> Self {
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

/// The tasks of a mission, in the order in which they were made.
#[utoipa::path(get, path = "/threads/{thread}/tasks", operation_id = "list_tasks", tag = "missions",
    params(("thread" = String, Path, description = "the mission"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")),
    responses((status = 200, body = Page<Task>)))]
pub async fn tasks(
    session: Needs<Read>,
    Path(mission): Path<ThreadId>,
    mut params: Params,
) -> Answer<Page<Task>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of(format!("tasks {mission} {}", session.space()))?;
    let after = part.at.as_deref().and_then(TaskId::parse);
    let rows = session.tasks(&mission).await?;
    let depending = depending(&rows);
    let rows = rows.into_iter();
    let rows = rows.skip_while(|row| Some(row.new.task) <= after);
    let tasks = rows.map(|row| Task::new(&mission, row, &depending));
    Ok(axum::Json(part.page(tasks, |task: &Task| task.id.clone())))
}

/// One task, with its stream of consciousness.
#[utoipa::path(get, path = "/threads/{thread}/tasks/{task}", operation_id = "get_task", tag = "missions",
    params(("thread" = String, Path, description = "the mission"), ("task" = String, Path, description = "the task's id")),
    responses((status = 200, body = Task)))]
pub async fn task(
    session: Needs<Read>,
    Path((mission, task)): Path<(ThreadId, TaskId)>,
    _: NoParams,
) -> Answer<Task> {
    shown(&session, &mission, task).await.map(axum::Json)
}

async fn shown(session: &Session, mission: &ThreadId, task: TaskId) -> Result<Task, Problem> {
    let rows = session.tasks(mission).await?;
    let depending = depending(&rows);
    let row = rows.into_iter().find(|row| row.new.task == task);
    let detail = || format!("{mission} has no such task");
    let row = row.ok_or_else(|| Problem::not_found(detail()))?;
    let query = Query {
        subtree: false,
        order: Order::Ascending,
        ..said_of(mission.of_task(task), STREAM_MAX)
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

/// A thought that was had while a task was worked on.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskThought {
    /// Its id; ids only go up: it is the position of its event.
    #[schema(value_type = i64)]
    pub id: Seq,
    /// Its name, by which it is found, too.
    pub name: String,
    /// The words of the thought.
    pub content: String,
    /// The task.
    pub task: String,
    /// When.
    #[schema(value_type = String)]
    pub at: Timestamp,
}

/// The thoughts that were had while the tasks of a mission were worked on, the oldest first. A page may have fewer than `limit`, or none, and `next` to go
/// on with.
#[utoipa::path(get, path = "/threads/{thread}/thoughts", operation_id = "list_thoughts", tag = "missions",
    params(("thread" = String, Path, description = "the mission"),
        ("q" = Option<String>, Query, description = "only those with all of these words in their names or in what was thought"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before")),
    responses((status = 200, body = Page<TaskThought>)))]
pub async fn thoughts(
    session: Needs<Read>,
    Path(mission): Path<ThreadId>,
    mut params: Params,
) -> Answer<Page<TaskThought>> {
    let part = Part::take(&mut params)?;
    let text = params.words()?;
    params.end()?;
    session.tasks(&mission).await?;
    let words = text.as_deref().unwrap_or_default();
    let part = part.of(format!("thoughts {mission} {} {words}", session.space()))?;
    let query = Query {
        after: part.behind(),
        text,
        order: Order::Ascending,
        ..said_of(mission, part.limit)
    };
    let events = session.events(&query).await?;
    let last = events
        .last()
        .filter(|_| events.len() == part.limit as usize);
    Ok(axum::Json(Page {
        items: events.iter().filter_map(thought).collect(),
        next: last.map(|last| part.next(last.seq)),
    }))
}

impl Body for TaskEdit {
    fn check(&self, wrongs: &mut Wrongs) {
        let texts = [
            ("/name", &self.name, NAME_MAX),
            ("/description", &self.description, TEXT_MAX),
        ];
        for (pointer, text, most) in texts {
            let Some(text) = text.as_deref().map(str::trim) else {
                continue;
            };
            wrongs.unsaid(pointer, text, "a task says what is to be done");
            if text.chars().count() > most {
                let detail = format!("it has at most {most} characters");
                wrongs.add(Slug::TextTooLarge, pointer, detail);
            }
        }
        if self.rank.is_some_and(|rank| rank > 1_000_000) {
            wrongs.add(Slug::Unprocessable, "/rank", "a rank is at most 1000000");
        }
        let ids = self.tasks_required.as_deref().unwrap_or_default();
        if ids.len() > REQUIRED_MAX {
            let detail = format!("a task requires at most {REQUIRED_MAX} others by hand");
            wrongs.add(Slug::Unprocessable, "/tasks_required", detail);
        }
        if let Some(at) = ids.iter().position(|id| TaskId::parse(id).is_none()) {
            let pointer = format!("/tasks_required/{at}");
            wrongs.add(Slug::InvalidId, pointer, "the id of a task is t1, t2, …");
        }
    }
}

/// Changes a task before work on it begins: its words, the tasks it requires, its place among its
/// siblings.
#[utoipa::path(patch, path = "/threads/{thread}/tasks/{task}", operation_id = "edit_task", tag = "missions", request_body = TaskEdit,
    params(("thread" = String, Path, description = "the mission"), ("task" = String, Path, description = "the task's id")),
    responses((status = 200, body = Task)))]
pub async fn edit(
    session: Needs<Speak>,
    Path((mission, task)): Path<(ThreadId, TaskId)>,
    Only(edit): Only<TaskEdit>,
) -> Answer<Task> {
    session.changing(&mission)?.edit(task, edit).await?;
    shown(&session, &mission, task).await.map(axum::Json)
}

/// Skips a task that is not over, and its parts: it counts as failed, and work under way is
/// stopped.
#[utoipa::path(delete, path = "/threads/{thread}/tasks/{task}", operation_id = "skip_task", tag = "missions",
    params(("thread" = String, Path, description = "the mission"), ("task" = String, Path, description = "the task's id")),
    responses((status = 200, body = Task)))]
pub async fn skip(
    session: Needs<Speak>,
    Path((mission, task)): Path<(ThreadId, TaskId)>,
    _: NoParams,
) -> Answer<Task> {
    session.changing(&mission)?.skip(task).await?;
    shown(&session, &mission, task).await.map(axum::Json)
}

fn thought(event: &Event) -> Option<TaskThought> {
    let Fact::Task(TaskFact { task, what }) = event.fact() else {
        return None;
    };
    let (name, content) = what.is_thought().then(|| what.words(task))?;
    Some(TaskThought {
        id: event.seq,
        name,
        content,
        task: task.to_string(),
        at: event.ts,
    })
}

/// The newest that was said of the tasks of a mission, wherever.
fn said_of(mission: ThreadId, limit: u32) -> Query {
    Query {
        thread: Some(mission),
        subtree: true,
        tags: vec![TAG.to_owned()],
        limit,
        ..Query::default()
    }
}

/// The working memory of a mission.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorkingMemory {
    /// The tasks that are not over, and then the others, in the order in which they were made; at most 500 of them.
    pub tasks: Vec<Task>,
    /// The newest thoughts, the oldest of these first; at most 100.
    pub thoughts: Vec<TaskThought>,
    /// The statements that are held and relevant to the mission.
    pub statements: Vec<Hit>,
    /// The worth of the estimates of routes in this space, by kind of route, as counted in its
    /// newest 500 verdicts.
    pub estimates: Vec<Estimates>,
}

/// The worth of the estimates of one kind of route.
#[derive(Debug, Serialize, ToSchema)]
pub struct Estimates {
    /// `whole`, `split`, or `high`: the high tier's retry.
    pub kind: String,
    /// The number of tries.
    pub tried: u32,
    /// The number of tries that passed their check.
    pub worked: u32,
    /// The mean squared error (Brier score) of the chances as models said them: 0 is right each time, 0.25 is worth no more than a coin.
    pub brier_said: f64,
    /// The same of the chances as learned.
    pub brier: f64,
}

impl Estimates {
    fn of((kind, record): (&str, &Record)) -> Self {
        let [brier_said, brier] = record.brier();
        Self {
            kind: kind.to_owned(),
            tried: record.came.tried,
            worked: record.came.worked,
            brier_said,
            brier,
        }
    }
}

/// The tasks of a mission, the thoughts that were had last, the statements held and relevant to it,
/// and the worth of estimates of routes, in one call.
#[utoipa::path(get, path = "/threads/{thread}/memory", operation_id = "working_memory", tag = "missions",
    params(("thread" = String, Path, description = "the mission")), responses((status = 200, body = WorkingMemory)))]
pub async fn memory(
    session: Needs<Read>,
    Path(mission): Path<ThreadId>,
    _: NoParams,
) -> Answer<WorkingMemory> {
    let mut rows = session.tasks(&mission).await?;
    let depending = depending(&rows);
    rows.sort_by_key(|row| row.status.is_over());
    rows.truncate(TASKS_MAX);
    let said = said_of(mission.clone(), THOUGHTS_MAX);
    let said = session.events(&said).await?;
    let records = Records::of(&session.events(&Query::of_verdicts()).await?);
    let row = session.thread(&mission).await?;
    let wanted = row.and_then(|row| Settings::of(&row.settings).wanted);
    let wanted = wanted.map(|wanted| wanted.mission).unwrap_or_default();
    let question = Question {
        text: wanted.chars().take(QUESTION_MAX).collect(),
        limit: STATEMENTS_MAX,
        ..Question::default()
    };
    let found = session.recall(&question).await?;
    let tasks = rows.into_iter();
    let tasks = tasks.map(|row| Task::new(&mission, row, &depending));
    Ok(axum::Json(WorkingMemory {
        tasks: tasks.collect(),
        thoughts: said.iter().rev().filter_map(thought).collect(),
        statements: found.hits,
        estimates: records.all().map(Estimates::of).collect(),
    }))
}

/// Has a mission rest: work under way is left, and begun again when it goes on.
#[utoipa::path(post, path = "/threads/{thread}/pause", operation_id = "pause_mission", tag = "missions",
    params(("thread" = String, Path, description = "the mission")), responses((status = 200, body = Thread)))]
pub async fn pause(
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    _: NoParams,
) -> Answer<Thread> {
    let row = session.changing(&thread)?.pause().await?;
    Ok(axum::Json(Thread::new(row, Vec::new(), &[])))
}

/// Has a mission go on that rests.
#[utoipa::path(post, path = "/threads/{thread}/resume", operation_id = "resume_mission", tag = "missions",
    params(("thread" = String, Path, description = "the mission")), responses((status = 200, body = Thread)))]
pub async fn resume(
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    _: NoParams,
) -> Answer<Thread> {
    let row = session.changing(&thread)?.resume().await?;
    Ok(axum::Json(Thread::new(row, Vec::new(), &[])))
}
