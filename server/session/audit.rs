//! A session audits the memory of its space: what is wrong with it, or doubtful, a page of statements at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::handle::{Error, Session};
use super::right::Right;
use super::world_model::Shown;
use crate::event::doubt::{Doubt, doubts};
use crate::event::entity::Names;
use crate::event::method;
use crate::event::statement::{Status, Triple, folded};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::projections::statements::{Asked, StatementRow};
use crate::recall::audit::{Alike, Likenesses};
use crate::recall::finder;
use crate::words::id::{Seq, Space};
use crate::words::time::Timestamp;

/// Others that say the same, or look alike, that are named of one statement.
const OTHERS_MAX: usize = 5;

/// Most statements of the same words, or of the same edge, that are held beside one.
const REACH: u32 = 1000;

/// A statement, and what is doubtful about it.
#[derive(Debug, Clone)]
pub struct Doubtful {
    /// The statement.
    pub shown: Shown,
    /// The doubts.
    pub doubts: Vec<Doubt>,
    /// Others that are held and say the same.
    pub same: Vec<String>,
    /// Others that are held and look alike.
    pub near: Vec<Alike>,
    /// How many of the recalls that were looked at returned it.
    pub recalled: u32,
}

/// A part of an audit.
#[derive(Debug, Clone, Default)]
pub struct Audited {
    /// What is doubtful.
    pub doubtful: Vec<Doubtful>,
    /// How many statements were looked at, by their status.
    pub looked_at: BTreeMap<&'static str, u64>,
    /// How many recalls were looked at.
    pub recalls: usize,
    /// Why vectors said nothing, or not of all statements.
    pub without_vectors: Option<String>,
    /// Behind which statement the next part begins.
    pub next: Option<Seq>,
}

impl Session {
    /// Looks at so many statements behind a position. What was not tested since `old` is overdue; `only`: nothing else is looked for.
    pub async fn audit(
        &self,
        only: Option<Doubt>,
        old: Timestamp,
        (after, limit): (Seq, u32),
    ) -> Result<Audited, Error> {
        let (store, space, recall) = (
            self.store(Right::Read)?,
            self.space(),
            self.runtime(Right::Read)?.recall(),
        );
        let rows = store
            .statements(
                space,
                &Asked {
                    after,
                    limit,
                    ..Asked::default()
                },
            )
            .await?;
        let next = rows
            .last()
            .filter(|_| rows.len() == limit as usize)
            .map(|row| row.number);
        let wants = |doubt: Doubt| only.is_none_or(|only| only == doubt);
        let held = rows
            .iter()
            .filter(|row| row.status.is_held())
            .map(|row| row.id.clone())
            .collect();
        let Likenesses {
            of: mut near,
            without_vectors,
        } = match wants(Doubt::Near) {
            true => likenesses(recall.likenesses(space, held, OTHERS_MAX).await)?,
            false => Likenesses::default(),
        };
        let uses = recall.uses(space).await?;
        let names = if wants(Doubt::Duplicate) {
            store.names(space, None).await?
        } else {
            Names::default()
        };
        let (texts, edges) = (HashMap::new(), HashMap::new());
        let mut sames = Sames {
            store: &**store,
            space,
            names,
            texts,
            edges,
        };
        let mut audited = Audited {
            recalls: uses.recalls(),
            without_vectors,
            next,
            ..Audited::default()
        };
        let (mut doubtful, mut found) = (Vec::new(), Vec::new());
        for row in rows {
            *audited.looked_at.entry(row.status.as_str()).or_default() += 1;
            let (recalled, near) = (uses.of(&row.id), near.remove(&row.id).unwrap_or_default());
            let mut same = Vec::new();
            if row.status.is_held() && wants(Doubt::Duplicate) {
                same = sames.of(&row).await?;
            }
            let own = doubts(
                (row.status, row.judged.as_ref()),
                (row.due, row.tested),
                old,
            );
            let more = [
                (Doubt::Duplicate, !same.is_empty()),
                (Doubt::Near, !near.is_empty()),
                (Doubt::NeverRecalled, row.status.is_held() && recalled == 0),
            ];
            let more = more
                .into_iter()
                .filter(|(_, is_so)| *is_so)
                .map(|(doubt, _)| doubt);
            let doubts: Vec<Doubt> = more.chain(own).filter(|doubt| wants(*doubt)).collect();
            if !doubts.is_empty() {
                doubtful.push(row);
                found.push((doubts, same, near, recalled));
            }
        }
        let shown = self.shown(doubtful, None).await?.into_iter().zip(found);
        audited.doubtful = shown
            .map(|(shown, (doubts, same, near, recalled))| Doubtful {
                shown,
                doubts,
                same,
                near,
                recalled,
            })
            .collect();
        Ok(audited)
    }
}

