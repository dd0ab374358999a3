//! One statement is tried after the other: the log's events of it are folded, what the fold says is
//! done, and what came of it is appended. Several statements are tried at a time; what one comes to
//! is settled by one at a time.

use std::time::Duration;

use super::bench::{Bench, OnTrial};
use super::code;
use super::contesting::contradicting;
use super::journal::{Stored, is_overtaken, word};
use super::said::{Draftlike, answered};
use crate::event::entity::Names;
use crate::event::statement::{Derived, Instrument, Judged, Reading, Status, Triple, Valid};
use crate::event::trial::{Found, News, Rules, Step};
use crate::log::projections::statements::StatementRow;
use crate::mind::turn_writer::Lost;
use crate::words::time::{self, Timestamp};

/// Steps of one trial: more than its predictions can need.
const STEPS_MAX: usize = 64;

impl Bench<'_> {
    /// Tries a statement to an outcome, or until it waits. What was overtaken is left as it is: it
    /// is looked at again.
    pub async fn try_one(&self, row: StatementRow) -> Result<(), Lost> {
        let mut on = OnTrial::of(self.journal, row).await?;
        // That of the event from outside which its claim goes back to. The server pays for retests.
        let claim = on.trial.claim.as_ref().filter(|_| !on.trial.is_retest);
        let root = claim.and_then(|claim| claim.root);
        let (space, thread) = (self.journal.space, &self.row.thread);
        on.purse = self.trials.ground.quotas.open(space, thread, root, false);
        on.purse.read().await?;
        match self.try_on(&mut on).await {
            // What was overtaken was asked all the same.
            Err(lost) if is_overtaken(&lost) => self.writer.write(on.records).await.map(drop),
            ended => ended,
        }
    }

    async fn try_on(&self, on: &mut OnTrial) -> Result<(), Lost> {
        let judged = on.row.judged.clone();
        if let Some(judged) = judged.filter(|judged| is_left(on.row.status, judged)) {
            // Somebody answered what was asked before.
            let again = Judged {
                by: judged.by,
                ..word(&on.row, judged.outcome, judged.reason)
            };
            return self.say(on, vec![], News::Judged(again)).await;
        }
        for _ in 0..STEPS_MAX {
            let now = time::now();
            let rules = self.rules(on).await?;
            let step = on.trial.next(&rules, now);
            if asks_a_model(&step) {
                if let Some(spent) = on.purse.spent() {
                    return self.end(on, &Found::Undecided, spent.text, &rules).await;
                }
                // What is left is due, and goes on when there are calls again.
                if !self.trials.allowance.take(self.journal.space, now) {
                    return Ok(());
                }
            }
            match step {
                Step::Derive => {
                    if !self.derive(on, &rules).await? {
                        return Ok(());
                    }
                }
                Step::Read(begun) => self.read(on, begun).await?,
                Step::Expired { prediction } => self.expire(on, prediction).await?,
                Step::Wait(_) => return Ok(()),
                Step::Judge(found) => return self.judge(on, &found, &rules).await,
            }
        }
        // Cannot be: a prediction has three readings at most. It must not go round for ever.
        let rules = self.rules(on).await?;
        self.judge(on, &Found::Undecided, &rules).await
    }

    /// Derives what follows from a claim. False: there is nothing more to do.
    async fn derive(&self, on: &mut OnTrial, rules: &Rules) -> Result<bool, Lost> {
        // A word that is held stays what it is, whatever a model makes of it: only a reading
        // refutes it.
        let is_held = on.row.status.is_held();
        if !is_held && self.join_same_text(on).await? {
            return Ok(false);
        }
        let said = self.ask_derivation(on).await?;
        let _settling = self.settling.lock().await;
        let done = match said {
            // Another time, perhaps.
            Err(silent) => {
                let found = match silent.broke {
                    true => Found::Broken,
                    false => Found::Undecided,
                };
                let why = format!("nothing was derived from it: {}", silent.why);
                self.end(on, &found, why, rules).await
            }
            Ok(derive) => match derive.read() {
                Err(why) if is_held => self.end(on, &Found::Undecided, why, rules).await,
                Err(why) => self.refuse(on, why).await,
                Ok(draftlike) => return self.take(on, draftlike, rules).await,
            },
        };
        done.map(|()| false)
    }

    /// Takes what was derived, and says so. False: there is nothing more to do.
    async fn take(
        &self,
        on: &mut OnTrial,
        draftlike: Draftlike,
        rules: &Rules,
    ) -> Result<bool, Lost> {
        let now = time::now();
        let known = self.known(&draftlike, now).await?;
        let derived = draftlike.derived(&on.row.text, &known, rules, now);
        if derived.predictions.is_empty() {
            let why = untestable(&derived);
            // What a person has said is kept though nothing can test it.
            let done = match on.row.word() {
                Some(_) => self.end(on, &Found::Undecided, why, rules).await,
                None => self.refuse(on, why).await,
            };
            return done.map(|()| false);
        }
        if let Some(triple) = derived.triple.as_ref().filter(|_| !on.row.status.is_held())
            && let Some(same) = self.same_as(&on.row, triple, derived.valid).await?
        {
            return self.join(on, same).await.map(|()| false);
        }
        self.say(on, vec![], News::Derived(derived)).await?;
        Ok(true)
    }

    /// Its trial comes to nothing: it stays as untested as it is.
    async fn end(
        &self,
        on: &mut OnTrial,
        found: &Found,
        reason: String,
        rules: &Rules,
    ) -> Result<(), Lost> {
        let judged = Judged {
            reason,
            ..on.trial.judged(found, rules, time::now())
        };
        self.say(on, vec![], News::Judged(judged)).await
    }

    /// Reads an instrument for a prediction.
    async fn read(&self, on: &mut OnTrial, begun: Reading) -> Result<(), Lost> {
        let derived = on.trial.derived.as_ref();
        let of = derived.and_then(|derived| derived.predictions.get(begun.prediction));
        let Some(of) = of.cloned() else { return Ok(()) };
        let read = match (begun.instrument, &of.code) {
            (Instrument::User, _) => return self.ask_people(on, &of, begun).await,
            (Instrument::Knowledge, _) => self.look_up(on, &of, begun.clone()).await?,
            (Instrument::Code, Some(code)) => {
                let limit = Duration::from_millis(self.trials.memory().answer_ms);
                let runner = &self.trials.ground.code;
                let ran = code::run(runner, self.journal.space, code, limit).await;
                ran.map(|ran| code::reading(ran, begun.clone()))
            }
            _ => {
                let said = self.ask_counterexample(on, &of.text).await?;
                said.map(|reflect| reflect.reading(begun.clone()))
            }
        };
        self.say(on, vec![], News::Read(answered(read, begun)))
            .await
    }

    /// Returns statements that are held and contradict predictions, by the names that they are said
    /// with.
    async fn known(&self, of: &Draftlike, now: Timestamp) -> Stored<Vec<(Triple, Valid)>> {
        let mut known = Vec::new();
        let triples = of
            .predictions
            .iter()
            .filter_map(|(_, triple)| triple.clone());
        for triple in triples {
            let predicted = Triple {
                single: false,
                ..triple
            };
            let (names, valid) = (Names::default(), of.time(now));
            let edge = (&names, &predicted, valid);
            for status in Status::HELD {
                let rows = contradicting(self.journal, edge, status, 1).await?;
                // A word is no ground to refuse a prediction.
                let rows = rows.into_iter().filter(|row| !row.is_held_on_word());
                known.extend(rows.filter_map(|row| Some((row.triple?, row.valid))));
            }
        }
        Ok(known)
    }
}

/// Returns the reason that nothing derived can be tested.
fn untestable(derived: &Derived) -> String {
    let rejected = derived.rejected.join("; ");
    let why = format!("no prediction that could be tested follows from it. {rejected}");
    why.trim().to_owned()
}

/// Returns true if a step of a trial asks a model.
fn asks_a_model(step: &Step) -> bool {
    match step {
        Step::Derive => true,
        Step::Read(it) => {
            matches!(
                it.instrument,
                Instrument::Knowledge | Instrument::Reflection
            )
        }
        _ => false,
    }
}

/// Returns true if nobody tries a statement: it was withdrawn, it has ended, or it has lost its
/// ground and nobody has claimed it again.
fn is_left(status: Status, judged: &Judged) -> bool {
    match status {
        Status::Retracted | Status::Ended => true,
        status => status == Status::Untested && judged.due.is_none(),
    }
}
