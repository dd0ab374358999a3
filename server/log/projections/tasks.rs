//! Tasks of missions. A row says where a task stands and how it is done; what was thought on the way is in its thread. Which tasks depend on a task
//! follows from what each requires, so that both sides are always the same.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Change, Projection};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::task::TaskFact;
use crate::event::mission::{Check, RUBRIC, Route, TaskId, TaskStatus, Value};
use crate::event::task::TaskNews;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::migrations::{Migration, migration};
use crate::log::seen::Seen;
use crate::log::select::Select;
use crate::log::table::{Cell, Row, Table, integer, text};
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time::Timestamp;

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// Its number in the mission.
    pub task: TaskId,
    /// The event that made it.
    pub seq: Seq,
    /// Its name.
    pub name: String,
    /// What is to be done.
    pub description: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it may cost.
    pub value: Value,
    /// The task that was split into it and others.
    pub parent: Option<TaskId>,
    /// What has to end before it begins; of a task that was split: its parts.
    pub requires: Vec<TaskId>,
    /// What brought to it, as the planner says.
    pub brought_by: Vec<String>,
    /// Its place among its siblings.
    pub rank: u64,
    /// The event with which work on it began; 0: it has not.
    pub began: Seq,
    /// How it may be done; empty before that was asked.
    pub routes: Vec<Route>,
    /// How its answer is checked.
    pub check: Option<Check>,
    /// The answer that passed its check.
    pub answer: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// When it was changed last.
    pub updated: Timestamp,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: None,
    migrations: &MIGRATIONS,
    fold,
};

static MIGRATIONS: [Migration; 1] = [migration!("0026_tasks")];

static TABLE: Table = Table {
    name: "tasks",
    key: &[text("space"), text("mission"), integer("task")],
    rest: &[
        integer("seq"),
        text("name"),
        text("description"),
        text("status"),
        text("value"),
        integer("parent"),
        text("requires"),
        text("brought_by"),
        integer("rank"),
        integer("began"),
        text("routes"),
        text("acceptance"),
        text("answer"),
        text("reason"),
        integer("updated"),
    ],
    words: None,
};

