//! What contradicts each other, by structure alone: the same subject and relation, another object, at the same time, where one of the two says that there is
//! one object at a time. A word is written only where a status changes; what contradicts a statement is looked up when it is shown.

use std::collections::{BTreeMap, BTreeSet};

use super::{stands, word};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::method::Value;
use crate::event::statement::{Outcome, Status, Triple, Valid};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::words::id::Space;

/// Statements that are read at a time.
const PAGE: u32 = 500;

/// What is written of others, and what the word on the statement itself is stored under.
#[derive(Debug, Default)]
pub(super) struct Contest {
    pub drafts: Vec<Draft>,
    pub conditions: Vec<Condition>,
}

/// Statements of a status that contradict a triple at a time, in the order of their claims; no more than are enough.
pub(super) async fn contradicting(
    store: &dyn Store,
    space: &Space,
    (triple, valid): (&Triple, Valid),
    status: Status,
    enough: usize,
) -> Result<Vec<StatementRow>, StoreError> {
    let (mut found, mut after, own) = (Vec::new(), 0, Value::of(triple, valid));
    loop {
        let rows = page(store, space, triple, status, after).await?;
        let (is_full, last) = (rows.len() == PAGE as usize, rows.last().map(|row| row.number));
        after = last.unwrap_or(after);
        found.extend(rows.into_iter().filter(|row| value(row).is_some_and(|other| other.contradicts(&own))));
        if found.len() >= enough || !is_full {
            found.truncate(enough);
            return Ok(found);
        }
    }
}

async fn page(
    store: &dyn Store,
    space: &Space,
    triple: &Triple,
    status: Status,
    after: i64,
) -> Result<Vec<StatementRow>, StoreError> {
    let (subject, relation) = (Some(triple.subject.clone()), Some(triple.relation.clone()));
    // What may have many objects is contradicted only by what may have one.
    let single = (!triple.single).then_some(true);
    let asked = Asked { status: Some(status), subject, relation, single, after, limit: PAGE, ..Asked::default() };
    store.statements(space, &asked).await
}

fn value(row: &StatementRow) -> Option<Value> {
    row.triple.as_ref().map(|triple| Value::of(triple, row.valid))
}

/// What becomes of others when a statement survives; none: nothing that is held contradicts it.
pub(super) async fn contest(
    store: &dyn Store,
    space: &Space,
    id: &str,
    of: (&Triple, Valid),
) -> Result<Option<Contest>, StoreError> {
    let mut against = contradicting(store, space, of, Status::Surviving, usize::MAX).await?;
    against.retain(|row| row.id != id);
    if !against.is_empty() {
        let reason = "one that contradicts it has survived, too";
        let drafts = against.iter().map(|row| changed(row, Status::Contested, reason)).collect();
        return Ok(Some(Contest { drafts, conditions: Vec::new() }));
    }
    // Of those that are contested already one is enough, and has to be there still.
    let against = contradicting(store, space, of, Status::Contested, 2).await?;
    let witness = against.iter().find(|row| row.id != id);
    Ok(witness.map(|row| Contest { drafts: Vec::new(), conditions: vec![stands(row)] }))
}

/// What becomes of others when these are not held any more: what nothing contradicts but them, is contested no longer.
pub(super) async fn uncontested(
    store: &dyn Store,
    space: &Space,
    leaving: &[&StatementRow],
) -> Result<Contest, StoreError> {
    let gone: BTreeSet<&str> = leaving.iter().map(|row| row.id.as_str()).collect();
    let mut rivals: BTreeMap<String, StatementRow> = BTreeMap::new();
    let mut witnesses: BTreeMap<String, Condition> = BTreeMap::new();
    for row in leaving.iter().filter(|row| row.status == Status::Contested) {
        let Some(triple) = &row.triple else { continue };
        let against = contradicting(store, space, (triple, row.valid), Status::Contested, usize::MAX).await?;
        let against = against.into_iter().filter(|it| !gone.contains(it.id.as_str()));
        let alone = alone(store, space, against.collect(), &gone, &mut witnesses).await?;
        rivals.extend(alone.into_iter().map(|row| (row.id.clone(), row)));
    }
    let reason = "what contradicted it is not held any more";
    let drafts = rivals.values().map(|row| changed(row, Status::Surviving, reason)).collect();
    Ok(Contest { drafts, conditions: witnesses.into_values().collect() })
}

/// Those of some statements, all about the same subject and relation, that nothing contradicts which stays; what shows it of the others is a witness.
async fn alone(
    store: &dyn Store,
    space: &Space,
    mut rows: Vec<StatementRow>,
    gone: &BTreeSet<&str>,
    witnesses: &mut BTreeMap<String, Condition>,
) -> Result<Vec<StatementRow>, StoreError> {
    let Some(triple) = rows.first().and_then(|row| row.triple.clone()) else { return Ok(rows) };
    // Whatever any of them may be contradicted by.
    let any = Triple { single: true, ..triple };
    let mut after = 0;
    while !rows.is_empty() {
        let others = page(store, space, &any, Status::Contested, after).await?;
        let is_full = others.len() == PAGE as usize;
        after = others.last().map_or(after, |row| row.number);
        let stay = others.iter().filter(|row| !gone.contains(row.id.as_str()));
        let stay: Vec<(&StatementRow, Value)> = stay.filter_map(|row| Some((row, value(row)?))).collect();
        rows.retain(|row| {
            let own = value(row);
            let witness = stay.iter().find(|(_, it)| own.as_ref().is_some_and(|own| own.contradicts(it)));
            if let Some((witness, _)) = witness {
                witnesses.entry(witness.id.clone()).or_insert_with(|| stands(witness));
            }
            witness.is_none()
        });
        if !is_full {
            break;
        }
    }
    Ok(rows)
}

fn changed(row: &StatementRow, status: Status, reason: &str) -> Draft {
    let judged = word(row, Outcome::Is(status), reason.to_owned());
    Draft::statement(&row.thread, &row.id, News::Judged(judged)).only_if(stands(row))
}
