//! Statements that the server tries again by itself, while the trials of a space have nothing else
//! to do. Statements that only reflection could test are tried once for each new instrument, a few
//! at a time (rule: `event/method.rs`). Held statements are tested again where
//! `memory.retest_calls_per_day` allows it: those first that were recalled most and not tested for
//! longest, by an instrument that has not carried them (rule: `event/retest.rs`). The event that
//! begins such a test says how many calls it takes at most, before any is made: a crash or another
//! server makes no more.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::bench::{Bench, OnTrial, begin_again};
use super::journal::{Journal, REACH, Stored, again, verdict};
use super::people::{room_for_questions, somebody_may_answer};
use super::rules::instruments;
use thinkd_event::envelope::Event;
use thinkd_event::fact::statement::RETEST;
use thinkd_event::method::{new_for, testable, waits_for_an_instrument};
use thinkd_event::retest::{by_another, is_at_rest, urgency};
use thinkd_event::statement::{Instrument, Judged, PREDICTIONS_MAX, Status};
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_log::query::{Query, Show};
use thinkd_mind::turn_writer::Lost;
use thinkd_recall::uses::Counted;
use thinkd_words::id::Seq;
use thinkd_words::time::{self, Timestamp};

/// The time that is counted, in microseconds.
const DAY: i64 = 86_400_000_000;
/// Most statements that become due in one go because an instrument is new, and most that do for
/// their age and use.
const RENEWED_AT_ONCE: usize = 8;
const RETESTED_AT_ONCE: usize = 4;
/// Statements that are held beside each other: the longest untested, and those that were recalled
/// most.
const RIPE_MAX: usize = 200;
/// Rows that are read at once.
const PAGE: u32 = 1000;
/// After a look without a result, the time before the next one, in microseconds.
const PAUSE: i64 = 600_000_000;

/// The instruments beside reflection that there are, and how many questions people may be asked.
struct There {
    with: BTreeSet<Instrument>,
    room: usize,
}

/// A statement to be tested again, and why.
struct Ripe {
    row: StatementRow,
    reason: String,
    urgency: u128,
}

/// A look for ripe statements: the instruments that there are, the recalls of each statement, and
/// the time before which a test is old.
struct Look<'a> {
    journal: Journal<'a>,
    there: BTreeSet<Instrument>,
    uses: Arc<Counted>,
    now: Timestamp,
    old: Timestamp,
}

/// Has a few statements tried again that an instrument can test which was not there before. False:
/// there are no more to look at.
pub(super) async fn renew(bench: &Bench<'_>) -> Result<bool, Lost> {
    let trials = bench.trials;
    let journal = bench.journal;
    let there = instruments_now(journal).await?;
    let (with, upto) = trials.kept(journal.space, |kept| kept.looked.clone());
    let after = if with == there.with { upto } else { Some(0) };
    let (found, upto) = match after {
        Some(after) => renewable(journal, &there, after, RENEWED_AT_ONCE).await?,
        None => (Vec::new(), None),
    };
    let goes_on = !found.is_empty() || upto.is_some();
    for (row, instrument) in found {
        let by = instrument.as_str();
        let judged = again(&row, format!("another instrument can test it now: {by}"));
        begin_again(OnTrial::of(bench, row).await?, judged).await?;
    }
    trials.kept(journal.space, |kept| kept.looked = (there.with, upto));
    Ok(goes_on)
}

/// Returns true if an instrument can test something that was not there when it was tried.
pub(super) async fn has_something_to_renew(journal: Journal<'_>) -> Stored<bool> {
    let there = instruments_now(journal).await?;
    let mut next = Some(0);
    while let Some(after) = next {
        let (found, more) = renewable(journal, &there, after, 1).await?;
        if !found.is_empty() {
            return Ok(true);
        }
        next = more;
    }
    Ok(false)
}

/// Returns true if there is an instrument now that was not there when a statement was tried last.
pub(super) async fn has_new_instrument(
    journal: Journal<'_>,
    row: &StatementRow,
    judged: &Judged,
) -> Stored<bool> {
    let there = instruments_now(journal).await?;
    let new = newly_testable(journal, row, judged, &there.with).await?;
    Ok(new.is_some())
}

/// Returns the instruments that there are now, for some statements at least.
async fn instruments_now(journal: Journal<'_>) -> Stored<There> {
    let mut with = instruments(journal.ground);
    with.remove(&Instrument::Reflection);
    let room = room_for_questions(journal).await?;
    with.extend((room > 0).then_some(Instrument::User));
    Ok(There { with, room })
}

