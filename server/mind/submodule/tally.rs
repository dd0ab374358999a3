//! Counters of the answers of each submodule since this server started: spoken, passed, late,
//! failed. Nothing is decided by them, and the log has the events that they count.

use super::SubmoduleAnswer;
use thinkd_event::draft::Draft;
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::CallOutcome;
use thinkd_model::cache::Cache;
use thinkd_model::metered;
use thinkd_words::id::{Name, Space};

/// Submodules that are counted; with more, those of spaces that were heard long ago are not told apart from those never heard.
const SUBMODULES_MAX: usize = 16_384;

/// The outcomes of the times that a voice was asked; each time is counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, utoipa::ToSchema)]
pub struct Heard {
    /// The number of times that it spoke in time.
    pub spoke: u64,
    /// The number of times that it had nothing to say.
    pub passed: u64,
    /// The number of times that it answered when the decision no longer waited for it.
    pub late: u64,
    /// The number of times that it could not answer.
    pub failed: u64,
}

/// The counts of all submodules.
#[derive(Debug, Default)]
pub struct Tally(Cache<(Space, Name), Heard, SUBMODULES_MAX>);

impl Tally {
    /// A submodule has come to an end; `late`: after the deadline.
    pub fn count(&self, space: &Space, answer: &SubmoduleAnswer, late: bool) {
        let Some(became) = became(&answer.drafts, late) else {
            return;
        };
        let label = metered::label(&answer.name);
        metrics::counter!("thinkd_submodule_answers_total", "submodule" => label, "answer" => became).increment(1);
        let key = (space.clone(), answer.name.clone());
        self.0.change(key, |heard| match became {
            "spoke" => heard.spoke += 1,
            "passed" => heard.passed += 1,
            "late" => heard.late += 1,
            _ => heard.failed += 1,
        });
    }

    /// The counts of one submodule.
    pub fn heard(&self, space: &Space, name: &Name) -> Heard {
        let key = (space.clone(), name.clone());
        self.0.get(&key).unwrap_or_default()
    }
}

/// Returns the outcome of an answer; none for one that was stopped, or has no record of a call.
fn became(drafts: &[Draft], late: bool) -> Option<&'static str> {
    let outcome = drafts.iter().rev().find_map(|draft| match draft.fact() {
        Fact::Call(record) => Some(record.outcome()),
        _ => None,
    });
    if outcome? == Some(CallOutcome::Stopped) {
        return None;
    }
    let failed = drafts
        .iter()
        .any(|draft| matches!(draft.fact(), Fact::Failure(_)));
    let spoke = drafts
        .iter()
        .any(|draft| matches!(draft.fact(), Fact::Remark(_)));
    Some(match (failed, late, spoke) {
        (true, false, _) => "failed",
        (_, true, _) => "late",
        (false, false, true) => "spoke",
        (false, false, false) => "passed",
    })
}
