//! Merges that statements make: a statement that says of two names that they are one merges them while it survives, whatever part of the
//! method judges it.

use std::collections::BTreeSet;

use super::Trials;
use super::contesting::anew;
use super::entities::{Forms, around};
use super::settling::APPEND_MAX;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::entity::{Merge, Unmerge, identity, normal};
use crate::event::fact::Fact;
use crate::event::fact::statement::{Said, StatementFact};
use crate::event::statement::{Judged, Outcome, Status};
use crate::event::trial::News;
use crate::log::error::StoreError;
use crate::log::projections::merges::{MergeRow, names};
use crate::runtime::refused::Refused;
use crate::words::id::{self, Space};

impl Trials {
    /// What an append says of statements, and before that the merges that it makes or undoes: a statement that says of two names that they are one merges
    /// them while it survives. And the names that these are about: what contradicts what by them is to be looked at again afterwards (`contest_anew`).
    pub(super) async fn with_merges(
        &self,
        space: &Space,
        mut drafts: Vec<Draft>,
    ) -> Result<(Vec<Draft>, Forms), StoreError> {
        if drafts.iter().all(|draft| judged_in(draft).is_none()) {
            return Ok((drafts, Forms::new()));
        }
        let (before, seq) = self.merges_now(space).await?;
        let mut all = Merging {
            after: before.clone(),
            ..Merging::default()
        };
        for draft in &mut drafts {
            let Some((statement, judged)) = judged_in(draft) else {
                continue;
            };
            all.told.insert(statement.clone());
            let stands = all
                .after
                .iter()
                .position(|row| row.merge.statement.as_ref() == Some(&statement));
            match (
                stands,
                self.said_to_be_one(space, &statement, &judged).await?,
            ) {
                (Some(at), None) => all.undo(at, draft, &statement, &judged),
                (None, Some(merge)) => match self.has_room(&all.after, &merge.names) {
                    Ok(()) => all.make(draft, merge),
                    Err(full) => *draft = not_merged(draft, &statement, judged, &full),
                },
                _ => {}
            }
        }
        let Merging {
            after,
            made,
            undone,
            forms,
            told,
        } = all;
        if made.is_empty() && undone.is_empty() {
            return Ok((drafts, forms));
        }
        if let Some(first) = drafts.first_mut() {
            first.conditions.push(Condition::NoneMergedSince(seq));
        }
        let (was, is) = (names(&before), names(&after));
        let forms = around(&forms, &[&was, &is]);
        let mut follow = anew(&*self.store, space, &is, &forms).await?;
        // What this append says of a statement itself is the last word.
        follow.retain(|draft| judged_in(draft).is_none_or(|(id, _)| !told.contains(&id)));
        if made.is_empty() {
            follow = self.one_append(space, follow).await?.unwrap_or_default();
        }
        // What is more, or was overtaken, is written behind it.
        follow.truncate(APPEND_MAX);
        Ok((
            made.into_iter()
                .chain(follow)
                .chain(undone)
                .chain(drafts)
                .collect(),
            forms,
        ))
    }

    /// What a statement merges, as it is judged: nothing if an operator has undone that.
    async fn said_to_be_one(
        &self,
        space: &Space,
        statement: &str,
        judged: &Judged,
    ) -> Result<Option<Merge>, StoreError> {
        if judged.outcome != Outcome::Is(Status::Surviving) {
            return Ok(None);
        }
        let Some(row) = self.store.statement(space, statement).await? else {
            return Ok(None);
        };
        let Some(names) = row
            .triple
            .as_ref()
            .and_then(|triple| identity(triple, judged))
        else {
            return Ok(None);
        };
        let cut = self
            .store
            .merges_of_statement(space, statement)
            .await?
            .iter()
            .any(|row| row.cut);
        let names = names.map(str::to_owned).to_vec();
        let merge = Merge {
            names,
            reason: row.text,
            by: None,
            statement: Some(statement.to_owned()),
        };
        Ok((!cut).then_some(merge))
    }
}

/// The merges that an append makes and undoes.
#[derive(Default)]
struct Merging {
    /// Those that stand then.
    after: Vec<MergeRow>,
    made: Vec<Draft>,
    undone: Vec<Draft>,
    /// The names that they are about.
    forms: Forms,
    /// The statements that the append says something of.
    told: BTreeSet<String>,
}

impl Merging {
    fn make(&mut self, draft: &Draft, merge: Merge) {
        self.forms
            .extend(merge.names.iter().map(|name| normal(name)));
        self.made
            .push(Draft::merged(&draft.thread, id::fresh(), merge.clone()));
        self.after.push(MergeRow {
            merge,
            ..standing()
        });
    }

    fn undo(&mut self, at: usize, draft: &Draft, statement: &str, judged: &Judged) {
        let MergeRow {
            id: merge,
            merge: Merge { names, .. },
            ..
        } = self.after.remove(at);
        self.forms.extend(names.iter().map(|name| normal(name)));
        let reason = format!(
            "the statement that says so is {} now: {statement}",
            judged.outcome.as_str()
        );
        self.undone.push(Draft::unmerged(
            &draft.thread,
            Unmerge {
                merge,
                names,
                reason,
                by: None,
            },
        ));
    }
}

/// The verdict on a statement whose names are not merged, with the reason.
fn not_merged(draft: &mut Draft, statement: &str, judged: Judged, full: &Refused) -> Draft {
    let reason = format!("{}; its names are not merged: {full}", judged.reason);
    let conditions = std::mem::take(&mut draft.conditions);
    Draft {
        conditions,
        ..Draft::statement(
            &draft.thread,
            statement,
            News::Judged(Judged { reason, ..judged }),
        )
    }
}

/// A row of a merge that is not stored yet.
fn standing() -> MergeRow {
    let merge = Merge {
        names: Vec::new(),
        reason: String::new(),
        by: None,
        statement: None,
    };
    let made = crate::words::time::Timestamp::from_micros(0);
    MergeRow {
        id: String::new(),
        seq: 0,
        merge,
        made,
        ended: 0,
        cut: false,
        changed: 0,
    }
}

/// Which statement a draft judges, and how.
fn judged_in(draft: &Draft) -> Option<(String, Judged)> {
    if draft.tags.get(1).is_none_or(|tag| tag != "judged") {
        return None;
    }
    match draft.preview().fact() {
        Fact::Statement(StatementFact {
            statement,
            what: Said::News(news),
        }) => match *news {
            News::Judged(judged) => Some((statement.to_owned(), judged)),
            _ => None,
        },
        _ => None,
    }
}
