//! Claims that say what is said already: their sources become those of the statement that says it, what is derived from them is derived from that one,
//! and what was given up may be tried again.

use super::bench::{Bench, OnTrial};
use super::ground::{gone, ground, naming, only_said, standing_on};
use super::settling::fallen;
use super::{REACH, TRIES, stands, word};
use crate::event::draft::Draft;
use crate::event::entity::normal;
use crate::event::method;
use crate::event::statement::{Judged, Outcome, SOURCES_MAX, Source, Status, Triple, Valid};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::mind::turn_writer::Lost;
use crate::words::time;

impl Bench<'_> {
    /// A claim with the words of another one is that one.
    pub async fn join_same_text(&self, on: &mut OnTrial) -> Result<bool, Lost> {
        let _settling = self.settling.lock().await;
        let same = self
            .store()
            .statements_saying(&self.fence.space, &on.row.text, REACH)
            .await?;
        // The same words about another time are another statement: it is derived from them when they hold.
        let same = same
            .into_iter()
            .find(|row| row.number < on.row.number && row.status != Status::Ended);
        match same {
            Some(same) => self.join(on, same).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// The statement that says the same of the same time, by the same names.
    pub async fn same_as(
        &self,
        row: &StatementRow,
        triple: &Triple,
        valid: Valid,
    ) -> Result<Option<StatementRow>, StoreError> {
        let (subject, object) = (Some(normal(&triple.subject)), Some(normal(&triple.object)));
        let relation = Some(triple.relation.clone());
        let asked = Asked {
            subject,
            relation,
            object,
            limit: REACH,
            ..Asked::default()
        };
        let about = self.store().statements(&self.fence.space, &asked).await?;
        let is_same = |it: &StatementRow| {
            it.id != row.id
                && it.valid == valid
                && it
                    .triple
                    .as_ref()
                    .is_some_and(|other| method::is_same(triple, other))
        };
        Ok(about.into_iter().find(is_same))
    }

    /// The sources of a claim become those of the statement that says the same; where that was given up, or has lost its ground, it is tried again.
    pub async fn join(&self, on: &mut OnTrial, mut same: StatementRow) -> Result<(), Lost> {
        for _ in 1..TRIES {
            match self.join_once(on, &same).await {
                // What becomes of the two meanwhile is in the way only if one of them is gone.
                Err(Lost::Store(StoreError::Unmet(_))) if self.is_as_before(on).await? => {
                    let Some(row) = self.store().statement(&self.fence.space, &same.id).await?
                    else {
                        break;
                    };
                    same = row;
                }
                joined => return joined,
            }
        }
        self.join_once(on, &same).await
    }

    async fn join_once(&self, on: &mut OnTrial, same: &StatementRow) -> Result<(), Lost> {
        let is_new = on
            .row
            .sources
            .iter()
            .any(|source| brings_something(&same.sources, source));
        let room = SOURCES_MAX.saturating_sub(same.sources.len());
        let more = on
            .row
            .sources
            .iter()
            .filter(|source| !same.sources.contains(source))
            .take(room)
            .cloned();
        let sources: Vec<Source> = same.sources.iter().cloned().chain(more).collect();
        let brings = sources.len() > same.sources.len();
        let sourced = brings.then(|| Draft::statement_sourced(&same.thread, &same.id, sources));
        let mut drafts: Vec<Draft> = sourced
            .into_iter()
            .chain(self.reopened(on, same, is_new).await?)
            .collect();
        drafts.extend(self.carried_over(on, same).await?);
        let first = drafts.first_mut();
        first
            .into_iter()
            .for_each(|draft| *draft = draft.clone().only_if(stands(same)));
        let judged = word(
            &on.row,
            Outcome::Joined,
            "another statement says the same".into(),
        );
        let judged = Judged {
            others: vec![same.id.clone()],
            ..judged
        };
        // What loses its ground by this may have merged names.
        let (drafts, forms) = self.trials.with_merges(&self.fence.space, drafts).await?;
        self.say_once(on, drafts, News::Judged(judged)).await?;
        Ok(self.trials.contest_anew(&self.fence.space, &forms).await?)
    }

    /// What was derived from a claim is derived from the statement that it is part of now; where that does not stand, neither does this.
    async fn carried_over(&self, on: &OnTrial, same: &StatementRow) -> Result<Vec<Draft>, Lost> {
        let (store, space) = (self.store(), &self.fence.space);
        let naming = naming(store, space, &on.row.id).await?;
        if naming.is_empty() {
            return Ok(Vec::new());
        }
        let mut drafts = Vec::new();
        for row in &naming {
            let renamed = row
                .premises
                .iter()
                .map(|id| if *id == on.row.id { &same.id } else { id });
            let mut premises: Vec<String> = Vec::new();
            for id in renamed {
                if *id != row.id && !premises.contains(id) {
                    premises.push(id.clone());
                }
            }
            drafts.push(
                Draft::statement_grounded(&row.thread, &row.id, premises).only_if(stands(row)),
            );
        }
        let ground = ground(store, space, same).await?;
        let said = same.is_held_on_word().then(|| only_said(same));
        if same.status.is_withdrawn() || ground.lost.is_some() || said.is_some() {
            let lost = standing_on(store, space, &on.row.id).await?;
            let why = said.unwrap_or_else(|| gone(&same.id));
            let (all, conditions) = fallen(store, space, &why, (&lost, None)).await?;
            drafts.extend(all.into_iter().flatten());
            drafts
                .first_mut()
                .into_iter()
                .for_each(|first| first.conditions.extend(conditions.clone()));
        } else if let Some(first) = drafts.first_mut() {
            first.conditions.extend(ground.conditions);
        }
        Ok(drafts)
    }

    /// A statement that is not tried any more is tried again because somebody claims it again; one that has lost its ground only on ground that
    /// stands: its own again, or that of who claims it now.
    async fn reopened(
        &self,
        on: &OnTrial,
        same: &StatementRow,
        is_new: bool,
    ) -> Result<Vec<Draft>, Lost> {
        let (store, space) = (self.store(), &self.fence.space);
        let may_be_tried =
            !same.status.is_held() && !matches!(same.status, Status::Ended | Status::Retracted);
        let is_lost = may_be_tried && ground(store, space, same).await?.lost.is_some();
        let stands_anew = is_lost && ground(store, space, &on.row).await?.lost.is_none();
        let mut drafts = Vec::new();
        if stands_anew {
            drafts.push(Draft::statement_grounded(
                &same.thread,
                &same.id,
                on.row.premises.clone(),
            ));
        }
        let Some(before) = same.judged.as_ref().filter(|_| same.due.is_none()) else {
            return Ok(drafts);
        };
        let again = match same.status {
            Status::Proposed => true,
            Status::Untested => !is_lost || stands_anew,
            Status::Falsified => {
                let is_new = is_new || self.trials.has_new_instrument(space, same).await?;
                is_new && before.reopened < self.trials.memory.reopenings
            }
            // Somebody else knows of what one person has said: it can be tested.
            Status::Surviving | Status::Contested => {
                same.is_held_on_word() && is_of_others(&on.row, same)
            }
            Status::Ended | Status::Retracted => false,
        };
        let reopened = before.reopened + u64::from(same.status == Status::Falsified);
        let judged = Judged {
            due: Some(time::now()),
            reopened,
            reason: "it was claimed again and is tried again".into(),
            ..word(same, Outcome::Is(same.status), String::new())
        };
        drafts
            .extend(again.then(|| Draft::statement(&same.thread, &same.id, News::Judged(judged))));
        Ok(drafts)
    }
}

/// Whether somebody claims a statement who has not claimed it before.
fn is_of_others(claim: &StatementRow, same: &StatementRow) -> bool {
    let is_new = |it: &Source| same.sources.iter().all(|known| known.by != it.by);
    claim.sources.iter().any(is_new)
}

/// Whether a source has words that none of the known ones has.
fn brings_something(known: &[Source], source: &Source) -> bool {
    source.quote.is_some() && known.iter().all(|it| it.quote != source.quote)
}
