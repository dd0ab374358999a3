//! A session sees which names are one, merges them, and undoes that.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::entity::Merge;
use thinkd_log::projections::merges::{MergeRow, names};
use thinkd_memory::merges;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// Names that are one. A statement about them keeps the names that it was said with.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Entity {
    /// Its names as they were said, that by which it is called first.
    pub names: Vec<String>,
    /// The merges that say so and stand, the oldest first.
    pub merges: Vec<NameMerge>,
}

/// A merge of names.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NameMerge {
    /// Its id: that of the event that made it.
    #[schema(format = "uuid")]
    pub id: String,
    /// The position of that event.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// The names.
    pub names: Vec<String>,
    /// Why.
    pub reason: String,
    /// The author of the merge; null: a rule.
    pub by: Option<String>,
    /// The statement that says so, where a rule did it: when it falls, the merge is undone.
    pub statement: Option<String>,
    /// When.
    #[schema(value_type = String)]
    pub at: Timestamp,
}

impl From<MergeRow> for NameMerge {
    fn from(row: MergeRow) -> Self {
        Self {
            id: row.id,
            seq: row.seq,
            names: row.merge.names,
            reason: row.merge.reason,
            by: row.merge.by,
            statement: row.merge.statement,
            at: row.made,
        }
    }
}

impl Session {
    /// The entities that have several names, the one that was merged first first, from behind a position.
    pub async fn entities(&self, name: Option<&str>, after: Seq) -> Acted<Vec<Entity>> {
        let (store, space) = self.reading()?;
        let mut found = entities(store.merges(space).await?, name);
        found.retain(|entity| entity.place() > after);
        Ok(found)
    }

    /// Says that names are one. Returns the entity.
    pub async fn merge(&self, names: Vec<String>, reason: String) -> Acted<Entity> {
        let trials = &self.kinds(Right::Shape)?.trials;
        let first = names[0].clone();
        let merge = Merge {
            names,
            reason,
            by: Some(self.author().to_owned()),
            statement: None,
        };
        let merges = merges::merge(trials.journal(self.space()), merge).await?;
        // None is left where somebody has undone it meanwhile.
        let found = entities(merges, Some(&first)).pop();
        Ok(found.unwrap_or_else(|| Entity {
            names: vec![first],
            merges: Vec::new(),
        }))
    }

    /// Says that a name is one with no other any more. Returns the merges that do not stand any more.
    pub async fn unmerge(&self, name: &str, reason: &str) -> Acted<Vec<NameMerge>> {
        let trials = &self.kinds(Right::Shape)?.trials;
        let journal = trials.journal(self.space());
        let undone = merges::unmerge(journal, name, reason, self.author());
        Ok(undone.await?.into_iter().map(NameMerge::from).collect())
    }
}

impl Entity {
    /// Its place among the others.
    pub fn place(&self) -> Seq {
        self.merges.first().map_or(0, |row| row.seq)
    }
}

/// The entities of merges; with a name, that one alone.
fn entities(merges: Vec<MergeRow>, name: Option<&str>) -> Vec<Entity> {
    let one = names(&merges);
    let asked = name.map(|name| one.asked(name));
    let mut found: BTreeMap<String, Entity> = BTreeMap::new();
    for row in merges {
        let Some(first) = row.merge.names.first() else {
            continue;
        };
        let form = one.resolve(first);
        if asked.as_ref().is_some_and(|asked| !asked.contains(&form)) {
            continue;
        }
        let entity = found.entry(form).or_default();
        for name in &row.merge.names {
            if !entity.names.contains(name) {
                entity.names.push(name.clone());
            }
        }
        entity.merges.push(row.into());
    }
    let mut found: Vec<Entity> = found.into_values().collect();
    found.sort_by_key(Entity::place);
    found
}