/// Returns statements behind a position that an instrument can test which was not there when they
/// were tried; and the position to look on from. They are at most so many, and no more for people
/// than they have room for. Of many statements a part is looked at: statements that become due do
/// not wait.
async fn renewable(
    journal: Journal<'_>,
    there: &There,
    after: Seq,
    most: usize,
) -> Stored<(Vec<(StatementRow, Instrument)>, Option<Seq>)> {
    let mut found = Vec::new();
    let mut room = there.room;
    if there.with.is_empty() {
        return Ok((found, None));
    }
    let asked = Asked {
        after,
        limit: REACH,
        ..Asked::default()
    };
    let rows = journal.store().statements(journal.space, &asked).await?;
    let last = rows.last().filter(|_| rows.len() == REACH as usize);
    let next = last.map(|row| row.number);
    let reopenings = journal.memory().reopenings;
    for row in rows {
        let waits = |it: &&Judged| waits_for_an_instrument(row.status, it, row.due, reopenings);
        let Some(judged) = row.judged.as_ref().filter(waits) else {
            continue;
        };
        let Some(instrument) = newly_testable(journal, &row, judged, &there.with).await? else {
            continue;
        };
        let number = row.number;
        room -= usize::from(instrument == Instrument::User);
        found.push((row, instrument));
        if found.len() == most || there.with.contains(&Instrument::User) && room == 0 {
            return Ok((found, Some(number)));
        }
    }
    Ok((found, next))
}

/// Returns the first of some instruments that was not there when a statement was tried last, and
/// that can say something of it.
async fn newly_testable(
    journal: Journal<'_>,
    row: &StatementRow,
    judged: &Judged,
    with: &BTreeSet<Instrument>,
) -> Stored<Option<Instrument>> {
    let may_ask = somebody_may_answer(row);
    let may_read = |it: &Instrument| may_ask || *it != Instrument::User;
    let with: BTreeSet<Instrument> = with.iter().copied().filter(may_read).collect();
    if with.iter().all(|it| judged.available.contains(it)) {
        return Ok(None);
    }
    let testable = testable_of(journal, row, judged).await?;
    Ok(new_for(judged, &testable, &with))
}

/// Returns the instruments that can say something of a statement.
async fn testable_of(
    journal: Journal<'_>,
    row: &StatementRow,
    judged: &Judged,
) -> Stored<Vec<Instrument>> {
    if let Some(testable) = &judged.testable {
        return Ok(testable.clone());
    }
    // Judged by a server that did not write down what can test it.
    let derived = journal.folded(&row.id).await?.derived;
    // What a word says is derived when it is tested, once.
    let is_new_word = row.is_held_on_word() && judged.tries + judged.breaks == 0;
    Ok(match derived {
        Some(derived) => testable(&derived.predictions),
        None if is_new_word => Instrument::ALL.into(),
        None => Vec::new(),
    })
}

/// Has a few statements tested again that are the most urgent, as far as the calls of a day go.
/// False: there is nothing now.
pub(super) async fn retest(bench: &Bench<'_>) -> Result<bool, Lost> {
    let trials = bench.trials;
    let journal = bench.journal;
    let now = time::now();
    let most = journal.memory().retest_calls_per_day;
    let not_before = trials.kept(journal.space, |kept| kept.not_before);
    if most == 0 || not_before.is_some_and(|not_before| now < not_before) {
        return Ok(false);
    }
    let (mut left, more) = budget(journal, most, now).await?;
    let (ripe, next) = match left {
        0 => (Vec::new(), more),
        _ => ripe(journal, now).await?,
    };
    let mut begun = 0;
    let mut is_dear = false;
    for Ripe { row, reason, .. } in ripe {
        let judged = again(&row, reason);
        let on = OnTrial::of(bench, row).await?;
        let calls = calls(&on, journal.memory().two_of_three);
        if calls > left {
            is_dear = true;
            continue;
        }
        let retest = calls.max(1);
        begin_again(on, Judged { retest, ..judged }).await?;
        left -= calls;
        begun += 1;
        if begun == RETESTED_AT_ONCE {
            break;
        }
    }
    if begun == 0 {
        let next = match is_dear {
            true => Some(more.unwrap_or_else(|| now.after(DAY))),
            false => next,
        };
        let pause = now.after(PAUSE);
        trials.kept(journal.space, |kept| {
            kept.not_before = Some(next.map_or(pause, |next| next.min(pause)));
            kept.next_retest = next;
        });
    }
    Ok(begun > 0)
}

/// Returns true if there is, or will be, something to test again.
pub(super) async fn has_something_to_retest(journal: Journal<'_>) -> Stored<bool> {
    if journal.memory().retest_calls_per_day == 0 {
        return Ok(false);
    }
    let (ripe, next) = ripe(journal, time::now()).await?;
    Ok(!ripe.is_empty() || next.is_some())
}

