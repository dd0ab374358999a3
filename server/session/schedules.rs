//! A session reads schedules, creates, changes, removes and runs them.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::schedule::{Schedule, ScheduleChange};
use thinkd_log::appended::Placed;
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_runtime::turns::input::Received;
use thinkd_words::id::{Name, ThreadId};

impl Session {
    /// Schedules by name, those after `after`, of one thread if it is named; at most `limit`.
    pub async fn schedules(
        &self,
        thread: Option<&ThreadId>,
        after: Option<&Name>,
        limit: u32,
    ) -> Acted<Vec<ScheduleRow>> {
        let (store, space) = self.reading()?;
        Ok(store.schedules(space, thread, after, limit).await?)
    }

    /// One schedule.
    pub async fn schedule(&self, name: &Name) -> Acted<Option<ScheduleRow>> {
        let (store, space) = self.reading()?;
        Ok(store.schedule(space, name).await?)
    }

    /// Creates a schedule.
    pub async fn create_schedule(&self, name: &Name, new: Schedule) -> Acted<ScheduleRow> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.create_schedule(space, name, new).await?)
    }

    /// Changes a schedule, pauses or resumes it.
    pub async fn change_schedule(&self, name: &Name, change: ScheduleChange) -> Acted<ScheduleRow> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.change_schedule(space, name, change).await?)
    }

    /// Removes a schedule.
    pub async fn remove_schedule(&self, name: &Name) -> Acted<()> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.remove_schedule(space, name).await?)
    }

    /// Fires a schedule now.
    pub async fn run_schedule(&self, name: &Name) -> Acted<(Received, Vec<Placed>)> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.run_schedule(space, name).await?)
    }
}
