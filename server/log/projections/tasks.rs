//! Tasks of missions. A row has the status of a task and the ways to do it; the thoughts on the way
//! are in its thread. The tasks that depend on a task follow from the requirements of each, so that
//! both sides are always the same.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;

use super::statements::filled;
use super::{Change, Projection};
use crate::error::{StoreError, Stored};
use crate::kernel::Store;
use crate::migrations::migration;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Cell, Key, Row, Table, integer, text};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::task::{TaskFact, TaskNews};
use thinkd_event::mission::{Check, NewTask, RUBRIC, Route, TaskId, TaskStatus, Value};
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    /// As it was made, or changed since; of a task that was split, its parts are required, too.
    pub new: NewTask,
    /// The event that made it.
    pub seq: Seq,
    /// Its status.
    pub status: TaskStatus,
    /// The event with which work on it began; 0: it has not.
    pub began: Seq,
    /// The ways in which it may be done; empty before that was asked.
    pub routes: Vec<Route>,
    /// The check of its answer.
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
    migrations: &[migration!("0026_tasks")],
    fold,
};

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

/// Returns a value that may be absent, as JSON: an empty answer is one.
fn some(value: Option<&impl Serialize>) -> Cell {
    value.map_or_else(|| "".into(), list)
}

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let Fact::Task(TaskFact { task, what }) = fact else {
        return None;
    };
    let mission = ThreadId::of_mission(event.thread.mission()?);
    let row = Row::from([
        ("space", space.into()),
        ("mission", (&mission).into()),
        ("task", number(task.0)),
        ("updated", event.ts.into()),
    ]);
    let status = |status: TaskStatus| ("status", Cell::from(status.as_str()));
    Some(Change::Alter(match what {
        TaskNews::Made(new) => {
            // How the answer of an exact task is checked is known from the beginning.
            let rubric = || RUBRIC.to_owned();
            let check = new.exact.then(|| Check::Agreement { rubric: rubric() });
            return Some(Change::Put(row.with([
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
                ("acceptance", some(check.as_ref())),
                ("answer", "".into()),
                ("reason", "".into()),
            ])));
        }
        TaskNews::Began { .. } => {
            row.with([status(TaskStatus::InProgress), ("began", event.seq.into())])
        }
        TaskNews::Routes { routes } => row.with([("routes", list(routes))]),
        TaskNews::Checked { check } => row.with([("acceptance", list(check))]),
        TaskNews::Changed {
            name,
            description,
            requires,
            rank,
            ..
        } => row.with([
            ("name", name.as_str().into()),
            ("description", description.as_str().into()),
            ("requires", list(requires)),
            ("rank", number(*rank)),
        ]),
        TaskNews::Over {
            status: over,
            answer,
            reason,
        } => row.with([
            status(*over),
            ("answer", some(answer.as_ref())),
            ("reason", some(reason.as_ref())),
        ]),
        // Thoughts: they stand in the task's thread.
        _ => return None,
    }))
}

fn word<T>(row: &Row, column: &str, parse: impl Fn(&str) -> Option<T>) -> Stored<T> {
    let text = row.text(column)?;
    parse(text).ok_or_else(|| StoreError::Broken(format!("{text:?} is no {column} of a task")))
}

fn read(row: &Row) -> Stored<TaskRow> {
    let count = |column: &str| {
        let number = row.integer(column);
        number.map(|number| u64::try_from(number).unwrap_or(0))
    };
    let check = filled(row, "acceptance")?;
    let parent = Some(count("parent")?).filter(|parent| *parent > 0);
    let new = NewTask {
        task: TaskId(count("task")?),
        name: row.text("name")?.to_owned(),
        description: row.text("description")?.to_owned(),
        value: word(row, "value", Value::parse)?,
        parent: parent.map(TaskId),
        requires: row.json("requires")?,
        brought_by: row.json("brought_by")?,
        rank: count("rank")?,
        exact: matches!(check, Some(Check::Agreement { .. })),
    };
    Ok(TaskRow {
        new,
        seq: row.integer("seq")?,
        status: word(row, "status", TaskStatus::parse)?,
        began: row.integer("began")?,
        routes: row.json("routes")?,
        check,
        answer: filled(row, "answer")?,
        reason: filled(row, "reason")?,
        updated: row.time("updated")?,
    })
}

/// Returns the rows that an append has to read to know the progress of these tasks of a mission.
pub(crate) fn of_ids(space: &Space, mission: &ThreadId, tasks: &BTreeSet<TaskId>) -> Select {
    Select::of(&TABLE, space)
        .equal("mission", mission)
        .one_of("task", tasks.iter().map(|task| number(task.0)))
}

fn row_key(space: &Space, mission: &ThreadId, task: TaskId) -> Key {
    (&TABLE, vec![space.into(), mission.into(), number(task.0)])
}

/// Returns whether a task is there and not over; `open`: and not begun either.
pub(crate) fn is_to_come(
    seen: Seen<'_>,
    space: &Space,
    mission: &ThreadId,
    task: TaskId,
    open: bool,
) -> bool {
    let row = seen.row(&row_key(space, mission, task));
    let status = row.and_then(|row| TaskStatus::parse(row.text("status").ok()?));
    status.is_some_and(|status| status == TaskStatus::Open || (!open && !status.is_over()))
}

/// Returns whether a task was changed last at this time.
pub(crate) fn is_at(
    seen: Seen<'_>,
    space: &Space,
    mission: &ThreadId,
    task: TaskId,
    updated: Timestamp,
) -> bool {
    let row = seen.row(&row_key(space, mission, task));
    row.is_some_and(|row| *row.cell("updated") == Cell::from(updated))
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the tasks of a mission behind this one, in the order in which they were made; at
    /// most `limit`.
    pub async fn tasks(
        &self,
        space: &Space,
        mission: &ThreadId,
        after: Option<TaskId>,
        limit: Option<u32>,
    ) -> Stored<Vec<TaskRow>> {
        let select = Select::of(&TABLE, space)
            .equal("mission", mission)
            .after("task", number(after.map_or(0, |task| task.0)))
            .order_by(&["task"]);
        let select = limit.into_iter().fold(select, Select::first);
        self.read(select, read).await
    }
}
