//! What nothing but reflection could test is tried again once another instrument is there: a few
//! statements at a time, each once for every new instrument. The rule is in `event/method.rs`; here
//! is who looks, after a start and whenever the trials of a space have nothing else to do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::bench::{Bench, OnTrial};
use super::journal::{Journal, Stored, again, is_overtaken};
use super::people::{room_for_questions, somebody_may_answer};
use super::telling::{has_fallen, named_lately};
use super::{REACH, Trials};
use crate::event::method::{new_for, testable, waits_for_an_instrument};
use crate::event::statement::{Instrument, Judged};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::mind::turn_writer::Lost;
use crate::words::id::{Seq, ThreadId};

/// Most statements that become due in one go.
const AT_ONCE: usize = 8;

/// The instruments beside reflection that there are, and how many questions people may be asked.
struct There {
    with: BTreeSet<Instrument>,
    room: usize,
}

impl Trials {
    /// Looks through all spaces once, after a start: whoever had no instrument then may have one
    /// now. Wakes the trials where there is something.
    pub async fn look_for_new_instruments(self: Arc<Self>) {
        let looked = async {
            for space in self.ground.store.spaces_with_statements().await? {
                let journal = self.journal(&space);
                if self.has_something_to_retest(journal).await?
                    || has_something_to_tell(journal).await?
                    || self.has_something_to_renew(journal).await?
                {
                    journal.wake().await?;
                }
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "statements that a new instrument could test were not looked for; a claim has them looked for again");
        }
    }

    /// Returns true if an instrument can test something that was not there when it was tried.
    async fn has_something_to_renew(&self, journal: Journal<'_>) -> Stored<bool> {
        let there = self.instruments_now(journal).await?;
        let mut next = Some(0);
        while let Some(after) = next {
            let found;
            (found, next) = self.renewable(journal, &there, after, 1).await?;
            if !found.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The instruments that there are now, for some statements at least.
    async fn instruments_now(&self, journal: Journal<'_>) -> Stored<There> {
        let mut with = self.instruments();
        with.remove(&Instrument::Reflection);
        let room = room_for_questions(journal, self.memory().questions).await?;
        with.extend((room > 0).then_some(Instrument::User));
        Ok(There { with, room })
    }

    /// Statements behind a position that an instrument can test which was not there when they were
    /// tried, at most so many, and no more for people than they have room for; and where to look
    /// on. Of many statements a part is looked at: what is due meanwhile does not wait.
    async fn renewable(
        &self,
        journal: Journal<'_>,
        there: &There,
        after: Seq,
        most: usize,
    ) -> Stored<(Vec<(StatementRow, Instrument)>, Option<Seq>)> {
        let (mut found, mut room) = (Vec::new(), there.room);
        if there.with.is_empty() {
            return Ok((found, None));
        }
        let asked = Asked {
            after,
            limit: REACH,
            ..Asked::default()
        };
        let rows = journal.store.statements(journal.space, &asked).await?;
        let last = rows.last().filter(|_| rows.len() == REACH as usize);
        let next = last.map(|row| row.number);
        for row in rows {
            let number = row.number;
            let waits = |it: &&Judged| {
                waits_for_an_instrument(row.status, it, row.due, self.memory().reopenings)
            };
            let Some(judged) = row.judged.as_ref().filter(waits) else {
                continue;
            };
            let Some(instrument) = newly_testable(journal, &row, judged, &there.with).await? else {
                continue;
            };
            room -= usize::from(instrument == Instrument::User);
            found.push((row, instrument));
            if found.len() == most || there.with.contains(&Instrument::User) && room == 0 {
                return Ok((found, Some(number)));
            }
        }
        Ok((found, next))
    }

    /// Returns true if there is an instrument now that was not there when a statement was tried
    /// last.
    pub(super) async fn has_new_instrument(
        &self,
        journal: Journal<'_>,
        row: &StatementRow,
    ) -> Stored<bool> {
        let Some(judged) = &row.judged else {
            return Ok(false);
        };
        let there = self.instruments_now(journal).await?;
        let new = newly_testable(journal, row, judged, &there.with).await?;
        Ok(new.is_some())
    }
}

/// Returns true if something that had fallen was named since threads were told last: nobody may
/// have lived to say so.
async fn has_something_to_tell(journal: Journal<'_>) -> Stored<bool> {
    let thread = ThreadId::of_trials();
    let Some(row) = journal.store.thread(journal.space, &thread).await? else {
        return Ok(false);
    };
    let after = row.state.told.unwrap_or(row.handled);
    let named = named_lately(journal, (after, Seq::MAX - 1)).await?;
    has_fallen(journal, named.into_keys()).await
}

/// The first of some instruments that was not there when a statement was tried last, and that can
/// say something of it.
async fn newly_testable(
    journal: Journal<'_>,
    row: &StatementRow,
    judged: &Judged,
    with: &BTreeSet<Instrument>,
) -> Stored<Option<Instrument>> {
    let mut with = with.clone();
    with.retain(|it| !judged.available.contains(it));
    if !somebody_may_answer(row) {
        with.remove(&Instrument::User);
    }
    if with.is_empty() {
        return Ok(None);
    }
    let testable = testable_of(journal, row, judged).await?;
    Ok(new_for(judged, &testable, &with))
}

/// Returns the instruments that can say something of a statement.
pub(super) async fn testable_of(
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

impl Bench<'_> {
    /// Has a few statements tried again that an instrument can test which was not there before.
    /// False: there are no more to look at.
    pub async fn renew(&self) -> Result<bool, Lost> {
        let (trials, journal) = (self.trials, self.journal);
        let there = trials.instruments_now(journal).await?;
        let (with, upto) = trials.kept(journal.space, |kept| kept.looked.clone());
        let after = if with == there.with { upto } else { Some(0) };
        let (mut found, mut upto) = (Vec::new(), None);
        if let Some(after) = after {
            (found, upto) = trials.renewable(journal, &there, after, AT_ONCE).await?;
        }
        let goes_on = !found.is_empty() || upto.is_some();
        for (row, instrument) in found {
            let by = instrument.as_str();
            let judged = again(&row, format!("another instrument can test it now: {by}"));
            self.begin_again(OnTrial::of(journal, row).await?, judged)
                .await?;
        }
        trials.kept(journal.space, |kept| kept.looked = (there.with, upto));
        Ok(goes_on)
    }

    /// Has a statement tried again, unless something became of it meanwhile.
    pub async fn begin_again(&self, mut on: OnTrial, judged: Judged) -> Result<(), Lost> {
        match self.say(&mut on, vec![], News::Judged(judged)).await {
            Err(lost) if is_overtaken(&lost) => Ok(()),
            said => said,
        }
    }
}
