//! The facts of frameworks: one was chosen for a task or not, and the outcome of a like task. Both
//! are of modality `state`, so that no model is shown them. The creation or change of one is a
//! change (`set.rs`).

use thinkd_facts::Fact;

use crate::framework::Tally;

/// The first tag.
pub const TAG: &str = "framework";

/// Something that was said of a framework.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(tags("framework", "<kind>", "framework:<id>" = framework), plain,
       visibility = State, role = Aside, label = "framework", text = self.text())]
pub struct FrameworkFact<'a> {
    /// The framework's id.
    pub framework: &'a str,
    /// True if the task is solved with it.
    pub with: bool,
    /// The task, in a few words.
    pub task: &'a str,
    /// The news of it.
    #[fact(kinds)]
    pub what: Said<'a>,
}

/// See `FrameworkFact`.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
pub enum Said<'a> {
    /// A task is like those that a framework is for: it is solved with it, or without it to compare.
    #[fact(name = "framework-chosen", tags("chosen"))]
    Chosen {
        /// Why.
        reason: &'a str,
    },
    /// The outcome of a task that a framework is for, with it or without it.
    #[fact(name = "framework-outcome", tags("outcome"))]
    Came {
        /// True if it was solved.
        worked: bool,
        /// With, without: each tried, worked; of all such tasks since the framework has been as it is.
        #[fact(json)]
        tally: Tally,
    },
}

impl FrameworkFact<'_> {
    fn text(&self) -> String {
        let way = if self.with { "with" } else { "without" };
        let said = match self.what {
            Said::Chosen { reason } => format!(": {reason}"),
            Said::Came { worked: true, .. } => " a task worked".to_owned(),
            Said::Came { worked: false, .. } => " a task did not work".to_owned(),
        };
        format!("{way} the framework {}{said}", self.framework)
    }
}
