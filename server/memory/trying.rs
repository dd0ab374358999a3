//! Trials of statements: the log's events of one are folded, the next step of the fold is done, and
//! its result is appended. Several statements are tried at a time; their verdicts are settled one
//! at a time.

use std::time::Duration;

use super::asking::{DERIVE, REFLECT, ask, predicted};
use super::bench::{Bench, OnTrial, say};
use super::code;
use super::contesting::contradicting;
use super::joining::{join, join_same_text, same_as};
use super::journal::{Journal, Stored, is_overtaken, word};
use super::knowledge::look_up;
use super::people::{ask_people, expire};
use super::rules::rules;
use super::said::{Derive, Draftlike, Reflect, answered};
use super::settling::{judge, refuse};
use super::trials::Kept;
use thinkd_event::entity::Names;
use thinkd_event::statement::{
    Derived, Instrument, Judged, Prediction, Reading, Status, Triple, Valid,
};
use thinkd_event::trial::{Found, News, Rules, Step};
use thinkd_log::projections::statements::StatementRow;
use thinkd_mind::turn_writer::Lost;
use thinkd_words::time;

/// Steps of one trial: more than its predictions can need.
const STEPS_MAX: usize = 64;

/// Tries a statement to an outcome, or until it waits. An overtaken one is left as it is: it is
/// looked at again.
pub(super) async fn try_one(bench: &Bench<'_>, row: StatementRow) -> Result<(), Lost> {
    let mut on = OnTrial::of(bench, row).await?;
    // That of the event from outside which its claim goes back to. The server pays for retests.
    let claim = on.trial.claim.as_ref().filter(|_| !on.trial.is_retest);
    let root = claim.and_then(|claim| claim.root);
    let space = on.bench.journal.space;
    let thread = &on.bench.row.thread;
    on.purse = on
        .bench
        .trials
        .ground
        .quotas
        .open(space, thread, root, false);
    on.purse.read().await?;
    match try_on(&mut on).await {
        // What was overtaken was asked all the same.
        Err(lost) if is_overtaken(&lost) => on.bench.writer.write(on.records).await.map(drop),
        ended => ended,
    }
}

async fn try_on(on: &mut OnTrial<'_>) -> Result<(), Lost> {
    let judged = on.row.judged.clone();
    if let Some(judged) = judged.filter(|judged| is_left(on.row.status, judged)) {
        // Somebody answered what was asked before.
        let again = Judged {
            by: judged.by,
            ..word(&on.row, judged.outcome, judged.reason)
        };
        return say(on, vec![], News::Judged(again)).await;
    }
    for _ in 0..STEPS_MAX {
        let now = time::now();
        let rules = rules(on).await?;
        let step = on.trial.next(&rules, now);
        if asks_a_model(&step) {
            if let Some(spent) = on.purse.spent() {
                return end(on, &rules, (Found::Undecided, spent.text)).await;
            }
            // What is left is due, and goes on when there are calls again.
            let journal = on.bench.journal;
            let most = on.bench.journal.memory().calls_per_hour;
            let take = |kept: &mut Kept| kept.calls.take(most, now);
            if !on.bench.trials.kept(journal.space, take) {
                return Ok(());
            }
        }
        match step {
            Step::Derive => {
                derive(on, &rules).await?;
                if on.trial.derived.is_none() {
                    return Ok(());
                }
            }
            Step::Read(begun) => read(on, begun).await?,
            Step::Expired { prediction } => expire(on, prediction).await?,
            Step::Wait(_) => return Ok(()),
            Step::Judge(found) => return judge(on, &found, &rules).await,
        }
    }
    // Cannot be: a prediction has three readings at most. It must not go round for ever.
    let rules = rules(on).await?;
    judge(on, &Found::Undecided, &rules).await
}

