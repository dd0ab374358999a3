//! Merging and un-merging names: by an operator, and by what a statement says while it survives. What follows from it for what is held: two statements that
//! contradict each other by the names that are one now are contested, and those that do not any more are not. Nothing else is written to a statement.
//! Whoever decides by names which are one stores that under the condition that they still are; whoever changes them looks once more afterwards.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::contesting::anew;
use super::settling::APPEND_MAX;
use super::{TRIES, Trials};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::entity::{Merge, Names, Unmerge, normal};
use crate::log::error::StoreError;
use crate::log::projections::merges::{MergeRow, names};
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
        for _ in 0..TRIES {
            let (before, seq) = self.merges_now(space).await?;
            let is_same =
                |row: &MergeRow| row.merge.statement.is_none() && forms == forms_of(&row.merge);
            if let Some(row) = before.iter().find(|row| is_same(row)) {
                return Err(Refused::Settled(format!(
                    "these names are merged already, since event {}",
                    row.seq
                )));
            }
            self.has_room(&before, &merge.names)?;
            let after = with(&before, &merge.names);
            let first = Draft::merged(&ThreadId::default(), id::fresh(), merge.clone());
            let mut drafts = vec![first.only_if(Condition::NoneMergedSince(seq))];
            drafts.extend(anew(&*self.store, space, &after, &around(&forms, &[&after])).await?);
            // What is more is written behind it.
            drafts.truncate(APPEND_MAX);
            if self.is_appended(space, drafts).await? {
                self.contest_anew(space, &forms).await?;
                return Ok(self.store.merges(space).await?);
            }
        }
        Err(overtaken())
    }

    /// An operator says that a name is one with no other any more. Returns the merges that do not stand any more for it.
    pub async fn unmerge(
        &self,
        space: &Space,
        name: &str,
        reason: &str,
        by: &str,
    ) -> Result<Vec<MergeRow>, Refused> {
        let form = normal(name);
        for _ in 0..TRIES {
            let (before, seq) = self.merges_now(space).await?;
            let undone: Vec<MergeRow> = before
                .iter()
                .filter(|row| has(row, &form))
                .cloned()
                .collect();
            if undone.is_empty() {
                return Err(Refused::NotFound(format!("merge of the name {name:?}")));
            }
            let mut rest: Vec<Merge> = undone
                .iter()
                .filter_map(|row| without(&row.merge, &form, by))
                .collect();
            // What is said already is not said once more.
            let stands = before
                .iter()
                .filter(|row| !has(row, &form) && row.merge.statement.is_none());
            let mut said: BTreeSet<Forms> = stands.map(|row| forms_of(&row.merge)).collect();
            rest.retain(|merge| said.insert(forms_of(merge)));
            let kept = before
                .iter()
                .filter(|row| !has(row, &form))
                .map(|row| row.merge.names.as_slice());
            let after = Names::of(kept.chain(rest.iter().map(|merge| merge.names.as_slice())));
            let forms = around(&Forms::from([form.clone()]), &[&names(&before)]);
            // First what follows: of what is cut off between the merges are left, by which the rest is found again.
            let Some(mut drafts) = self
                .one_append(space, anew(&*self.store, space, &after, &forms).await?)
                .await?
            else {
                continue;
            };
            drafts.extend(undone.iter().map(|row| {
                let (merge, names) = (row.id.clone(), row.merge.names.clone());
                let unmerge = Unmerge {
                    merge,
                    names,
                    reason: reason.to_owned(),
                    by: Some(by.to_owned()),
                };
                Draft::unmerged(&ThreadId::default(), unmerge)
            }));
            // Of one is enough: all are stored, or none.
            drafts
                .first_mut()
                .into_iter()
                .for_each(|first| first.conditions.push(Condition::NoneMergedSince(seq)));
            drafts.extend(
                rest.into_iter()
                    .map(|merge| Draft::merged(&ThreadId::default(), id::fresh(), merge)),
            );
            if self.is_appended(space, drafts).await? {
                self.contest_anew(space, &forms).await?;
                return Ok(undone);
            }
        }
        Err(overtaken())
    }

    /// Refuses what goes beyond the limits.
    pub(super) fn has_room(&self, before: &[MergeRow], more: &[String]) -> Result<(), Refused> {
        let limit = self.memory.merges;
        if before.len() >= limit as usize {
            return Err(Refused::TooMany {
                what: "merges of names that stand in a space (memory.merges)",
                limit,
            });
        }
        let limit = self.memory.entity_names;
        if with(before, more).forms(&more[0]).len() > limit as usize {
            return Err(Refused::TooMany {
                what: "names of one entity (memory.entity_names)",
                limit,
            });
        }
        Ok(())
    }

    /// Looks through all spaces once, after a start: what follows from a merge for many statements may have been cut off, and what was judged by the names of
    /// before while one was undone is not looked at again by whoever died behind it. Of those that were undone the last are looked at.
    pub async fn contest_by_all_merges(self: Arc<Self>) {
        let looked = async {
            for space in self.store.spaces_with_statements().await? {
                let (merges, mut undone) = (
                    self.store.merges(&space).await?,
                    self.store.merges_undone(&space).await?,
                );
                undone.drain(..undone.len().saturating_sub(self.memory.merges as usize));
                let forms: Forms = merges
                    .iter()
                    .chain(&undone)
                    .flat_map(|row| &row.merge.names)
                    .map(|name| normal(name))
                    .collect();
                self.contest_anew(&space, &forms).await?;
            }
            Ok::<(), StoreError>(())
        };
        if let Err(error) = looked.await {
            tracing::warn!(%error, "what contradicts what by names that are one was not looked for; a start has it looked for again");
        }
    }

    /// Writes down what contradicts what by the names as they are now, until that is so: statements were judged meanwhile by the names of before.
    pub(super) async fn contest_anew(
        &self,
        space: &Space,
        about: &Forms,
    ) -> Result<(), StoreError> {
        if about.is_empty() {
            return Ok(());
        }
        for _ in 0..TRIES {
            let (names, seq) = self.store.names_now(space).await?;
            let mut drafts = anew(&*self.store, space, &names, &around(about, &[&names])).await?;
            let Some(first) = drafts.first_mut() else {
                return Ok(());
            };
            first.conditions.push(Condition::NoneMergedSince(seq));
            for part in drafts.chunks(APPEND_MAX) {
                self.is_appended(space, part.to_vec()).await?;
            }
        }
        tracing::warn!(%space, "what contradicts what by names that are one changed all the time while it was written down; a start looks again");
        Ok(())
    }

    /// The merges that stand, and an event behind which that was looked up.
    pub(super) async fn merges_now(
        &self,
        space: &Space,
    ) -> Result<(Vec<MergeRow>, Seq), StoreError> {
        let seq = self.store.head(space).await?.seq;
        Ok((self.store.merges(space).await?, seq))
    }

    /// Appends. False: something became of a statement, or of names, meanwhile.
    async fn is_appended(&self, space: &Space, drafts: Vec<Draft>) -> Result<bool, StoreError> {
        match self.append(space, drafts).await {
            Ok(()) => Ok(true),
            Err(StoreError::Unmet(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes what follows from an undoing, but for what the append that undoes has room for: of what is cut off between the merges are left, by which the
    /// rest is found again. None: something became of a statement meanwhile.
    pub(super) async fn one_append(
        &self,
        space: &Space,
        mut follow: Vec<Draft>,
    ) -> Result<Option<Vec<Draft>>, StoreError> {
        let rest = follow.split_off(follow.len().min(APPEND_MAX));
        for part in rest.chunks(APPEND_MAX) {
            if !self.is_appended(space, part.to_vec()).await? {
                return Ok(None);
            }
        }
        Ok(Some(follow))
    }
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

/// Whether a merge has a name, by its normal form.
fn has(row: &MergeRow, form: &str) -> bool {
    row.merge.names.iter().any(|name| normal(name) == form)
}

/// What is left of a merge without a name; none: nothing that is one.
fn without(merge: &Merge, form: &str, by: &str) -> Option<Merge> {
    let names: Vec<String> = merge
        .names
        .iter()
        .filter(|name| normal(name) != form)
        .cloned()
        .collect();
    let left = Merge {
        names,
        by: Some(by.to_owned()),
        ..merge.clone()
    };
    (forms_of(&left).len() > 1).then_some(left)
}

fn overtaken() -> Refused {
    Refused::Unprocessable("statements about these names change all the time: try again".into())
}

fn with(before: &[MergeRow], more: &[String]) -> Names {
    Names::of(
        before
            .iter()
            .map(|row| row.merge.names.as_slice())
            .chain([more]),
    )
}
