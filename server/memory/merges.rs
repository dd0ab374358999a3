//! Merges of names: by an operator, or by a surviving statement that two names are one, by any part
//! of the method. A merge has consequences for held statements: two that contradict each other by
//! the names that are one now are contested, and those that do not any more are not. Nothing else
//! is written to a statement. A decision by names is stored under the condition that the same names
//! are still one. A change of names is followed by one more look.

use std::collections::BTreeSet;

use super::contesting::anew;
use super::journal::{APPEND_MAX, Journal, Stored, TRIES, under, verdict};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::entity::{Merge, Names, Unmerge, identity, normal};
use thinkd_event::statement::{Judged, Outcome, Status};
use thinkd_event::trial::News;
use thinkd_log::projections::merges::{MergeRow, names};
use thinkd_runtime::memory;
use thinkd_runtime::refused::Refused;
use thinkd_words::id::{self, Seq, ThreadId};

/// The normal forms of the names that merges are about.
pub(super) type Forms = BTreeSet<String>;

/// An append that changes which names are one.
#[derive(Default)]
struct Change {
    /// The names that it is about.
    forms: Forms,
    made: Vec<Draft>,
    undone: Vec<Draft>,
    /// Drafts behind these.
    rest: Vec<Draft>,
}

/// An operator says that names are one. Returns the merges that stand.
///
/// # Errors
///
/// They are one already, there are too many, or statements about them change all the time.
pub async fn merge(journal: Journal<'_>, merge: Merge) -> Result<Vec<MergeRow>, Refused> {
    let forms = forms_of(&merge);
    if forms.len() < 2 {
        let why = "these are one name already: a name is compared without regard to capitals, quotes around it and the article of a common noun";
        return Err(Refused::Unprocessable(why.into()));
    }
    for _ in 0..TRIES {
        let (before, seq) = journal.store().merges_now(journal.space).await?;
        let is_same =
            |row: &&MergeRow| row.merge.statement.is_none() && forms == forms_of(&row.merge);
        if let Some(row) = before.iter().find(is_same) {
            let why = format!("these names are merged already, since event {}", row.seq);
            return Err(Refused::Settled(why));
        }
        let after = names_of(before.iter().map(|row| &row.merge).chain([&merge]));
        has_room(journal.memory(), before.len(), &after, &merge)?;
        let change = Change {
            forms: forms.clone(),
            made: vec![Draft::merged(
                &ThreadId::default(),
                id::fresh(),
                merge.clone(),
            )],
            ..Change::default()
        };
        let (drafts, forms) = with_rest(journal, change, (&before, seq), &after).await?;
        if journal.is_appended(drafts).await? {
            contest_anew(journal, &forms).await?;
            return Ok(journal.store().merges(journal.space).await?);
        }
    }
    Err(overtaken())
}

/// An operator says that a name is one with no other any more. Returns the merges that do not stand
/// any more for it.
///
/// # Errors
///
/// No merge has the name, or statements about it change all the time.
pub async fn unmerge(
    journal: Journal<'_>,
    name: &str,
    reason: &str,
    by: &str,
) -> Result<Vec<MergeRow>, Refused> {
    let form = normal(name);
    for _ in 0..TRIES {
        let (before, seq) = journal.store().merges_now(journal.space).await?;
        let has_it = |row: &MergeRow| forms_of(&row.merge).contains(&form);
        let (undone, kept): (Vec<MergeRow>, Vec<MergeRow>) =
            before.iter().cloned().partition(has_it);
        if undone.is_empty() {
            return Err(Refused::NotFound(format!("merge of the name {name:?}")));
        }
        let rest = left(&undone, &kept, &form, by);
        let after = names_of(kept.iter().map(|row| &row.merge).chain(&rest));
        let main = ThreadId::default();
        let unmerged = |row: &MergeRow| {
            let unmerge = unmerge_of(row.id.clone(), &row.merge, reason.to_owned());
            let by = Some(by.to_owned());
            Draft::unmerged(&main, Unmerge { by, ..unmerge })
        };
        let merged = |merge| Draft::merged(&main, id::fresh(), merge);
        let change = Change {
            forms: Forms::from([form.clone()]),
            made: Vec::new(),
            undone: undone.iter().map(unmerged).collect(),
            rest: rest.into_iter().map(merged).collect(),
        };
        let (drafts, forms) = with_rest(journal, change, (&before, seq), &after).await?;
        if journal.is_appended(drafts).await? {
            contest_anew(journal, &forms).await?;
            return Ok(undone);
        }
    }
    Err(overtaken())
}

