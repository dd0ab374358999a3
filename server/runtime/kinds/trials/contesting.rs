//! What contradicts each other, by structure alone: the same subject, by any of its names, and relation, another object, at the same time, where one of the
//! two says that there is one object at a time. A word is written only where a status changes; what contradicts a statement is looked up when it is shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::story::story;
use super::{stands, word};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::entity::Names;
use crate::event::fact::Fact;
use crate::event::fact::statement::{Said, StatementFact};
use crate::event::method::Value;
use crate::event::statement::{Outcome, Status, Triple, Valid, folded};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::words::id::{Seq, Space};

/// Statements that are read at a time.
const PAGE: u32 = 500;
/// Why what survived is contested.
const ANOTHER: &str = "one that contradicts it has survived, too";

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
    names: &Names,
    (triple, valid): (&Triple, Valid),
    status: Status,
    enough: usize,
) -> Result<Vec<StatementRow>, StoreError> {
    let (mut found, mut pages, own) = (
        Vec::new(),
        Pages::about(triple, status, names),
        Value::of(triple, valid),
    );
    while found.len() < enough
        && let Some(rows) = pages.next(store, space).await?
    {
        found.extend(
            rows.into_iter()
                .filter(|row| value(row).is_some_and(|other| other.contradicts(&own, names))),
        );
    }
    found.sort_by_key(|row| row.number);
    found.truncate(enough);
    Ok(found)
}

/// Statements that are read a page at a time: one way of asking after the other.
struct Pages {
    left: Vec<Asked>,
}

impl Pages {
    /// Those of a status that may contradict a triple, by every name of its subject.
    fn about(triple: &Triple, status: Status, names: &Names) -> Self {
        // What may have many objects is contradicted only by what may have one.
        let single = (!triple.single).then_some(true);
        let (status, relation) = (Some(status), Some(triple.relation.clone()));
        let asked = Asked {
            status,
            relation,
            single,
            limit: PAGE,
            ..Asked::default()
        };
        let forms = names.forms(&triple.subject).into_iter();
        Self {
            left: forms
                .map(|form| Asked {
                    subject: Some(form),
                    ..asked.clone()
                })
                .collect(),
        }
    }

    /// What is held with one of these names as its subject or object.
    fn held_with(forms: &BTreeSet<String>) -> Self {
        let mut left = Vec::new();
        for (form, status) in forms
            .iter()
            .flat_map(|form| [(form, Status::Surviving), (form, Status::Contested)])
        {
            let asked = Asked {
                status: Some(status),
                limit: PAGE,
                ..Asked::default()
            };
            left.push(Asked {
                subject: Some(form.clone()),
                ..asked.clone()
            });
            left.push(Asked {
                object: Some(form.clone()),
                ..asked
            });
        }
        Self { left }
    }

    /// The next page; none: that was all.
    async fn next(
        &mut self,
        store: &dyn Store,
        space: &Space,
    ) -> Result<Option<Vec<StatementRow>>, StoreError> {
        let Some(asked) = self.left.last_mut() else {
            return Ok(None);
        };
        let rows = store.statements(space, asked).await?;
        match rows.last() {
            Some(last) if rows.len() == PAGE as usize => asked.after = last.number,
            _ => _ = self.left.pop(),
        }
        Ok(Some(rows))
    }
}

/// The names of what a statement is about, and its relation, if it is an edge.
pub(super) fn about(names: &Names, row: &StatementRow) -> Option<(BTreeSet<String>, String)> {
    row.triple
        .as_ref()
        .map(|it| (names.forms(&it.subject), it.relation.clone()))
}

fn value(row: &StatementRow) -> Option<Value> {
    row.triple
        .as_ref()
        .map(|triple| Value::of(triple, row.valid))
}

/// What a statement is that survives, and what becomes of others.
pub(super) async fn contest(
    store: &dyn Store,
    space: &Space,
    id: &str,
    of: (&Triple, Valid),
) -> Result<(Status, Contest), StoreError> {
    let (names, seq) = store.names_now(space).await?;
    let mut conditions = vec![Condition::NoneMergedSince(seq)];
    let mut against =
        contradicting(store, space, &names, of, Status::Surviving, usize::MAX).await?;
    against.retain(|row| row.id != id);
    if !against.is_empty() {
        let drafts = against
            .iter()
            .map(|row| changed(row, Status::Contested, ANOTHER))
            .collect();
        return Ok((Status::Contested, Contest { drafts, conditions }));
    }
    // Of those that are contested already one is enough, and has to be there still.
    let against = contradicting(store, space, &names, of, Status::Contested, 2).await?;
    let witness = against.iter().find(|row| row.id != id);
    conditions.extend(witness.map(stands));
    let status = if witness.is_some() {
        Status::Contested
    } else {
        Status::Surviving
    };
    Ok((
        status,
        Contest {
            drafts: Vec::new(),
            conditions,
        },
    ))
}

