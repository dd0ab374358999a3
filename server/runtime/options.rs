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
    /// The options by which threads are run.
    #[derive(Debug, Clone)]
    pub struct Options {
        /// The settings of turns.
        pub turn: TurnOptions = TurnOptions::default(),
        /// The limits of their use of resources.
        pub budget: Budget = Budget::default(),
        /// Most turns that run at a time.
        pub workers: u32 = 1024,
        /// The order of threads when more are to run.
        pub scheduling: Scheduling = Scheduling::default(),
        /// The share of the places for turns and runs that one space may hold.
        pub space_share: f64 = SPACE_SHARE,
        /// The limits of one tool call.
        pub tool_limits: supplies::Limits = supplies::Limits::default(),
        /// Most inputs that may wait for one thread.
        pub queue_max: u32 = 100,
        /// True if a new space begins with the submodules of `prompts/submodules`.
        pub default_submodules: bool = true,
        /// The pipelines there are.
        pub pipelines: Pipelines = Pipelines::default(),
        /// The limits of a run of one.
        pub pipeline_limits: registry::Limits = registry::Limits::default(),
        /// The settings of missions.
        pub mission: mission::Options = mission::Options::default(),
        /// The settings of trials of statements.
        pub memory: memory::Options = memory::Options::default(),
        /// The settings of moods.
        pub mood: mood::Options = mood::Options::default(),
        /// The time that a lease on a thread lasts unless it is renewed.
        pub lease: Duration = Duration::from_secs(10),
        /// The interval at which to look for threads that wait and that no server runs.
        pub scan: Duration = Duration::from_secs(3),
        /// The supervisor that watches the runtime's tasks.
        pub supervisor: Supervisor = Supervisor::default(),
    }
}

impl Options {
    /// Returns the condition of an append that begins a thread: the space has room for one more.
    pub fn room_in_space(&self) -> Condition {
        Condition::FewerThreads(self.tool_limits.threads)
    }
}
