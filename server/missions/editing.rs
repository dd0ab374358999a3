//! Changes that people make to missions while they run: change a task before it begins, skip one,
//! have a mission rest and go on. Each is an event, and the server that works on the mission hears
//! it.

use std::collections::{BTreeMap, BTreeSet};

use super::journal::{ended_thread, to_come};
use super::people::question_id;
use super::work::{Missions, key};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::run::RunKey;
use thinkd_event::fact::task::TaskNews;
use thinkd_event::mission::{NewTask, TaskEdit, TaskId, TaskStatus, circle, shown_way};
use thinkd_event::request::{Parked, Settled};
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::tasks::TaskRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::Why;
use thinkd_runtime::refused::Refused;
use thinkd_words::id::{Space, ThreadId};

/// So often is a change tried that something came between.
const TRIES: u32 = 32;
/// Why a task failed that people did not want any more.
pub const SKIPPED: &str = "skipped";

/// A mission as people change it.
pub struct Changing<'a> {
    /// Missions of this server.
    pub missions: &'a Missions,
    /// Its space.
    pub space: &'a Space,
    /// Its thread.
    pub mission: &'a ThreadId,
    /// Name of the user that changes it, as far as known.
    pub user: Option<&'a str>,
    /// The same, or else the role.
    pub author: &'a str,
}

impl Changing<'_> {
    /// Returns its row. The error: it has ended.
    async fn open(&self) -> Result<ThreadRow, Refused> {
        if !self.mission.is_of_mission() {
            return Err(self.is_unknown());
        }
        let row = self.row().await?;
        if row.status.is_final() {
            return Err(Refused::Settled(format!(
                "the mission {} has ended: nothing of it is changed any more",
                self.mission
            )));
        }
        Ok(row)
    }

    async fn row(&self) -> Result<ThreadRow, Refused> {
        let row = self.store().thread(self.space, self.mission).await?;
        row.ok_or_else(|| self.is_unknown())
    }

    fn is_unknown(&self) -> Refused {
        Refused::NotFound(format!("mission {}", self.mission))
    }

    fn store(&self) -> &dyn Store {
        &*self.missions.ground.store
    }

    async fn append(&self, drafts: Vec<Draft>) -> Result<Appended, StoreError> {
        self.store().append(Append::free(self.space, drafts)).await
    }

    /// Returns a task, and all tasks of the mission.
    async fn task(&self, task: TaskId) -> Result<(TaskRow, Vec<TaskRow>), Refused> {
        let rows = self.store().tasks(self.space, self.mission, None, None);
        let rows = rows.await?;
        let row = rows.iter().find(|row| row.new.task == task).cloned();
        let none = || Refused::NotFound(format!("task {task} of {}", self.mission));
        Ok((row.ok_or_else(none)?, rows))
    }

    /// Changes a task that has not begun. If two people change it, or a task it waits for, at the
    /// same time, the later one looks again. Neither change is lost, and the two close no circle.
    pub async fn edit(&self, task: TaskId, edit: TaskEdit) -> Result<(), Refused> {
        for _ in 0..TRIES {
            self.open().await?;
            let (row, rows) = self.task(task).await?;
            let draft = edited(self.mission, (row, &rows), edit.clone(), self.author)?;
            match self.append(vec![draft]).await {
                Err(StoreError::Unmet(Condition::TaskAt { .. })) => {}
                appended => return said(appended),
            }
        }
        Err(Refused::Settled(format!(
            "others change {task}, and what it waits for, all the time: look at it again"
        )))
    }

    /// Skips a task that is not over, and its parts, also such as are made meanwhile. A part that
    /// ends meanwhile has ended.
    pub async fn skip(&self, task: TaskId) -> Result<(), Refused> {
        self.open().await?;
        let mut is_skipped = false;
        // Each time around a task has begun, has ended or was made meanwhile.
        let below = loop {
            let (row, rows) = self.task(task).await?;
            if row.status.is_over() && !is_skipped {
                return Err(Refused::Settled(format!("{task} is over already")));
            }
            let below = below(&rows, task);
            let to_come = rows.iter().filter(|row| !row.status.is_over());
            let to_come = to_come.filter(|row| below.contains(&row.new.task));
            let drafts = to_come.flat_map(|row| skipped(self.mission, row));
            let drafts: Vec<Draft> = drafts.collect();
            if drafts.is_empty() {
                break below;
            }
            match self.append(drafts).await {
                Ok(_) => is_skipped = true,
                Err(StoreError::Unmet(_)) => {}
                Err(error) => return Err(error.into()),
            }
        };
        for task in below {
            self.withdraw(task).await?;
        }
        // It may have waited for nothing else.
        self.wake();
        Ok(())
    }

    fn wake(&self) {
        let waker = &self.missions.ground.waker;
        waker.wake(self.space, self.mission, None);
    }

    /// Withdraws the open question of a task to the user.
    async fn withdraw(&self, task: TaskId) -> Result<(), Refused> {
        let id = question_id(self.mission, task).to_string();
        let open = self.store().request(self.space, &id).await?;
        let Some(parked) = open.and_then(|row| Parked::of(&id, &row.asked())) else {
            return Ok(());
        };
        let withdrawn = parked.settled(self.mission, Settled::Withdrawn { reason: SKIPPED });
        match said(self.append(withdrawn).await) {
            // It was answered meanwhile.
            Err(Refused::Settled(_)) => Ok(()),
            said => said,
        }
    }

    /// Has the mission rest.
    pub async fn pause(&self) -> Result<ThreadRow, Refused> {
        self.say(|key| key.paused(self.user)).await?;
        let thread = (self.space.clone(), self.mission.clone());
        self.missions.ground.running.stop(&thread, Why::Leave);
        self.row().await
    }

    /// Has the mission go on if it rests.
    pub async fn resume(&self) -> Result<ThreadRow, Refused> {
        self.say(|key| key.continued(self.user)).await?;
        self.wake();
        self.row().await
    }

    /// Says something of the mission, which has not ended.
    async fn say(&self, what: impl Fn(RunKey) -> Draft) -> Result<(), Refused> {
        let row = self.open().await?;
        let draft = what(key(&row.thread)?).only_if(Condition::NotEnded);
        said(self.append(vec![draft]).await)
    }
}

