//! The bench tries one statement after the other under the lease of the space's trials: it folds what the log has of a statement, does what the
//! fold says, and appends what came of it. Several statements are tried at a time; what one comes to is settled by one at a time.

use std::time::Duration;

use tokio::sync::Mutex;

use super::asking::{Asker, Case, Said};
use super::code;
use super::contesting::contradicting;
use super::said::{Draftlike, Silent, no_answer};
use super::story::story;
use super::{TRIES, Trials};
use crate::event::draft::Draft;
use crate::event::entity::Names;
use crate::event::fact::Fact;
use crate::event::fact::statement::{self, StatementFact};
use crate::event::statement::{Instrument, Judged, Reading, Status, Triple, Valid};
use crate::event::trial::{Found, News, Rules, Step, Trial};
use crate::log::error::StoreError;
use crate::log::fence::Fence;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::log::thread_row::ThreadRow;
use crate::mind::turn_writer::{Lost, TurnWriter};
use crate::thread::quota::Purse;
use crate::words::id::{Seq, Space};
use crate::words::time::{self, Timestamp};

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
    /// Held while people are asked something: no more questions are open than may be.
    pub asking: Mutex<()>,
}

/// A statement on the bench.
pub(super) struct OnTrial {
    pub row: StatementRow,
    pub trial: Trial,
    /// Records of calls that were made for it and are not stored yet: the next thing that is said of it takes them along.
    pub records: Vec<Draft>,
    /// The calls for it draw on this.
    pub purse: Purse,
}

impl OnTrial {
    /// A statement that is not asked about.
    pub fn unasked(row: StatementRow, trial: Trial) -> Self {
        Self {
            row,
            trial,
            records: Vec::new(),
            purse: Purse::default(),
        }
    }

    /// The statement as models are asked about it.
    pub fn case(&self) -> Case<'_> {
        Case {
            id: &self.row.id,
            text: &self.row.text,
            valid: self.trial.valid(),
            purse: &self.purse,
        }
    }
}

