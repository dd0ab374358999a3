//! What nothing but reflection could test is tried again once another instrument is there: a few statements at a time, each once for every new
//! instrument. The rule is in `event/method.rs`; here is who looks, after a start and whenever the trials of a space have nothing else to do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bench::{Bench, OnTrial, folded};
use super::{REACH, Trials, word};
use crate::event::draft::Draft;
use crate::event::fact::statement::Trials as Said;
use crate::event::method::{new_for, waits_for_an_instrument};
use crate::event::statement::{Instrument, Judged, Outcome};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::mind::turn_writer::Lost;
use crate::runtime::refused::Refused;
use crate::words::id::{Seq, Space};
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

impl Trials {
    /// Looks through all spaces once, after a start: whoever had no instrument then may have one now. Wakes the trials where there is something.
    pub async fn look_for_new_instruments(self: Arc<Self>) {
        let looked = async {
            for space in self.store.spaces_with_statements().await? {
                let with = self.instruments_now(&space).await?;
                let (found, _) = self.renewable(&space, &with, 0, 1).await?;
                if !found.is_empty() {
                    self.append(&space, vec![Draft::trials(Said::Due)]).await?;
                }
            }
            Ok::<(), Refused>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "statements that a new instrument could test were not looked for; a claim has them looked for again");
        }
    }

    /// The instruments that there are now, for some statements at least.
    async fn instruments_now(&self, space: &Space) -> Result<BTreeSet<Instrument>, StoreError> {
        let mut with = self.instruments();
        with.remove(&Instrument::Reflection);
        let people = self.memory.questions > 0 && !self.store.is_user_away(space).await?;
        with.extend(people.then_some(Instrument::User));
        Ok(with)
    }

    /// Statements behind a position that an instrument can test which was not there when they were tried, at most so many; and where to look on.
    async fn renewable(
        &self,
        space: &Space,
        with: &BTreeSet<Instrument>,
        mut after: Seq,
        most: usize,
    ) -> Result<(Vec<(StatementRow, Instrument)>, Option<Seq>), StoreError> {
        let mut found = Vec::new();
        if with.is_empty() {
            return Ok((found, None));
        }
        loop {
            let rows = self.store.statements(space, &Asked { after, limit: REACH, ..Asked::default() }).await?;
            let is_last = rows.len() < REACH as usize;
            for row in rows {
                after = row.number;
                found.extend(self.new_instrument(space, &row, with).await?.map(|instrument| (row, instrument)));
                if found.len() == most {
                    return Ok((found, Some(after)));
                }
            }
            if is_last {
                return Ok((found, None));
            }
        }
    }

    async fn new_instrument(
        &self,
        space: &Space,
        row: &StatementRow,
        with: &BTreeSet<Instrument>,
    ) -> Result<Option<Instrument>, StoreError> {
        let Some(judged) = &row.judged else { return Ok(None) };
        let may_be = waits_for_an_instrument(row.status, judged, row.due)
            && with.iter().any(|it| !judged.available.contains(it));
        if !may_be {
            return Ok(None);
        }
        let mut with = with.clone();
        if with.contains(&Instrument::User) && !self.has_people_for(space, row).await? {
            with.remove(&Instrument::User);
        }
        let trial = folded(&*self.store, space, &row.id).await?;
        let predictions = trial.derived.map(|derived| derived.predictions).unwrap_or_default();
        Ok(new_for(judged, &predictions, &with))
    }

    fn looked(&self, space: &Space) -> Looked {
        let all = self.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.get(space).cloned().unwrap_or_default()
    }
}

impl Bench<'_> {
    /// Has a few statements tried again that an instrument can test which was not there before. False: there are none.
    pub async fn renew(&self) -> Result<bool, Lost> {
        let space = &self.fence.space;
        let with = self.trials.instruments_now(space).await?;
        let before = self.trials.looked(space);
        let after = if before.with == with { before.upto } else { Some(0) };
        let Some(after) = after.filter(|_| !with.is_empty()) else { return Ok(false) };
        let (found, upto) = self.trials.renewable(space, &with, after, AT_ONCE).await?;
        let is_some = !found.is_empty();
        for (row, instrument) in found {
            let reason = format!("another instrument can test it now: {}", instrument.as_str());
            let judged = Judged { due: Some(time::now()), ..word(&row, Outcome::Is(row.status), reason) };
            let trial = self.folded(&row.id).await?;
            match self.say(&mut OnTrial { row, trial, records: Vec::new() }, vec![], News::Judged(judged)).await {
                // Something became of it meanwhile.
                Err(Lost::Store(StoreError::Unmet(_))) => {}
                said => said?,
            }
        }
        let mut all = self.trials.looked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.insert(space.clone(), Looked { with, upto });
        Ok(is_some)
    }
}
