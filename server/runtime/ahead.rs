//! Timers, schedules and statements that a clock ahead of time put to sleep: they go by the right
//! one. Only a space with a log time ahead can have any; where no clock was ahead, little is read.

use super::firing::set as set_schedule;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Set, Timer, Wait};
use thinkd_event::process::Waiting;
use thinkd_event::schedule::Schedule;
use thinkd_event::statement::Judged;
use thinkd_event::timer::Purpose;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::schedules::ScheduleRow;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::query::{Order, Query, Show};
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::{SKEW, Timestamp};

/// Rows that are looked at together, and events in which a timer's is looked for.
const PAGE: u32 = 256;

/// Rights timers, schedules and statements that sleep too long, in any space.
pub(super) async fn right(store: &dyn Store, now: Timestamp) -> Result<(), StoreError> {
    let late = now.after(SKEW);
    for space in store.spaces_with_timers_after(late).await? {
        if is_ahead(store, &space, late).await? {
            right_timers(store, &space, now).await?;
            right_statements(store, &space, now).await?;
        }
    }
    for space in store.spaces_with_schedules_ahead(late).await? {
        right_schedules(store, &space, now).await?;
    }
    Ok(())
}

async fn right_timers(store: &dyn Store, space: &Space, now: Timestamp) -> Result<(), StoreError> {
    for row in store.timers_after(space, now.after(SKEW)).await? {
        let Some(timer) = righted(store, &row, now).await? else {
            continue;
        };
        say("timer", &row.name, (row.due, timer.due));
        let waits = match Purpose::of(&row.name) == Purpose::Wait {
            true => waits_until(store, &row, timer.due).await?,
            false => None,
        };
        let draft = Draft::set(&row.thread, &row.name, Change::Timer(Some(timer)));
        let draft = draft.rooted(row.root).only_if(row.stands());
        append(store, space, [draft].into_iter().chain(waits)).await?;
    }
    Ok(())
}

/// Returns the draft that gives a thread's wait this limit now: when something else wakes it
/// meanwhile, it sets the limit again.
async fn waits_until(
    store: &dyn Store,
    row: &TimerRow,
    due: Timestamp,
) -> Result<Option<Draft>, StoreError> {
    let thread = store.thread(&row.space, &row.thread).await?;
    let waiting = thread.and_then(|thread| thread.state.waiting);
    Ok(waiting.map(|waiting: Waiting| {
        let until = Some(due);
        let wait = Wait {
            waiting: Some(Waiting { until, ..waiting }),
            seen: None,
        };
        Draft::set(&row.thread, row.thread.as_str(), Change::Wait(wait))
    }))
}

/// Has statements tried again now that were tried in vain: how long they were to rest is not known.
async fn right_statements(
    store: &dyn Store,
    space: &Space,
    now: Timestamp,
) -> Result<(), StoreError> {
    let late = now.after(SKEW);
    for row in store.statements_due_after(space, late, PAGE).await? {
        if let Some(judged) = &row.judged {
            let judged = Judged {
                due: Some(now),
                tried: false,
                retest: 0,
                ..judged.clone()
            };
            append(store, space, [row.becomes(judged)]).await?;
        }
    }
    Ok(())
}

async fn right_schedules(
    store: &dyn Store,
    space: &Space,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = store.schedules(space, None, after.as_ref(), PAGE).await?;
        for row in &rows {
            let Some(schedule) = sooner(row, now) else {
                continue;
            };
            if let (Some(was), Some(due)) = (row.schedule.due, schedule.due) {
                say("schedule", row.name.as_str(), (was, due));
            }
            let draft = set_schedule(&row.name, Some(schedule));
            append(store, space, [draft.only_if(row.stands(None))]).await?;
        }
        match rows.last() {
            Some(last) if rows.len() == PAGE as usize => after = Some(last.name.clone()),
            _ => return Ok(()),
        }
    }
}

/// Returns a schedule that is due earlier by the right clock, with that time.
fn sooner(row: &ScheduleRow, now: Timestamp) -> Option<Schedule> {
    let due = row.schedule.due?;
    let righted = row.schedule.righted(now)?;
    let next = righted.when.read().ok()?.next(now)?;
    (next < due).then_some(Schedule {
        due: Some(next),
        ..righted
    })
}

/// Returns whether a space's log was written to by a clock that was ahead.
async fn is_ahead(store: &dyn Store, space: &Space, late: Timestamp) -> Result<bool, StoreError> {
    let newest = Query {
        order: Order::Descending,
        show: Show::All,
        limit: 1,
        ..Query::default()
    };
    let newest = store.events(space, &newest).await?;
    Ok(newest.first().is_some_and(|event| event.ts > late))
}

/// Returns a timer that was set by a clock ahead of time: it is due as long after now as it was
/// then.
async fn righted(
    store: &dyn Store,
    row: &TimerRow,
    now: Timestamp,
) -> Result<Option<Timer>, StoreError> {
    let query = Query {
        thread: Some(row.thread.clone()),
        tags: vec!["set:timer".into()],
        order: Order::Descending,
        show: Show::All,
        limit: PAGE,
        ..Query::default()
    };
    let events = store.events(&row.space, &query).await?;
    let Some(timer) = events.iter().find_map(|event| set(event, row)) else {
        return Ok(None);
    };
    // The rest of an end is nobody's for seconds only.
    let is_rest = Purpose::of(&row.name) == Purpose::Ending;
    let set = timer.set.or(is_rest.then_some(timer.due));
    let Some(at) = set.filter(|at| *at > now.after(SKEW)) else {
        return Ok(None);
    };
    // Trials in vain are made again at once (`right_statements`).
    let left = match row.thread == ThreadId::of_trials() {
        true => 0,
        false => timer.due.micros().saturating_sub(at.micros()).max(0),
    };
    Ok(Some(Timer {
        due: now.after(left),
        set: Some(now),
        ..timer
    }))
}

/// Returns the timer that an event set, if it is this one.
fn set(event: &Event, row: &TimerRow) -> Option<Timer> {
    match event.fact() {
        Fact::Set(Set {
            key,
            change: Change::Timer(Some(timer)),
            ..
        }) if key == row.name && timer.due == row.due => Some(timer),
        _ => None,
    }
}

fn say(what: &str, name: &str, (was, due): (Timestamp, Timestamp)) {
    tracing::warn!(%name, "the clock was ahead when a {what} was set or fired: it is due at {due}, and not at {was}");
}

async fn append(
    store: &dyn Store,
    space: &Space,
    drafts: impl IntoIterator<Item = Draft>,
) -> Result<(), StoreError> {
    let drafts = drafts.into_iter().collect();
    match store.append(Append::free(space, drafts)).await {
        // Somebody changed it, or another server righted it.
        Ok(_) | Err(StoreError::Unmet(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