/// What becomes of others when these are not held any more: what nothing contradicts but them, is contested no longer.
pub(super) async fn uncontested(
    store: &dyn Store,
    space: &Space,
    leaving: &[&StatementRow],
) -> Result<Contest, StoreError> {
    let (names, seq) = store.names_now(space).await?;
    let gone: BTreeSet<&str> = leaving.iter().map(|row| row.id.as_str()).collect();
    let mut rivals: BTreeMap<String, StatementRow> = BTreeMap::new();
    let mut witnesses: BTreeMap<String, Condition> = BTreeMap::new();
    for row in leaving.iter().filter(|row| row.status == Status::Contested) {
        let Some(triple) = &row.triple else { continue };
        let of = (triple, row.valid);
        let against =
            contradicting(store, space, &names, of, Status::Contested, usize::MAX).await?;
        let against = against
            .into_iter()
            .filter(|it| !gone.contains(it.id.as_str()));
        let alone = alone(
            store,
            space,
            &names,
            against.collect(),
            &gone,
            &mut witnesses,
        )
        .await?;
        rivals.extend(alone.into_iter().map(|row| (row.id.clone(), row)));
    }
    let reason = "what contradicted it is not held any more";
    let drafts = rivals
        .values()
        .map(|row| changed(row, Status::Surviving, reason))
        .collect();
    let conditions = witnesses
        .into_values()
        .chain([Condition::NoneMergedSince(seq)])
        .collect();
    Ok(Contest { drafts, conditions })
}

/// Those of some statements, all about the same subject and relation, that nothing contradicts which stays; what shows it of the others is a witness.
async fn alone(
    store: &dyn Store,
    space: &Space,
    names: &Names,
    mut rows: Vec<StatementRow>,
    gone: &BTreeSet<&str>,
    witnesses: &mut BTreeMap<String, Condition>,
) -> Result<Vec<StatementRow>, StoreError> {
    let Some(triple) = rows.first().and_then(|row| row.triple.clone()) else {
        return Ok(rows);
    };
    // Whatever any of them may be contradicted by.
    let mut pages = Pages::about(
        &Triple {
            single: true,
            ..triple
        },
        Status::Contested,
        names,
    );
    while !rows.is_empty()
        && let Some(others) = pages.next(store, space).await?
    {
        let stay = others.iter().filter(|row| !gone.contains(row.id.as_str()));
        let stay: Vec<(&StatementRow, Value)> =
            stay.filter_map(|row| Some((row, value(row)?))).collect();
        rows.retain(|row| {
            let own = value(row);
            let witness = stay
                .iter()
                .find(|(_, it)| own.as_ref().is_some_and(|own| own.contradicts(it, names)));
            if let Some((witness, _)) = witness {
                witnesses
                    .entry(witness.id.clone())
                    .or_insert_with(|| stands(witness));
            }
            witness.is_none()
        });
    }
    Ok(rows)
}

/// What is to be written so that of what is held with some names as its subject or object exactly that is contested which contradicts something by `names`.
pub(super) async fn anew(
    store: &dyn Store,
    space: &Space,
    names: &Names,
    forms: &BTreeSet<String>,
) -> Result<Vec<Draft>, StoreError> {
    let (mut pages, mut held) = (Pages::held_with(forms), BTreeMap::new());
    while let Some(rows) = pages.next(store, space).await? {
        held.extend(rows.into_iter().map(|row| (row.number, row)));
    }
    let mut known: HashMap<(String, String), Vec<(Seq, Value)>> = HashMap::new();
    let mut drafts = Vec::new();
    for row in held.values() {
        let (Some(triple), Some(own)) = (&row.triple, value(row)) else {
            continue;
        };
        let same = (names.resolve(&triple.subject), folded(&triple.relation));
        if !known.contains_key(&same) {
            known.insert(same.clone(), held_about(store, space, names, triple).await?);
        }
        let mut others = known.get(&same).into_iter().flatten();
        let is_contested =
            others.any(|(number, other)| *number != row.number && own.contradicts(other, names));
        match (is_contested, row.status) {
            (true, Status::Surviving) => drafts.push(changed(row, Status::Contested, ANOTHER)),
            (false, Status::Contested) => {
                let reason = reason_before(store, space, row).await?;
                drafts.push(changed(row, Status::Surviving, &reason));
            }
            _ => {}
        }
    }
    Ok(drafts)
}

/// Returns the reason of the last verdict on a statement: the one that it had before another one contested it.
async fn reason_before(
    store: &dyn Store,
    space: &Space,
    row: &StatementRow,
) -> Result<String, StoreError> {
    let story = story(store, space, &row.id).await?;
    let verdict = story.iter().rev().find_map(|event| match event.fact() {
        Fact::Statement(StatementFact {
            what: Said::News(news),
            ..
        }) => match *news {
            News::Judged(judged) if judged.tried => Some(judged.reason),
            _ => None,
        },
        _ => None,
    });
    Ok(verdict.unwrap_or_else(|| "what contradicted it is about something else".to_owned()))
}

/// What is held about the subject and the relation of a triple, those first that say that there is one object at a time: most is contradicted by one of these.
async fn held_about(
    store: &dyn Store,
    space: &Space,
    names: &Names,
    triple: &Triple,
) -> Result<Vec<(Seq, Value)>, StoreError> {
    let (triple, mut found) = (
        Triple {
            single: true,
            ..triple.clone()
        },
        Vec::new(),
    );
    for status in [Status::Surviving, Status::Contested] {
        let mut pages = Pages::about(&triple, status, names);
        while let Some(rows) = pages.next(store, space).await? {
            found.extend(
                rows.into_iter().filter_map(|row| {
                    Some((row.number, row.triple.as_ref()?.single, value(&row)?))
                }),
            );
        }
    }
    // Two that may have many objects do not contradict each other: where all may, there is nothing to compare.
    if !found.iter().any(|(_, single, _)| *single) {
        return Ok(Vec::new());
    }
    found.sort_by_key(|(_, single, _)| !single);
    Ok(found
        .into_iter()
        .map(|(number, _, value)| (number, value))
        .collect())
}

fn changed(row: &StatementRow, status: Status, reason: &str) -> Draft {
    let judged = word(row, Outcome::Is(status), reason.to_owned());
    Draft::statement(&row.thread, &row.id, News::Judged(judged)).only_if(stands(row))
}
