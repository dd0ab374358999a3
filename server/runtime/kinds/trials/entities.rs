//! Merging and un-merging names: by an operator, and by what a statement says while it survives.
//! What follows from it for what is held: two statements that contradict each other by the names
//! that are one now are contested, and those that do not any more are not. Nothing else is written
//! to a statement. Whoever decides by names which are one stores that under the condition that they
//! still are; whoever changes them looks once more afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::contesting::anew;
use super::journal::{APPEND_MAX, Journal, Stored, under};
use super::{TRIES, Trials};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::entity::{Merge, Names, Unmerge, normal};
use crate::log::error::StoreError;
use crate::log::projections::merges::{MergeRow, names};
use crate::runtime::memory;
use crate::runtime::refused::Refused;
use crate::words::id::{self, Seq, Space, ThreadId};

/// The normal forms of the names that merges are about.
pub(super) type Forms = BTreeSet<String>;

impl Trials {
    /// An operator says that names are one. Returns the merges that stand.
    pub async fn merge(&self, space: &Space, merge: Merge) -> Result<Vec<MergeRow>, Refused> {
        let forms = forms_of(&merge);
        if forms.len() < 2 {
            let why = "these are one name already: a name is compared without regard to capitals, quotes around it and the article of a common noun";
            return Err(Refused::Unprocessable(why.into()));
        }
        let (journal, limits) = (self.journal(space), self.memory());
        for _ in 0..TRIES {
            let (before, seq) = merges_now(journal).await?;
            let is_same =
                |row: &&MergeRow| row.merge.statement.is_none() && forms == forms_of(&row.merge);
            if let Some(row) = before.iter().find(is_same) {
                let why = format!("these names are merged already, since event {}", row.seq);
                return Err(Refused::Settled(why));
            }
            let merges: Vec<Merge> = before.into_iter().map(|row| row.merge).collect();
            has_room(limits, &merges, &merge.names)?;
            let after = with(&merges, &merge.names);
            let first = Draft::merged(&ThreadId::default(), id::fresh(), merge.clone());
            let mut drafts = vec![first.only_if(Condition::NoneMergedSince(seq))];
            drafts.extend(anew(journal, &after, &around(&forms, &[&after])).await?);
            // What is more is written behind it.
            drafts.truncate(APPEND_MAX);
            if journal.is_appended(drafts).await? {
                contest_anew(journal, &forms).await?;
                return Ok(self.ground.store.merges(space).await?);
            }
        }
        Err(overtaken())
    }

    /// An operator says that a name is one with no other any more. Returns the merges that do not
    /// stand any more for it.
    pub async fn unmerge(
        &self,
        space: &Space,
        name: &str,
        reason: &str,
        by: &str,
    ) -> Result<Vec<MergeRow>, Refused> {
        let (journal, form) = (self.journal(space), &*normal(name));
        for _ in 0..TRIES {
            let (before, seq) = merges_now(journal).await?;
            let has_it = |row: &MergeRow| forms_of(&row.merge).contains(form);
            let (undone, kept): (Vec<MergeRow>, Vec<MergeRow>) =
                before.iter().cloned().partition(has_it);
            if undone.is_empty() {
                return Err(Refused::NotFound(format!("merge of the name {name:?}")));
            }
            let rest = left(&undone, &kept, form, by);
            let all = kept.iter().map(|row| &row.merge).chain(&rest);
            let after = Names::of(all.map(|merge| merge.names.as_slice()));
            let forms = around(&Forms::from([form.to_owned()]), &[&names(&before)]);
            // First what follows: of what is cut off between the merges are left, by which the rest
            // is found again.
            let follow = anew(journal, &after, &forms).await?;
            let Some(mut drafts) = one_append(journal, follow).await? else {
                continue;
            };
            drafts.extend(undone.iter().map(|row| {
                let unmerge = Unmerge {
                    merge: row.id.clone(),
                    names: row.merge.names.clone(),
                    reason: reason.to_owned(),
                    by: Some(by.to_owned()),
                };
                Draft::unmerged(&ThreadId::default(), unmerge)
            }));
            // Of one is enough: all are stored, or none.
            under(&mut drafts, [Condition::NoneMergedSince(seq)]);
            let merged = |merge| Draft::merged(&ThreadId::default(), id::fresh(), merge);
            drafts.extend(rest.into_iter().map(merged));
            if journal.is_appended(drafts).await? {
                contest_anew(journal, &forms).await?;
                return Ok(undone);
            }
        }
        Err(overtaken())
    }

