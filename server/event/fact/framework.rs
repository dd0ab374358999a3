//! The facts of frameworks: that one was chosen for a task or not, and what came of a like task. Both are of modality `state`, so that no model is shown
//! them. That one was created or changed is a change (`set.rs`).

use serde_json::json;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility};
use crate::event::framework::Tally;
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "framework";

/// Something that was said of a framework.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameworkFact<'a> {
    /// Which.
    pub framework: &'a str,
    /// Whether the task is solved with it.
    pub with: bool,
    /// The task, in a few words.
    pub task: &'a str,
    /// What is said.
    pub what: Said<'a>,
}

/// See `FrameworkFact`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said<'a> {
    /// The task is like those that it is for: it is solved with it or without it for this reason.
    Chosen {
        /// Why.
        reason: &'a str,
    },
    /// What came of such a task.
    Came {
        /// Whether it was solved.
        worked: bool,
        /// What came of all such tasks, with this one.
        tally: Tally,
    },
}

const FRAMEWORK: Member = ("framework", "string", "the framework's id");
const WITH: Member = ("with", "boolean", "whether the task is solved with it");
const TASK: Member = ("task", "string", "the task, in a few words");

pub(super) const CHOSEN: Spec = Spec {
    name: "framework-chosen",
    about: "A task is like those that a framework is for: it is solved with it, or without it to compare.",
    tags: &["framework", "chosen", "framework:<id>"],
    members: &[TEXT, FRAMEWORK, WITH, TASK, ("reason", "string", "why")],
    open: false,
};
pub(super) const CAME: Spec = Spec {
    name: "framework-outcome",
    about: "What came of a task that a framework is for, with it or without it.",
    tags: &["framework", "outcome", "framework:<id>"],
    members: &[
        TEXT,
        FRAMEWORK,
        WITH,
        TASK,
        ("worked", "boolean", "whether it was solved"),
        (
            "tally",
            "object",
            "with, without: each tried, worked; of all such tasks since the framework has been as it is",
        ),
    ],
    open: false,
};

impl<'a> FrameworkFact<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let what = match raw.tags.get(1)?.as_str() {
            "chosen" => Said::Chosen {
                reason: raw.text("reason")?,
            },
            "outcome" => {
                let tally = serde_json::from_value(raw.get("tally")?.clone()).ok()?;
                Said::Came {
                    worked: raw.get("worked")?.as_bool()?,
                    tally,
                }
            }
            _ => return None,
        };
        Some(Self {
            framework: raw.text("framework")?,
            with: raw.get("with")?.as_bool()?,
            task: raw.text("task")?,
            what,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            framework,
            with,
            task,
            what,
        } = self;
        let way = if with { "with" } else { "without" };
        let (word, mut payload) = match what {
            Said::Chosen { reason } => (
                "chosen",
                json!({ "text": format!("{way} the framework {framework}: {reason}"), "reason": reason }),
            ),
            Said::Came { worked, tally } => {
                let came = if worked { "worked" } else { "did not work" };
                let text = format!("{way} the framework {framework} a task {came}");
                (
                    "outcome",
                    json!({ "text": text, "worked": worked, "tally": tally }),
                )
            }
        };
        payload["framework"] = framework.into();
        payload["with"] = with.into();
        payload["task"] = task.into();
        let draft = Draft::new(
            thread,
            Source::Internal,
            Modality::State,
            tags([TAG, word]),
            payload,
        );
        draft.tagged([format!("{TAG}:{framework}")])
    }
}

impl<'a> Family<'a> for FrameworkFact<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(match self.what {
            Said::Chosen { .. } => Kind::FrameworkChosen,
            Said::Came { .. } => Kind::FrameworkOutcome,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn label(&self) -> Option<String> {
        Some("framework".into())
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