/// Returns whether something was said; the error: it is settled otherwise.
fn said(appended: Result<Appended, StoreError>) -> Result<(), Refused> {
    match appended {
        Ok(_) => Ok(()),
        Err(StoreError::Unmet(unmet)) => Err(Refused::Settled(unmet.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Returns the change of a task, stored under the condition that neither it nor a task it waits for
/// has changed.
fn edited(
    mission: &ThreadId,
    (row, rows): (TaskRow, &[TaskRow]),
    edit: TaskEdit,
    by: &str,
) -> Result<Draft, Refused> {
    let task = row.new.task;
    let ids = |ids: &Vec<String>| ids.iter().filter_map(|id| TaskId::parse(id)).collect();
    let requires = edit.tasks_required.as_ref().map(ids);
    let mut requires: Vec<TaskId> = requires.unwrap_or_else(|| row.new.requires.clone());
    // Each once, where it stands first.
    let mut seen = BTreeSet::new();
    requires.retain(|required| seen.insert(*required));
    check_required(&row.new, rows, &requires)?;
    let at = |row: &TaskRow| Condition::TaskAt {
        mission: mission.clone(),
        task: row.new.task,
        updated: row.updated,
    };
    let mut conditions = vec![to_come(mission, task, true), at(&row)];
    conditions.extend(waited_for(rows, &requires).map(at));
    let trimmed = |text: String| text.trim().to_owned();
    let changed = TaskNews::Changed {
        name: edit.name.map_or(row.new.name, trimmed),
        description: edit.description.map_or(row.new.description, trimmed),
        requires,
        rank: edit.rank.unwrap_or(row.new.rank),
        why: "it was changed by hand".into(),
        by: Some(by.to_owned()),
    };
    let draft = Draft::task(mission, task, changed);
    Ok(conditions.into_iter().fold(draft, Draft::only_if))
}

/// Returns these tasks and the tasks they wait for, at any depth, as far as they can change: a task
/// that has begun waits for nothing any more.
fn waited_for<'a>(rows: &'a [TaskRow], requires: &[TaskId]) -> impl Iterator<Item = &'a TaskRow> {
    let open = rows.iter().filter(|row| row.status == TaskStatus::Open);
    let open: BTreeMap<TaskId, &TaskRow> = open.map(|row| (row.new.task, row)).collect();
    let mut reached = BTreeSet::new();
    let mut next = requires.to_vec();
    while let Some(task) = next.pop() {
        if let Some(row) = open.get(&task)
            && reached.insert(task)
        {
            next.extend(&row.new.requires);
        }
    }
    rows.iter()
        .filter(move |row| reached.contains(&row.new.task))
}

/// Returns a task and all below it.
fn below(rows: &[TaskRow], task: TaskId) -> BTreeSet<TaskId> {
    let mut below = BTreeSet::from([task]);
    // Parts are made after what they are parts of.
    for NewTask { task, parent, .. } in rows.iter().map(|row| &row.new) {
        if parent.is_some_and(|parent| below.contains(&parent)) {
            below.insert(*task);
        }
    }
    below
}

/// Returns the events that skip a task and end its thread. They are stored only while this row
/// holds: the task is not over, and has not begun if it has no thread yet.
fn skipped(mission: &ThreadId, row: &TaskRow) -> impl Iterator<Item = Draft> {
    let task = row.new.task;
    let has_begun = row.began > 0;
    let stands = to_come(mission, task, !has_begun);
    let news = TaskNews::over(None, Some(SKIPPED.into()));
    let ended = has_begun.then(|| ended_thread(&mission.of_task(task), Some(SKIPPED)));
    std::iter::once(Draft::task(mission, task, news).only_if(stands)).chain(ended)
}

/// Checks whether a task may require these: they are its siblings, and no circle is closed.
fn check_required(task: &NewTask, rows: &[TaskRow], requires: &[TaskId]) -> Result<(), Refused> {
    let rows = rows.iter().map(|row| &row.new);
    let known = rows.clone().map(|new| (new.task, new.requires.clone()));
    let mut known: BTreeMap<TaskId, Vec<TaskId>> = known.collect();
    known.insert(task.task, Vec::new());
    for required in requires {
        let mut siblings = rows.clone().filter(|new| new.parent == task.parent);
        let why = if !siblings.any(|new| new.task == *required) {
            format!("only tasks beside it, and {required} is none")
        } else if let Some(way) = circle(&known, task.task, *required) {
            format!("it would close a circle: {}", shown_way(&way))
        } else {
            continue;
        };
        let text = format!("{} cannot require {required}: {why}", task.task);
        return Err(Refused::Unprocessable(text));
    }
    Ok(())
}
