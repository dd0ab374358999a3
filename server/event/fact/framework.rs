//! The facts of frameworks: that one was chosen for a task or not, and what came of a like task. Both are of modality `state`, so that no model is shown
//! them. That one was created or changed is a change (`set.rs`).

use thinkd_facts::Fact;

use crate::event::draft::Draft;
use crate::event::framework::Tally;
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "framework";

/// Something that was said of a framework.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(tags("framework", "<kind>", "framework:<id>" = framework), plain,
       visibility = State, role = Aside, label = "framework", text = self.text())]
pub struct FrameworkFact<'a> {
    /// The framework's id.
    pub framework: &'a str,
    /// Whether the task is solved with it.
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
    /// What came of a task that a framework is for, with it or without it.
    #[fact(name = "framework-outcome", tags("outcome"))]
    Came {
        /// Whether it was solved.
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

impl Draft {
    /// A framework was chosen for a task of this thread, or was not to compare, for this reason.
    pub fn framework_chosen(
        thread: &ThreadId,
        framework: &str,
        with: bool,
        task: &str,
        reason: &str,
    ) -> Self {
        FrameworkFact {
            framework,
            with,
            task,
            what: Said::Chosen { reason },
        }
        .encode(thread)
    }

    /// What came of a task of this thread, with a framework or without it; `tally` with this one.
    pub fn framework_outcome(
        thread: &ThreadId,
        framework: &str,
        (with, worked): (bool, bool),
        task: &str,
        tally: Tally,
    ) -> Self {
        FrameworkFact {
            framework,
            with,
            task,
            what: Said::Came { worked, tally },
        }
        .encode(thread)
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let (id, task) = (
        "0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b",
        "put the appointments of a week in order",
    );
    let tally = Tally::default().and(false, false).and(true, true);
    vec![
        Draft::framework_chosen(thread, id, true, task, "it is the better way"),
        Draft::framework_outcome(thread, id, (true, true), task, tally),
    ]
}
