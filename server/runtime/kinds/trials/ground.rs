//! What a statement stands on: nothing is held while something that it is derived from is withdrawn, at any depth. Whoever holds something looks at
//! its ground and stores under the condition that this is as it was looked at; whoever withdraws something takes what stands on it along.

use std::collections::HashSet;

use super::{TRIES, bench, stands};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::method;
use crate::event::statement::{Claimant, Judged, Outcome};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::StatementRow;
use crate::words::id::Space;

/// Most statements that are looked at for the ground of one; what stands on more is not held.
const GROUND_MAX: usize = 1000;

/// What a statement stands on.
#[derive(Debug, Default)]
pub(super) struct Ground {
    /// What it is held under: that all of it is as it was looked at.
    pub conditions: Vec<Condition>,
    /// Where somebody named a statement that is part of another one by now: what is put right.
    pub moved: Vec<Draft>,
    /// Why it is no ground, if it is none.
    pub lost: Option<String>,
}

/// Looks at the ground of a statement. What is held itself stands on its own: nobody looks below it.
pub(super) async fn ground(
    store: &dyn Store,
    space: &Space,
    of: &StatementRow,
) -> Result<Ground, StoreError> {
    let mut ground = Ground::default();
    let (mut seen, mut next) = (HashSet::from([of.id.clone()]), vec![of.clone()]);
    while let Some(row) = next.pop() {
        let mut premises: Vec<String> = Vec::new();
        for id in &row.premises {
            let premise = taken_up(store, space, id).await?;
            let Some(premise) = premise.filter(|it| !it.status.is_withdrawn() || it.id == of.id)
            else {
                ground.lost = Some(gone(id));
                return Ok(ground);
            };
            if premise.is_held_on_word() && premise.id != of.id {
                ground.lost = Some(only_said(&premise));
                return Ok(ground);
            }
            if premise.id != row.id && !premises.contains(&premise.id) {
                premises.push(premise.id.clone());
            }
            if !seen.insert(premise.id.clone()) {
                continue;
            }
            if seen.len() > GROUND_MAX {
                ground.lost = Some(gone(&format!("{id}, and more than {GROUND_MAX} others")));
                return Ok(ground);
            }
            ground.conditions.push(stands(&premise));
            if !premise.status.is_held() {
                next.push(premise);
            }
        }
        if premises != row.premises {
            ground.moved.push(
                Draft::statement_grounded(&row.thread, &row.id, premises).only_if(stands(&row)),
            );
        }
    }
    Ok(ground)
}

/// That a statement is no ground any more.
pub(super) fn gone(id: &str) -> String {
    format!("it was derived from what is not held any more: {id}")
}

/// That a statement is no ground, because a person's word alone holds it.
pub(super) fn only_said(row: &StatementRow) -> String {
    let by = row.word().map_or("somebody", Claimant::shown);
    format!(
        "it was derived from what only {by} has said, which is no ground: {}",
        row.id
    )
}

/// The statement of this id, or the one that it is part of; none: there is no such statement.
async fn taken_up(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<Option<StatementRow>, StoreError> {
    let mut id = id.to_owned();
    for _ in 0..TRIES {
        if let Some(row) = store.statement(space, &id).await? {
            return Ok(Some(row));
        }
        let Some(judged) = bench::folded(store, space, &id).await?.judged else {
            return Ok(None);
        };
        match judged {
            Judged {
                outcome: Outcome::Joined,
                others,
                ..
            } if !others.is_empty() => id = others[0].clone(),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// What is held and stands on a statement, at any depth: what stands on one of these comes before it.
pub(super) async fn standing_on(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<Vec<StatementRow>, StoreError> {
    let shaken = method::shaken(id, &store.derivations(space).await?);
    Ok(rows(store, space, shaken)
        .await?
        .into_iter()
        .filter(|row| row.status.is_held())
        .collect())
}

/// What names a statement as one that it is derived from.
pub(super) async fn naming(
    store: &dyn Store,
    space: &Space,
    id: &str,
) -> Result<Vec<StatementRow>, StoreError> {
    let links = store.derivations(space).await?;
    let names = links
        .into_iter()
        .filter(|link| link.premises.iter().any(|it| it == id));
    rows(store, space, names.map(|link| link.id).collect()).await
}

async fn rows(
    store: &dyn Store,
    space: &Space,
    ids: Vec<String>,
) -> Result<Vec<StatementRow>, StoreError> {
    let mut rows = Vec::new();
    for id in ids {
        rows.extend(store.statement(space, &id).await?);
    }
    Ok(rows)
}
