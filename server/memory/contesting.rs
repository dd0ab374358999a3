//! Contradictions, by structure alone. Two statements contradict each other if they have the same
//! subject, by any of its names, and relation, and another object at the same time. One of the two
//! has to say that there is one object at a time. A word is written only where a status changes;
//! the statements that contradict one are looked up when it is shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::journal::{Follow, Journal, Stored, verdict, word};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::entity::Names;
use thinkd_event::method::Value;
use thinkd_event::statement::{Outcome, Status, Triple, Valid, folded};
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_words::id::Seq;

/// Reason of a contested statement.
const ANOTHER: &str = "one that contradicts it has survived, too";

/// Names that are one, an edge, and the time for which it is said to hold.
type Edge<'a> = (&'a Names, &'a Triple, Valid);

/// Returns the statements of a status that contradict an edge, in the order of their claims; no
/// more than are enough.
pub(super) async fn contradicting(
    journal: Journal<'_>,
    (names, triple, valid): Edge<'_>,
    status: Status,
    enough: usize,
) -> Stored<Vec<StatementRow>> {
    let own = Value::of(triple, valid);
    let is_against = |row: &StatementRow| value(row).is_some_and(|it| it.contradicts(&own, names));
    let asked = Asked {
        // What may have many objects is contradicted only by what may have one.
        single: (!triple.single).then_some(true),
        ..Asked::of(status)
    };
    let asked = asked.about(triple, names);
    let mut found = journal.found(asked, enough, is_against).await?;
    found.sort_by_key(|row| row.number);
    found.truncate(enough);
    Ok(found)
}

fn value(row: &StatementRow) -> Option<Value> {
    let triple = row.triple.as_ref();
    triple.map(|triple| Value::of(triple, row.valid))
}

/// Returns the status of a statement that survives, and the changes of others.
pub(super) async fn contest(
    journal: Journal<'_>,
    id: &str,
    (triple, valid): (&Triple, Valid),
) -> Stored<(Status, Follow)> {
    let (names, seq) = journal.store().names_now(journal.space).await?;
    let edge = (&names, triple, valid);
    let mut conditions = vec![Condition::NoneMergedSince(seq)];
    let is_other = |row: &&StatementRow| row.id != id;
    let against = contradicting(journal, edge, Status::Surviving, usize::MAX).await?;
    let contested = |row| vec![changed(row, Status::Contested, ANOTHER)];
    let drafts: Vec<_> = against.iter().filter(is_other).map(contested).collect();
    let mut is_contested = !drafts.is_empty();
    if !is_contested {
        // Of those that are contested already one is enough, and has to be there still.
        let against = contradicting(journal, edge, Status::Contested, 2).await?;
        let witness = against.iter().find(is_other);
        is_contested = witness.is_some();
        conditions.extend(witness.map(StatementRow::stands));
    }
    let status = match is_contested {
        true => Status::Contested,
        false => Status::Surviving,
    };
    Ok((status, Follow { drafts, conditions }))
}

/// Returns the changes of others when these are not held any more: a statement that only they
/// contradict is contested no longer.
pub(super) async fn uncontested(journal: Journal<'_>, leaving: &[&StatementRow]) -> Stored<Follow> {
    let (names, seq) = journal.store().names_now(journal.space).await?;
    let gone: BTreeSet<&str> = leaving.iter().map(|row| row.id.as_str()).collect();
    let mut free: BTreeMap<String, Vec<Draft>> = BTreeMap::new();
    let mut witnesses: BTreeMap<String, Condition> = BTreeMap::new();
    let contested = leaving.iter().filter(|row| row.status == Status::Contested);
    for row in contested {
        let (Some(triple), Some(own)) = (&row.triple, value(row)) else {
            continue;
        };
        let asked = Asked::of(Status::Contested).about(triple, &names);
        let is_staying = |row: &StatementRow| !gone.contains(row.id.as_str());
        let staying = journal.found(asked, usize::MAX, is_staying).await?;
        let staying = staying.iter().filter_map(|row| Some((row, value(row)?)));
        let staying: Vec<(&StatementRow, Value)> = staying.collect();
        let is_against =
            |own: &Value, (_, it): &(&StatementRow, Value)| own.contradicts(it, &names);
        for (rival, its) in staying.iter().filter(|it| is_against(&own, it)) {
            if let Some((witness, _)) = staying.iter().find(|it| is_against(its, it)) {
                let stands = || witness.stands();
                witnesses.entry(witness.id.clone()).or_insert_with(stands);
            } else {
                let reason = "what contradicted it is not held any more";
                let draft = changed(rival, Status::Surviving, reason);
                free.insert(rival.id.clone(), vec![draft]);
            }
        }
    }
    let drafts = free.into_values().collect();
    let mut conditions: Vec<Condition> = witnesses.into_values().collect();
    conditions.push(Condition::NoneMergedSince(seq));
    Ok(Follow { drafts, conditions })
}

