//! Schedules that are due fire: one append has the trigger, or the reason why there is none, and
//! moves the schedule on. Each is an append of its own, which the writer puts into one commit with
//! others: an obstacle for one keeps no other from firing.

use std::sync::Arc;

use futures_util::future::join_all;

use super::refused::Refused;
use super::turns::input::{Inbox, Input, InputContent};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::request::FromClient;
use thinkd_event::schedule::{self, Overlap, Schedule};
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::quota::Quotas;
use thinkd_words::id::{Name, Space, ThreadId};
use thinkd_words::recurrence::{Due, Wrong};
use thinkd_words::time::{self, Timestamp};

/// Fires schedules; cheap to clone.
#[derive(Clone)]
pub struct Firing {
    /// The store of the schedules.
    pub store: Arc<dyn Store>,
    /// The inbox of their triggers.
    pub inbox: Inbox,
    /// The budgets: a schedule of a turn draws on that of the event to which the turn went back.
    pub quotas: Arc<Quotas>,
}

impl Firing {
    /// Fires schedules of a space that are due.
    pub async fn fire(&self, space: &Space, rows: &[ScheduleRow]) -> Result<(), StoreError> {
        let now = time::now();
        let fired = join_all(rows.iter().map(|row| self.run(space, row, now))).await;
        let failed = |fired: &Result<(), StoreError>| match fired {
            // Another server fired it, or somebody changed it: what it is now is looked at next.
            Ok(()) | Err(StoreError::Unmet(Condition::ScheduleStands { .. })) => false,
            Err(_) => true,
        };
        fired.into_iter().find(failed).unwrap_or(Ok(()))
    }

    async fn run(
        &self,
        space: &Space,
        row: &ScheduleRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let ScheduleRow { name, schedule, .. } = row;
        let Some(since) = schedule.due else {
            return Ok(());
        };
        let stands = row.stands(Some(since));
        let recurrence = match schedule.when.read() {
            Ok(recurrence) => recurrence,
            Err(wrongs) => {
                // A time zone that this build does not have any more.
                let paused = paused(row, &details(wrongs), schedule.through);
                return self.append(space, vec![paused], stands).await;
            }
        };
        let Due { missed, run, next } = recurrence.due(since, now, catch_up_micros(schedule));
        let thread = self.store.thread_lately(space, &schedule.thread).await?;
        let missed = missed.map(|times| schedule::Firing::new(name, times, next));
        let missed_in = |thread: &ThreadId| {
            missed
                .clone()
                .map(|firing| Draft::schedule_missed(thread, firing))
        };
        // A thread begins with a trigger, and not with what is said about a schedule.
        let is_there = thread
            .as_ref()
            .is_some_and(|thread| !thread.status.is_final());
        let home = match is_there {
            true => schedule.thread.clone(),
            false => ThreadId::default(),
        };
        let Some(times) = run else {
            let missed = Vec::from_iter(missed_in(&home));
            return self.append(space, missed, stands).await;
        };
        let heard = thread.as_ref().and_then(|thread| thread.state.root);
        let firing = schedule::Firing::new(name, times, next).caused(schedule.root, heard);
        let thread_id = &schedule.thread;
        let purse = self.quotas.open(space, thread_id, firing.root, false);
        purse.read().await?;
        let (why, pauses) = if is_under_way(&*self.store, space, schedule, thread).await? {
            ("an earlier run is under way".to_owned(), false)
        } else if let Some(spent) = purse.spent() {
            // Its runs would fail, one like the other, and each would be stored.
            (spent.text, true)
        } else {
            let event = &schedule.event;
            let payload = schedule.payload.clone();
            let trigger =
                Draft::scheduled(&schedule.thread, name, event, payload, firing.to_value());
            let trigger = trigger.only_if(stands.clone());
            let mut drafts = Vec::from_iter(missed_in(&schedule.thread));
            drafts.push(trigger);
            let input = Input {
                policy: None,
                space: space.clone(),
                thread: schedule.thread.clone(),
                user: None,
                event_id: None,
                content: InputContent::Made(drafts),
                client: FromClient::default(),
            };
            match self.inbox.submit(input).await {
                Ok(_) => return Ok(()),
                Err(Refused::Store(error)) => return Err(error),
                Err(why) => (why.to_string(), matches!(why, Refused::Ended(_))),
            }
        };
        let through = Some(firing.last);
        let mut drafts = Vec::from_iter(missed_in(&home));
        let reason = match pauses {
            true => format!("it pauses itself, for {why}"),
            false => why.clone(),
        };
        drafts.push(Draft::schedule_skipped(&home, firing, &reason));
        if pauses {
            drafts.push(paused(row, &why, through));
        }
        self.append(space, drafts, stands).await
    }

    async fn append(
        &self,
        space: &Space,
        mut drafts: Vec<Draft>,
        stands: Condition,
    ) -> Result<(), StoreError> {
        let Some(first) = drafts.first_mut() else {
            return Ok(());
        };
        first.conditions.push(stands);
        let append = Append::free(space, drafts);
        self.store.append(append).await.map(drop)
    }
}

/// The schedule pauses itself: there is nothing that it could fire into, no time at which it could, or no model may be asked.
fn paused(row: &ScheduleRow, why: &str, through: Option<Timestamp>) -> Draft {
    let schedule = row.schedule.clone();
    let paused = Schedule {
        paused: true,
        note: why.to_owned(),
        due: None,
        through,
        ..schedule
    };
    set(&row.name, Some(paused))
}

/// Returns the event by which a schedule is this from now on.
pub(super) fn set(name: &Name, schedule: Option<Schedule>) -> Draft {
    let change = Change::Schedule(schedule.map(Box::new));
    Draft::set(&ThreadId::default(), name.as_str(), change)
}

/// Returns the wrongs of a recurrence in words.
pub(super) fn details(wrongs: Vec<Wrong>) -> String {
    let details = wrongs.into_iter().map(|wrong| wrong.detail);
    details.collect::<Vec<_>>().join("; ")
}

/// Returns the time after its due time within which a run is caught up with, in microseconds.
fn catch_up_micros(schedule: &Schedule) -> i64 {
    (schedule.catch_up_s * 1e6) as i64
}

/// Returns whether an earlier run waits in the mailbox or has its turn, and a schedule does not
/// want two. `thread` is its thread as it was lately.
pub(super) async fn is_under_way(
    store: &dyn Store,
    space: &Space,
    schedule: &Schedule,
    thread: Option<ThreadRow>,
) -> Result<bool, StoreError> {
    let Some(last) = schedule.last.filter(|_| schedule.overlap == Overlap::Skip) else {
        return Ok(false);
    };
    let runs = |thread: Option<ThreadRow>| {
        thread.is_some_and(|it| it.handled < last && !it.status.is_final())
    };
    // What is known here may lie back: another server may have ended the turn meanwhile.
    Ok(runs(thread) && runs(store.thread(space, &schedule.thread).await?))
}
