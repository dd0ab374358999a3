//! What nothing but reflection could test is tried again once another instrument is there: a few statements at a time, each once for every new
//! instrument. The rule is in `event/method.rs`; here is who looks, after a start and whenever the trials of a space have nothing else to do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bench::{Bench, OnTrial, folded};
use super::people::somebody_may_answer;
use super::telling::{has_fallen, named_lately};
use super::{REACH, Trials, word};
use crate::event::draft::Draft;
use crate::event::fact::statement::Trials as Said;
use crate::event::method::{new_for, testable, waits_for_an_instrument};
use crate::event::statement::{Instrument, Judged, Outcome, Status};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::mind::turn_writer::Lost;
use crate::runtime::refused::Refused;
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time;

/// Most statements that become due in one go.
const AT_ONCE: usize = 8;

/// How far a space was looked through.
#[derive(Debug, Clone, Default)]
pub(super) struct Looked {
    /// With these instruments.
    with: BTreeSet<Instrument>,
    /// Up to there; none: to its end.
    upto: Option<Seq>,
}

/// The instruments beside reflection that there are, and how many questions people may be asked.
struct There {
    with: BTreeSet<Instrument>,
    room: usize,
}

impl Trials {
    /// Looks through all spaces once, after a start: whoever had no instrument then may have one now. Wakes the trials where there is something.
    pub async fn look_for_new_instruments(self: Arc<Self>) {
        let looked = async {
            for space in self.store.spaces_with_statements().await? {
                if self.has_something_to_retest(&space).await?
                    || self.has_something_to_tell(&space).await?
                {
                    self.append(&space, vec![Draft::trials(Said::Due)]).await?;
                    continue;
                }
                let there = self.instruments_now(&space).await?;
                let mut next = Some(0);
                while let Some(after) = next {
                    let found;
                    (found, next) = self.renewable(&space, &there, after, 1).await?;
                    if !found.is_empty() {
                        self.append(&space, vec![Draft::trials(Said::Due)]).await?;
                        break;
                    }
                }
            }
            Ok::<(), Refused>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "statements that a new instrument could test were not looked for; a claim has them looked for again");
        }
    }

    /// Whether something that had fallen was named since threads were told last: nobody may have lived to say so.
    async fn has_something_to_tell(&self, space: &Space) -> Result<bool, StoreError> {
        let Some(row) = self.store.thread(space, &ThreadId::of_trials()).await? else {
            return Ok(false);
        };
        let after = row.state.told.unwrap_or(row.handled);
        let named = named_lately(&*self.store, space, (after, Seq::MAX - 1)).await?;
        has_fallen(&*self.store, space, named.into_keys()).await
    }

    /// The instruments that there are now, for some statements at least.
    async fn instruments_now(&self, space: &Space) -> Result<There, StoreError> {
        let mut with = self.instruments();
        with.remove(&Instrument::Reflection);
        let room = self.room_for_questions(space).await?;
        with.extend((room > 0).then_some(Instrument::User));
        Ok(There { with, room })
    }

    /// Statements behind a position that an instrument can test which was not there when they were tried, at most so many, and no more for people
    /// than they have room for; and where to look on. Of many statements a part is looked at: what is due meanwhile does not wait.
    async fn renewable(
        &self,
        space: &Space,
        there: &There,
        mut after: Seq,
        most: usize,
    ) -> Result<(Vec<(StatementRow, Instrument)>, Option<Seq>), StoreError> {
        let (mut found, mut room) = (Vec::new(), there.room);
        if there.with.is_empty() {
            return Ok((found, None));
        }
        let rows = self
            .store
            .statements(
                space,
                &Asked {
                    after,
                    limit: REACH,
                    ..Asked::default()
                },
            )
            .await?;
        let is_last = rows.len() < REACH as usize;
        for row in rows {
            after = row.number;
            let Some(instrument) = self.new_instrument(space, &row, &there.with).await? else {
                continue;
            };
            room -= usize::from(instrument == Instrument::User);
            found.push((row, instrument));
            if found.len() == most || there.with.contains(&Instrument::User) && room == 0 {
                return Ok((found, Some(after)));
            }
        }
        Ok((found, (!is_last).then_some(after)))
    }

    async fn new_instrument(
        &self,
        space: &Space,
        row: &StatementRow,
        with: &BTreeSet<Instrument>,
    ) -> Result<Option<Instrument>, StoreError> {
        let Some(judged) = &row.judged else {
            return Ok(None);
        };
        let may_be = waits_for_an_instrument(row.status, judged, row.due, self.memory.reopenings)
            && with.iter().any(|it| !judged.available.contains(it));
        if !may_be {
            return Ok(None);
        }
        self.newly_testable(space, row, judged, with).await
    }

    /// The first of some instruments that was not there when a statement was tried last, and that can say something of it.
    async fn newly_testable(
        &self,
        space: &Space,
        row: &StatementRow,
        judged: &Judged,
        with: &BTreeSet<Instrument>,
    ) -> Result<Option<Instrument>, StoreError> {
        let mut with = with.clone();
        if !somebody_may_answer(row) {
            with.remove(&Instrument::User);
        }
        if let Some(testable) = &judged.testable {
            return Ok(new_for(judged, testable, &with));
        }
        // Judged by a server that did not write down what can test it.
        let derived = folded(&*self.store, space, &row.id).await?.derived;
        let testable = derived
            .map(|derived| testable(&derived.predictions))
            .unwrap_or_default();
        Ok(new_for(judged, &testable, &with))
    }

    /// Whether there is an instrument now that was not there when a statement was tried last.
    pub(super) async fn has_new_instrument(
        &self,
        space: &Space,
        row: &StatementRow,
    ) -> Result<bool, StoreError> {
        let Some(judged) = &row.judged else {
            return Ok(false);
        };
        let there = self.instruments_now(space).await?;
        Ok(self
            .newly_testable(space, row, judged, &there.with)
            .await?
            .is_some())
    }

    fn looked(&self, space: &Space) -> Looked {
        let all = self
            .looked
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.get(space).cloned().unwrap_or_default()
    }

    fn has_looked(&self, space: &Space, with: BTreeSet<Instrument>, upto: Option<Seq>) {
        let mut all = self
            .looked
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.insert(space.clone(), Looked { with, upto });
    }
}

