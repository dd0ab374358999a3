//! What follows for others from what a trial came to: what contradicts each other is contested (`trials/contesting.rs`), what was derived from what is
//! withdrawn has lost its ground (`trials/ground.rs`).

use super::bench::{Bench, OnTrial};
use super::contesting::{Contest, contest, contradicting, uncontested};
use super::ground::{gone, ground, standing_on};
use super::{REACH, TRIES, stands, word};
use crate::event::condition::{Condition, RequestState};
use crate::event::draft::Draft;
use crate::event::method;
use crate::event::request::{Parked, Settled};
use crate::event::statement::{Judged, Outcome, Status, Valid};
use crate::event::trial::{Found, News, Rules};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::mind::turn_writer::Lost;
use crate::words::id::{Space, ThreadId};
use crate::words::time;

/// Most events of one append, unless those about one statement are more.
pub(super) const APPEND_MAX: usize = 500;
/// Questions that are looked at: a trial asks nothing while more are open.
const QUESTIONS: u32 = 500;

impl Bench<'_> {
    /// Writes down what a trial came to, with all that follows from it.
    pub async fn judge(&self, on: &mut OnTrial, found: &Found, rules: &Rules) -> Result<(), Lost> {
        let mut judged = on.trial.judged(found, rules, time::now());
        let _settling = self.settling.lock().await;
        let (mut first, mut conditions) = (Vec::new(), Vec::new());
        if matches!(judged.outcome, Outcome::Is(status) if status.is_held()) {
            let ground = ground(self.store(), &self.fence.space, &on.row).await?;
            match ground.lost {
                Some(why) => judged = groundless(judged, why),
                None => (first, conditions) = (ground.moved, ground.conditions),
            }
        }
        if judged.outcome == Outcome::Is(Status::Surviving)
            && let Some(triple) = on
                .trial
                .derived
                .as_ref()
                .and_then(|derived| derived.triple.as_ref())
        {
            let edge = (triple, judged.valid);
            let (status, contest) =
                contest(self.store(), &self.fence.space, &on.row.id, edge).await?;
            judged.outcome = Outcome::Is(status);
            first.extend(contest.drafts);
            conditions.extend(contest.conditions);
        }
        if judged.outcome == Outcome::Is(Status::Falsified) && on.row.status == Status::Proposed {
            first.extend(self.doubted(on, judged.valid).await?);
        }
        let mut all = consequences(self.store(), &self.fence.space, &on.row, &judged).await?;
        if let Some(word) = all.last_mut().and_then(|of| of.last_mut()) {
            word.conditions.extend(conditions);
        }
        let all = first.into_iter().map(|draft| vec![draft]).chain(all);
        self.settle(on, parts(all.collect())).await
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.trials.store
    }

    /// A new value was refused: the one that is held is tested once by another instrument, if there is one, as the world may have moved on all the same.
    async fn doubted(&self, on: &OnTrial, valid: Valid) -> Result<Option<Draft>, Lost> {
        let (store, space, now) = (self.store(), &self.fence.space, time::now());
        let Some(triple) = on
            .trial
            .derived
            .as_ref()
            .and_then(|derived| derived.triple.as_ref())
        else {
            return Ok(None);
        };
        let (names, edge, mut held) =
            (store.names(space, None).await?, (triple, valid), Vec::new());
        for status in [Status::Surviving, Status::Contested] {
            held.extend(contradicting(store, space, &names, edge, status, REACH as usize).await?);
        }
        let at = valid.from.unwrap_or(now);
        let current = method::current(held, |row| (true, row.valid), at)
            .into_iter()
            .next();
        let Some(row) = current.filter(|row| row.due.is_none()) else {
            return Ok(None);
        };
        let trial = self.folded(&row.id).await?;
        let of = OnTrial::unasked(row, trial);
        if !of.trial.has_another(&self.rules(&of).await?) {
            return Ok(None);
        }
        let row = of.row;
        let reason = format!(
            "another value of it was refused ({}): another instrument tests it once",
            triple.object
        );
        let judged = Judged {
            due: Some(now),
            ..word(&row, Outcome::Is(row.status), reason)
        };
        Ok(Some(
            Draft::statement(&row.thread, &row.id, News::Judged(judged)).only_if(stands(&row)),
        ))
    }

    /// Writes what becomes of a statement, and of others by it, behind the records of the calls for it. What others lose comes first, so that what
    /// was cut off between is done again: the word on the statement itself is the last.
    pub async fn settle(&self, on: &mut OnTrial, parts: Vec<Vec<Draft>>) -> Result<(), Lost> {
        let (trials, space) = (self.trials, &self.fence.space);
        for part in parts {
            let (part, forms) = trials.with_merges(space, part).await?;
            self.writer
                .write(on.records.iter().cloned().chain(part).collect())
                .await?;
            on.records.clear();
            trials.contest_anew(space, &forms).await?;
        }
        Ok(())
    }

    /// A claim comes to nothing: there is no such statement. To be called while nothing else is settled.
    pub async fn refuse(&self, on: &mut OnTrial, why: String) -> Result<(), Lost> {
        let judged = word(&on.row, Outcome::Refused, why);
        for _ in 0..TRIES {
            let all = consequences(self.store(), &self.fence.space, &on.row, &judged).await?;
            match self.settle(on, parts(all)).await {
                Err(Lost::Store(StoreError::Unmet(_))) if self.is_as_before(on).await? => {}
                settled => return settled,
            }
        }
        Ok(())
    }
}