/// Where nothing can be recalled the rest is told all the same.
fn likenesses(found: Result<Likenesses, finder::Error>) -> Result<Likenesses, Error> {
    match found {
        Err(finder::Error::Store(error)) => Err(error.into()),
        Err(error) => Ok(Likenesses {
            without_vectors: Some(error.to_string()),
            ..Likenesses::default()
        }),
        Ok(found) => Ok(found),
    }
}

/// What is held and may say the same as others, looked up once for the same words and for the same edge.
struct Sames<'a> {
    store: &'a dyn Store,
    space: &'a Space,
    names: Names,
    texts: HashMap<String, Vec<StatementRow>>,
    edges: HashMap<[String; 3], Vec<StatementRow>>,
}

impl Sames<'_> {
    /// Others that are held and say the same of the same time: by their edges, as names are one now, and where one has none, by their texts.
    async fn of(&mut self, row: &StatementRow) -> Result<Vec<String>, StoreError> {
        let mut others = self.with_text(row).await?.clone();
        if let Some(triple) = &row.triple {
            others.extend(self.with_edge(triple).await?.iter().cloned());
        }
        let is_same = |other: &StatementRow| match (&row.triple, &other.triple) {
            (Some(own), Some(other)) => method::is_same_by(own, other, &self.names),
            _ => folded(&row.text) == folded(&other.text),
        };
        others.retain(|it| it.id != row.id && it.valid == row.valid && is_same(it));
        let mut ids: Vec<String> = others.into_iter().map(|it| it.id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(OTHERS_MAX);
        Ok(ids)
    }

    async fn with_text(&mut self, row: &StatementRow) -> Result<&Vec<StatementRow>, StoreError> {
        let key = folded(&row.text);
        if !self.texts.contains_key(&key) {
            let mut rows = self
                .store
                .statements_saying(self.space, &row.text, REACH)
                .await?;
            rows.retain(|row| row.status.is_held());
            self.texts.insert(key.clone(), rows);
        }
        Ok(&self.texts[&key])
    }

    async fn with_edge(&mut self, triple: &Triple) -> Result<&Vec<StatementRow>, StoreError> {
        let names = &self.names;
        let key = [
            names.resolve(&triple.subject),
            folded(&triple.relation),
            names.resolve(&triple.object),
        ];
        if !self.edges.contains_key(&key) {
            let (subjects, objects) = (names.forms(&triple.subject), names.forms(&triple.object));
            let mut rows = Vec::new();
            for (subject, object) in pairs(&subjects, &objects) {
                for status in [Status::Surviving, Status::Contested] {
                    let (subject, object) = (Some(subject.clone()), Some(object.clone()));
                    let (status, relation, limit) =
                        (Some(status), Some(triple.relation.clone()), REACH);
                    let asked = Asked {
                        status,
                        subject,
                        relation,
                        object,
                        limit,
                        ..Asked::default()
                    };
                    rows.extend(self.store.statements(self.space, &asked).await?);
                }
            }
            self.edges.insert(key.clone(), rows);
        }
        Ok(&self.edges[&key])
    }
}

fn pairs(subjects: &BTreeSet<String>, objects: &BTreeSet<String>) -> Vec<(String, String)> {
    subjects
        .iter()
        .flat_map(|it| {
            objects
                .iter()
                .map(move |object| (it.clone(), object.clone()))
        })
        .collect()
}