/// Returns the words of an append on statements, behind the merges that it makes or undoes: a
/// statement that two names are one merges them while it survives. Also returns the names that
/// these are about: contradictions by them are to be looked at again afterwards (`contest_anew`).
pub(super) async fn with_merges(
    journal: Journal<'_>,
    drafts: Vec<Draft>,
) -> Stored<(Vec<Draft>, Forms)> {
    // A claim that joins another has no merge.
    let can_merge = |(_, judged): (String, Judged)| judged.outcome != Outcome::Joined;
    if !drafts.iter().filter_map(judged_in).any(can_merge) {
        return Ok((drafts, Forms::new()));
    }
    let (before, seq) = journal.store().merges_now(journal.space).await?;
    let mut after: Vec<Merge> = before.iter().map(|row| row.merge.clone()).collect();
    let mut change = Change::default();
    for mut draft in drafts {
        if let Some((statement, judged)) = judged_in(&draft) {
            let is_of_it = |merge: &Merge| merge.statement.as_ref() == Some(&statement);
            let stands = after.iter().position(is_of_it);
            match (stands, said_to_be_one(journal, &statement, &judged).await?) {
                (Some(at), None) => {
                    let merge = after.remove(at);
                    change.forms.extend(forms_of(&merge));
                    let row = before.iter().find(|row| is_of_it(&row.merge));
                    let id = row.map(|row| row.id.clone()).unwrap_or_default();
                    let status = judged.outcome.as_str();
                    let why = format!("the statement that says so is {status} now: {statement}");
                    let unmerge = unmerge_of(id, &merge, why);
                    change.undone.push(Draft::unmerged(&draft.thread, unmerge));
                }
                (None, Some(merge)) => {
                    let names = names_of(after.iter().chain([&merge]));
                    match has_room(journal.memory(), after.len(), &names, &merge) {
                        Ok(()) => {
                            change.forms.extend(forms_of(&merge));
                            let made = Draft::merged(&draft.thread, id::fresh(), merge.clone());
                            change.made.push(made);
                            after.push(merge);
                        }
                        Err(full) => draft = not_merged(draft, &statement, judged, &full),
                    }
                }
                _ => {}
            }
        }
        change.rest.push(draft);
    }
    if change.made.is_empty() && change.undone.is_empty() {
        return Ok((change.rest, Forms::new()));
    }
    with_rest(journal, change, (&before, seq), &names_of(&after)).await
}

/// Returns a change of the merges that stood as one append, with its consequences for statements,
/// and all names that it is about, by the names of before and `after`. Where it makes a merge, the
/// rest that has no room is written behind it (`contest_anew`); else it is written before.
async fn with_rest(
    journal: Journal<'_>,
    change: Change,
    (before, seq): (&[MergeRow], Seq),
    after: &Names,
) -> Stored<(Vec<Draft>, Forms)> {
    let forms = around(&change.forms, &[&names(before), after]);
    let mut follow = anew(journal, after, &forms).await?;
    // What this append says of a statement itself is the last word.
    let told = change.rest.iter().filter_map(judged_in);
    let told: BTreeSet<String> = told.map(|(statement, _)| statement).collect();
    follow.retain(|draft| judged_in(draft).is_none_or(|(id, _)| !told.contains(&id)));
    // Where merges are only undone, what follows comes first: of what is cut off between they are
    // left, by which the rest is found again.
    let room = APPEND_MAX - change.made.len();
    let behind = follow.split_off(follow.len().min(room));
    if change.made.is_empty() {
        for part in behind.chunks(APPEND_MAX) {
            if !journal.is_appended(part.to_vec()).await? {
                follow.clear();
                break;
            }
        }
    }
    let all = change.made.into_iter().chain(follow);
    let mut drafts: Vec<Draft> = all.chain(change.undone).chain(change.rest).collect();
    // Of one is enough: all are stored, or none.
    under(&mut drafts, [Condition::NoneMergedSince(seq)]);
    Ok((drafts, forms))
}

/// Contests statements of a space anew, after a start, by its merges and by the last ones that were
/// undone: a crash may have cut off the consequences of a merge, or the second look at statements
/// that were judged by names of before.
pub(super) async fn contest_by_merges(journal: Journal<'_>) -> Stored<()> {
    let store = journal.store();
    let space = journal.space;
    let merges = store.merges(space).await?;
    let mut undone = store.merges_undone(space).await?;
    let older = undone
        .len()
        .saturating_sub(journal.memory().merges as usize);
    undone.drain(..older);
    let all = merges.iter().chain(&undone);
    let forms = all.flat_map(|row| forms_of(&row.merge)).collect();
    contest_anew(journal, &forms).await
}