/// The word on a statement, behind what others lose or gain by it: what is said of one statement is together.
pub(super) async fn consequences(
    store: &dyn Store,
    space: &Space,
    row: &StatementRow,
    judged: &Judged,
) -> Result<Vec<Vec<Draft>>, StoreError> {
    let is_now =
        |status: fn(Status) -> bool| matches!(judged.outcome, Outcome::Is(it) if status(it));
    let (mut lost, mut own) = (Vec::new(), Vec::new());
    if judged.outcome == Outcome::Refused || is_now(Status::is_withdrawn) {
        lost = standing_on(store, space, &row.id).await?;
        own.extend(withdrawn(&questions(store, space).await?, &row.id));
    }
    let is_leaving = row.status.is_held() && !is_now(Status::is_held);
    let (mut all, conditions) = fallen(
        store,
        space,
        &gone(&row.id),
        (&lost, is_leaving.then_some(row)),
    )
    .await?;
    own.push(
        Draft::statement(&row.thread, &row.id, News::Judged(judged.clone())).only_if(stands(row)),
    );
    all.push(own);
    if let Some(first) = all.first_mut().and_then(|of_one| of_one.first_mut()) {
        first.conditions.extend(conditions);
    }
    Ok(all)
}

/// The words on those that stood on a statement and have lost their ground, and on what they, and it, contradicted; and what these are stored under.
/// `why`: the ground is lost.
pub(super) async fn fallen(
    store: &dyn Store,
    space: &Space,
    why: &str,
    (lost, with): (&[StatementRow], Option<&StatementRow>),
) -> Result<(Vec<Vec<Draft>>, Vec<Condition>), StoreError> {
    let leaving: Vec<&StatementRow> = lost.iter().chain(with).collect();
    if leaving.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let Contest { drafts, conditions } = uncontested(store, space, &leaving).await?;
    let open = if lost.is_empty() {
        Vec::new()
    } else {
        questions(store, space).await?
    };
    let mut all: Vec<Vec<Draft>> = drafts.into_iter().map(|draft| vec![draft]).collect();
    for row in lost {
        let judged = word(row, Outcome::Is(Status::Untested), String::new());
        let judged = groundless(judged, why.to_owned());
        let draft =
            Draft::statement(&row.thread, &row.id, News::Judged(judged)).only_if(stands(row));
        all.push(
            withdrawn(&open, &row.id)
                .into_iter()
                .chain([draft])
                .collect(),
        );
    }
    Ok((all, conditions))
}

fn groundless(judged: Judged, reason: String) -> Judged {
    Judged {
        outcome: Outcome::Is(Status::Untested),
        reason,
        carried: Vec::new(),
        due: None,
        ..judged
    }
}

/// The questions of trials that are open.
async fn questions(
    store: &dyn Store,
    space: &Space,
) -> Result<Vec<(ThreadId, Parked)>, StoreError> {
    let open = store
        .requests(space, RequestState::Question, 0, QUESTIONS)
        .await?;
    let of_trials = open
        .into_iter()
        .filter_map(|row| Parked::of(&row.id, &row.asked()).map(|parked| (row.thread, parked)));
    Ok(of_trials
        .filter(|(_, parked)| parked.trial.is_some())
        .collect())
}

/// Nobody needs to answer any more what the trial of a statement asked.
fn withdrawn(open: &[(ThreadId, Parked)], statement: &str) -> Vec<Draft> {
    let how = Settled::Withdrawn {
        reason: "the statement was withdrawn",
    };
    let is_of = |parked: &Parked| {
        parked
            .trial
            .as_ref()
            .is_some_and(|trial| trial.statement == statement)
    };
    open.iter()
        .filter(|(_, parked)| is_of(parked))
        .flat_map(|(thread, parked)| parked.settled(thread, how))
        .collect()
}

/// As many appends as it takes: what is said of one statement stays together.
pub(super) fn parts(all: Vec<Vec<Draft>>) -> Vec<Vec<Draft>> {
    let mut parts: Vec<Vec<Draft>> = Vec::new();
    for of_one in all {
        match parts.last_mut() {
            Some(part) if part.len() + of_one.len() <= APPEND_MAX => part.extend(of_one),
            _ => parts.push(of_one),
        }
    }
    parts
}
