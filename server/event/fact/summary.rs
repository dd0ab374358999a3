//! The facts of summaries: what stands for the past of a conversation in the views of its decision; and when the summaries of a space have work.
//! All are of modality `state`, so that no model is shown them as entries; views show them in the place of what they stand for.

use serde_json::{Value, json};
use uuid::Uuid;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::event::summary::Covers;
use crate::words::id::{Seq, ThreadId};

/// The first tag.
pub const TAG: &str = "summary";
/// The first tag of what the summaries of a space say of themselves.
pub const SUMMARIES: &str = "summaries";

/// A summary of some of a thread's events.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary<'a> {
    /// What it says.
    pub text: &'a str,
    /// What it stands for.
    pub covers: Covers,
    /// The summaries that it was made from; none: it was made from events.
    pub joins: Vec<Seq>,
    /// The record of the call that made it.
    pub call: Uuid,
}

/// What the summaries of a space say of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summaries {
    /// So many of the first events of a thread are to be summed up.
    Due {
        /// The thread.
        thread: ThreadId,
        /// How many that a decision may see.
        target: u64,
    },
    /// All that was due up to there is done, or was given up.
    Rested(Seq),
}

const FROM: Member = ("from", "number", "the first event that it stands for");

pub(super) const SUMMARY: Spec = Spec {
    name: "summary",
    about: "A summary stands for older events in the requests of the decision; the events stay (`history.summaries`).",
    tags: &["summary"],
    members: &[
        TEXT,
        FROM,
        ("to", "number", "the last event that it stands for"),
        (
            "skip?",
            "number",
            "so many characters of the first event's entry are another summary's",
        ),
        (
            "upto?",
            "number",
            "it goes up to this character of the last event's entry; absent: to its end",
        ),
        (
            "position",
            "number",
            "how many events that a decision may see stand before the first in the thread",
        ),
        ("events", "number", "how many events it is about"),
        (
            "level",
            "number",
            "0: made from events; otherwise from summaries of the level below",
        ),
        (
            "joins?",
            "number[]",
            "the summaries that it was made from, and takes the place of",
        ),
        ("call", "string", "the record of the call that made it"),
    ],
    open: false,
};
pub(super) const DUE: Spec = Spec {
    name: "summaries-due",
    about: "Events have left the view of a conversation's decision, or are about to: they are to be summed up.",
    tags: &["summaries", "due"],
    members: &[
        TEXT,
        ("of", "string", "the thread"),
        (
            "target",
            "number",
            "so many of its first events that a decision may see",
        ),
    ],
    open: false,
};
pub(super) const RESTED: Spec = Spec {
    name: "summaries-rested",
    about: "The summaries of the space that were due are made, or were given up.",
    tags: &["summaries", "rested"],
    members: &[TEXT, ("handled", "number", "up to this event")],
    open: false,
};

impl<'a> Summary<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let covers = Covers {
            from: raw.seq("from")?,
            to: raw.seq("to")?,
            skip: raw.count("skip").unwrap_or(0),
            upto: raw.count("upto"),
            position: raw.count("position")?,
            events: raw.count("events")?,
            level: u32::try_from(raw.count("level")?).ok()?,
        };
        let joins = raw.list("joins").filter_map(Value::as_i64).collect();
        Some(Self {
            text: raw.text("text")?,
            covers,
            joins,
            call: Uuid::parse_str(raw.text("call")?).ok()?,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            text,
            covers,
            joins,
            call,
        } = self;
        // Made of maps with string keys: this cannot fail.
        let mut payload = serde_json::to_value(covers).unwrap_or_default();
        payload["text"] = text.into();
        payload["call"] = call.to_string().into();
        let joins = (!joins.is_empty()).then_some(joins);
        Draft::new(
            thread,
            Source::Internal,
            Modality::State,
            tags([TAG]),
            payload,
        )
        .payload_some("joins", joins)
    }
}

impl Summaries {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        match raw.tags.get(1)?.as_str() {
            "due" => {
                let thread = ThreadId::parse(raw.text("of")?).ok()?;
                Some(Self::Due {
                    thread,
                    target: raw.count("target")?,
                })
            }
            "rested" => Some(Self::Rested(raw.seq("handled")?)),
            _ => None,
        }
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let draft = |word: &str, text: &str| {
            let payload = json!({ "text": text });
            Draft::new(
                thread,
                Source::Internal,
                Modality::State,
                tags([SUMMARIES, word]),
                payload,
            )
        };
        match self {
            Self::Due { thread, target } => draft("due", "there is something to sum up")
                .payload("of", thread.as_str())
                .payload("target", target),
            Self::Rested(handled) => {
                draft("rested", "what was due is done, or given up").payload("handled", handled)
            }
        }
    }
}

impl<'a> Family<'a> for Summary<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::Summary)
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
        true
    }

    fn label(&self) -> Option<String> {
        Some("summary".into())
    }
}

impl<'a> Family<'a> for Summaries {
    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Due { .. } => Kind::SummariesDue,
            Self::Rested(_) => Kind::SummariesRested,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    // Its thread has no mailbox of events that wake: see `thread/projection.rs`.
    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn label(&self) -> Option<String> {
        Some("summaries".into())
    }
}

impl Draft {
    /// A summary of some of a thread's events.
    pub fn summary(thread: &ThreadId, summary: Summary<'_>) -> Self {
        summary.encode(thread)
    }

    /// What the summaries of a space say of themselves.
    pub fn summaries(what: Summaries) -> Self {
        what.encode(&ThreadId::of_summaries())
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let covers = |from, to, position, events, level| Covers {
        from,
        to,
        skip: 0,
        upto: None,
        position,
        events,
        level,
    };
    let summary = |text, covers, joins| {
        Summary {
            text,
            covers,
            joins,
            call: Uuid::from_u128(7),
        }
        .encode(thread)
    };
    let part = Covers {
        skip: 24_000,
        upto: Some(48_000),
        ..covers(913, 913, 300, 1, 0)
    };
    vec![
        summary(
            "Ada asked what an owl costs: 12. She has not said how many she wants.",
            covers(3, 912, 0, 300, 0),
            vec![],
        ),
        summary(
            "The middle of a long letter: it lists prices.",
            part,
            vec![],
        ),
        summary(
            "Ada bought eight owls, one at a time.",
            covers(3, 9012, 0, 2400, 1),
            vec![914, 1840],
        ),
        Draft::summaries(Summaries::Due {
            thread: thread.clone(),
            target: 300,
        }),
        Draft::summaries(Summaries::Rested(915)),
    ]
}
