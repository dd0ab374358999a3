//! What is known of the indexes of vectors that spaces have in the database: whether there are any, and how well they find.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::log::vectors::IndexOf;
use crate::words::id::Space;

/// So many of the nearest count.
pub(super) const NEIGHBOURS: u32 = 10;
/// An index is to find this part of them.
pub(super) const GOAL: f64 = 0.98;
/// It is measured again once it has grown by one part of so many.
const GROWN: usize = 4;
/// After it was not there, it is not looked for again for so long.
const PAUSE: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Default)]
pub(super) struct Indexes(Mutex<HashMap<Space, IndexState>>);

/// What is known of one.
struct IndexState {
    index: IndexOf,
    /// Which software it is, or why there is none.
    software: Result<String, String>,
    looked: Instant,
    /// How many vectors it had when it was measured, and which part of the nearest it found.
    measured: Option<(usize, f64)>,
}

impl Indexes {
    /// Whether it is there, else why not; none: that has to be looked up.
    pub fn opened(&self, of: &IndexOf) -> Option<Result<(), String>> {
        let all = self.lock();
        let known = all.get(&of.space).filter(|known| known.index == *of)?;
        match &known.software {
            Ok(_) => Some(Ok(())),
            Err(why) => (known.looked.elapsed() < PAUSE).then(|| Err(why.clone())),
        }
    }

    /// It was looked up.
    pub fn put(&self, index: IndexOf, software: Result<String, String>) {
        let space = index.space.clone();
        self.lock().insert(
            space,
            IndexState {
                index,
                software,
                looked: Instant::now(),
                measured: None,
            },
        );
    }

    /// Nothing is known any more.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Whether it is to be measured, now that it has so many vectors.
    pub fn has_grown(&self, of: &IndexOf, vectors: usize) -> bool {
        let all = self.lock();
        let before = all
            .get(&of.space)
            .filter(|known| known.index == *of)
            .and_then(|known| known.measured);
        before.is_none_or(|(before, _)| vectors >= before + before.div_ceil(GROWN))
    }

    /// It was measured.
    pub fn measured(&self, of: &IndexOf, vectors: usize, found: f64) {
        if let Some(known) = self
            .lock()
            .get_mut(&of.space)
            .filter(|known| known.index == *of)
        {
            known.measured = Some((vectors, found));
        }
    }

    /// What is in force beyond so many statements that are scanned, for people; none: nobody has asked.
    pub fn in_force(&self, space: &Space, exact: usize) -> Option<String> {
        let all = self.lock();
        let known = all.get(space)?;
        let what = match (&known.software, known.measured) {
            (Err(why), _) => format!("none: {why}"),
            (Ok(software), None) => format!("by {software} (HNSW), not measured yet"),
            (Ok(software), Some((vectors, found))) => {
                let goal = if found < GOAL {
                    format!(", below {GOAL}")
                } else {
                    String::new()
                };
                let found = format!(
                    "recall@{NEIGHBOURS} {found:.3}{goal} against an exact scan of {vectors} vectors"
                );
                format!("by {software} (HNSW), {found}")
            }
        };
        Some(format!(
            "beyond {exact} statements (memory.exact_vectors) {what}"
        ))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Space, IndexState>> {
        // Each change is one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
