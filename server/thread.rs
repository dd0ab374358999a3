//! A thread as its settings say: what it was created with. What became of it is its row (`store::ThreadRow`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::Name;

/// What new client input does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It waits for the next turn.
    #[default]
    Enqueue,
    /// The turn is cut off; the next one has both.
    Interrupt,
    /// It is refused.
    Reject,
}

/// What a thread was created with; everything absent is as configured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// A line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It is a run of this pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Name>,
    /// What the decision is told besides its own prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The voices it hears; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodules: Option<Vec<Name>>,
    /// What new input does to a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Whether its decision uses the high tier.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_tier: bool,
}

impl Settings {
    /// The settings in a thread's row. What cannot be read is as if absent: an older or newer server wrote it.
    pub fn of(row: &Value) -> Self {
        serde_json::from_value(row.clone()).unwrap_or_default()
    }
}
