//! The kinds of work of this server: a file and a line in each of the three lists for every kind. The composition root hands them to the
//! runtime, whose lease loop knows a kind as `Work` only, and to sessions, which know what else each of them can do.

use std::sync::Arc;

use super::ground::Ground;
use super::work::Work;
use missions::Missions;
use runs::Runs;
use summaries::Summaries;
use trials::Trials;
use turns::Turns;

pub mod missions;
pub mod runs;
pub mod summaries;
pub mod trials;
pub mod turns;
mod typed_question;

/// One of each kind; cheap to clone.
#[derive(Clone)]
pub struct Kinds {
    /// Missions.
    pub missions: Arc<Missions>,
    /// Runs of pipelines.
    pub runs: Arc<Runs>,
    /// Summaries of what leaves views.
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

    /// All kinds, in the order in which they are asked whose a thread is.
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
