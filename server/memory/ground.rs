//! The ground of a statement: it is not held while a statement that it is derived from is
//! withdrawn, at any depth. A trial that holds a statement looks at its ground, and stores under
//! the condition that this has not changed. A withdrawal takes along all that stands on the
//! statement.

use std::collections::HashSet;

use super::journal::{Follow, Journal, Stored, TRIES};
use thinkd_event::draft::Draft;
use thinkd_event::method;
use thinkd_event::statement::{Claimant, Outcome};
use thinkd_log::projections::statements::StatementRow;

/// Most statements that are looked at for the ground of one; a statement that stands on more is not
/// held.
const GROUND_MAX: usize = 1000;

/// The conditions under which a statement is held, and the corrections of premises that are part of
/// another statement by now; or why it is no ground.
type Ground = Result<Follow, String>;

/// Looks at the ground of a statement. A held premise stands on its own: nothing below it is looked
/// at.
pub(super) async fn ground(journal: Journal<'_>, of: &StatementRow) -> Stored<Ground> {
    let mut ground = Follow::default();
    let mut seen = HashSet::from([of.id.clone()]);
    let mut next = vec![of.clone()];
    while let Some(row) = next.pop() {
        let mut premises: Vec<String> = Vec::new();
        for id in &row.premises {
            let premise = taken_up(journal, id).await?;
            let Some(premise) = premise.filter(|it| !it.status.is_withdrawn() || it.id == of.id)
            else {
                return Ok(Err(gone(id)));
            };
            if premise.is_held_on_word() && premise.id != of.id {
                return Ok(Err(only_said(&premise)));
            }
            if premise.id != row.id && !premises.contains(&premise.id) {
                premises.push(premise.id.clone());
            }
            if !seen.insert(premise.id.clone()) {
                continue;
            }
            if seen.len() > GROUND_MAX {
                return Ok(Err(gone(&format!(
                    "{id}, and more than {GROUND_MAX} others"
                ))));
            }
            ground.conditions.push(premise.stands());
            if !premise.status.is_held() {
                next.push(premise);
            }
        }
        if premises != row.premises {
            ground.drafts.push(vec![grounded(&row, premises)]);
        }
    }
    Ok(Ok(ground))
}

/// Returns the word that a statement is derived from these now.
pub(super) fn grounded(row: &StatementRow, premises: Vec<String>) -> Draft {
    Draft::statement_grounded(&row.thread, &row.id, premises).only_if(row.stands())
}

/// Returns the reason that a statement is no ground any more.
pub(super) fn gone(id: &str) -> String {
    format!("it was derived from what is not held any more: {id}")
}

/// Returns the reason that a statement is no ground, because a person's word alone holds it.
pub(super) fn only_said(row: &StatementRow) -> String {
    let by = row.word().map_or("somebody", Claimant::shown);
    format!(
        "it was derived from what only {by} has said, which is no ground: {}",
        row.id
    )
}

/// Returns the statement of this id, or the one that it is part of; none: there is no such
/// statement.
async fn taken_up(journal: Journal<'_>, id: &str) -> Stored<Option<StatementRow>> {
    let mut id = id.to_owned();
    for _ in 0..TRIES {
        if let Some(row) = journal.statement(&id).await? {
            return Ok(Some(row));
        }
        let judged = journal.folded(&id).await?.judged;
        let joined = judged.filter(|judged| judged.outcome == Outcome::Joined);
        let Some(other) = joined.and_then(|judged| judged.others.into_iter().next()) else {
            break;
        };
        id = other;
    }
    Ok(None)
}

/// Returns the held statements that stand on one, at any depth: a statement comes before those that
/// it stands on.
pub(super) async fn standing_on(journal: Journal<'_>, id: &str) -> Stored<Vec<StatementRow>> {
    let links = journal.store().derivations(journal.space).await?;
    let mut rows = journal.statements(method::shaken(id, &links)).await?;
    rows.retain(|row| row.status.is_held());
    Ok(rows)
}

/// Returns the statements that name one as their ground.
pub(super) async fn naming(journal: Journal<'_>, id: &str) -> Stored<Vec<StatementRow>> {
    let mut links = journal.store().derivations(journal.space).await?;
    links.retain(|link| link.premises.iter().any(|it| it == id));
    let ids = links.into_iter().map(|link| link.id);
    journal.statements(ids).await
}
