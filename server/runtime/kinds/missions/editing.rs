//! What people do to missions while they run: change a task before it begins, skip one, have a mission rest and go on. Each is an event, which the server
//! hears that works on the mission.

use std::collections::{BTreeMap, BTreeSet};

use super::closing::ended_thread;
use super::people::question_id;
use super::{Missions, key};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::mission::{TaskEdit, TaskId, TaskStatus, circle};
use crate::event::request::{Parked, Settled};
use crate::event::task::TaskNews;
use crate::log::appended::Append;
use crate::log::error::StoreError;
use crate::log::projections::tasks::TaskRow;
use crate::log::thread_row::ThreadRow;
use crate::mind::turn::stop::Why;
use crate::runtime::refused::Refused;
use crate::words::id::{Space, ThreadId};

/// So often is a change tried that something came between.
const TRIES: u32 = 32;
/// Why a task failed that people did not want any more.
pub const SKIPPED: &str = "skipped";

impl Missions {
    async fn mission(&self, space: &Space, mission: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = if mission.is_of_mission() {
            self.store.thread(space, mission).await?
        } else {
            None
        };
        let row = row.ok_or_else(|| Refused::NotFound(format!("mission {mission}")))?;
        match row.status.is_final() {
            true => Err(Refused::Settled(format!(
                "the mission {mission} has ended: nothing of it is changed any more"
            ))),
            false => Ok(row),
        }
    }

    async fn task(
        &self,
        space: &Space,
        mission: &ThreadId,
        task: TaskId,
    ) -> Result<(TaskRow, Vec<TaskRow>), Refused> {
        let rows = self.store.tasks(space, mission, None, None).await?;
        let row = rows.iter().find(|row| row.task == task).cloned();
        Ok((
            row.ok_or_else(|| Refused::NotFound(format!("task {task} of {mission}")))?,
            rows,
        ))
    }

    /// Changes a task that has not begun. Of two who change it, or what it waits for, at the same time the later one looks again: neither loses what the other
    /// said, and no circle is closed by both.
    pub async fn edit(
        &self,
        space: &Space,
        mission: &ThreadId,
        task: TaskId,
        edit: TaskEdit,
        by: &str,
    ) -> Result<(), Refused> {
        for _ in 0..TRIES {
            self.mission(space, mission).await?;
            let (row, rows) = self.task(space, mission, task).await?;
            let draft = edited(mission, row, &rows, edit.clone(), by)?;
            match self.store.append(Append::free(space, vec![draft])).await {
                Err(StoreError::Unmet(Condition::TaskAt { .. })) => {}
                Err(StoreError::Unmet(unmet)) => return Err(Refused::Settled(unmet.to_string())),
                appended => return Ok(appended.map(|_| ())?),
            }
        }
        Err(Refused::Settled(format!(
            "others change {task}, and what it waits for, all the time: look at it again"
        )))
    }

    /// Skips a task that is not over, and its parts, also such as are made meanwhile. A part that ends meanwhile has ended.
    pub async fn skip(
        &self,
        space: &Space,
        mission: &ThreadId,
        task: TaskId,
    ) -> Result<(), Refused> {
        self.mission(space, mission).await?;
        let mut is_skipped = false;
        // Each time around a task has begun, has ended or was made meanwhile.
        let below = loop {
            let (row, rows) = self.task(space, mission, task).await?;
            if row.status.is_over() && !is_skipped {
                return Err(Refused::Settled(format!("{task} is over already")));
            }
            let below = below(&rows, task);
            let to_come = rows
                .iter()
                .filter(|row| below.contains(&row.task) && !row.status.is_over());
            let drafts: Vec<Draft> = to_come.flat_map(|row| skipped(mission, row)).collect();
            if drafts.is_empty() {
                break below;
            }
            match self.store.append(Append::free(space, drafts)).await {
                Ok(_) => is_skipped = true,
                Err(StoreError::Unmet(_)) => {}
                Err(error) => return Err(error.into()),
            }
        };
        for task in below {
            self.withdraw(space, mission, task).await?;
        }
        // It may have waited for nothing else.
        self.waker.wake(space, mission, None);
        Ok(())
    }

    /// Nobody needs what was asked for a task any more.
    async fn withdraw(
        &self,
        space: &Space,
        mission: &ThreadId,
        task: TaskId,
    ) -> Result<(), Refused> {
        let id = question_id(mission, task).to_string();
        let open = self.store.request(space, &id).await?;
        let Some(parked) = open.and_then(|row| Parked::of(&id, &row.asked())) else {
            return Ok(());
        };
        match self
            .say(
                space,
                parked.settled(mission, Settled::Withdrawn { reason: SKIPPED }),
            )
            .await
        {
            // It was answered meanwhile.
            Err(Refused::Settled(_)) => Ok(()),
            said => said,
        }
    }

    /// Has a mission rest.
    pub async fn pause(
        &self,
        space: &Space,
        mission: &ThreadId,
        user: Option<&str>,
    ) -> Result<ThreadRow, Refused> {
        let row = self.mission(space, mission).await?;
        let key =
            key(&row.thread).ok_or_else(|| Refused::NotFound(format!("mission {mission}")))?;
        self.say(space, vec![key.paused(user).only_if(Condition::NotEnded)])
            .await?;
        self.running
            .stop(&(space.clone(), mission.clone()), Why::Leave);
        self.known(space, mission).await
    }