fn number(number: u64) -> Cell {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

fn list(list: &impl Serialize) -> Cell {
    json!(list).to_string().into()
}

/// A text that may be absent, as JSON: an empty answer is one.
fn some(text: Option<&str>) -> Cell {
    text.map_or_else(String::new, |text| json!(text).to_string())
        .into()
}

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let Fact::Task(TaskFact { task, what }) = fact else {
        return None;
    };
    let mission = ThreadId::of_mission(event.thread.mission()?);
    let key = [
        ("space", Cell::from(space)),
        ("mission", (&mission).into()),
        ("task", number(task.0)),
    ];
    let alter = |cells: Vec<(&'static str, Cell)>| {
        let updated = ("updated", Cell::from(event.ts));
        Some(Change::Alter(
            key.clone()
                .into_iter()
                .chain(cells)
                .chain([updated])
                .collect(),
        ))
    };
    let status = |status: TaskStatus| ("status", Cell::from(status.as_str()));
    match what {
        TaskNews::Made(new) => {
            // How the answer of an exact task is checked is known from the beginning.
            let acceptance = new.exact.then(|| Check::Agreement {
                rubric: RUBRIC.to_owned(),
            });
            let cells: [(&'static str, Cell); 15] = [
                ("seq", event.seq.into()),
                ("name", new.name.as_str().into()),
                ("description", new.description.as_str().into()),
                status(TaskStatus::Open),
                ("value", new.value.as_str().into()),
                ("parent", number(new.parent.map_or(0, |parent| parent.0))),
                ("requires", list(&new.requires)),
                ("brought_by", list(&new.brought_by)),
                ("rank", number(new.rank)),
                ("began", 0.into()),
                ("routes", list(&[(); 0])),
                (
                    "acceptance",
                    acceptance.map_or_else(|| "".into(), |check| list(&check)),
                ),
                ("answer", some(None)),
                ("reason", some(None)),
                ("updated", event.ts.into()),
            ];
            Some(Change::Put(key.into_iter().chain(cells).collect()))
        }
        TaskNews::Began { .. } => alter(vec![
            status(TaskStatus::InProgress),
            ("began", event.seq.into()),
        ]),
        TaskNews::Routes { routes } => alter(vec![("routes", list(routes))]),
        TaskNews::Checked { check } => alter(vec![("acceptance", list(check))]),
        TaskNews::Changed {
            name,
            description,
            requires,
            rank,
            ..
        } => alter(vec![
            ("name", name.as_str().into()),
            ("description", description.as_str().into()),
            ("requires", list(requires)),
            ("rank", number(*rank)),
        ]),
        TaskNews::Over {
            status: over,
            answer,
            reason,
        } => alter(vec![
            status(*over),
            ("answer", some(answer.as_deref())),
            ("reason", some(reason.as_deref())),
        ]),
        TaskNews::Split { .. }
        | TaskNews::Asked { .. }
        | TaskNews::Tried { .. }
        | TaskNews::Judged { .. }
        | TaskNews::Retry { .. }
        | TaskNews::Framework { .. }
        | TaskNews::Tuned { .. }
        | TaskNews::Built { .. }
        | TaskNews::Used(_)
        | TaskNews::Refused { .. } => None,
    }
}

fn word<T>(row: &Row, column: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
    let text = row.text(column)?;
    parse(text).ok_or_else(|| StoreError::Broken(format!("{text:?} is no {column} of a task")))
}

fn json_or_none<T: DeserializeOwned>(row: &Row, column: &str) -> Result<Option<T>, StoreError> {
    if row.text(column)?.is_empty() {
        Ok(None)
    } else {
        row.json(column).map(Some)
    }
}

fn read(row: &Row) -> Result<TaskRow, StoreError> {
    let count = |column: &str| {
        row.integer(column)
            .map(|number| u64::try_from(number).unwrap_or(0))
    };
    Ok(TaskRow {
        task: TaskId(count("task")?),
        seq: row.integer("seq")?,
        name: row.text("name")?.to_owned(),
        description: row.text("description")?.to_owned(),
        status: word(row, "status", TaskStatus::parse)?,
        value: word(row, "value", Value::parse)?,
        parent: Some(count("parent")?)
            .filter(|parent| *parent > 0)
            .map(TaskId),
        requires: row.json("requires")?,
        brought_by: row.json("brought_by")?,
        rank: count("rank")?,
        began: row.integer("began")?,
        routes: row.json("routes")?,
        check: json_or_none(row, "acceptance")?,
        answer: json_or_none(row, "answer")?,
        reason: json_or_none(row, "reason")?,
        updated: row.time("updated")?,
    })
}

/// What an append has to read to know how far these tasks of a mission are.
pub(in crate::log) fn of_ids(
    space: &Space,
    mission: &ThreadId,
    tasks: &BTreeSet<TaskId>,
) -> Select {
    Select::of(&TABLE, space)
        .equal("mission", mission)
        .one_of("task", tasks.iter().map(|task| number(task.0)))
}

/// Whether a task is there and not over; `open`: and not begun either.
pub(in crate::log) fn is_to_come(
    seen: Seen<'_>,
    space: &Space,
    mission: &ThreadId,
    task: TaskId,
    open: bool,
) -> bool {
    let row = seen.row(&(
        &TABLE,
        vec![Cell::from(space), Cell::from(mission), number(task.0)],
    ));
    let status = row.and_then(|row| TaskStatus::parse(row.text("status").ok()?));
    status.is_some_and(|status| status == TaskStatus::Open || (!open && !status.is_over()))
}

/// Whether a task was changed last at this time.
pub(in crate::log) fn is_at(
    seen: Seen<'_>,
    space: &Space,
    mission: &ThreadId,
    task: TaskId,
    updated: Timestamp,
) -> bool {
    let row = seen.row(&(
        &TABLE,
        vec![Cell::from(space), Cell::from(mission), number(task.0)],
    ));
    row.is_some_and(|row| *row.cell("updated") == Cell::from(updated))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The tasks of a mission behind this one, in the order in which they were made; at most `limit`.
    pub async fn tasks(
        &self,
        space: &Space,
        mission: &ThreadId,
        after: Option<TaskId>,
        limit: Option<u32>,
    ) -> Result<Vec<TaskRow>, StoreError> {
        let after = after.map_or(0, |task| i64::try_from(task.0).unwrap_or(i64::MAX));
        let select = Select::of(&TABLE, space)
            .equal("mission", mission)
            .after("task", after)
            .order_by(&["task"]);
        let select = match limit {
            Some(limit) => select.first(limit),
            None => select,
        };
        self.select(select).await?.iter().map(read).collect()
    }
}
