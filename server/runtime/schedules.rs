//! Acts of a person on schedules: create, change, remove, run now. Each act is an event. Firing
//! them is in `firing.rs`.

use super::append::append_told;
use super::firing::{details, is_under_way, set};
use super::handle::Runtime;
use super::refused::Refused;
use super::turns::input::{Input, InputContent, Received};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::request::FromClient;
use thinkd_event::schedule::{Schedule, ScheduleChange, at_once};
use thinkd_log::appended::Placed;
use thinkd_log::error::StoreError;
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_words::id::{Name, Space, ThreadId};
use thinkd_words::recurrence::Recurrence;
use thinkd_words::time::{self, Timestamp};

/// Most tries of an act on a schedule that fired or was changed meanwhile.
const TRIES: usize = 16;

impl Runtime {
    /// Creates a schedule.
    pub async fn create_schedule(
        &self,
        space: &Space,
        name: &Name,
        new: Schedule,
    ) -> Result<ScheduleRow, Refused> {
        self.open(space).await?;
        let now = time::now();
        let new = Schedule {
            when: new.when.clone().starting(now),
            set: Some(now),
            ..new
        };
        self.check_thread(space, &new.thread).await?;
        let due = self.first_due(&new, now)?;
        let limit = self.0.ground.options.tool_limits.schedules;
        let new = Schedule {
            due: due.filter(|_| !new.paused),
            ..new
        };
        let is_new = Condition::NewSchedule {
            name: name.clone(),
            most: limit as usize,
        };
        match self.set_schedule(space, name, new, is_new).await {
            Ok(row) => Ok(row),
            Err(Refused::Store(StoreError::Unmet(_))) => {
                match self.store().schedule(space, name).await? {
                    Some(_) => Err(Refused::Exists(format!("the schedule {name}"))),
                    None => Err(Refused::TooMany {
                        what: "schedules in a space",
                        limit,
                    }),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a schedule. When it is due stays as it is, unless that is changed, or it was paused.
    pub async fn change_schedule(
        &self,
        space: &Space,
        name: &Name,
        change: ScheduleChange,
    ) -> Result<ScheduleRow, Refused> {
        self.open(space).await?;
        if let Some(thread) = &change.thread {
            self.check_thread(space, thread).await?;
        }
        for _ in 0..TRIES {
            let now = time::now();
            let row = self.fired_schedule(space, name, now).await?;
            let righted = row.schedule.righted(now);
            let mut schedule = change.of(righted.as_ref().unwrap_or(&row.schedule), now);
            let is_resumed = row.schedule.paused && !schedule.paused;
            schedule.due = match (schedule.paused, change.when.is_some() || is_resumed) {
                (true, _) => None,
                (false, false) => row.schedule.due,
                // What was seen to once is not again, whatever the clock says.
                (false, true) => self.first_due(
                    &schedule,
                    schedule.through.map_or(now, |through| through.max(now)),
                )?,
            };
            match self
                .set_schedule(space, name, schedule, row.stands(None))
                .await
            {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                set => return set,
            }
        }
        Err(overtaken(name))
    }

    /// Removes a schedule.
    pub async fn remove_schedule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        self.open(space).await?;
        self.known_schedule(space, name).await?;
        for _ in 0..TRIES {
            let row = match self.fired_schedule(space, name, time::now()).await {
                // What was due for the last time went with that.
                Err(Refused::NotFound(_)) => return Ok(()),
                row => row?,
            };
            let gone = set(name, None).only_if(row.stands(None));
            match self.store_schedule(space, gone).await {
                Err(Refused::Store(StoreError::Unmet(_))) => {}
                done => return done.map(drop),
            }
        }
        Err(overtaken(name))
    }

    /// Fires a schedule now, paused or not. It is due when it was.
    pub async fn run_schedule(
        &self,
        space: &Space,
        name: &Name,
    ) -> Result<(Received, Vec<Placed>), Refused> {
        for _ in 0..TRIES {
            let row = self.known_schedule(space, name).await?;
            let Schedule {
                thread,
                event,
                payload,
                ..
            } = &row.schedule;
            let known = self.store().thread_lately(space, thread).await?;
            if is_under_way(&**self.store(), space, &row.schedule, known).await? {
                return Err(Refused::RunUnderWay(name.clone()));
            }
            let draft = Draft::scheduled(thread, name, event, payload.clone(), at_once(name))
                .only_if(row.stands(None));
            let input = Input {
                policy: None,
                space: space.clone(),
                thread: thread.clone(),
                user: None,
                event_id: None,
                content: InputContent::Made(vec![draft]),
                client: FromClient::default(),
            };
            match self.0.inbox.submit(input).await {
                Err(Refused::Store(StoreError::Unmet(Condition::ScheduleStands { .. }))) => {}
                ran => return ran,
            }
        }
        Err(overtaken(name))
    }

    /// Returns the first due time after a moment. The error: the recurrence is not valid, it is too
    /// frequent, or no due time is to come.
    pub(super) fn first_due(
        &self,
        schedule: &Schedule,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, Refused> {
        let recurrence = schedule.when.read();
        let recurrence = recurrence.map_err(|all| Refused::Unprocessable(details(all)))?;
        let least = self.0.ground.options.tool_limits.schedule_interval;
        if let Recurrence::Every { micros, .. } = recurrence
            && u128::from(micros.unsigned_abs()) < least.as_micros()
        {
            return Err(Refused::Unprocessable(format!(
                "the shortest interval of a schedule is {} s; this one has {} s",
                least.as_secs_f64(),
                micros as f64 / 1e6
            )));
        }
        match recurrence.next(after) {
            None => Err(Refused::Unprocessable(format!(
                "nothing of this is to come: it lies in the past, for now it is {after}"
            ))),
            due => Ok(due),
        }
    }

    async fn check_thread(&self, space: &Space, thread: &ThreadId) -> Result<(), Refused> {
        let row = self.store().thread(space, thread).await?;
        self.0.inbox.admit_ever(space, thread, row.as_ref()).await
    }

    async fn known_schedule(&self, space: &Space, name: &Name) -> Result<ScheduleRow, Refused> {
        let row = self.store().schedule(space, name).await?;
        row.ok_or_else(|| Refused::NotFound(format!("schedule {name}")))
    }

    /// Returns a schedule before it is changed or removed: the runs due until now fire first, so
    /// that a change swallows no due time.
    async fn fired_schedule(
        &self,
        space: &Space,
        name: &Name,
        now: Timestamp,
    ) -> Result<ScheduleRow, Refused> {
        let mut row = self.known_schedule(space, name).await?;
        for _ in 0..TRIES {
            if row.schedule.due.is_none_or(|due| due > now) {
                return Ok(row);
            }
            // Whoever fires it beside this may have begun earlier, and leave a due time that has come since.
            self.0.firing.fire(space, &[row]).await?;
            row = self.known_schedule(space, name).await?;
        }
        Err(overtaken(name))
    }

    /// Stores a schedule. Its row is answered as it was stored: it may have fired for the last time meanwhile.
    async fn set_schedule(
        &self,
        space: &Space,
        name: &Name,
        schedule: Schedule,
        only_if: Condition,
    ) -> Result<ScheduleRow, Refused> {
        let draft = set(name, Some(schedule.clone())).only_if(only_if);
        let event = self.store_schedule(space, draft).await?;
        Ok(ScheduleRow {
            name: name.clone(),
            schedule,
            changed: event.seq,
            updated: event.ts,
        })
    }

    async fn store_schedule(&self, space: &Space, draft: Draft) -> Result<Event, Refused> {
        let on_stored = self.0.ground.waker.on_stored();
        let placed = append_told(&**self.store(), &on_stored, space, vec![draft]).await?;
        let event = placed.first().map(|placed| placed.shown.event.clone());
        event.ok_or_else(|| StoreError::Broken("the store dropped a schedule".into()).into())
    }
}

fn overtaken(name: &Name) -> Refused {
    Refused::Unprocessable(format!(
        "the schedule {name} fires or changes all the time: try again, or pause it first"
    ))
}
