//! Counts the like tasks that are under way with a framework and without it. Their outcomes are in no tally yet, so the choice for the
//! next task counts them. The counts are in memory, and of this server alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use thinkd_event::framework::{Begun, Tally};
use thinkd_tasks::lock::lock;
use thinkd_words::id::Space;

/// Tasks under way, by the framework.
type All = HashMap<(Space, String), Begun>;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Choices(Arc<Mutex<All>>);

/// A task that is under way with a framework or without it, until this is dropped.
#[derive(Debug)]
pub struct Chosen {
    choices: Choices,
    of: (Space, String),
    with: bool,
}

impl Choices {
    /// Chooses whether a task is done with a framework of this tally, and says why; none: it is not used at all.
    pub fn choose(&self, space: &Space, framework: &str, tally: Tally) -> Option<(Chosen, String)> {
        let of = (space.clone(), framework.to_owned());
        let mut all = lock(&self.0);
        let (with, why) = tally.next(all.get(&of).copied().unwrap_or_default())?;
        Some((self.begin(&mut all, of, with), why))
    }

    /// Returns the choice for a task that goes on, as the log has it, and counts it.
    pub fn goes_on(&self, space: &Space, framework: &str, with: bool) -> Chosen {
        let of = (space.clone(), framework.to_owned());
        self.begin(&mut lock(&self.0), of, with)
    }

    fn begin(&self, all: &mut All, of: (Space, String), with: bool) -> Chosen {
        let count = all.entry(of.clone()).or_default().count(with);
        *count = count.saturating_add(1);
        let choices = self.clone();
        Chosen { choices, of, with }
    }
}

impl Chosen {
    /// Returns true if the task is done with the framework.
    pub fn with(&self) -> bool {
        self.with
    }
}

impl Drop for Chosen {
    fn drop(&mut self) {
        let mut all = lock(&self.choices.0);
        let mut left = all.remove(&self.of).unwrap_or_default();
        let count = left.count(self.with);
        *count = count.saturating_sub(1);
        if left != Begun::default() {
            all.insert(self.of.clone(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_counted_until_it_ends() {
        let choices = Choices::default();
        let space = Space::default();
        let choose = || choices.choose(&space, "f", Tally::default()).unwrap().0;
        let all: Vec<Chosen> = (0..6).map(|_| choose()).collect();
        let with: Vec<bool> = all.iter().map(Chosen::with).collect();
        assert_eq!(
            with,
            [false, true, false, false, true, false],
            "as one after the other"
        );
        drop(all);
        assert!(
            lock(&choices.0).is_empty(),
            "nothing is kept of what has ended"
        );
        assert!(!choose().with());
    }
}