    /// Has a mission go on that rests.
    pub async fn resume(
        &self,
        space: &Space,
        mission: &ThreadId,
        user: Option<&str>,
    ) -> Result<ThreadRow, Refused> {
        let row = self.mission(space, mission).await?;
        let key =
            key(&row.thread).ok_or_else(|| Refused::NotFound(format!("mission {mission}")))?;
        self.say(
            space,
            vec![key.continued(user).only_if(Condition::NotEnded)],
        )
        .await?;
        self.waker.wake(space, mission, None);
        self.known(space, mission).await
    }

    async fn known(&self, space: &Space, mission: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = self.store.thread(space, mission).await?;
        row.ok_or_else(|| Refused::NotFound(format!("mission {mission}")))
    }

    async fn say(&self, space: &Space, drafts: Vec<Draft>) -> Result<(), Refused> {
        match self.store.append(Append::free(space, drafts)).await {
            Ok(_) => Ok(()),
            Err(StoreError::Unmet(unmet)) => Err(Refused::Settled(unmet.to_string())),
            Err(error) => Err(error.into()),
        }
    }
}

/// A task as it is to be, stored under the condition that nothing has become of it and of what it waits for.
fn edited(
    mission: &ThreadId,
    row: TaskRow,
    rows: &[TaskRow],
    edit: TaskEdit,
    by: &str,
) -> Result<Draft, Refused> {
    let mut requires = edit.requires.unwrap_or_else(|| row.requires.clone());
    // Each once, where it stands first.
    let mut seen = BTreeSet::new();
    requires.retain(|required| seen.insert(*required));
    check_required(&row, rows, &requires)?;
    let at = |row: &TaskRow| Condition::TaskAt {
        mission: mission.clone(),
        task: row.task,
        updated: row.updated,
    };
    let conditions = std::iter::once(Condition::TaskToCome {
        mission: mission.clone(),
        task: row.task,
        open: true,
    })
    .chain([at(&row)])
    .chain(waited_for(rows, &requires).map(at));
    let conditions: Vec<Condition> = conditions.collect();
    let changed = TaskNews::Changed {
        name: edit.name.unwrap_or(row.name),
        description: edit.description.unwrap_or(row.description),
        requires,
        rank: edit.rank.unwrap_or(row.rank),
        why: "it was changed by hand".into(),
        by: Some(by.to_owned()),
    };
    let mut draft = Draft::task(mission, row.task, changed);
    draft.conditions.extend(conditions);
    Ok(draft)
}

/// What these tasks are and wait for, at any depth, as far as that can change: what has begun waits for nothing any more.
fn waited_for<'a>(rows: &'a [TaskRow], requires: &[TaskId]) -> impl Iterator<Item = &'a TaskRow> {
    let known: BTreeMap<TaskId, &TaskRow> = rows.iter().map(|row| (row.task, row)).collect();
    let (mut reached, mut next) = (BTreeSet::new(), requires.to_vec());
    while let Some(task) = next.pop() {
        let Some(row) = known
            .get(&task)
            .filter(|row| row.status == TaskStatus::Open)
        else {
            continue;
        };
        if reached.insert(task) {
            next.extend(&row.requires);
        }
    }
    rows.iter().filter(move |row| reached.contains(&row.task))
}

/// A task and all below it.
fn below(rows: &[TaskRow], task: TaskId) -> BTreeSet<TaskId> {
    // Parts are made after what they are parts of.
    rows.iter().fold(BTreeSet::from([task]), |mut below, row| {
        below.extend(
            row.parent
                .filter(|parent| below.contains(parent))
                .map(|_| row.task),
        );
        below
    })
}

/// A task is skipped, and its thread ends, as long as it is as this row says: neither over, nor begun where it has no thread yet.
fn skipped(mission: &ThreadId, row: &TaskRow) -> impl Iterator<Item = Draft> {
    let status = TaskStatus::FailedWithCurrentAvailableInstruments;
    let news = TaskNews::Over {
        status,
        answer: None,
        reason: Some(SKIPPED.into()),
    };
    let has_begun = row.began > 0;
    let stands = Condition::TaskToCome {
        mission: mission.clone(),
        task: row.task,
        open: !has_begun,
    };
    let ended = has_begun.then(|| ended_thread(&mission.of_task(row.task), false, Some(SKIPPED)));
    std::iter::once(Draft::task(mission, row.task, news).only_if(stands)).chain(ended)
}

/// Whether a task may require these: they are its siblings, and no circle is closed.
fn check_required(row: &TaskRow, rows: &[TaskRow], requires: &[TaskId]) -> Result<(), Refused> {
    let mut known: BTreeMap<TaskId, Vec<TaskId>> = rows
        .iter()
        .map(|row| (row.task, row.requires.clone()))
        .collect();
    known.insert(row.task, Vec::new());
    for required in requires {
        let is_sibling = rows
            .iter()
            .any(|it| it.task == *required && it.parent == row.parent);
        if !is_sibling {
            let text = format!(
                "{} cannot require {required}: only tasks beside it, and {required} is none",
                row.task
            );
            return Err(Refused::Unprocessable(text));
        }
        if let Some(way) = circle(&known, row.task, *required) {
            let way = way
                .iter()
                .map(TaskId::to_string)
                .collect::<Vec<_>>()
                .join(" → ");
            return Err(Refused::Unprocessable(format!(
                "{} cannot require {required}: it would close a circle: {way}",
                row.task
            )));
        }
    }
    Ok(())
}
