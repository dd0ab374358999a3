//! Claims that repeat a statement: their sources become sources of that statement, derivations from
//! them are derived from it, and one that was given up may be tried again.

use super::bench::{OnTrial, look_again};
use super::ground::{gone, ground, grounded, naming, only_said, standing_on};
use super::journal::{Journal, REACH, Stored, TRIES, again, under, word};
use super::retesting::has_new_instrument;
use super::settling::{fallen, settle};
use thinkd_event::draft::Draft;
use thinkd_event::entity::normal;
use thinkd_event::method;
use thinkd_event::statement::{Judged, Outcome, SOURCES_MAX, Source, Status, Triple, Valid};
use thinkd_event::trial::News;
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_mind::turn_writer::Lost;

/// A claim with the words of another one is that one.
pub(super) async fn join_same_text(on: &mut OnTrial<'_>) -> Result<bool, Lost> {
    let _settling = on.bench.settling.lock().await;
    let store = on.bench.journal.store();
    let space = on.bench.journal.space;
    let same = store.statements_saying(space, &on.row.text, REACH).await?;
    // The same words about another time are another statement: it is derived from them when they
    // hold.
    let mut same = same.into_iter();
    match same.find(|row| row.number < on.row.number && row.status != Status::Ended) {
        Some(same) => join(on, same).await.map(|()| true),
        None => Ok(false),
    }
}

/// Returns the statement that says the same of the same time, by the same names.
pub(super) async fn same_as(
    journal: Journal<'_>,
    row: &StatementRow,
    triple: &Triple,
    valid: Valid,
) -> Stored<Option<StatementRow>> {
    let asked = Asked {
        subject: Some(normal(&triple.subject)),
        relation: Some(triple.relation.clone()),
        object: Some(normal(&triple.object)),
        limit: REACH,
        ..Asked::default()
    };
    let about = journal.store().statements(journal.space, &asked).await?;
    let is_same = |it: &Triple| method::is_same(triple, it);
    Ok(about
        .into_iter()
        .find(|it| it.id != row.id && it.valid == valid && it.triple.as_ref().is_some_and(is_same)))
}

/// The sources of a claim become those of the statement that says the same; where that was given
/// up, or has lost its ground, it is tried again.
pub(super) async fn join(on: &mut OnTrial<'_>, mut same: StatementRow) -> Result<(), Lost> {
    let journal = on.bench.journal;
    let mut tries = 0;
    loop {
        let drafts = joined(journal, &on.row, &same).await?;
        match settle(on, vec![drafts]).await {
            Ok(()) => return Ok(()),
            Err(lost) => look_again(on, lost, &mut tries).await?,
        }
        // What becomes of the two meanwhile is in the way only if one of them is gone.
        match journal.statement(&same.id).await? {
            Some(now) => same = now,
            None => tries = TRIES - 1,
        }
    }
}

/// Returns the words on a claim, on the statement that says the same, and on others by it.
async fn joined(
    journal: Journal<'_>,
    claim: &StatementRow,
    same: &StatementRow,
) -> Stored<Vec<Draft>> {
    let mut drafts = Vec::from_iter(sourced(claim, same));
    drafts.extend(reopened(journal, claim, same).await?);
    drafts.extend(carried_over(journal, &claim.id, same).await?);
    under(&mut drafts, [same.stands()]);
    let reason = "another statement says the same".into();
    drafts.push(claim.becomes(Judged {
        others: vec![same.id.clone()],
        ..word(claim, Outcome::Joined, reason)
    }));
    Ok(drafts)
}

/// Returns the words by which a statement that is not tried any more is tried again, because it is
/// claimed again; none: it is not. One that has lost its ground is tried only on ground that
/// stands: its own again, or that of the new claim.
async fn reopened(
    journal: Journal<'_>,
    claim: &StatementRow,
    same: &StatementRow,
) -> Stored<Vec<Draft>> {
    let may_be_tried =
        !same.status.is_held() && !matches!(same.status, Status::Ended | Status::Retracted);
    let is_lost = may_be_tried && ground(journal, same).await?.is_err();
    let stands_anew = is_lost && ground(journal, claim).await?.is_ok();
    let mut drafts = Vec::new();
    if stands_anew {
        let premises = claim.premises.clone();
        drafts.push(Draft::statement_grounded(&same.thread, &same.id, premises));
    }
    let Some(before) = same.judged.as_ref().filter(|_| same.due.is_none()) else {
        return Ok(drafts);
    };
    let is_tried = match same.status {
        Status::Proposed => true,
        Status::Untested => !is_lost || stands_anew,
        Status::Falsified => {
            let is_new = |source| brings_something(&same.sources, source);
            (claim.sources.iter().any(is_new) || has_new_instrument(journal, same, before).await?)
                && before.reopened < journal.memory().reopenings
        }
        // Somebody else knows of what one person has said: it can be tested.
        Status::Surviving | Status::Contested => {
            same.is_held_on_word() && is_of_others(claim, same)
        }
        Status::Ended | Status::Retracted => false,
    };
    if is_tried {
        let judged = again(same, "it was claimed again and is tried again".into());
        let news = News::Judged(judged);
        drafts.push(Draft::statement(&same.thread, &same.id, news));
    }
    Ok(drafts)
}

/// Returns the word that the sources of a claim are those of the statement that says the same, if
/// there are more.
fn sourced(claim: &StatementRow, same: &StatementRow) -> Option<Draft> {
    let more = claim.sources.iter().filter(|it| !same.sources.contains(it));
    let room = SOURCES_MAX.saturating_sub(same.sources.len());
    let mut sources = same.sources.clone();
    sources.extend(more.take(room).cloned());
    let is_more = sources.len() > same.sources.len();
    is_more.then(|| Draft::statement_sourced(&same.thread, &same.id, sources))
}

/// Returns the words by which derivations from a claim rest on the statement that it is part of
/// now. Where that does not stand, neither do they.
async fn carried_over(
    journal: Journal<'_>,
    claim: &str,
    same: &StatementRow,
) -> Stored<Vec<Draft>> {
    let mut drafts = Vec::new();
    for row in naming(journal, claim).await? {
        let mut premises: Vec<String> = Vec::new();
        for id in &row.premises {
            let id = if id == claim { &same.id } else { id };
            if *id != row.id && !premises.contains(id) {
                premises.push(id.clone());
            }
        }
        drafts.push(grounded(&row, premises));
    }
    if drafts.is_empty() {
        return Ok(drafts);
    }
    let ground = ground(journal, same).await?;
    let said = same.is_held_on_word().then(|| only_said(same));
    match ground {
        Ok(ground) if !same.status.is_withdrawn() && said.is_none() => {
            under(&mut drafts, ground.conditions);
        }
        _ => {
            let lost = standing_on(journal, claim).await?;
            let why = said.unwrap_or_else(|| gone(&same.id));
            let follow = fallen(journal, &why, &lost, None).await?;
            drafts.extend(follow.drafts.into_iter().flatten());
            under(&mut drafts, follow.conditions);
        }
    }
    Ok(drafts)
}

/// Returns true if a claimant of the claim is not among those of the statement.
fn is_of_others(claim: &StatementRow, same: &StatementRow) -> bool {
    let is_new = |it: &Source| same.sources.iter().all(|known| known.by != it.by);
    claim.sources.iter().any(is_new)
}

/// Returns true if a source has words that none of the known ones has.
fn brings_something(known: &[Source], source: &Source) -> bool {
    source.quote.is_some() && known.iter().all(|it| it.quote != source.quote)
}
