//! The bench tries one statement after the other under the lease of the space's trials: it folds what the log has of a statement, does what the
//! fold says, and appends what came of it. Several statements are tried at a time; what one comes to is settled by one at a time.

use std::time::Duration;

use tokio::sync::Mutex;

use super::Trials;
use super::asking::{Asker, Said};
use super::code;
use super::said::no_answer;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::statement::{self, StatementFact};
use crate::event::statement::{Instrument, Judged, Outcome, Reading, Status, Triple, Valid};
use crate::event::trial::{Found, News, Rules, Step, Trial};
use crate::log::error::StoreError;
use crate::log::fence::Fence;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::log::query::{Order, Query};
use crate::log::thread_row::ThreadRow;
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::words::failure::Failure;
use crate::words::id::{Seq, Space};
use crate::words::time;

/// Events of one statement that are folded.
const EVENTS_MAX: u32 = 500;
/// Steps of one trial: more than its predictions can need.
const STEPS_MAX: usize = 64;

/// See the module.
pub(super) struct Bench<'a> {
    pub trials: &'a Trials,
    pub fence: Fence,
    pub writer: TurnWriter,
    pub asker: Asker<'a>,
    /// Held while something is settled: what contradicts what must not change meanwhile.
    pub settling: Mutex<()>,
}

/// A statement on the bench.
pub(super) struct OnTrial {
    pub row: StatementRow,
    pub trial: Trial,
}

