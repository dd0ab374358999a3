//! Merges that statements make: a statement that says of two names that they are one merges them
//! while it survives, whatever part of the method judges it.

use std::collections::BTreeSet;

use super::contesting::anew;
use super::entities::{Forms, around, has_room, merges_now, one_append};
use super::journal::{APPEND_MAX, Journal, Stored, under, verdict};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::entity::{Merge, Names, Unmerge, identity, normal};
use crate::event::statement::{Judged, Outcome, Status};
use crate::event::trial::News;
use crate::log::projections::merges::names;
use crate::runtime::memory;
use crate::runtime::refused::Refused;
use crate::words::id;

/// Returns the words of an append on statements, behind the merges that it makes or undoes: a
/// statement that says of two names that they are one merges them while it survives. And the names
/// that these are about: what contradicts what by them is to be looked at again afterwards
/// (`contest_anew`).
pub(super) async fn with_merges(
    journal: Journal<'_>,
    limits: &memory::Options,
    mut drafts: Vec<Draft>,
) -> Stored<(Vec<Draft>, Forms)> {
    if drafts.iter().all(|draft| judged_in(draft).is_none()) {
        return Ok((drafts, Forms::new()));
    }
    let (before, seq) = merges_now(journal).await?;
    let mut after: Vec<Merge> = before.iter().map(|row| row.merge.clone()).collect();
    let mut told = BTreeSet::new();
    let (mut made, mut undone, mut forms) = (Vec::new(), Vec::new(), Forms::new());
    for draft in &mut drafts {
        let Some((statement, judged)) = judged_in(draft) else {
            continue;
        };
        told.insert(statement.clone());
        let is_of_it = |merge: &Merge| merge.statement.as_ref() == Some(&statement);
        let stands = after.iter().position(is_of_it);
        match (stands, said_to_be_one(journal, &statement, &judged).await?) {
            (Some(at), None) => {
                let merge = after.remove(at);
                forms.extend(merge.names.iter().map(|name| normal(name)));
                let row = before.iter().find(|row| is_of_it(&row.merge));
                let id = row.map(|row| row.id.clone()).unwrap_or_default();
                undone.push(Draft::unmerged(&draft.thread, unmerge(id, merge, &judged)));
            }
            (None, Some(merge)) => match has_room(limits, &after, &merge.names) {
                Ok(()) => {
                    forms.extend(merge.names.iter().map(|name| normal(name)));
                    made.push(Draft::merged(&draft.thread, id::fresh(), merge.clone()));
                    after.push(merge);
                }
                Err(full) => *draft = not_merged(draft, &statement, judged, &full),
            },
            _ => {}
        }
    }
    if made.is_empty() && undone.is_empty() {
        return Ok((drafts, forms));
    }
    under(&mut drafts, [Condition::NoneMergedSince(seq)]);
    let is = Names::of(after.iter().map(|merge| merge.names.as_slice()));
    let forms = around(&forms, &[&names(&before), &is]);
    let mut follow = anew(journal, &is, &forms).await?;
    // What this append says of a statement itself is the last word.
    follow.retain(|draft| judged_in(draft).is_none_or(|(id, _)| !told.contains(&id)));
    if made.is_empty() {
        follow = one_append(journal, follow).await?.unwrap_or_default();
    }
    // What is more, or was overtaken, is written behind it.
    follow.truncate(APPEND_MAX);
    let all = made.into_iter().chain(follow).chain(undone).chain(drafts);
    Ok((all.collect(), forms))
}

/// Returns the merge of a statement as it is judged; none if an operator has undone it.
async fn said_to_be_one(
    journal: Journal<'_>,
    statement: &str,
    judged: &Judged,
) -> Stored<Option<Merge>> {
    if judged.outcome != Outcome::Is(Status::Surviving) {
        return Ok(None);
    }
    let Some(row) = journal.statement(statement).await? else {
        return Ok(None);
    };
    let triple = row.triple.as_ref();
    let Some(names) = triple.and_then(|triple| identity(triple, judged)) else {
        return Ok(None);
    };
    let (store, space) = (journal.store, journal.space);
    let before = store.merges_of_statement(space, statement).await?;
    let merge = || Merge {
        names: names.map(str::to_owned).into(),
        reason: row.text.clone(),
        by: None,
        statement: Some(statement.to_owned()),
    };
    Ok((!before.iter().any(|row| row.cut)).then(merge))
}

/// The undoing of a merge whose statement does not survive.
fn unmerge(id: String, merge: Merge, judged: &Judged) -> Unmerge {
    let statement = merge.statement.unwrap_or_default();
    let status = judged.outcome.as_str();
    Unmerge {
        merge: id,
        names: merge.names,
        reason: format!("the statement that says so is {status} now: {statement}"),
        by: None,
    }
}

/// Returns the verdict on a statement whose names are not merged, with the reason.
fn not_merged(draft: &mut Draft, statement: &str, judged: Judged, full: &Refused) -> Draft {
    let reason = format!("{}; its names are not merged: {full}", judged.reason);
    let news = News::Judged(Judged { reason, ..judged });
    Draft {
        conditions: std::mem::take(&mut draft.conditions),
        ..Draft::statement(&draft.thread, statement, news)
    }
}

/// Returns the statement that a draft judges, and the verdict.
fn judged_in(draft: &Draft) -> Option<(String, Judged)> {
    let is_word = draft.tags.get(1).is_some_and(|tag| tag == "judged");
    is_word.then(|| verdict(&draft.preview())).flatten()
}
