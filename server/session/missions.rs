//! A session begins missions, sees their tasks, and has them changed while they run.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::mission::{BudgetWanted, Plan, Value, Wanted};
use thinkd_log::projections::tasks::TaskRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_missions::editing::Changing;
use thinkd_runtime::refused::Refused;
use thinkd_words::id::ThreadId;

impl Session {
    /// Begins a mission. Its budget is at most the configured one.
    pub async fn start_mission(
        &self,
        mission: &str,
        value: Value,
        plan: Plan,
        budget: BudgetWanted,
    ) -> Acted<ThreadRow> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let wanted = Wanted {
            mission: mission.to_owned(),
            value,
            budget: runtime.options().mission.budget().within(budget),
            plan,
            by: None,
            root: None,
        };
        let missions = &self.kinds(Right::Speak)?.missions;
        Ok(missions.start(space, wanted, self.user()).await?)
    }

    /// All tasks of a mission, in the order in which they were made.
    pub async fn tasks(&self, mission: &ThreadId) -> Acted<Vec<TaskRow>> {
        let (store, space) = self.reading()?;
        if !mission.is_of_mission() || store.thread(space, mission).await?.is_none() {
            return Err(Refused::NotFound(format!("mission {mission}")).into());
        }
        Ok(store.tasks(space, mission, None, None).await?)
    }

    /// A mission, to be changed while it runs: its tasks are edited and skipped, it rests and goes
    /// on. Needs the right to speak.
    pub fn changing<'a>(&'a self, mission: &'a ThreadId) -> Acted<Changing<'a>> {
        Ok(Changing {
            missions: &self.kinds(Right::Speak)?.missions,
            space: self.space(),
            mission,
            user: self.user(),
            author: self.author(),
        })
    }
}