impl Bench<'_> {
    /// Tries a statement to an outcome, or until it waits. What was overtaken is left as it is: it is looked at again.
    pub async fn try_one(&self, row: StatementRow) -> Result<(), Lost> {
        match self.try_on(row).await {
            Err(Lost::Store(StoreError::Unmet(_))) => Ok(()),
            ended => ended,
        }
    }

    async fn try_on(&self, row: StatementRow) -> Result<(), Lost> {
        let trial = self.folded(&row.id).await?;
        let mut on = OnTrial { row, trial };
        if on.row.status == Status::Retracted {
            // Somebody answered what was asked before: what an operator withdrew is not tried.
            let reason = on.row.judged.as_ref().map(|judged| judged.reason.clone()).unwrap_or_default();
            let by = on.row.judged.as_ref().and_then(|judged| judged.by.clone());
            let judged = Judged { by, ..super::word(&on.row, Outcome::Is(Status::Retracted), reason) };
            return self.say(&mut on, vec![], News::Judged(judged)).await;
        }
        for _ in 0..STEPS_MAX {
            let now = time::now();
            let rules = self.rules(&on).await?;
            match on.trial.next(&rules, now) {
                // What is left is due, and goes on when there are calls again.
                Step::Derive if !self.may_ask() => return Ok(()),
                Step::Read { instrument: Instrument::Knowledge | Instrument::Reflection, .. } if !self.may_ask() => {
                    return Ok(());
                }
                Step::Derive => {
                    if !self.derive(&mut on, &rules).await? {
                        return Ok(());
                    }
                }
                Step::Read { prediction, instrument, choice } => {
                    self.read(&mut on, prediction, instrument, choice).await?
                }
                Step::Expired { prediction } => self.expire(&mut on, prediction).await?,
                Step::Wait(_) => return Ok(()),
                Step::Judge(found) => return self.judge(&on, &found, &rules).await,
            }
        }
        // Cannot be: a prediction has three readings at most. It must not go round for ever.
        let rules = self.rules(&on).await?;
        self.judge(&on, &Found::Undecided, &rules).await
    }

    /// What the log has of a statement.
    pub async fn folded(&self, id: &str) -> Result<Trial, StoreError> {
        folded(&*self.trials.store, &self.fence.space, id).await
    }

    /// Whether a call to a model may be made now.
    fn may_ask(&self) -> bool {
        self.trials.allowance.take(&self.fence.space, time::now())
    }

    /// The rules, with the instruments that there are for this statement.
    async fn rules(&self, on: &OnTrial) -> Result<Rules, StoreError> {
        let mut rules = self.trials.rules();
        if self.trials.has_people_for(&self.fence.space, &on.row).await? {
            rules.available.insert(Instrument::User);
        }
        Ok(rules)
    }

    /// Appends something about a statement, and takes it into its fold.
    pub async fn say(&self, on: &mut OnTrial, before: Vec<Draft>, news: News) -> Result<(), Lost> {
        let draft = Draft::statement(&on.row.thread, &on.row.id, news.clone()).only_if(super::stands(&on.row));
        let stored = self.writer.write(before.into_iter().chain([draft]).collect()).await?;
        on.row.changed = stored.last().map_or(on.row.changed, |shown| shown.event.seq);
        on.trial.apply(news);
        Ok(())
    }

    /// Derives what follows from a claim. False: there is nothing more to do.
    async fn derive(&self, on: &mut OnTrial, rules: &Rules) -> Result<bool, Lost> {
        if self.join_same_text(on).await? {
            return Ok(false);
        }
        let Said { record, said } = self.asker.derive(&on.row.id, &on.row.text, time::now()).await?;
        let derivation = match said {
            Ok(derive) => derive.read(),
            Err(failure) => return self.give_up(on, record, &failure, rules).await.map(|()| false),
        };
        let draftlike = match derivation {
            Ok(draftlike) => draftlike,
            Err(why) => return self.refuse(on, vec![record], why).await.map(|()| false),
        };
        let _settling = self.settling.lock().await;
        let mut known = Vec::new();
        for triple in draftlike.predictions.iter().filter_map(|(_, triple)| triple.as_ref()) {
            known.extend(self.held_about(triple).await?);
        }
        let derived = draftlike.derived(&on.row.text, &known, rules);
        if derived.predictions.is_empty() {
            let why = format!("no prediction that could be tested follows from it. {}", derived.rejected.join("; "));
            return self.refuse(on, vec![record], why.trim().to_owned()).await.map(|()| false);
        }
        let same = match &derived.triple {
            Some(triple) => self.same_as(&on.row, triple, derived.valid).await?,
            None => None,
        };
        if let Some(same) = same {
            return self.join(on, same, vec![record]).await.map(|()| false);
        }
        self.say(on, vec![record], News::Derived(derived)).await?;
        Ok(true)
    }

    /// No prediction could be derived: another time, perhaps.
    async fn give_up(&self, on: &mut OnTrial, record: Draft, failure: &Failure, rules: &Rules) -> Result<(), Lost> {
        let judged = on.trial.judged(&Found::Undecided, rules, time::now());
        let judged = Judged { reason: format!("nothing was derived from it: {}", failure.text), ..judged };
        self.say(on, vec![record], News::Judged(judged)).await
    }

    async fn refuse(&self, on: &mut OnTrial, before: Vec<Draft>, why: String) -> Result<(), Lost> {
        let judged = super::word(&on.row, Outcome::Refused, why);
        self.say(on, before, News::Judged(judged)).await
    }

    /// Reads an instrument for a prediction.
    async fn read(
        &self,
        on: &mut OnTrial,
        prediction: usize,
        instrument: Instrument,
        choice: String,
    ) -> Result<(), Lost> {
        let of = on.trial.derived.as_ref().and_then(|derived| derived.predictions.get(prediction));
        let Some(of) = of.cloned() else { return Ok(()) };
        let (records, reading) = match (instrument, &of.code) {
            (Instrument::User, _) => return self.ask_people(on, &of, (prediction, choice)).await,
            (Instrument::Knowledge, _) => self.look_up(on, &of, (prediction, choice)).await?,
            (Instrument::Code, Some(code)) => {
                let (space, limit) = (&self.fence.space, Duration::from_millis(self.asker.answer_ms));
                (vec![], code::read(&self.trials.code, space, code, limit, (prediction, choice)).await)
            }
            _ => self.reflect(on, &of.text, (prediction, choice)).await?,
        };
        self.say(on, records, News::Read(reading)).await
    }

    /// Has a model look for a counterexample.
    async fn reflect(
        &self,
        on: &OnTrial,
        text: &str,
        (prediction, choice): (usize, String),
    ) -> Result<(Vec<Draft>, Reading), Lost> {
        let about = (on.row.text.as_str(), on.trial.valid());
        let said = self.asker.reflect(&on.row.id, about, text, time::now()).await?;
        let reading: Reading = match said.said {
            Ok(reflect) => reflect.reading(prediction, choice),
            Err(failure) => no_answer(prediction, Instrument::Reflection, choice, &failure.text),
        };
        Ok((vec![said.record], reading))
    }

    /// What is held of a subject and a relation.
    pub async fn held_about(&self, triple: &Triple) -> Result<Vec<(Triple, Valid)>, StoreError> {
        let rows = super::about(&*self.trials.store, &self.fence.space, triple).await?;
        let held = rows.into_iter().filter(|row| row.status.is_held());
        Ok(held.filter_map(|row| Some((row.triple?, row.valid))).collect())
    }
}

/// What the log has of a statement.
pub(super) async fn folded(store: &dyn Store, space: &Space, id: &str) -> Result<Trial, StoreError> {
    let tags = vec![format!("{}:{id}", statement::TAG)];
    let query = Query { tags, order: Order::Ascending, limit: EVENTS_MAX, ..Query::default() };
    let events = store.events(space, &query).await?;
    let mut trial = Trial::default();
    events.iter().filter_map(|event| news_of(event, id)).for_each(|news| trial.apply(news));
    Ok(trial)
}

/// What an event says that a trial is a fold of.
pub(super) fn news_of(event: &Event, id: &str) -> Option<News> {
    match event.fact() {
        Fact::Statement(StatementFact { statement, what: statement::Said::News(news) }) if statement == id => {
            Some(*news)
        }
        _ => None,
    }
}

/// Up to where the thread of the trials was woken.
pub(super) fn woken(row: Option<&ThreadRow>) -> Seq {
    row.map_or(0, |row| row.woken)
}