impl Bench<'_> {
    /// Tries a statement to an outcome, or until it waits. What was overtaken is left as it is: it is looked at again.
    pub async fn try_one(&self, row: StatementRow) -> Result<(), Lost> {
        let trial = self.folded(&row.id).await?;
        let purse = self.purse_of(&trial).await?;
        let mut on = OnTrial {
            purse,
            ..OnTrial::unasked(row, trial)
        };
        match self.try_on(&mut on).await {
            // What was overtaken was asked all the same.
            Err(Lost::Store(StoreError::Unmet(_))) => self.writer.write(on.records).await.map(drop),
            ended => ended,
        }
    }

    async fn try_on(&self, on: &mut OnTrial) -> Result<(), Lost> {
        if let Some(judged) = on
            .row
            .judged
            .clone()
            .filter(|judged| is_left(on.row.status, judged))
        {
            // Somebody answered what was asked before.
            let again = super::word(&on.row, judged.outcome, judged.reason);
            return self
                .say(
                    on,
                    vec![],
                    News::Judged(Judged {
                        by: judged.by,
                        ..again
                    }),
                )
                .await;
        }
        for _ in 0..STEPS_MAX {
            let now = time::now();
            let rules = self.rules(on).await?;
            let step = on.trial.next(&rules, now);
            if asks_a_model(&step)
                && let Some(spent) = on.purse.spent()
            {
                return self.leave(on, spent.text, &rules).await;
            }
            match step {
                // What is left is due, and goes on when there are calls again.
                step if asks_a_model(&step) && !self.may_ask() => return Ok(()),
                Step::Derive => {
                    if !self.derive(on, &rules).await? {
                        return Ok(());
                    }
                }
                Step::Read {
                    prediction,
                    instrument,
                    choice,
                } => self.read(on, prediction, instrument, choice).await?,
                Step::Expired { prediction } => self.expire(on, prediction).await?,
                Step::Wait(_) => return Ok(()),
                Step::Judge(found) => return self.judge(on, &found, &rules).await,
            }
        }
        // Cannot be: a prediction has three readings at most. It must not go round for ever.
        let rules = self.rules(on).await?;
        self.judge(on, &Found::Undecided, &rules).await
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
    pub async fn rules(&self, on: &OnTrial) -> Result<Rules, StoreError> {
        let mut rules = self.trials.rules();
        // People are not asked of the server's own accord.
        if !on.trial.is_retest
            && self
                .trials
                .has_people_for(&self.fence.space, &on.row)
                .await?
        {
            rules.available.insert(Instrument::User);
        }
        Ok(rules)
    }

    /// Appends something about a statement with the records of the calls for it, and takes it into its fold. What changed a statement meanwhile and
    /// leaves its trial as it was, as another source does, is in nobody's way.
    pub async fn say(&self, on: &mut OnTrial, before: Vec<Draft>, news: News) -> Result<(), Lost> {
        for _ in 1..TRIES {
            match self.say_once(on, before.clone(), news.clone()).await {
                Err(Lost::Store(StoreError::Unmet(_))) if self.is_as_before(on).await? => {}
                said => return said,
            }
        }
        self.say_once(on, before, news).await
    }

    /// The same, if nothing changed the statement meanwhile.
    pub async fn say_once(
        &self,
        on: &mut OnTrial,
        before: Vec<Draft>,
        news: News,
    ) -> Result<(), Lost> {
        let draft = Draft::statement(&on.row.thread, &on.row.id, news.clone())
            .only_if(super::stands(&on.row));
        let drafts = on
            .records
            .iter()
            .cloned()
            .chain(before)
            .chain([draft])
            .collect();
        let stored = self.writer.write(drafts).await?;
        on.records.clear();
        on.row.changed = stored
            .last()
            .map_or(on.row.changed, |shown| shown.event.seq);
        on.trial.apply(news);
        Ok(())
    }

    /// Looks at a statement anew. Whether it is there, and nothing has become of its trial.
    pub async fn is_as_before(&self, on: &mut OnTrial) -> Result<bool, StoreError> {
        // The row before the fold: what is said between the two is in the way again.
        let Some(row) = self
            .trials
            .store
            .statement(&self.fence.space, &on.row.id)
            .await?
        else {
            return Ok(false);
        };
        on.row = row;
        Ok(self.folded(&on.row.id).await? == on.trial)
    }

    /// Derives what follows from a claim. False: there is nothing more to do.
    async fn derive(&self, on: &mut OnTrial, rules: &Rules) -> Result<bool, Lost> {
        // A word that is held stays what it is, whatever a model makes of it: only a reading refutes it.
        let is_held = on.row.status.is_held();
        if !is_held && self.join_same_text(on).await? {
            return Ok(false);
        }
        let Said { record, said } = self.asker.derive(&on.case(), time::now()).await?;
        on.records.push(record);
        let _settling = self.settling.lock().await;
        let derivation = match said {
            Ok(derive) => derive.read(),
            Err(silent) => return self.give_up(on, &silent, rules).await.map(|()| false),
        };
        let draftlike = match derivation {
            Ok(draftlike) => draftlike,
            Err(why) if is_held => return self.leave(on, why, rules).await.map(|()| false),
            Err(why) => return self.refuse(on, why).await.map(|()| false),
        };
        let now = time::now();
        let known = self.known(&draftlike, now).await?;
        let derived = draftlike.derived(&on.row.text, &known, rules, now);
        if derived.predictions.is_empty() {
            let why = format!(
                "no prediction that could be tested follows from it. {}",
                derived.rejected.join("; ")
            );
            let why = why.trim().to_owned();
            // What a person has said is kept though nothing can test it.
            return match on.row.word() {
                Some(_) => self.leave(on, why, rules).await.map(|()| false),
                None => self.refuse(on, why).await.map(|()| false),
            };
        }
        let same = match derived.triple.as_ref().filter(|_| !is_held) {
            Some(triple) => self.same_as(&on.row, triple, derived.valid).await?,
            None => None,
        };
        if let Some(same) = same {
            return self.join(on, same).await.map(|()| false);
        }
        self.say(on, vec![], News::Derived(derived)).await?;
        Ok(true)
    }

    /// The purse of a statement's trial: that of the event from outside which its claim goes back to. The server pays for retests.
    async fn purse_of(&self, trial: &Trial) -> Result<Purse, StoreError> {
        let claim = trial.claim.as_ref().filter(|_| !trial.is_retest);
        let (space, thread) = (&self.fence.space, &self.fence.thread);
        let root = claim.and_then(|claim| claim.root);
        let purse = self.trials.quotas.open(space, thread, root, false);
        purse.read().await?;
        Ok(purse)
    }

    /// Its trial comes to nothing: it stays as untested as it is.
    async fn leave(&self, on: &mut OnTrial, why: String, rules: &Rules) -> Result<(), Lost> {
        let judged = on.trial.judged(&Found::Undecided, rules, time::now());
        let judged = Judged {
            reason: why,
            ..judged
        };
        self.say(on, vec![], News::Judged(judged)).await
    }

    /// No prediction could be derived: another time, perhaps.
    async fn give_up(&self, on: &mut OnTrial, silent: &Silent, rules: &Rules) -> Result<(), Lost> {
        let found = if silent.broke {
            Found::Broken
        } else {
            Found::Undecided
        };
        let judged = on.trial.judged(&found, rules, time::now());
        let judged = Judged {
            reason: format!("nothing was derived from it: {}", silent.why),
            ..judged
        };
        self.say(on, vec![], News::Judged(judged)).await
    }

    /// Reads an instrument for a prediction.
    async fn read(
        &self,
        on: &mut OnTrial,
        prediction: usize,
        instrument: Instrument,
        choice: String,
    ) -> Result<(), Lost> {
        let of = on
            .trial
            .derived
            .as_ref()
            .and_then(|derived| derived.predictions.get(prediction));
        let Some(of) = of.cloned() else { return Ok(()) };
        let reading = match (instrument, &of.code) {
            (Instrument::User, _) => return self.ask_people(on, &of, (prediction, choice)).await,
            (Instrument::Knowledge, _) => self.look_up(on, &of, (prediction, choice)).await?,
            (Instrument::Code, Some(code)) => {
                let (space, limit) = (
                    &self.fence.space,
                    Duration::from_millis(self.asker.answer_ms),
                );
                code::read(&self.trials.code, space, code, limit, (prediction, choice)).await
            }
            _ => self.reflect(on, &of.text, (prediction, choice)).await?,
        };
        self.say(on, vec![], News::Read(reading)).await
    }

    /// Has a model look for a counterexample.
    async fn reflect(
        &self,
        on: &mut OnTrial,
        text: &str,
        (prediction, choice): (usize, String),
    ) -> Result<Reading, Lost> {
        let said = self.asker.reflect(&on.case(), text, time::now()).await?;
        on.records.push(said.record);
        Ok(match said.said {
            Ok(reflect) => reflect.reading(prediction, choice),
            Err(silent) => no_answer(prediction, Instrument::Reflection, choice, &silent),
        })
    }

    /// What is held and contradicts predictions, by the names that they are said with.
    async fn known(
        &self,
        of: &Draftlike,
        now: Timestamp,
    ) -> Result<Vec<(Triple, Valid)>, StoreError> {
        let mut known = Vec::new();
        for triple in of
            .predictions
            .iter()
            .filter_map(|(_, triple)| triple.as_ref())
        {
            for status in [Status::Surviving, Status::Contested] {
                let predicted = Triple {
                    single: false,
                    ..triple.clone()
                };
                let edge = (&predicted, of.time(now));
                let rows = contradicting(
                    &*self.trials.store,
                    &self.fence.space,
                    &Names::default(),
                    edge,
                    status,
                    1,
                )
                .await?;
                // A word is no ground to refuse a prediction.
                let rows = rows.into_iter().filter(|row| !row.is_held_on_word());
                known.extend(rows.filter_map(|row| Some((row.triple?, row.valid))));
            }
        }
        Ok(known)
    }
}

