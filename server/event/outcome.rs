//! Outcomes, beside the status with which work ended: a mission that is `done` may have left some of its tasks unsolved. Pure.

use serde::{Deserialize, Serialize};

use thinkd_words::spelling::words;

words! {
    /// The outcome of work.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Outcome {
        /// All of it.
        Complete = "complete",
        /// Some of its tasks are solved.
        Partial = "partial",
        /// Nothing.
        Failed = "failed",
        /// The end came from outside.
        Stopped = "stopped",
    }
}

/// Tasks of a mission, counted; the parts that one was split into count as that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskCounts)]
pub struct Counts {
    /// The number of tasks with an answer that passed its check.
    pub solved: u64,
    /// The number of tasks that failed or were skipped.
    pub failed: u64,
    /// The number of tasks that had not ended when the mission did.
    pub left: u64,
}

impl Outcome {
    /// Of work that ended as `done` or `failed`, or else from outside, and of its tasks, if it has any.
    pub fn of(ended: &str, tasks: Option<Counts>) -> Self {
        match (ended, tasks) {
            ("done", None) => Self::Complete,
            ("done", Some(tasks)) if tasks.failed == 0 && tasks.left == 0 => Self::Complete,
            ("done" | "failed", Some(tasks)) if tasks.solved > 0 => Self::Partial,
            ("done" | "failed", _) => Self::Failed,
            _ => Self::Stopped,
        }
    }
}
