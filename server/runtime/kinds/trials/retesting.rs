//! What is held is tested again while the trials of a space have nothing else to do, where `memory.retest_calls_per_day` allows it: what was recalled
//! most and not tested for longest first, by an instrument that has not carried it. The rule is in `event/retest.rs`. The word that a statement is
//! tested again says how many calls that takes at most, and is counted by the log before any of them is made: no crash and no other server makes more.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;

use super::bench::{Bench, OnTrial, folded};
use super::{Trials, word};
use crate::event::fact::Fact;
use crate::event::fact::statement::{RETEST, Said, StatementFact};
use crate::event::method::testable;
use crate::event::retest::{by_another, is_at_rest, urgency};
use crate::event::statement::{Instrument, Judged, Outcome, PREDICTIONS_MAX, Status};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Order, Query, Show};
use crate::mind::turn_writer::Lost;
use crate::recall::uses::Counted;
use crate::words::id::Space;
use crate::words::time::{self, Timestamp};

/// The time that is counted, in microseconds.
const DAY: i64 = 86_400_000_000;
/// Most statements that become due in one go.
const AT_ONCE: usize = 4;
/// Statements that are held beside each other: the longest untested, and those that were recalled most.
const RIPE_MAX: usize = 200;
/// Rows that are read at once.
const PAGE: u32 = 1000;
/// Where there was nothing, nobody looks again before this time, in microseconds.
const PAUSE: i64 = 600_000_000;

/// When a space is looked at again, and when it wants to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resting {
    not_before: Timestamp,
    next: Option<Timestamp>,
}

/// A statement to be tested again, and why.
struct Ripe {
    row: StatementRow,
    judged: Judged,
    instrument: Instrument,
    recalled: u32,
}

/// What there is to test again now, the most urgent first, or when there will be something.
#[derive(Default)]
pub(super) struct Found {
    ripe: Vec<Ripe>,
    next: Option<Timestamp>,
}

/// What is left of a day's calls, and when there are more.
struct Budget {
    left: u64,
    more: Option<Timestamp>,
}

impl Trials {
    /// Whether anything is ever tested again for its age.
    pub(super) fn has_retests(&self) -> bool {
        self.memory.retest_calls_per_day > 0
    }

    /// When the trials of a space want to be woken for that; none: there is nothing.
    pub(super) fn next_retest(&self, space: &Space) -> Option<Timestamp> {
        self.resting().get(space).and_then(|resting| resting.next)
    }

    /// Whether there is, or will be, something to test again.
    pub(super) async fn has_something_to_retest(&self, space: &Space) -> Result<bool, StoreError> {
        if !self.has_retests() {
            return Ok(false);
        }
        let found = self.ripe(space, time::now()).await?;
        Ok(!found.ripe.is_empty() || found.next.is_some())
    }

    fn resting(&self) -> std::sync::MutexGuard<'_, HashMap<Space, Resting>> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What of the last day's calls is left, by what the log says that each re-test may take.
    async fn budget(&self, space: &Space, now: Timestamp) -> Result<Budget, StoreError> {
        let (mut left, mut first, mut before) = (self.memory.retest_calls_per_day, None, None);
        loop {
            let query = Query {
                tags: vec![RETEST.into()],
                since: Some(Timestamp::from_micros(now.micros().saturating_sub(DAY))),
                before,
                show: Show::All,
                order: Order::Descending,
                limit: PAGE,
                ..Query::default()
            };
            let page = self.store.events(space, &query).await?;
            for event in &page {
                let Fact::Statement(StatementFact {
                    what: Said::News(news),
                    ..
                }) = event.fact()
                else {
                    continue;
                };
                let News::Judged(judged) = *news else {
                    continue;
                };
                left = left.saturating_sub(judged.retest);
                first = Some(event.ts);
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => before = Some(last.seq),
                _ => {
                    return Ok(Budget {
                        left,
                        more: first.map(|first| first.after(DAY)),
                    });
                }
            }
        }
    }

    /// What is ripe for another test.
    async fn ripe(&self, space: &Space, now: Timestamp) -> Result<Found, StoreError> {
        let there: BTreeSet<Instrument> = self.instruments();
        let uses = self.recall.uses(space).await?;
        let interval = i64::try_from(self.memory.retest_after_ms)
            .unwrap_or(i64::MAX)
            .saturating_mul(1000);
        let old = Timestamp::from_micros(now.micros().saturating_sub(interval));
        let mut found = Found::default();
        for status in [Status::Surviving, Status::Contested] {
            self.add_oldest(space, (status, old), (&there, &uses), &mut found)
                .await?;
        }
        found.next = found.next.map(|tested| tested.after(interval));
        for id in uses.most(RIPE_MAX) {
            if found.ripe.iter().any(|it| it.row.id == id) {
                continue;
            }
            let Some(row) = self.store.statement(space, id).await? else {
                continue;
            };
            // A word was never tested.
            let said = row.is_held_on_word().then_some(row.claimed);
            if row.tested.or(said).is_some_and(|tested| tested <= old) {
                found
                    .ripe
                    .extend(self.retestable(space, row, &there, &uses).await?);
            }
        }
        let tested = |it: &Ripe| it.row.tested.unwrap_or(it.row.claimed);
        found.ripe.sort_by_key(|it| {
            (
                std::cmp::Reverse(urgency(it.recalled, tested(it), now)),
                it.row.number,
            )
        });
        Ok(found)
    }

