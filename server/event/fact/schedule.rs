//! The facts of schedules that came to no run: due times that were missed, and such that were skipped. A run is a trigger (`fact/input.rs`).

use serde_json::json;

use super::family::{Declared, Family, Plain, Role};
use crate::draft::{Draft, tags};
use crate::envelope::{Modality, Source, Visibility};
use crate::raw::Raw;
use crate::schedule::{Firing, MEMBER};
use crate::spec::{Member, Spec, TEXT, spec};
use thinkd_words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "schedule";
const MISSED: &str = "missed";
const SKIPPED: &str = "skipped";

/// Due times of a schedule came to no run.
#[derive(Debug, Clone, PartialEq)]
pub struct Unrun<'a> {
    /// The schedule, and its due times.
    pub firing: Firing,
    /// The reason why they were skipped; none: no server was there to fire them until it was too
    /// late.
    pub reason: Option<&'a str>,
}

const FIRING: Member = (
    MEMBER,
    "object",
    "name; first, last, count: the due times; next: when it is due again",
);

impl<'a> Unrun<'a> {
    pub(super) fn specs() -> Vec<Spec> {
        vec![
            spec!(
                /// Due times of a schedule passed longer ago than it catches up with: they come to no run.
                "schedule-missed", ["schedule", "missed", "schedule:<name>"]; TEXT, FIRING,
            ),
            spec!(
                /// A schedule was due and did not run: an earlier run is under way, or its thread takes nothing.
                "schedule-skipped", ["schedule", "skipped", "schedule:<name>"];
                TEXT,
                FIRING,
                /// why
                "reason" => "string",
            ),
        ]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let firing = raw.json(MEMBER)?;
        let reason = match raw.tags.get(1)?.as_str() {
            MISSED => None,
            SKIPPED => Some(raw.text("reason")?),
            _ => return None,
        };
        Some(Self { firing, reason })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { firing, reason } = self;
        let name = &firing.name;
        let times = firing.times();
        let (word, text) = match reason {
            None => (
                MISSED,
                format!("the schedule {name} missed {times}: nobody was there to fire it in time"),
            ),
            Some(reason) => (
                SKIPPED,
                format!("the schedule {name} did not run for {times}: {reason}"),
            ),
        };
        let tags = tags([TAG, word, &format!("schedule:{name}")]);
        let payload = json!({ "text": text, MEMBER: firing.to_value() });
        Draft::new(thread, Source::System, Modality::State, tags, payload)
            .payload_some("reason", reason)
    }
}

impl Declared for Unrun<'_> {
    fn plain(&self) -> Plain {
        let kind = match self.reason {
            None => "schedule-missed",
            Some(_) => "schedule-skipped",
        };
        Plain::new(kind, Visibility::State, Role::Aside)
    }
}

impl<'a> Family<'a> for Unrun<'a> {
    fn label(&self) -> Option<String> {
        Some(format!("schedule {}", self.firing.name))
    }
}

impl Draft {
    /// Due times of a schedule are too old to be caught up with.
    pub fn schedule_missed(thread: &ThreadId, firing: Firing) -> Self {
        // They are said by their first and last.
        Unrun {
            firing: Firing {
                due: Vec::new(),
                ..firing
            },
            reason: None,
        }
        .encode(thread)
    }

    /// A schedule was due and did not run.
    pub fn schedule_skipped(thread: &ThreadId, firing: Firing, reason: &str) -> Self {
        Unrun {
            firing,
            reason: Some(reason),
        }
        .encode(thread)
    }
}
