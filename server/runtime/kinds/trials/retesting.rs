//! What is held is tested again while the trials of a space have nothing else to do, where
//! `memory.retest_calls_per_day` allows it: what was recalled most and not tested for longest
//! first, by an instrument that has not carried it. The rule is in `event/retest.rs`. The word that
//! a statement is tested again says how many calls that takes at most, and is counted by the log
//! before any of them is made: no crash and no other server makes more.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::Trials;
use super::bench::{Bench, OnTrial};
use super::journal::{Journal, Stored, again, verdict};
use super::renewing::testable_of;
use crate::event::envelope::Event;
use crate::event::fact::statement::RETEST;
use crate::event::retest::{by_another, is_at_rest, urgency};
use crate::event::statement::{Instrument, Judged, PREDICTIONS_MAX, Status};
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Query, Show};
use crate::mind::turn_writer::Lost;
use crate::recall::uses::Counted;
use crate::words::time::{self, Timestamp};

/// The time that is counted, in microseconds.
const DAY: i64 = 86_400_000_000;
/// Most statements that become due in one go.
const AT_ONCE: usize = 4;
/// Statements that are held beside each other: the longest untested, and those that were recalled
/// most.
const RIPE_MAX: usize = 200;
/// Rows that are read at once.
const PAGE: u32 = 1000;
/// Where there was nothing, nobody looks again before this time, in microseconds.
const PAUSE: i64 = 600_000_000;

/// A statement to be tested again, and why.
struct Ripe {
    row: StatementRow,
    instrument: Instrument,
    recalled: u32,
}

/// Statements to test again now, the most urgent first, and the time of the next one.
type Found = (Vec<Ripe>, Option<Timestamp>);

/// A look for what is ripe: the instruments that there are, how often statements were recalled, and
/// what was tested before the time that is old.
struct Look<'a> {
    journal: Journal<'a>,
    there: BTreeSet<Instrument>,
    uses: Arc<Counted>,
    old: Timestamp,
}

impl Trials {
    /// Returns true if there is, or will be, something to test again.
    pub(super) async fn has_something_to_retest(&self, journal: Journal<'_>) -> Stored<bool> {
        if self.memory().retest_calls_per_day == 0 {
            return Ok(false);
        }
        let (ripe, next) = self.ripe(journal, time::now()).await?;
        Ok(!ripe.is_empty() || next.is_some())
    }

    /// Returns the statements that are ripe for another test.
    async fn ripe(&self, journal: Journal<'_>, now: Timestamp) -> Stored<Found> {
        let after = i64::try_from(self.memory().retest_after_ms).unwrap_or(i64::MAX);
        let interval = after.saturating_mul(1000);
        let look = Look {
            journal,
            there: self.instruments(),
            uses: self.ground.recall.uses(journal.space).await?,
            old: Timestamp::from_micros(now.micros().saturating_sub(interval)),
        };
        let (mut ripe, mut next) = Found::default();
        for status in Status::HELD {
            next = next
                .into_iter()
                .chain(look.oldest(status, &mut ripe).await?)
                .min();
        }
        next = next.map(|tested| tested.after(interval));
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
                ripe.extend(look.retestable(row).await?);
            }
        }
        ripe.sort_by_key(|it| {
            let tested = it.row.tested.unwrap_or(it.row.claimed);
            (Reverse(urgency(it.recalled, tested, now)), it.row.number)
        });
        Ok((ripe, next))
    }
}

impl Look<'_> {
    /// Adds the statements of a status that were not tested for longest. Returns the time of the
    /// first test that is too young.
    async fn oldest(&self, status: Status, ripe: &mut Vec<Ripe>) -> Stored<Option<Timestamp>> {
        let Journal { store, space, .. } = self.journal;
        let (most, mut last) = (ripe.len() + RIPE_MAX, (Timestamp::from_micros(0), 0));
        loop {
            let rows = store.statements_by_age(space, status, last.0, PAGE).await?;
            let is_last = rows.len() < PAGE as usize;
            let mut is_news = false;
            for row in rows {
                let Some(tested) = row.tested.filter(|tested| (*tested, row.number) > last) else {
                    continue;
                };
                (last, is_news) = ((tested, row.number), true);
                let Some(found) = self.retestable(row).await? else {
                    continue;
                };
                if tested > self.old {
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

    async fn retestable(&self, row: StatementRow) -> Stored<Option<Ripe>> {
        let judged = row.judged.as_ref();
        let Some(judged) = judged.filter(|_| is_at_rest(row.status, row.due)) else {
            return Ok(None);
        };
        let can = testable_of(self.journal, &row, judged).await?;
        let recalled = self.uses.of(&row.id);
        let another = by_another(judged, &can, &self.there);
        Ok(another.map(|instrument| Ripe {
            row,
            instrument,
            recalled,
        }))
    }
}

/// Returns the rest of a day's calls, by what the log says that each re-test may take, and when
/// there are more.
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
    let (mut left, mut first) = (most, None);
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

impl Bench<'_> {
    /// Has a few statements tested again that are the most urgent, as far as the calls of a day go.
    /// False: there is nothing now.
    pub async fn retest(&self) -> Result<bool, Lost> {
        let (trials, journal, now) = (self.trials, self.journal, time::now());
        let most = trials.memory().retest_calls_per_day;
        let not_before = trials.kept(journal.space, |kept| kept.not_before);
        if most == 0 || not_before.is_some_and(|not_before| now < not_before) {
            return Ok(false);
        }
        let (mut left, more) = budget(journal, most, now).await?;
        let (ripe, next) = match left {
            0 => (Vec::new(), more),
            _ => trials.ripe(journal, now).await?,
        };
        let (mut begun, mut is_dear) = (0, false);
        for ripe in ripe {
            let judged = ripe.word();
            let on = OnTrial::of(journal, ripe.row).await?;
            let calls = self.calls(&on);
            if calls > left {
                is_dear = true;
                continue;
            }
            let retest = calls.max(1);
            self.begin_again(on, Judged { retest, ..judged }).await?;
            left -= calls.min(left);
            begun += 1;
            if begun == AT_ONCE {
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

    /// Most calls that testing a statement again takes. An experiment's verdict so far is one
    /// reading of three.
    fn calls(&self, on: &OnTrial) -> u64 {
        let derived = on.trial.derived.as_ref();
        let predictions = derived.map_or(PREDICTIONS_MAX, |derived| derived.predictions.len());
        let is_tested = on.row.judged.as_ref().is_some_and(Judged::is_tested);
        let readings = match self.trials.memory().two_of_three {
            false => 1,
            true => 3 - u64::from(is_tested),
        };
        predictions as u64 * readings + u64::from(derived.is_none())
    }
}

impl Ripe {
    /// Returns the word for the log.
    fn word(&self) -> Judged {
        let tested = self.row.tested.map(|tested| tested.to_string());
        let reason = format!(
            "it is tested again while nothing else is due: {} recalls returned it of late, its last test was {}, and {} has not carried it",
            self.recalled,
            tested.as_deref().unwrap_or("never"),
            self.instrument.as_str()
        );
        again(&self.row, reason)
    }
}
