//! A session begins missions, sees their tasks, and changes them while they run.

use super::handle::{Error, Session};
use super::right::Right;
use crate::event::mission::{MissionBudget, Plan, TaskEdit, TaskId, Value, Wanted};
use crate::log::projections::tasks::TaskRow;
use crate::log::thread_row::ThreadRow;
use crate::words::id::ThreadId;

impl Session {
    /// Begins a mission. `most`: what it may use up (model calls, tokens, milliseconds), as far as it is given less than is configured.
    pub async fn start_mission(
        &self,
        mission: &str,
        value: Value,
        plan: Plan,
        most: [Option<u64>; 3],
    ) -> Result<ThreadRow, Error> {
        let missions = &self.kinds(Right::Speak)?.missions;
        let options = missions.options();
        let [model_calls, tokens, time_ms] = most;
        let least =
            |wanted: Option<u64>, configured: u64| wanted.unwrap_or(configured).min(configured);
        let budget = MissionBudget {
            model_calls: least(model_calls, options.model_calls),
            tokens: least(tokens, options.tokens),
            time_ms: least(time_ms, options.time_ms),
        };
        let wanted = Wanted {
            mission: mission.to_owned(),
            value,
            budget,
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

    /// Changes a task that has not begun.
    pub async fn edit_task(
        &self,
        mission: &ThreadId,
        task: TaskId,
        edit: TaskEdit,
    ) -> Result<(), Error> {
        let missions = &self.kinds(Right::Speak)?.missions;
        let by = self.user().unwrap_or(self.principal().role.as_str());
        Ok(missions
            .edit(self.space(), (mission, task), edit, by)
            .await?)
    }

    /// Skips a task that is not over, and its parts.
    pub async fn skip_task(&self, mission: &ThreadId, task: TaskId) -> Result<(), Error> {
        Ok(self
            .kinds(Right::Speak)?
            .missions
            .skip(self.space(), mission, task)
            .await?)
    }

    /// Has a mission rest.
    pub async fn pause_mission(&self, mission: &ThreadId) -> Result<ThreadRow, Error> {
        Ok(self
            .kinds(Right::Speak)?
            .missions
            .pause(self.space(), mission, self.user())
            .await?)
    }

    /// Has a mission go on that rests.
    pub async fn resume_mission(&self, mission: &ThreadId) -> Result<ThreadRow, Error> {
        Ok(self
            .kinds(Right::Speak)?
            .missions
            .resume(self.space(), mission, self.user())
            .await?)
    }
}
