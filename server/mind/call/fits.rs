//! Sizes that models took or refused, in memory: a thread with a view too long for its model is
//! asked from then on about as much as the model took. A restart forgets them, and the next refusal
//! finds them again.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{ModelClient, Question, TurnPlace};
use thinkd_event::unshown::LeftOut;
use thinkd_log::query::Show;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Most threads with a size that is kept; with more, the half that was used longest ago is
/// forgotten.
const THREADS_MAX: usize = 4096;
/// Most models of which the last request that they took is kept, and how long.
const MODELS_MAX: usize = 1000;
const TAKEN_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// Several that are asked at once are refused the same: of these the first tells.
const TOLD_FOR: Duration = Duration::from_secs(60);

impl ModelClient {
    /// The key of the view about which a question is asked.
    pub(super) fn key(&self, place: &TurnPlace, show: Show, question: &Question) -> Key {
        Key {
            space: place.space.clone(),
            thread: place.thread.clone(),
            show,
            model: self.model.asked(&question.who, question.tier),
        }
    }
}

/// The view of a thread for the readers of one kind, and the model that they ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub space: Space,
    pub thread: ThreadId,
    pub show: Show,
    /// The model and its address, as `Model::asked` names them.
    pub model: String,
}

#[derive(Default)]
pub(super) struct Fits(Mutex<FoundSizes>);

#[derive(Default)]
struct FoundSizes {
    /// Bytes of a view, and when they were asked for last.
    threads: HashMap<Key, (usize, u64)>,
    uses: u64,
    /// The size of the last request that a model took from the readers of one kind.
    taken: HashMap<(String, Show), (usize, Instant)>,
    /// The parts that were said to be left out lately, by their thread.
    told: HashMap<(Space, ThreadId, LeftOutKey), Instant>,
}

/// The stretches and the kinds of media that are left out.
type LeftOutKey = (Vec<(Seq, Seq)>, Vec<String>);

impl Fits {
    /// The bytes that a view may have; none: its model has refused none.
    pub fn bytes(&self, key: &Key) -> Option<usize> {
        let mut known = self.0.lock();
        known.uses += 1;
        let uses = known.uses;
        let (bytes, used) = known.threads.get_mut(key)?;
        *used = uses;
        Some(*bytes)
    }

    /// Keeps that a model took a view of so many bytes after it had refused more.
    pub fn keep(&self, key: Key, bytes: usize) {
        let mut known = self.0.lock();
        if known.threads.len() >= THREADS_MAX {
            let mut used: Vec<u64> = known.threads.values().map(|(_, used)| *used).collect();
            let half = used.len() / 2;
            let (_, middle, _) = used.select_nth_unstable(half);
            let middle = *middle;
            known.threads.retain(|_, (_, used)| *used > middle);
        }
        known.uses += 1;
        let uses = known.uses;
        known.threads.insert(key, (bytes, uses));
    }

    /// Notes a request of so many bytes that a model took.
    pub fn took(&self, key: &Key, bytes: usize) {
        let mut known = self.0.lock();
        if known.taken.len() >= MODELS_MAX {
            known.taken.retain(|_, (_, at)| at.elapsed() < TAKEN_FOR);
        }
        if known.taken.len() >= MODELS_MAX {
            known.taken.clear();
        }
        let model = (key.model.clone(), key.show);
        known.taken.insert(model, (bytes, Instant::now()));
    }

    /// The size of the last request that a model took; 0: of none is known.
    pub fn taken(&self, key: &Key) -> usize {
        let known = self.0.lock();
        let taken = known.taken.get(&(key.model.clone(), key.show));
        taken
            .filter(|(_, at)| at.elapsed() < TAKEN_FOR)
            .map_or(0, |(bytes, _)| *bytes)
    }

    /// Returns whether this is the first in a while to say that a thread leaves these parts out.
    pub fn tells(&self, place: &TurnPlace, left_out: &LeftOut) -> bool {
        let mut known = self.0.lock();
        known.told.retain(|_, at| at.elapsed() < TOLD_FOR);
        let parts = (left_out.refused.clone(), left_out.kinds.clone());
        let key = (place.space.clone(), place.thread.clone(), parts);
        known.told.insert(key, Instant::now()).is_none()
    }

    /// Returns the fewest bytes that a view of a thread may have, for whichever model.
    pub fn fewest(&self, (space, thread): (&Space, &ThreadId)) -> Option<usize> {
        let known = self.0.lock();
        let of_thread = known
            .threads
            .iter()
            .filter(|(key, _)| key.space == *space && key.thread == *thread);
        of_thread.map(|(_, (bytes, _))| *bytes).min()
    }
}
