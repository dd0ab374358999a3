//! A session sees which names are one, merges them, and undoes that.

use std::collections::BTreeMap;

use super::handle::{Error, Session};
use super::right::Right;
use crate::event::entity::Merge;
use crate::log::projections::merges::{MergeRow, names};
use crate::words::id::Seq;

/// Names that are one.
#[derive(Debug, Clone)]
pub struct Entity {
    /// Its names as they were said, that by which it is called first.
    pub names: Vec<String>,
    /// The merges that say so, the oldest first.
    pub merges: Vec<MergeRow>,
}

impl Session {
    /// The entities that have several names, the one that was merged first first, from behind a position; and where the next ones would begin.
    pub async fn entities(
        &self,
        name: Option<&str>,
        after: Seq,
        limit: usize,
    ) -> Result<(Vec<Entity>, Option<Seq>), Error> {
        let merges = self.store(Right::Read)?.merges(self.space()).await?;
        let mut found = entities(merges, name);
        found.retain(|entity| entity.place() > after);
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().map(Entity::place).filter(|_| more);
        Ok((found, next))
    }

    /// Says that names are one. Returns the entity.
    pub async fn merge(&self, names: Vec<String>, reason: String) -> Result<Entity, Error> {
        let trials = &self.kinds(Right::Shape)?.trials;
        let (first, by) = (names[0].clone(), Some(self.author()));
        let merges = trials
            .merge(
                self.space(),
                Merge {
                    names,
                    reason,
                    by,
                    statement: None,
                },
            )
            .await?;
        let none = Entity {
            names: vec![first.clone()],
            merges: Vec::new(),
        };
        // None is left where somebody has undone it meanwhile.
        Ok(entities(merges, Some(&first)).pop().unwrap_or(none))
    }

    /// Says that a name is one with no other any more. Returns the merges that do not stand any more.
    pub async fn unmerge(&self, name: &str, reason: &str) -> Result<Vec<MergeRow>, Error> {
        let trials = &self.kinds(Right::Shape)?.trials;
        Ok(trials
            .unmerge(self.space(), name, reason, &self.author())
            .await?)
    }

    fn author(&self) -> String {
        self.user()
            .unwrap_or(self.principal().role.as_str())
            .to_owned()
    }
}

impl Entity {
    fn place(&self) -> Seq {
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
        let entity = found.entry(form).or_insert_with(|| Entity {
            names: Vec::new(),
            merges: Vec::new(),
        });
        for name in &row.merge.names {
            if !entity.names.contains(name) {
                entity.names.push(name.clone());
            }
        }
        entity.merges.push(row);
    }
    let mut found: Vec<Entity> = found.into_values().collect();
    found.sort_by_key(Entity::place);
    found
}
