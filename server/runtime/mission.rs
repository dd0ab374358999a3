//! The configuration of missions.

use serde::{Deserialize, Serialize};

use thinkd_event::mission::MissionBudget;
use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// The settings of missions. `[mission]` in thinkd.toml.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// Tasks of one mission that are worked on at a time.
        pub width: u32 = 4,
    }
    fixed {
        /// Most tasks of one mission, parts of tasks included.
        pub tasks: u32 = 100,
        /// The depth to which tasks are split: 1 are the tasks of the mission itself.
        pub depth: u64 = 3,
        /// Most routes of one task.
        pub routes: u32 = 4,
        /// Most model calls of one mission, all its tasks together; a mission may be given fewer.
        pub model_calls: u64 = 500,
        /// Most tokens of one mission, in and out, as far as providers report them; a mission may be given fewer.
        pub tokens: u64 = 4_000_000,
        /// The time that one mission may be worked on; a mission may be given less.
        pub time_ms: u64 = 3_600_000,
        /// The time that a task waits for the answer of the user before it does without.
        pub question_ms: u64 = 600_000,
        /// Missions that one server works on at a time; others wait.
        pub at_once: u32 = 16,
    }
}

impl Options {
    /// Returns the most that a mission may use up.
    pub fn budget(&self) -> MissionBudget {
        MissionBudget {
            model_calls: self.model_calls,
            tokens: self.tokens,
            time_ms: self.time_ms,
        }
    }
}
