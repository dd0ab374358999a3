//! The options for running threads, given to the runtime at its start.

use std::time::Duration;

use super::memory;
use super::mission;
use super::schedule::Scheduling;
use thinkd_event::condition::Condition;
use thinkd_event::mood;
use thinkd_mind::turn::options::TurnOptions;
use thinkd_pipelines::registry::{self, Pipelines};
use thinkd_tasks::share::SPACE_SHARE;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_tools::supplies;
use thinkd_words::budget::Budget;
use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// How threads are run.
    #[derive(Debug, Clone)]
    pub struct Options {
        /// How turns go.
        pub turn: TurnOptions = TurnOptions::default(),
        /// What they may use up.
        pub budget: Budget = Budget::default(),
        /// Most turns that run at a time.
        pub workers: u32 = 1024,
        /// Who goes before whom when more are to run.
        pub scheduling: Scheduling = Scheduling::default(),
        /// How much of the places for turns and runs one space may hold.
        pub space_share: f64 = SPACE_SHARE,
        /// What one tool call may take.
        pub tool_limits: supplies::Limits = supplies::Limits::default(),
        /// Most inputs that may wait for one thread.
        pub queue_max: u32 = 100,
        /// Whether a new space begins with the submodules of `prompts/submodules`.
        pub default_submodules: bool = true,
        /// The pipelines there are.
        pub pipelines: Pipelines = Pipelines::default(),
        /// What a run of one may use up.
        pub pipeline_limits: registry::Limits = registry::Limits::default(),
        /// How missions go.
        pub mission: mission::Options = mission::Options::default(),
        /// How statements are tried.
        pub memory: memory::Options = memory::Options::default(),
        /// How moods move.
        pub mood: mood::Options = mood::Options::default(),
        /// How long a lease on a thread lasts unless it is renewed.
        pub lease: Duration = Duration::from_secs(10),
        /// How often to look for threads that wait and nobody runs.
        pub scan: Duration = Duration::from_secs(3),
        /// Who watches the runtime's tasks.
        pub supervisor: Supervisor = Supervisor::default(),
    }
}

impl Options {
    /// Returns the condition of an append that begins a thread: the space has room for one more.
    pub fn room_in_space(&self) -> Condition {
        Condition::FewerThreads(self.tool_limits.threads)
    }
}
