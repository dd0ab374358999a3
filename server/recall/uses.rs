//! How often statements were recalled by minds: counted from the results of recalls in the log, of which the newest are looked at. What was counted is
//! kept for a while, so that only what came since is read; it is no truth, and made again from the log.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::calls::Came;
use crate::event::fact::recalled;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::query::{Order, Query, Show};
use crate::words::id::{Seq, Space};

/// Recalls that are looked at, the newest.
pub const RECALLS_MAX: usize = 2000;
/// Results that are read at once.
const PAGE: u32 = 500;
/// Most pages: results that failed are among them.
const PAGES_MAX: usize = 2 * RECALLS_MAX / PAGE as usize;
/// Of so many spaces what was counted is kept.
const SPACES_MAX: usize = 64;

/// See the module.
#[derive(Default)]
pub struct Uses {
    // A plain mutex: held for a look, never across an await.
    spaces: Mutex<HashMap<Space, Arc<Counted>>>,
}

/// What was recalled of late in a space.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// The last result that was read.
    upto: Seq,
    /// What each recall returned, the oldest first.
    recalls: VecDeque<Vec<String>>,
    times: HashMap<String, u32>,
}

impl Counted {
    /// How many recalls were looked at.
    pub fn recalls(&self) -> usize {
        self.recalls.len()
    }

    /// How many of them returned a statement.
    pub fn of(&self, id: &str) -> u32 {
        self.times.get(id).copied().unwrap_or(0)
    }

    /// The statements that were returned most often, the first ones first; at most so many.
    pub fn most(&self, limit: usize) -> Vec<&str> {
        let mut all: Vec<(&str, u32)> = self
            .times
            .iter()
            .map(|(id, times)| (id.as_str(), *times))
            .collect();
        all.sort_unstable_by_key(|(id, times)| (std::cmp::Reverse(*times), *id));
        all.into_iter().take(limit).map(|(id, _)| id).collect()
    }

    fn add(&mut self, recalled: Vec<String>) {
        for id in &recalled {
            *self.times.entry(id.clone()).or_default() += 1;
        }
        self.recalls.push_back(recalled);
        if self.recalls.len() > RECALLS_MAX {
            for id in self.recalls.pop_front().into_iter().flatten() {
                let left = self.times.get_mut(&id).map(|times| {
                    *times -= 1;
                    *times
                });
                if left == Some(0) {
                    self.times.remove(&id);
                }
            }
        }
    }
}

impl Uses {
    /// What was recalled of late in a space, as the log has it now.
    pub async fn counted(
        &self,
        store: &dyn Store,
        space: &Space,
    ) -> Result<Arc<Counted>, StoreError> {
        let before = self.lock().get(space).cloned().unwrap_or_default();
        let mut news = Vec::new();
        let mut until = None;
        // From the newest backwards: of a long log the rest is not looked at.
        for _ in 0..PAGES_MAX {
            let query = Query {
                tags: vec!["tool:recall".into(), recalled::TAG.into()],
                after: Some(before.upto),
                before: until,
                show: Show::All,
                order: Order::Descending,
                limit: PAGE,
                ..Query::default()
            };
            let page = store.events(space, &query).await?;
            let is_last = page.len() < PAGE as usize;
            until = page.last().map(|event| event.seq);
            news.extend(
                page.into_iter()
                    .filter_map(|event| Some((event.seq, recalled(&event)?))),
            );
            if is_last || news.len() >= RECALLS_MAX {
                break;
            }
        }
        if news.is_empty() {
            return Ok(before);
        }
        let mut counted = Counted::clone(&before);
        news.truncate(RECALLS_MAX);
        for (seq, recalled) in news.into_iter().rev() {
            counted.upto = seq;
            counted.add(recalled);
        }
        let counted = Arc::new(counted);
        let mut spaces = self.lock();
        if spaces.len() >= SPACES_MAX && !spaces.contains_key(space) {
            spaces.clear();
        }
        spaces.insert(space.clone(), counted.clone());
        Ok(counted)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Space, Arc<Counted>>> {
        self.spaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The statements that a recall returned, by the tool or of a turn; none: it is no recall that came to something.
fn recalled(event: &Event) -> Option<Vec<String>> {
    let outcome = match event.fact() {
        Fact::Result(outcome) => outcome,
        Fact::Recalled(recalled) => {
            return Some(recalled.statements.into_iter().map(str::to_owned).collect());
        }
        _ => return None,
    };
    let Came::Output(output) = outcome.came else {
        return None;
    };
    let hits = output.get("recalled")?.as_array()?;
    Some(
        hits.iter()
            .filter_map(|hit| Some(hit.get("statement")?.as_str()?.to_owned()))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_recalls_the_newest_are_counted() {
        let mut counted = Counted::default();
        counted.add(vec!["old".into(), "both".into()]);
        for _ in 0..RECALLS_MAX {
            counted.add(vec!["both".into()]);
        }
        assert_eq!(
            (counted.recalls(), counted.of("old"), counted.of("both")),
            (RECALLS_MAX, 0, RECALLS_MAX as u32)
        );
        counted.add(vec!["new".into()]);
        assert_eq!(counted.most(5), ["both", "new"]);
    }
}