impl Bench<'_> {
    /// Has a few statements tried again that an instrument can test which was not there before. False: there are no more to look at.
    pub async fn renew(&self) -> Result<bool, Lost> {
        let space = &self.fence.space;
        let there = self.trials.instruments_now(space).await?;
        let before = self.trials.looked(space);
        let after = if before.with == there.with {
            before.upto
        } else {
            Some(0)
        };
        let Some(after) = after.filter(|_| !there.with.is_empty()) else {
            self.trials.has_looked(space, there.with, None);
            return Ok(false);
        };
        let (found, upto) = self.trials.renewable(space, &there, after, AT_ONCE).await?;
        let goes_on = !found.is_empty() || upto.is_some();
        for (row, instrument) in found {
            let reason = format!(
                "another instrument can test it now: {}",
                instrument.as_str()
            );
            let judged = word(&row, Outcome::Is(row.status), reason);
            let reopened = judged.reopened + u64::from(row.status == Status::Falsified);
            let judged = Judged {
                due: Some(time::now()),
                reopened,
                ..judged
            };
            let trial = self.folded(&row.id).await?;
            match self
                .say(
                    &mut OnTrial::unasked(row, trial),
                    vec![],
                    News::Judged(judged),
                )
                .await
            {
                // Something became of it meanwhile.
                Err(Lost::Store(StoreError::Unmet(_))) => {}
                said => said?,
            }
        }
        self.trials.has_looked(space, there.with, upto);
        Ok(goes_on)
    }
}
