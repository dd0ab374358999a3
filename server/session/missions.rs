//! A session begins missions, sees their tasks, and changes them while they run.

use super::handle::{Error, Session};
use super::right::Right;
use crate::event::mission::{BudgetWanted, Plan, TaskEdit, TaskId, Value, Wanted};
use crate::log::projections::tasks::TaskRow;
use crate::log::thread_row::ThreadRow;
use crate::runtime::kinds::missions::Changing;
use crate::words::id::ThreadId;

impl Session {
    /// Begins a mission. Its budget is at most the configured one.
    pub async fn start_mission(
        &self,
        mission: &str,
        value: Value,
        plan: Plan,
        budget: BudgetWanted,
    ) -> Result<ThreadRow, Error> {
        let missions = &self.kinds(Right::Speak)?.missions;
        let wanted = Wanted {
            mission: mission.to_owned(),
            value,
            budget: missions.options().budget().within(budget),
            plan,
            by: None,
            root: None,
        };
        Ok(missions.start(self.space(), wanted, self.user()).await?)
    }

    /// All tasks of a mission, in the order in which they were made; none: there is no such mission.
    pub async fn tasks(&self, mission: &ThreadId) -> Result<Option<Vec<TaskRow>>, Error> {
        let store = self.store(Right::Read)?;
        if !mission.is_of_mission() || store.thread(self.space(), mission).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(store.tasks(self.space(), mission, None, None).await?))
    }

    fn changing<'a>(&'a self, mission: &'a ThreadId) -> Result<Changing<'a>, Error> {
        let missions = &self.kinds(Right::Speak)?.missions;
        Ok(missions.changing(self.space(), mission))
    }

    /// Changes a task that has not begun.
    pub async fn edit_task(
        &self,
        mission: &ThreadId,
        task: TaskId,
        edit: TaskEdit,
    ) -> Result<(), Error> {
        let by = self.user().unwrap_or(self.principal().role.as_str());
        Ok(self.changing(mission)?.edit(task, edit, by).await?)
    }

    /// Skips a task that is not over, and its parts.
    pub async fn skip_task(&self, mission: &ThreadId, task: TaskId) -> Result<(), Error> {
        Ok(self.changing(mission)?.skip(task).await?)
    }

    /// Has a mission rest.
    pub async fn pause_mission(&self, mission: &ThreadId) -> Result<ThreadRow, Error> {
        Ok(self.changing(mission)?.pause(self.user()).await?)
    }

    /// Has a mission go on that rests.
    pub async fn resume_mission(&self, mission: &ThreadId) -> Result<ThreadRow, Error> {
        Ok(self.changing(mission)?.resume(self.user()).await?)
    }
}
