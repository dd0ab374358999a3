//! The number of times that minds recalled statements: counted from the results of recalls in the
//! log, of which the newest are looked at. Counts are kept for a while, so that only later results
//! are read. They are no truth, and made again from the log.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::{Came, Outcome};
use thinkd_event::fact::recalled;
use thinkd_log::error::Stored;
use thinkd_log::kernel::Store;
use thinkd_log::query::{Order, Query, Show};
use thinkd_tasks::lock::lock;
use thinkd_words::id::{Seq, Space};

/// Recalls that are looked at, the newest.
pub const RECALLS_MAX: usize = 2000;
/// Results that are read at once.
const PAGE: u32 = 500;
/// Most pages: results that failed are among them.
const PAGES_MAX: usize = 2 * RECALLS_MAX / PAGE as usize;
/// Most spaces of which counts are kept.
const SPACES_MAX: usize = 64;

/// See the module.
#[derive(Default)]
pub struct Uses(Mutex<HashMap<Space, Arc<Counted>>>);

/// The statements that were recalled of late in a space.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    /// The last result that was read.
    upto: Seq,
    /// The statements that each recall returned, the oldest first.
    recalls: Vec<Vec<String>>,
    times: HashMap<String, u32>,
}

impl Counted {
    /// Returns the number of recalls that were looked at.
    pub fn recalls(&self) -> usize {
        self.recalls.len()
    }

    /// Returns the number of them that returned a statement.
    pub fn of(&self, id: &str) -> u32 {
        self.times.get(id).copied().unwrap_or(0)
    }

    /// The statements that were returned most often, the first ones first; at most so many.
    pub fn most(&self, limit: usize) -> Vec<&str> {
        let mut all: Vec<(&String, &u32)> = self.times.iter().collect();
        all.sort_unstable_by_key(|(id, times)| (Reverse(*times), *id));
        all.into_iter().take(limit).map(|(id, _)| &**id).collect()
    }

    /// The same with further recalls, the oldest first: of all, the newest count.
    fn and(&self, news: impl Iterator<Item = Vec<String>>, upto: Seq) -> Self {
        let mut recalls: Vec<Vec<String>> = self.recalls.iter().cloned().chain(news).collect();
        recalls.drain(..recalls.len().saturating_sub(RECALLS_MAX));
        let mut times = HashMap::new();
        for id in recalls.iter().flatten() {
            *times.entry(id.clone()).or_default() += 1;
        }
        Self {
            upto,
            recalls,
            times,
        }
    }
}

impl Uses {
    /// Returns the counts of the statements that minds recalled of late in a space, brought up to
    /// date from the log.
    pub async fn counted(&self, store: &dyn Store, space: &Space) -> Stored<Arc<Counted>> {
        let before = lock(&self.0).get(space).cloned().unwrap_or_default();
        let mut news = Vec::new();
        let mut query = Query {
            tags: vec!["tool:recall".into(), recalled::TAG.into()],
            after: Some(before.upto),
            show: Show::All,
            order: Order::Descending,
            limit: PAGE,
            ..Query::default()
        };
        // From the newest backwards: of a long log the rest is not looked at.
        for _ in 0..PAGES_MAX {
            let page = store.events(space, &query).await?;
            let is_last = page.len() < PAGE as usize;
            query.before = page.last().map(|event| event.seq);
            let of = |event: Event| Some((event.seq, recalled(&event)?));
            news.extend(page.into_iter().filter_map(of));
            if is_last || news.len() >= RECALLS_MAX {
                break;
            }
        }
        let Some((upto, _)) = news.first() else {
            return Ok(before);
        };
        let upto = *upto;
        news.truncate(RECALLS_MAX);
        let news = news.into_iter().rev().map(|(_, recalled)| recalled);
        let counted = Arc::new(before.and(news, upto));
        let mut spaces = lock(&self.0);
        if spaces.len() >= SPACES_MAX && !spaces.contains_key(space) {
            spaces.clear();
        }
        spaces.insert(space.clone(), counted.clone());
        Ok(counted)
    }
}

/// The statements that a recall returned, by the tool or of a turn; none: it is no recall that came to something.
fn recalled(event: &Event) -> Option<Vec<String>> {
    match event.fact() {
        Fact::Recalled(recalled) => {
            Some(recalled.statements.into_iter().map(str::to_owned).collect())
        }
        Fact::Result(Outcome {
            came: Came::Output(output),
            ..
        }) => {
            let hits = output.get("recalled")?.as_array()?.iter();
            let id = |hit: &serde_json::Value| Some(hit.get("statement")?.as_str()?.to_owned());
            Some(hits.filter_map(id).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_recalls_the_newest_are_counted() {
        let of = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let counted = Counted::default().and([of(&["old", "both"])].into_iter(), 1);
        let counted = counted.and((0..RECALLS_MAX).map(|_| of(&["both"])), 2);
        assert_eq!(
            (counted.recalls(), counted.of("old"), counted.of("both")),
            (RECALLS_MAX, 0, RECALLS_MAX as u32)
        );
        let counted = counted.and([of(&["new"])].into_iter(), 3);
        assert_eq!(counted.most(5), ["both", "new"]);
    }
}