/// Writes down contradictions by the names as they are now, until all are written: statements were
/// judged meanwhile by the names of before.
pub(super) async fn contest_anew(journal: Journal<'_>, about: &Forms) -> Stored<()> {
    if about.is_empty() {
        return Ok(());
    }
    for _ in 0..TRIES {
        let (names, seq) = journal.store().names_now(journal.space).await?;
        let mut drafts = anew(journal, &names, &around(about, &[&names])).await?;
        if drafts.is_empty() {
            return Ok(());
        }
        under(&mut drafts, [Condition::NoneMergedSince(seq)]);
        for part in drafts.chunks(APPEND_MAX) {
            journal.is_appended(part.to_vec()).await?;
        }
    }
    tracing::warn!(space = %journal.space, "what contradicts what by names that are one changed all the time while it was written down; a start looks again");
    Ok(())
}

/// Refuses a merge beyond the limits. `before`: the number of those that stand; `after`: the names
/// that are one with it.
fn has_room(
    limits: &memory::Options,
    before: usize,
    after: &Names,
    merge: &Merge,
) -> Result<(), Refused> {
    let check = |count: usize, limit: u32, what| match count > limit as usize {
        true => Err(Refused::TooMany { what, limit }),
        false => Ok(()),
    };
    let merges = "merges of names that stand in a space";
    check(before + 1, limits.merges, merges)?;
    let names = "names of one entity";
    let count = after.forms(&merge.names[0]).len();
    check(count, limits.entity_names, names)
}

/// Returns all names of the entities of some, by any of these.
fn around(forms: &Forms, by: &[&Names]) -> Forms {
    by.iter()
        .flat_map(|names| forms.iter().flat_map(|form| names.forms_of(form)))
        .collect()
}

fn forms_of(merge: &Merge) -> Forms {
    merge.names.iter().map(|name| normal(name)).collect()
}

fn names_of<'a>(merges: impl IntoIterator<Item = &'a Merge>) -> Names {
    Names::of(merges.into_iter().map(|merge| merge.names.as_slice()))
}

/// Returns the rest of merges without a name, if it says that names are one, and no merge that is
/// kept says so.
fn left(undone: &[MergeRow], kept: &[MergeRow], form: &str, by: &str) -> Vec<Merge> {
    let said = kept.iter().filter(|row| row.merge.statement.is_none());
    let mut said: BTreeSet<Forms> = said.map(|row| forms_of(&row.merge)).collect();
    let mut rest: Vec<Merge> = undone.iter().map(|row| row.merge.clone()).collect();
    for merge in &mut rest {
        merge.names.retain(|name| normal(name) != form);
        merge.by = Some(by.to_owned());
    }
    rest.retain(|merge| {
        let forms = forms_of(merge);
        forms.len() > 1 && said.insert(forms)
    });
    rest
}

fn overtaken() -> Refused {
    Refused::Unprocessable("statements about these names change all the time: try again".into())
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
    let store = journal.store();
    let space = journal.space;
    let before = store.merges_of_statement(space, statement).await?;
    let merge = || Merge {
        names: names.map(str::to_owned).into(),
        reason: row.text.clone(),
        by: None,
        statement: Some(statement.to_owned()),
    };
    Ok((!before.iter().any(|row| row.cut)).then(merge))
}

/// Returns the undoing of a merge; by a rule, unless its `by` is set.
fn unmerge_of(merge: String, of: &Merge, reason: String) -> Unmerge {
    Unmerge {
        merge,
        names: of.names.clone(),
        reason,
        by: None,
    }
}

/// Returns the verdict on a statement that merges no names, with the reason.
fn not_merged(draft: Draft, statement: &str, judged: Judged, full: &Refused) -> Draft {
    let reason = format!("{}; its names are not merged: {full}", judged.reason);
    let news = News::Judged(Judged { reason, ..judged });
    Draft {
        conditions: draft.conditions,
        ..Draft::statement(&draft.thread, statement, news)
    }
}

/// Returns the statement that a draft judges, and the verdict.
fn judged_in(draft: &Draft) -> Option<(String, Judged)> {
    let is_word = draft.tags.get(1).is_some_and(|tag| tag == "judged");
    is_word.then(|| verdict(&draft.preview())).flatten()
}
