//! The kinds of work of this server: a file and a line in each of the three lists for every kind.
//! The composition root hands them to the runtime and to sessions. The lease loop of the runtime
//! knows a kind as `Work` only; sessions know the other acts of each.

use std::sync::Arc;

use thinkd_memory::trials::Trials;
use thinkd_missions::work::Missions;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::runs::Runs;
use thinkd_runtime::summaries::Summaries;
use thinkd_runtime::turns::Turns;
use thinkd_runtime::work::Work;

/// One of each kind; cheap to clone.
#[derive(Clone)]
pub struct Kinds {
    /// Missions.
    pub missions: Arc<Missions>,
    /// Runs of pipelines.
    pub runs: Arc<Runs>,
    /// Summaries of the events that leave views.
    pub summaries: Arc<Summaries>,
    /// Trials of statements.
    pub trials: Arc<Trials>,
    /// Turns of conversations and processes.
    pub turns: Arc<Turns>,
}

impl Kinds {
    /// All kinds, on this ground.
    pub fn new(ground: &Ground) -> Self {
        Self {
            missions: Arc::new(Missions::new(ground)),
            runs: Arc::new(Runs::new(ground)),
            summaries: Arc::new(Summaries::new(ground)),
            trials: Arc::new(Trials::new(ground)),
            turns: Arc::new(Turns::new(ground)),
        }
    }

    /// Returns all kinds, in the order in which they are asked whether a thread is theirs.
    pub fn all(&self) -> Vec<Arc<dyn Work>> {
        vec![
            self.trials.clone(),
            self.summaries.clone(),
            self.missions.clone(),
            self.runs.clone(),
            self.turns.clone(),
        ]
    }
}