/// Returns true if a step of a trial asks a model.
const fn asks_a_model(step: &Step) -> bool {
    let is_asked = matches!(
        step,
        Step::Read {
            instrument: Instrument::Knowledge | Instrument::Reflection,
            ..
        }
    );
    is_asked || matches!(step, Step::Derive)
}

/// Whether nobody tries a statement: it was withdrawn, it has ended, or it has lost its ground and nobody has claimed it again.
fn is_left(status: Status, judged: &Judged) -> bool {
    match status {
        Status::Retracted | Status::Ended => true,
        status => status == Status::Untested && judged.due.is_none(),
    }
}

/// What the log has of a statement.
pub(super) async fn folded(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<Trial, StoreError> {
    let mut trial = Trial::default();
    for event in story(store, space, id).await? {
        match event.fact() {
            Fact::Statement(StatementFact { statement, what }) if statement == id => match what {
                statement::Said::News(news) => trial.apply(*news),
                statement::Said::Sourced(_) => trial.sourced(),
                statement::Said::Grounded(_) => {}
            },
            _ => {}
        }
    }
    Ok(trial)
}

/// Up to where the thread of the trials was woken.
pub(super) fn woken(row: Option<&ThreadRow>) -> Seq {
    row.map_or(0, |row| row.woken)
}
