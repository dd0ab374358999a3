//! A session audits the memory of its space for errors and doubts, a page of statements at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use utoipa::ToSchema;

use super::handle::{Acted, Session};
use super::right::Right;
use super::statement::Statement;
use thinkd_event::doubt::{Doubt, doubts};
use thinkd_event::entity::Names;
use thinkd_event::method;
use thinkd_event::statement::{Status, Triple, folded};
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_recall::audit::{Likenesses, Near};
use thinkd_recall::finder;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// Others that say the same, or look alike, that are named of one statement.
const OTHERS_MAX: usize = 5;

/// Most statements of the same words, or of the same edge, that are held beside one.
const REACH: u32 = 1000;

/// A part of an audit.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Audit {
    /// The statements of this page about which there is a doubt, in the order in which they were claimed.
    pub items: Vec<DoubtfulStatement>,
    /// The number of statements this page looked at, by their status.
    #[schema(value_type = Object)]
    pub looked_at: BTreeMap<&'static str, u64>,
    /// The number of recalls by agents that were looked at, the newest ones: at most 2000.
    pub recalls: usize,
    /// Why vectors said nothing, or not of all statements; null: they did.
    pub without_vectors: Option<String>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
}

/// A statement about which there is a doubt.
#[derive(Debug, Serialize, ToSchema)]
pub struct DoubtfulStatement {
    /// The statement.
    #[serde(flatten)]
    pub statement: Statement,
    /// The doubts.
    pub doubts: Vec<Doubt>,
    /// The number of the recalls looked at that returned it.
    pub recalled: u32,
    /// The ids of others that are held and say the same of the same time, at most five.
    pub same: Vec<String>,
    /// Others that are held and look alike, the nearest first, at most five: candidates, which nothing merges.
    pub near: Vec<Near>,
}

impl Session {
    /// Looks at `limit` statements behind a position, and returns the position behind which the
    /// next part begins. A statement that was not tested since `old` is overdue; with `only`, no
    /// other doubt is looked for.
    pub async fn audit(
        &self,
        only: Option<Doubt>,
        old: Timestamp,
        (after, limit): (Seq, u32),
    ) -> Acted<(Audit, Option<Seq>)> {
        let ((store, space), recall) = (self.reading()?, self.runtime(Right::Read)?.recall());
        let asked = Asked {
            after,
            limit,
            ..Asked::default()
        };
        let rows = store.statements(space, &asked).await?;
        let last = rows.last().filter(|_| rows.len() == limit as usize);
        let next = last.map(|row| row.number);
        let wants = |doubt: Doubt| only.is_none_or(|only| only == doubt);
        let held = rows.iter().filter(|row| row.status.is_held());
        let held = held.map(|row| row.id.clone()).collect();
        let mut alike = match wants(Doubt::Near) {
            true => match recall.likenesses(space, held, OTHERS_MAX).await {
                Ok(found) => found,
                Err(finder::Error::Store(error)) => return Err(error.into()),
                // Where nothing can be recalled the rest is told all the same.
                Err(error) => Likenesses {
                    without_vectors: Some(error.to_string()),
                    ..Likenesses::default()
                },
            },
            false => Likenesses::default(),
        };
        let uses = recall.uses(space).await?;
        let names = self.names(wants(Doubt::Duplicate), None).await?;
        let mut audit = Audit {
            recalls: uses.recalls(),
            without_vectors: alike.without_vectors,
            ..Audit::default()
        };
        for row in rows {
            *audit.looked_at.entry(row.status.as_str()).or_default() += 1;
            let recalled = uses.of(&row.id);
            let is_held = row.status.is_held();
            let near = alike.of.remove(&row.id).unwrap_or_default();
            let same = match is_held && wants(Doubt::Duplicate) {
                true => self.same_as(&row, &names).await?,
                false => Vec::new(),
            };
            let found = [
                (Doubt::Duplicate, !same.is_empty()),
                (Doubt::Near, !near.is_empty()),
                (Doubt::NeverRecalled, is_held && recalled == 0),
            ];
            let found = found
                .into_iter()
                .filter_map(|(doubt, is_so)| is_so.then_some(doubt));
            let judged = (row.status, row.judged.as_ref());
            let own = doubts(judged, (row.due, row.tested), old);
            let doubts: Vec<Doubt> = found.chain(own).filter(|doubt| wants(*doubt)).collect();
            if !doubts.is_empty() {
                audit.items.push(DoubtfulStatement {
                    statement: Statement::alone(row),
                    doubts,
                    recalled,
                    same,
                    near,
                });
            }
        }
        let shown = audit.items.iter_mut().map(|it| &mut it.statement);
        self.contest(shown, None).await?;
        Ok((audit, next))
    }

    /// Others that are held and say the same of the same time: by their edges, as names are one now, and where one has none, by their texts.
    async fn same_as(&self, row: &StatementRow, names: &Names) -> Acted<Vec<String>> {
        let (store, space) = self.reading()?;
        let mut others = store.statements_saying(space, &row.text, REACH).await?;
        others.retain(|row| row.status.is_held());
        if let Some(triple) = &row.triple {
            for asked in alike(triple, names) {
                others.extend(store.statements(space, &asked).await?);
            }
        }
        let is_same = |other: &StatementRow| match (&row.triple, &other.triple) {
            (Some(own), Some(other)) => method::is_same_by(own, other, names),
            _ => folded(&row.text) == folded(&other.text),
        };
        others.retain(|it| it.id != row.id && it.valid == row.valid && is_same(it));
        let ids: BTreeSet<String> = others.into_iter().map(|it| it.id).collect();
        Ok(ids.into_iter().take(OTHERS_MAX).collect())
    }
}

/// Returns the queries for held statements that have the same edge, by any names of its ends.
fn alike(triple: &Triple, names: &Names) -> Vec<Asked> {
    let mut all = Vec::new();
    for object in names.forms(&triple.object) {
        for status in Status::HELD {
            let asked = Asked {
                object: Some(object.clone()),
                limit: REACH,
                ..Asked::of(status)
            };
            all.extend(asked.about(triple, names));
        }
    }
    all
}
