//! The order of turns when there are more than may run at a time. Spaces take turns; in a space the
//! first to come is the first to go, and the order among threads of different depth is configured.
//! A turn that waits for its place is a thread's, and a thread waits once: so one with much to do
//! does not keep others from having their turn.

use serde::{Deserialize, Serialize};

use thinkd_tasks::share::{Place, Places};
use thinkd_words::id::{Space, ThreadId};

/// The order among threads of different depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Threads before their subthreads.
    #[default]
    BreadthFirst,
    /// Subthreads before the threads above them.
    DepthFirst,
}

/// Places for turns; cheap to clone.
#[derive(Clone)]
pub(super) struct Schedule {
    order: Scheduling,
    places: Places,
}

impl Schedule {
    pub fn new(workers: u32, share: f64, order: Scheduling) -> Self {
        Self {
            order,
            places: Places::new("turns", workers, share),
        }
    }

    /// Waits for a place for a turn of this thread.
    pub async fn place(&self, space: &Space, thread: &ThreadId) -> Place {
        let depth = i64::try_from(thread.as_str().split('.').count()).unwrap_or(i64::MAX);
        let rank = if self.order == Scheduling::BreadthFirst {
            depth
        } else {
            -depth
        };
        self.places.take_ranked(space, rank).await
    }
}
