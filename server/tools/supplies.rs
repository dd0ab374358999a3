//! Supplies of tools, from the composition root: most built-in tools keep them, one of your own keeps the parts that it needs.

use std::sync::Arc;
use std::time::Duration;

use super::approval::Rules;
use super::code::runner::Runner;
use thinkd_event::mission::MissionBudget;
use thinkd_log::kernel::Store;
use thinkd_model::prompt::Prompts;
use thinkd_recall::finder::Recall;
use thinkd_words::budget::Budget;
use thinkd_words::defaults::with_defaults;

/// The supplies that tools are made from.
#[derive(Clone)]
pub struct Supplies {
    /// The log and its rows.
    pub store: Arc<dyn Store>,
    /// The sentences for models.
    pub prompts: Arc<Prompts>,
    /// The budget.
    pub budget: Arc<Budget>,
    /// The rules for tools that wait for a person.
    pub approvals: Arc<Rules>,
    /// The limits of one call.
    pub limits: Limits,
    /// Finds memories that are held.
    pub recall: Arc<Recall>,
    /// The runner of code.
    pub code: Arc<Runner>,
    /// The budget of a mission.
    pub mission: MissionBudget,
}

with_defaults! {
    /// The limits of one tool call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Limits {
        /// The longest it may run.
        pub time: Duration = Duration::from_secs(30),
        /// Most bytes of its output in its event; a longer one is kept whole as a blob.
        pub output_bytes: usize = 64 << 10,
        /// Most tags that it may ask the log for.
        pub filter_tags: usize = 32,
        /// Most bytes of a text that it makes part of other requests.
        pub text_bytes: usize = 64 << 10,
        /// Most threads of a space that have not ended.
        pub threads: u64 = 100_000,
        /// Most schedules of a space.
        pub schedules: u32 = 1000,
        /// Most frameworks of a space.
        pub frameworks: u32 = 500,
        /// The shortest interval of a schedule.
        pub schedule_interval: Duration = Duration::from_secs(1),
        /// Most submodules of a space.
        pub submodules: u32 = 32,
        /// Most claims of a space that wait for their trial.
        pub claims: u32 = 1000,
    }
}