/// Returns the statements to test again now, the most urgent first, and the time of the next one.
async fn ripe(journal: Journal<'_>, now: Timestamp) -> Stored<(Vec<Ripe>, Option<Timestamp>)> {
    let after = i64::try_from(journal.memory().retest_after_ms).unwrap_or(i64::MAX);
    let interval = after.saturating_mul(1000);
    let look = Look {
        journal,
        there: instruments(journal.ground),
        uses: journal.ground.recall.uses(journal.space).await?,
        now,
        old: Timestamp::from_micros(now.micros().saturating_sub(interval)),
    };
    let mut ripe = Vec::new();
    let mut next = None;
    for status in Status::HELD {
        let young = oldest(&look, status, &mut ripe).await?;
        next = young.into_iter().chain(next).min();
    }
    for id in look.uses.most(RIPE_MAX) {
        if ripe.iter().any(|it| it.row.id == id) {
            continue;
        }
        let Some(row) = journal.statement(id).await? else {
            continue;
        };
        // A word was never tested.
        let said = row.is_held_on_word().then_some(row.claimed);
        if row.tested.or(said).is_some_and(|tested| tested <= look.old) {
            ripe.extend(retestable(&look, row).await?);
        }
    }
    ripe.sort_by_key(|it| (Reverse(it.urgency), it.row.number));
    Ok((ripe, next.map(|tested| tested.after(interval))))
}

/// Adds the statements of a status that were not tested for longest. Returns the time of the first
/// test that is too young.
async fn oldest(
    look: &Look<'_>,
    status: Status,
    ripe: &mut Vec<Ripe>,
) -> Stored<Option<Timestamp>> {
    let store = look.journal.store();
    let space = look.journal.space;
    let most = ripe.len() + RIPE_MAX;
    let mut last = (Timestamp::from_micros(0), 0);
    loop {
        let rows = store.statements_by_age(space, status, last.0, PAGE).await?;
        let is_last = rows.len() < PAGE as usize;
        let mut is_news = false;
        for row in rows {
            let Some(tested) = row.tested.filter(|tested| (*tested, row.number) > last) else {
                continue;
            };
            (last, is_news) = ((tested, row.number), true);
            let Some(found) = retestable(look, row).await? else {
                continue;
            };
            if tested > look.old {
                return Ok(Some(tested));
            }
            ripe.push(found);
            if ripe.len() >= most {
                return Ok(None);
            }
        }
        if is_last || !is_news {
            return Ok(None);
        }
    }
}

async fn retestable(look: &Look<'_>, row: StatementRow) -> Stored<Option<Ripe>> {
    let judged = row.judged.as_ref();
    let Some(judged) = judged.filter(|_| is_at_rest(row.status, row.due)) else {
        return Ok(None);
    };
    let can = testable_of(look.journal, &row, judged).await?;
    let Some(instrument) = by_another(judged, &can, &look.there) else {
        return Ok(None);
    };
    let recalled = look.uses.of(&row.id);
    let tested = row.tested.map(|tested| tested.to_string());
    let reason = format!(
        "it is tested again while nothing else is due: {recalled} recalls returned it of late, its last test was {}, and {} has not carried it",
        tested.as_deref().unwrap_or("never"),
        instrument.as_str()
    );
    let urgency = urgency(recalled, row.tested.unwrap_or(row.claimed), look.now);
    Ok(Some(Ripe {
        row,
        reason,
        urgency,
    }))
}

/// Returns the rest of a day's calls, by the calls that the log grants each re-test, and the time
/// at which there are more.
async fn budget(
    journal: Journal<'_>,
    most: u64,
    now: Timestamp,
) -> Stored<(u64, Option<Timestamp>)> {
    let query = Query {
        tags: vec![RETEST.into()],
        since: Some(Timestamp::from_micros(now.micros().saturating_sub(DAY))),
        show: Show::All,
        limit: PAGE,
        ..Query::default()
    };
    let mut left = most;
    let mut first = None;
    let take = |event: Event| {
        if let Some((_, judged)) = verdict(&event) {
            left = left.saturating_sub(judged.retest);
            first = Some(event.ts);
        }
        true
    };
    journal.each(query, take).await?;
    Ok((left, first.map(|first| first.after(DAY))))
}

/// Returns the most calls that testing a statement again takes. An experiment's verdict so far is
/// one reading of three.
fn calls(on: &OnTrial<'_>, two_of_three: bool) -> u64 {
    let derived = on.trial.derived.as_ref();
    let predictions = derived.map_or(PREDICTIONS_MAX, |derived| derived.predictions.len());
    let is_tested = on.row.judged.as_ref().is_some_and(Judged::is_tested);
    let readings = match two_of_three {
        false => 1,
        true => 3 - u64::from(is_tested),
    };
    predictions as u64 * readings + u64::from(derived.is_none())
}