    /// Looks through all spaces once, after a start: what follows from a merge for many statements
    /// may have been cut off, and what was judged by the names of before while one was undone is
    /// not looked at again by whoever died behind it. Of those that were undone the last are looked
    /// at.
    pub async fn contest_by_all_merges(self: Arc<Self>) {
        let store = &self.ground.store;
        let looked = async {
            for space in store.spaces_with_statements().await? {
                let merges = store.merges(&space).await?;
                let mut undone = store.merges_undone(&space).await?;
                let most = self.memory().merges as usize;
                undone.drain(..undone.len().saturating_sub(most));
                let all = merges.iter().chain(&undone);
                let forms = all.flat_map(|row| forms_of(&row.merge)).collect();
                contest_anew(self.journal(&space), &forms).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "what contradicts what by names that are one was not looked for; a start has it looked for again");
        }
    }
}

/// Refuses what goes beyond the limits.
pub(super) fn has_room(
    limits: &memory::Options,
    before: &[Merge],
    more: &[String],
) -> Result<(), Refused> {
    let names = with(before, more).forms(&more[0]).len();
    let merges = "merges of names that stand in a space (memory.merges)";
    let counts = [
        (before.len() + 1, limits.merges, merges),
        (
            names,
            limits.entity_names,
            "names of one entity (memory.entity_names)",
        ),
    ];
    match counts
        .into_iter()
        .find(|(count, limit, _)| *count > *limit as usize)
    {
        Some((_, limit, what)) => Err(Refused::TooMany { what, limit }),
        None => Ok(()),
    }
}

/// Writes down what contradicts what by the names as they are now, until that is so: statements
/// were judged meanwhile by the names of before.
pub(super) async fn contest_anew(journal: Journal<'_>, about: &Forms) -> Stored<()> {
    if about.is_empty() {
        return Ok(());
    }
    for _ in 0..TRIES {
        let (names, seq) = journal.store.names_now(journal.space).await?;
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

/// The merges that stand, and an event behind which that was looked up.
pub(super) async fn merges_now(
    Journal { store, space, .. }: Journal<'_>,
) -> Stored<(Vec<MergeRow>, Seq)> {
    let seq = store.head(space).await?.seq;
    Ok((store.merges(space).await?, seq))
}

/// Writes what follows from an undoing, but for what the append that undoes has room for: of what
/// is cut off between the merges are left, by which the rest is found again. None: something became
/// of a statement meanwhile.
pub(super) async fn one_append(
    journal: Journal<'_>,
    mut follow: Vec<Draft>,
) -> Stored<Option<Vec<Draft>>> {
    let rest = follow.split_off(follow.len().min(APPEND_MAX));
    for part in rest.chunks(APPEND_MAX) {
        if !journal.is_appended(part.to_vec()).await? {
            return Ok(None);
        }
    }
    Ok(Some(follow))
}

/// All names of the entities of some, by any of these.
pub(super) fn around(forms: &Forms, by: &[&Names]) -> Forms {
    by.iter()
        .flat_map(|names| forms.iter().flat_map(|form| names.forms_of(form)))
        .collect()
}

fn forms_of(merge: &Merge) -> Forms {
    merge.names.iter().map(|name| normal(name)).collect()
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

fn with(before: &[Merge], more: &[String]) -> Names {
    let names = before.iter().map(|merge| merge.names.as_slice());
    Names::of(names.chain([more]))
}
