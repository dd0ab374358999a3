//! How threads are run: what the runtime is told when it starts.

use std::time::Duration;

use super::memory;
use super::mission;
use super::schedule::Scheduling;
use crate::event::condition::Condition;
use crate::event::mood;
use crate::mind::turn::options::TurnOptions;
use crate::pipelines::registry::{self, Pipelines};
use crate::tasks::share::SPACE_SHARE;
use crate::tasks::supervisor::Supervisor;
use crate::tools::supplies;
use crate::words::budget::Budget;

/// How threads are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How turns go.
    pub turn: TurnOptions,
    /// What they may use up.
    pub budget: Budget,
    /// Most turns that run at a time.
    pub workers: u32,
    /// Who goes before whom when more are to run.
    pub scheduling: Scheduling,
    /// How much of the places for turns and runs one space may hold.
    pub space_share: f64,
    /// What one tool call may take.
    pub tool_limits: supplies::Limits,
    /// Most inputs that may wait for one thread.
    pub queue_max: u32,
    /// Whether a new space begins with the submodules of `prompts/submodules`.
    pub default_submodules: bool,
    /// The pipelines there are.
    pub pipelines: Pipelines,
    /// What a run of one may use up.
    pub pipeline_limits: registry::Limits,
    /// How missions go.
    pub mission: mission::Options,
    /// How statements are tried.
    pub memory: memory::Options,
    /// How moods move.
    pub mood: mood::Options,
    /// How long a lease on a thread lasts unless it is renewed.
    pub lease: Duration,
    /// How often to look for threads that wait and nobody runs.
    pub scan: Duration,
    /// Who watches the runtime's tasks.
    pub supervisor: Supervisor,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            turn: TurnOptions::default(),
            budget: Budget::default(),
            workers: 1024,
            scheduling: Scheduling::default(),
            space_share: SPACE_SHARE,
            tool_limits: supplies::Limits::default(),
            queue_max: 100,
            default_submodules: true,
            pipelines: Pipelines::default(),
            pipeline_limits: registry::Limits::default(),
            mission: mission::Options::default(),
            memory: memory::Options::default(),
            mood: mood::Options::default(),
            lease: Duration::from_secs(10),
            scan: Duration::from_secs(3),
            supervisor: Supervisor::default(),
        }
    }
}

impl Options {
    /// What an append that begins a thread is stored under: that the space has room for one more.
    pub fn room_in_space(&self) -> Condition {
        Condition::FewerThreads(self.tool_limits.threads)
    }
}