    /// Adds those of a status that were not tested for longest; `next` is when the first one was tested that is too young.
    async fn add_oldest(
        &self,
        space: &Space,
        (status, old): (Status, Timestamp),
        (there, uses): (&BTreeSet<Instrument>, &Counted),
        found: &mut Found,
    ) -> Result<(), StoreError> {
        let (most, mut last) = (found.ripe.len() + RIPE_MAX, (Timestamp::from_micros(0), 0));
        loop {
            let rows = self
                .store
                .statements_by_age(space, status, last.0, PAGE)
                .await?;
            let is_last = rows.len() < PAGE as usize;
            let mut is_news = false;
            for row in rows {
                let Some(tested) = row.tested.filter(|tested| (*tested, row.number) > last) else {
                    continue;
                };
                (last, is_news) = ((tested, row.number), true);
                let Some(ripe) = self.retestable(space, row, there, uses).await? else {
                    continue;
                };
                if tested > old {
                    found.next = Some(found.next.map_or(tested, |next| next.min(tested)));
                    return Ok(());
                }
                found.ripe.push(ripe);
                if found.ripe.len() >= most {
                    return Ok(());
                }
            }
            if is_last || !is_news {
                return Ok(());
            }
        }
    }

    async fn retestable(
        &self,
        space: &Space,
        row: StatementRow,
        there: &BTreeSet<Instrument>,
        uses: &Counted,
    ) -> Result<Option<Ripe>, StoreError> {
        let Some(judged) = row
            .judged
            .clone()
            .filter(|_| is_at_rest(row.status, row.due))
        else {
            return Ok(None);
        };
        let can = match &judged.testable {
            Some(can) => can.clone(),
            // Judged by a server that did not write down what can test it.
            None => {
                let derived = folded(&*self.store, space, &row.id).await?.derived;
                // What a word says is derived when it is tested, once.
                let any = || match row.is_held_on_word() && judged.tries + judged.breaks == 0 {
                    true => Instrument::ALL.to_vec(),
                    false => Vec::new(),
                };
                derived.map_or_else(any, |derived| testable(&derived.predictions))
            }
        };
        let recalled = uses.of(&row.id);
        Ok(by_another(&judged, &can, there).map(|instrument| Ripe {
            row,
            judged,
            instrument,
            recalled,
        }))
    }
}

impl Bench<'_> {
    /// Has a few statements tested again that are the most urgent, as far as the calls of a day go. False: there is nothing now.
    pub async fn retest(&self) -> Result<bool, Lost> {
        let (trials, space, now) = (self.trials, &self.fence.space, time::now());
        let is_early = trials
            .resting()
            .get(space)
            .is_some_and(|resting| now < resting.not_before);
        if !trials.has_retests() || is_early {
            return Ok(false);
        }
        let Budget { mut left, more } = trials.budget(space, now).await?;
        let found = if left > 0 {
            trials.ripe(space, now).await?
        } else {
            Found {
                next: more,
                ..Found::default()
            }
        };
        let (mut begun, mut is_dear) = (0, false);
        for ripe in found.ripe {
            let trial = self.folded(&ripe.row.id).await?;
            let predictions = trial
                .derived
                .as_ref()
                .map_or(PREDICTIONS_MAX, |derived| derived.predictions.len());
            let readings = match trials.memory.two_of_three {
                false => 1,
                true => 3 - u64::from(ripe.judged.is_tested()),
            };
            let calls = predictions as u64 * readings + u64::from(trial.derived.is_none());
            if calls > left {
                is_dear = true;
                continue;
            }
            let judged = Judged {
                due: Some(now),
                retest: calls.max(1),
                ..ripe.word()
            };
            match self
                .say(
                    &mut OnTrial::unasked(ripe.row, trial),
                    vec![],
                    News::Judged(judged),
                )
                .await
            {
                // Something became of it meanwhile.
                Err(Lost::Store(StoreError::Unmet(_))) => {}
                said => said?,
            }
            left -= calls.min(left);
            begun += 1;
            if begun == AT_ONCE {
                break;
            }
        }
        if begun == 0 {
            let next = if is_dear {
                Some(more.unwrap_or_else(|| now.after(DAY)))
            } else {
                found.next
            };
            let pause = now.after(PAUSE);
            trials.resting().insert(
                space.clone(),
                Resting {
                    not_before: next.map_or(pause, |next| next.min(pause)),
                    next,
                },
            );
        }
        Ok(begun > 0)
    }
}

impl Ripe {
    /// What the log is told.
    fn word(&self) -> Judged {
        let tested = self
            .row
            .tested
            .map_or_else(|| "never".to_owned(), |tested| tested.to_string());
        let reason = format!(
            "it is tested again while nothing else is due: {} recalls returned it of late, its last test was {tested}, and {} has not carried it",
            self.recalled,
            self.instrument.as_str()
        );
        Judged {
            testable: self.judged.testable.clone(),
            ..word(&self.row, Outcome::Is(self.row.status), reason)
        }
    }
}