/// Returns the words after which, of the held statements with some names as their subject or
/// object, exactly those are contested that contradict something by `names`.
pub(super) async fn anew(
    journal: Journal<'_>,
    names: &Names,
    forms: &BTreeSet<String>,
) -> Stored<Vec<Draft>> {
    let mut known: HashMap<(String, String), Vec<(Seq, Value)>> = HashMap::new();
    let mut drafts = Vec::new();
    for row in held_with(journal, forms).await?.values() {
        let (Some(triple), Some(own)) = (&row.triple, value(row)) else {
            continue;
        };
        let same = (names.resolve(&triple.subject), folded(&triple.relation));
        if !known.contains_key(&same) {
            known.insert(same.clone(), held_about(journal, names, triple).await?);
        }
        let mut others = known.get(&same).into_iter().flatten();
        let is_contested =
            others.any(|(number, other)| *number != row.number && own.contradicts(other, names));
        match (is_contested, row.status) {
            (true, Status::Surviving) => drafts.push(changed(row, Status::Contested, ANOTHER)),
            (false, Status::Contested) => {
                let reason = reason_before(journal, row).await?;
                drafts.push(changed(row, Status::Surviving, &reason));
            }
            _ => {}
        }
    }
    Ok(drafts)
}

/// Returns the held statements with one of these names as their subject or object, in the order of
/// the claims.
async fn held_with(
    journal: Journal<'_>,
    forms: &BTreeSet<String>,
) -> Stored<BTreeMap<Seq, StatementRow>> {
    let mut asked = Vec::new();
    for form in forms {
        for status in Status::HELD {
            let with = |subject, object| Asked {
                subject,
                object,
                ..Asked::of(status)
            };
            asked.push(with(Some(form.clone()), None));
            asked.push(with(None, Some(form.clone())));
        }
    }
    let held = journal.found(asked, usize::MAX, |_| true).await?;
    Ok(held.into_iter().map(|row| (row.number, row)).collect())
}

/// Returns the reason of the last verdict on a statement: the one that it had before another one
/// contested it.
async fn reason_before(journal: Journal<'_>, row: &StatementRow) -> Stored<String> {
    let story = journal.story(&row.id).await?;
    let mut verdicts = story.iter().rev().filter_map(verdict);
    let tried = verdicts.find(|(_, judged)| judged.tried);
    let elsewhere = "what contradicted it is about something else";
    Ok(tried.map_or_else(|| elsewhere.to_owned(), |(_, judged)| judged.reason))
}

/// Returns the held values of the subject and the relation of a triple. Those that say that there
/// is one object at a time come first: most contradictions are with one of these.
async fn held_about(
    journal: Journal<'_>,
    names: &Names,
    triple: &Triple,
) -> Stored<Vec<(Seq, Value)>> {
    let asked = Status::HELD.map(|status| Asked::of(status).about(triple, names));
    let mut rows = journal.found(asked.concat(), usize::MAX, |_| true).await?;
    let is_single = |row: &StatementRow| row.triple.as_ref().is_some_and(|it| it.single);
    // Two that may have many objects do not contradict each other: where all may, there is nothing
    // to compare.
    if !rows.iter().any(is_single) {
        return Ok(Vec::new());
    }
    rows.sort_by_key(|row| !is_single(row));
    let of = |row: &StatementRow| Some((row.number, value(row)?));
    Ok(rows.iter().filter_map(of).collect())
}

fn changed(row: &StatementRow, status: Status, reason: &str) -> Draft {
    row.becomes(word(row, Outcome::Is(status), reason.to_owned()))
}
