//! What follows for others from what a trial came to: claims that say the same are joined, what contradicts each other is contested, what was
//! derived from what is withdrawn has lost its ground.

use std::collections::HashMap;

use super::bench::{Bench, OnTrial};
use super::{REACH, TRIES, stands, word};
use crate::event::draft::Draft;
use crate::event::method::{self, Link};
use crate::event::statement::{Judged, Outcome, SOURCES_MAX, Source, Status, Triple, Valid};
use crate::event::trial::{Found, News, Rules};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::mind::turn_writer::Lost;
use crate::words::id::{Seq, Space};
use crate::words::time;

/// Most events of one append.
pub(super) const APPEND_MAX: usize = 500;

impl Bench<'_> {
    /// Writes down what a trial came to, with all that follows from it.
    pub async fn judge(&self, on: &OnTrial, found: &Found, rules: &Rules) -> Result<(), Lost> {
        let mut judged = on.trial.judged(found, rules, time::now());
        let _settling = self.settling.lock().await;
        let mut others = Vec::new();
        if judged.outcome == Outcome::Is(Status::Surviving)
            && let Some(triple) = on.trial.derived.as_ref().and_then(|derived| derived.triple.as_ref())
        {
            let against = contradicting(self.store(), &self.fence.space, &on.row.id, triple, judged.valid).await?;
            if !against.is_empty() {
                judged.outcome = Outcome::Is(Status::Contested);
                judged.others = against.iter().map(|row| row.id.clone()).collect();
                others = against.iter().map(|row| contested_by(row, &on.row.id)).collect();
            }
        }
        let drafts = consequences(self.store(), &self.fence.space, &on.row, &judged).await?;
        self.write(others.into_iter().chain(drafts).collect()).await
    }

    fn store(&self) -> &dyn Store {
        &*self.trials.store
    }

    /// What others lose comes first, so that what was cut off between is done again: the word on the statement itself is the last.
    async fn write(&self, drafts: Vec<Draft>) -> Result<(), Lost> {
        for drafts in drafts.chunks(APPEND_MAX) {
            self.writer.write(drafts.to_vec()).await?;
        }
        Ok(())
    }

    /// A claim with the words of another one is that one.
    pub async fn join_same_text(&self, on: &mut OnTrial) -> Result<bool, Lost> {
        let _settling = self.settling.lock().await;
        let same = self.store().statements_saying(&self.fence.space, &on.row.text, REACH).await?;
        // The same words about another time are another statement: it is derived from them when they hold.
        let same = same.into_iter().find(|row| row.number < on.row.number && row.status != Status::Ended);
        match same {
            Some(same) => self.join(on, same).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// The statement that says the same of the same time.
    pub async fn same_as(
        &self,
        row: &StatementRow,
        triple: &Triple,
        valid: Valid,
    ) -> Result<Option<StatementRow>, StoreError> {
        let about = super::about(self.store(), &self.fence.space, triple).await?;
        let is_same = |it: &StatementRow| {
            it.id != row.id
                && it.valid == valid
                && it.triple.as_ref().is_some_and(|other| method::is_same(triple, other))
        };
        Ok(about.into_iter().find(is_same))
    }

    /// The sources of a claim become those of the statement that says the same; where that was given up, or has lost its ground, it is tried again.
    pub async fn join(&self, on: &mut OnTrial, mut same: StatementRow) -> Result<(), Lost> {
        for _ in 1..TRIES {
            match self.join_once(on, &same).await {
                // What becomes of the two meanwhile is in the way only if one of them is gone.
                Err(Lost::Store(StoreError::Unmet(_))) if self.is_as_before(on).await? => {
                    let Some(row) = self.store().statement(&self.fence.space, &same.id).await? else { break };
                    same = row;
                }
                joined => return joined,
            }
        }
        self.join_once(on, &same).await
    }

    async fn join_once(&self, on: &mut OnTrial, same: &StatementRow) -> Result<(), Lost> {
        let is_new = on.row.sources.iter().any(|source| brings_something(&same.sources, source));
        let room = SOURCES_MAX.saturating_sub(same.sources.len());
        let more = on.row.sources.iter().filter(|source| !same.sources.contains(source)).take(room).cloned();
        let sources: Vec<Source> = same.sources.iter().cloned().chain(more).collect();
        let brings = sources.len() > same.sources.len();
        let sourced = brings.then(|| Draft::statement_sourced(&same.thread, &same.id, sources));
        let mut drafts: Vec<Draft> = sourced.into_iter().chain(self.reopened(same, is_new)).collect();
        let first = drafts.first_mut();
        first.into_iter().for_each(|draft| *draft = draft.clone().only_if(stands(same)));
        let judged = word(&on.row, Outcome::Joined, "another statement says the same".into());
        let judged = Judged { others: vec![same.id.clone()], ..judged };
        self.say_once(on, drafts, News::Judged(judged)).await
    }

    /// A statement that is not tried any more is tried again because somebody claims it again.
    fn reopened(&self, same: &StatementRow, is_new: bool) -> Option<Draft> {
        let before = same.judged.as_ref()?;
        let is_left = same.due.is_none();
        let again = match same.status {
            Status::Proposed | Status::Untested => is_left,
            Status::Falsified => is_left && is_new && before.reopened < self.trials.memory.reopenings,
            Status::Surviving | Status::Contested | Status::Ended | Status::Retracted => false,
        };
        let reopened = before.reopened + u64::from(same.status == Status::Falsified);
        let judged = Judged {
            due: Some(time::now()),
            reopened,
            reason: "it was claimed again and is tried again".into(),
            ..word(same, Outcome::Is(same.status), String::new())
        };
        again.then(|| Draft::statement(&same.thread, &same.id, News::Judged(judged)))
    }
}

/// Whether a source has words that none of the known ones has.
fn brings_something(known: &[Source], source: &Source) -> bool {
    source.quote.is_some() && known.iter().all(|it| it.quote != source.quote)
}

/// What is held and contradicts a statement, by structure alone.
async fn contradicting(
    store: &dyn Store,
    space: &Space,
    id: &str,
    triple: &Triple,
    valid: Valid,
) -> Result<Vec<StatementRow>, StoreError> {
    let mut rows = super::about(store, space, triple).await?;
    let against = |row: &StatementRow| {
        let other = row.triple.as_ref().is_some_and(|other| method::contradict((triple, &valid), (other, &row.valid)));
        row.id != id && row.status.is_held() && other
    };
    rows.retain(against);
    Ok(rows)
}

fn contested_by(row: &StatementRow, id: &str) -> Draft {
    let mut others = row.judged.as_ref().map(|judged| judged.others.clone()).unwrap_or_default();
    others.push(id.to_owned());
    let reason = "one that contradicts it has survived, too".to_owned();
    let judged = Judged { others, ..word(row, Outcome::Is(Status::Contested), reason) };
    Draft::statement(&row.thread, &row.id, News::Judged(judged)).only_if(stands(row))
}

/// The word on a statement, behind what others lose or gain by it.
pub(super) async fn consequences(
    store: &dyn Store,
    space: &Space,
    row: &StatementRow,
    judged: &Judged,
) -> Result<Vec<Draft>, StoreError> {
    let mut drafts = Vec::new();
    let is_now = |status: fn(Status) -> bool| matches!(judged.outcome, Outcome::Is(it) if status(it));
    if row.status.is_held() && is_now(Status::is_withdrawn) {
        for lost in derived_from(store, space, &row.id).await? {
            let reason = format!("it was derived from what is not held any more: {}", row.id);
            let untested = word(&lost, Outcome::Is(Status::Untested), reason);
            drafts.push(Draft::statement(&lost.thread, &lost.id, News::Judged(untested)).only_if(stands(&lost)));
        }
    }
    if row.status == Status::Contested && !is_now(Status::is_held) {
        drafts.extend(uncontested(store, space, row).await?);
    }
    drafts.push(Draft::statement(&row.thread, &row.id, News::Judged(judged.clone())).only_if(stands(row)));
    Ok(drafts)
}

/// Those that contradicted a statement, and nothing else that is held.
async fn uncontested(store: &dyn Store, space: &Space, row: &StatementRow) -> Result<Vec<Draft>, StoreError> {
    let mut drafts = Vec::new();
    for id in row.judged.iter().flat_map(|judged| &judged.others) {
        let Some(other) = store.statement(space, id).await?.filter(|it| it.status == Status::Contested) else {
            continue;
        };
        let Some(triple) = &other.triple else { continue };
        let mut against = contradicting(store, space, id, triple, other.valid).await?;
        against.retain(|it| it.id != row.id);
        if against.is_empty() {
            let reason = "what contradicted it is not held any more".to_owned();
            let judged = word(&other, Outcome::Is(Status::Surviving), reason);
            drafts.push(Draft::statement(&other.thread, id, News::Judged(judged)).only_if(stands(&other)));
        }
    }
    Ok(drafts)
}

/// What is held and derived from a statement, to any depth.
async fn derived_from(store: &dyn Store, space: &Space, id: &str) -> Result<Vec<StatementRow>, StoreError> {
    let (mut rows, mut after): (Vec<StatementRow>, Seq) = (Vec::new(), 0);
    loop {
        let page = store.statements_derived(space, after, REACH).await?;
        let full = page.len() == REACH as usize;
        after = page.last().map_or(after, |row| row.number);
        rows.extend(page);
        if !full {
            break;
        }
    }
    let link = |row: &StatementRow| Link {
        id: row.id.clone(),
        number: row.number,
        premises: row.premises.clone(),
        is_held: row.status.is_held(),
    };
    let lost = method::shaken(id, &rows.iter().map(link).collect::<Vec<_>>());
    let mut of: HashMap<String, StatementRow> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    Ok(lost.iter().filter_map(|id| of.remove(id)).collect())
}