/// Derives predictions from a claim. Without a derivation there is nothing more to do.
async fn derive(on: &mut OnTrial<'_>, rules: &Rules) -> Result<(), Lost> {
    // A word that is held stays what it is, whatever a model makes of it: only a reading refutes
    // it.
    let is_held = on.row.status.is_held();
    if !is_held && join_same_text(on).await? {
        return Ok(());
    }
    let said = ask::<Derive>(on, DERIVE, Vec::new()).await;
    let said = match said {
        Ok(derive) => Ok(derive),
        Err(silent) => Err(silent.why()?),
    };
    let _settling = on.bench.settling.lock().await;
    match said {
        // Another time, perhaps.
        Err((why, broke)) => {
            let found = match broke {
                true => Found::Broken,
                false => Found::Undecided,
            };
            let why = format!("nothing was derived from it: {why}");
            end(on, rules, (found, why)).await
        }
        Ok(derive) => match derive.read() {
            Err(why) if is_held => end(on, rules, (Found::Undecided, why)).await,
            Err(why) => refuse(on, why).await,
            Ok(draftlike) => take(on, draftlike, rules).await,
        },
    }
}

/// Takes a derivation, and says so.
async fn take(on: &mut OnTrial<'_>, draftlike: Draftlike, rules: &Rules) -> Result<(), Lost> {
    let time = draftlike.time(time::now());
    let known = known(on.bench.journal, &draftlike.predictions, time).await?;
    let derived = draftlike.derived(&on.row.text, (time, &known), rules);
    if derived.predictions.is_empty() {
        let why = untestable(&derived);
        // What a person has said is kept though nothing can test it.
        return match on.row.word() {
            Some(_) => end(on, rules, (Found::Undecided, why)).await,
            None => refuse(on, why).await,
        };
    }
    if let Some(triple) = derived.triple.as_ref().filter(|_| !on.row.status.is_held())
        && let Some(same) = same_as(on.bench.journal, &on.row, triple, derived.valid).await?
    {
        return join(on, same).await;
    }
    say(on, vec![], News::Derived(derived)).await
}

/// Its trial comes to nothing, for a reason: it stays as untested as it is.
async fn end(
    on: &mut OnTrial<'_>,
    rules: &Rules,
    (found, reason): (Found, String),
) -> Result<(), Lost> {
    let judged = Judged {
        reason,
        ..on.trial.judged(&found, rules, time::now())
    };
    say(on, vec![], News::Judged(judged)).await
}

/// Reads an instrument for a prediction.
async fn read(on: &mut OnTrial<'_>, begun: Reading) -> Result<(), Lost> {
    let derived = on.trial.derived.as_ref();
    let of = derived.and_then(|derived| derived.predictions.get(begun.prediction));
    let Some(of) = of.cloned() else { return Ok(()) };
    let read = match (begun.instrument, &of.code) {
        (Instrument::User, _) => return ask_people(on, &of, begun).await,
        (Instrument::Knowledge, _) => look_up(on, &of, begun.clone()).await,
        (Instrument::Code, Some(code)) => {
            let limit = Duration::from_millis(on.bench.journal.memory().answer_ms);
            let runner = &on.bench.trials.ground.code;
            let ran = code::run(runner, on.bench.journal.space, code, limit).await;
            ran.map(|ran| code::reading(ran, begun.clone()))
        }
        _ => {
            let values = predicted(on, &of.text).into();
            let said = ask::<Reflect>(on, REFLECT, values).await;
            said.map(|reflect| reflect.reading(begun.clone()))
        }
    };
    let reading = answered(read, begun)?;
    say(on, vec![], News::Read(reading)).await
}

/// Returns statements that are held and contradict predictions, by the names that they are said
/// with.
async fn known(
    journal: Journal<'_>,
    predictions: &[(Prediction, Option<Triple>)],
    valid: Valid,
) -> Stored<Vec<(Triple, Valid)>> {
    let names = Names::default();
    let mut known = Vec::new();
    for triple in predictions.iter().filter_map(|(_, triple)| triple.clone()) {
        let predicted = Triple {
            single: false,
            ..triple
        };
        for status in Status::HELD {
            let rows = contradicting(journal, (&names, &predicted, valid), status, 1).await?;
            // A word is no ground to refuse a prediction.
            let rows = rows.into_iter().filter(|row| !row.is_held_on_word());
            known.extend(rows.filter_map(|row| Some((row.triple?, row.valid))));
        }
    }
    Ok(known)
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
        Step::Read(it) => !matches!(it.instrument, Instrument::Code | Instrument::User),
        _ => false,
    }
}

/// Returns true if a statement is not tried: it was withdrawn, it has ended, or it has lost its
/// ground and was not claimed again.
fn is_left(status: Status, judged: &Judged) -> bool {
    match status {
        Status::Retracted | Status::Ended => true,
        status => status == Status::Untested && judged.due.is_none(),
    }
}
