//! The work under one lease: all due statements are tried, several at a time, until none is left.
//! Then held statements are looked through, threads are told, and the trials rest.

use std::collections::HashMap;

use super::allowance;
use super::bench::Bench;
use super::journal::{REACH, Stored};
use super::retesting::{renew, retest};
use super::rules::retry_micros;
use super::telling::{tell, tell_late};
use super::trying::try_one;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Timer};
use thinkd_event::fact::statement::Trials as Said;
use thinkd_log::projections::statements::StatementRow;
use thinkd_log::status::Status;
use thinkd_mind::turn_writer::Lost;
use thinkd_tasks::under_way::UnderWay;
use thinkd_words::id::Seq;
use thinkd_words::time::{self, Timestamp};

/// So often is a statement begun in one go that is overtaken each time.
const OVERTAKEN_MAX: u32 = 5;
/// The timer of the trials.
const RETRY: &str = "retry";

/// A look at the log before something is begun.
struct Seen {
    /// Up to where the thread of the trials was woken.
    woken: Seq,
    /// Up to where threads are told of changes of statements.
    told: Seq,
    due: Vec<StatementRow>,
}

/// Tries all due statements. Returns the status of the thread of the trials, and gives its lease
/// back.
pub(super) async fn try_all(bench: &Bench<'_>) -> Result<Status, Lost> {
    let journal = bench.journal;
    let row = &bench.row;
    let named = row.state.told.unwrap_or(row.handled);
    let mut told = named;
    let feed = journal.store().feed();
    let mut follower = feed.follow(journal.space, Some(&row.thread));
    let mut under_way = UnderWay::default();
    let mut begun = HashMap::<String, u32>::new();
    let mut busy: Vec<String> = Vec::new();
    let at_once = journal.memory().trials_at_once as usize;
    loop {
        let most = at_once + begun.len();
        let seen = under_way.beside(look(bench, told, most)).await?;
        told = seen.told;
        // What was begun and is due no more has come to its end.
        begun.retain(|id, _| busy.contains(id) || seen.due.iter().any(|row| row.id == *id));
        for row in seen.due {
            let times = begun.get(&row.id).copied().unwrap_or(0);
            let may_begin = busy.len() < at_once && !busy.contains(&row.id);
            if may_begin && times < OVERTAKEN_MAX && is_free(bench) {
                begun.insert(row.id.clone(), times + 1);
                busy.push(row.id.clone());
                under_way.push(async move { (row.id.clone(), try_one(bench, row).await) });
            }
        }
        if under_way.is_empty() {
            if is_free(bench) && (renew(bench).await? || retest(bench).await?) {
                continue;
            }
            let told = tell_late(bench, told, named).await?;
            let rest = rest(bench, seen.woken, told).await?;
            return bench.writer.close(rest).await.map(|_| Status::Idle);
        }
        tokio::select! {
            biased;
            // The lease is left as it is.
            _ = bench.stop.stopped() => return Err(Lost::Stale),
            ended = under_way.next() => {
                if let Some((id, ended)) = ended {
                    busy.retain(|it| *it != id);
                    ended?;
                }
            }
            () = follower.changed(), if busy.len() < at_once => {}
        }
    }
}

/// Returns true if calls to models are left.
fn is_free(bench: &Bench<'_>) -> bool {
    free_at(bench, time::now()).is_none()
}

/// Returns the time at which there is a call to a model again; none: there is one.
fn free_at(bench: &Bench<'_>, now: Timestamp) -> Option<Timestamp> {
    let space = bench.journal.space;
    let most = bench.journal.memory().calls_per_hour;
    bench
        .trials
        .kept(space, |kept| kept.calls.free_at(most, now))
}

/// Tells threads of changes of statements, and reads the due statements; at most so many.
async fn look(bench: &Bench<'_>, told: Seq, most: usize) -> Result<Seen, Lost> {
    let store = bench.journal.store();
    let space = bench.journal.space;
    // Read before the rows: what is claimed behind it wakes the thread again.
    let thread = store.thread(space, &bench.row.thread).await?;
    let limit = u32::try_from(most).unwrap_or(u32::MAX).min(REACH);
    Ok(Seen {
        woken: thread.map_or(0, |row| row.woken),
        told: tell(bench, told).await?,
        due: store.statements_due(space, time::now(), limit).await?,
    })
}

/// Returns the events of a rest: up to where all is done, and when something is due again.
async fn rest(bench: &Bench<'_>, woken: Seq, told: Seq) -> Stored<Vec<Draft>> {
    let journal = bench.journal;
    let now = time::now();
    let store = journal.store();
    let space = journal.space;
    let soon = now.after(retry_micros(journal.memory()).max(1_000_000));
    let free = free_at(bench, now);
    // What is due and was overtaken again and again waits, too.
    let is_overtaken = !store.statements_due(space, now, 1).await?.is_empty();
    let next = match free {
        Some(free) => Some(free),
        None if is_overtaken => Some(soon),
        None => {
            let retest = bench.trials.kept(space, |kept| kept.next_retest);
            let due = store.next_statement_due(space, now).await?.into_iter();
            due.chain(retest.filter(|next| *next > now)).min()
        }
    };
    let mut rest = Vec::new();
    if let Some(due) = next {
        let timer = Timer {
            due,
            note: "statements are to be tried again".to_owned(),
            set: Some(now),
        };
        let change = Change::Timer(Some(timer));
        rest.push(Draft::set(&bench.row.thread, RETRY, change));
    }
    if let Some(until) = free
        && !allowance::is_said(journal, now).await?
    {
        rest.push(Draft::trials(Said::Spent(until)));
    }
    rest.push(Draft::trials(Said::Rested {
        handled: woken,
        told: Some(told),
    }));
    Ok(rest)
}
