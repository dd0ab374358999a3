//! The facts that frame a turn: its beginning, its end, and a request to cancel it.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, TurnOutcome, Visibility, tag};
use crate::event::mood::Mood;
use crate::event::process::Waiting;
use crate::event::raw::Raw;
use crate::event::spec::{ROOT, Spec, TEXT, TURN};
use crate::words::id::{Name, Seq, ThreadId};

/// A turn begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Started<'a> {
    /// Its number.
    pub turn: u64,
    /// The seqs of all that woke the thread and waited, in order.
    pub batch: Vec<Seq>,
    /// The submodules it listens to.
    pub submodules: Vec<&'a str>,
    /// In sub-steps: the state of the step, with nothing decided.
    pub step: Option<&'a Value>,
    /// The timer of the wait that it ends.
    pub waited: Option<&'a str>,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
    /// How many milliseconds the decision waits for the submodules.
    pub deadline_ms: Option<u64>,
}

/// A turn ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// Its number.
    pub turn: u64,
    /// How; none: with a word that this build does not know.
    pub outcome: Option<TurnOutcome>,
    /// Where the thread's mailbox now begins.
    pub handled: Option<Seq>,
    /// For whom the thread waits from now on.
    pub wait: Option<Waiting>,
    /// What of the log whoever ended it had seen.
    pub seen: Option<Seq>,
    /// The mood in which it leaves the thread; none: as it was.
    pub mood: Option<Mood>,
}

/// Somebody wants a turn to end that another server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel {
    /// Its number.
    pub turn: u64,
}

pub(super) const STARTED: Spec = Spec {
    name: "turn-started",
    about: "A turn begins: the thread thinks about its batch.",
    tags: &["turn", "started", "turn:<number>"],
    members: &[
        TEXT,
        TURN,
        (
            "batch",
            "number[]",
            "the seqs of all that woke the thread and waited",
        ),
        ("submodules", "string[]", "the submodules it listens to"),
        ("step?", "object", "in sub-steps: the state of the step"),
        ("waited?", "string", "the timer of the wait that it ends"),
        ROOT,
        (
            "deadline_ms?",
            "number",
            "how many milliseconds the decision waits for the submodules",
        ),
    ],
    open: false,
};

pub(super) const ENDED: Spec = Spec {
    name: "turn-ended",
    about: "A turn ends. Everything up to `handled` that woke the thread has had its turn.",
    tags: &["turn", "ended", "turn:<number>"],
    members: &[
        TEXT,
        TURN,
        (
            "outcome",
            "\"done\" | \"cancelled\" | \"interrupted\" | \"failed\"",
            "how",
        ),
        ("handled", "number", "where the thread's mailbox now begins"),
        (
            "wait?",
            "object",
            "for whom the thread waits: from, name, outside, until, reason",
        ),
        ("seen?", "number", "the log's end as the thread knew it"),
        (
            "mood?",
            "object",
            "the thread's mood from now on, in thousandths: sum; walk and facts, of which it is made; seen, the points by then",
        ),
    ],
    open: false,
};

pub(super) const CANCEL: Spec = Spec {
    name: "turn-cancel",
    about: "Somebody wants a turn to end that another server runs.",
    tags: &["cancel", "turn:<number>"],
    members: &[TEXT, TURN],
    open: false,
};

impl<'a> Started<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            turn: raw.turn()?,
            batch: raw.list("batch").filter_map(Value::as_i64).collect(),
            submodules: raw.list("submodules").filter_map(Value::as_str).collect(),
            step: raw.get("step"),
            waited: raw.text("waited"),
            root: raw.seq("root"),
            deadline_ms: raw.get("deadline_ms").and_then(Value::as_u64),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            turn,
            batch,
            submodules,
            step,
            waited,
            root,
            deadline_ms,
        } = self;
        let text = format!("turn {turn} started");
        let payload =
            json!({ "text": text, "turn": turn, "batch": batch, "submodules": submodules });
        let tags = tags([tag::TURN, tag::STARTED, &format!("turn:{turn}")]);
        let draft = Draft::new(thread, Source::Internal, Modality::State, tags, payload);
        let draft = draft
            .payload_some("step", step.cloned())
            .payload_some("waited", waited)
            .payload_some("root", root);
        draft.payload_some("deadline_ms", deadline_ms)
    }
}

impl Ended {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        Some(Self {
            turn: raw.turn()?,
            outcome: raw.text("outcome").and_then(TurnOutcome::parse),
            handled: raw.seq("handled"),
            wait: raw
                .get("wait")
                .and_then(|wait| Waiting::deserialize(wait).ok()),
            seen: raw.seq("seen"),
            mood: raw
                .get("mood")
                .and_then(|mood| Mood::deserialize(mood).ok()),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            turn,
            outcome,
            handled,
            wait,
            seen,
            mood,
        } = self;
        let outcome = outcome.map_or("unknown", TurnOutcome::as_str);
        let text = format!("turn {turn} ended: {outcome}");
        let payload = json!({ "text": text, "turn": turn, "outcome": outcome, "handled": handled });
        let tags = tags([tag::TURN, tag::ENDED, &format!("turn:{turn}")]);
        let draft = Draft::new(thread, Source::Internal, Modality::State, tags, payload);
        let wait = wait.map(|wait| serde_json::to_value(wait).unwrap_or_default());
        let mood = mood.map(|mood| serde_json::to_value(mood).unwrap_or_default());
        draft
            .payload_some("wait", wait)
            .payload_some("seen", seen)
            .payload_some("mood", mood)
    }
}

impl Cancel {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        Some(Self { turn: raw.turn()? })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { turn } = self;
        let payload = json!({ "text": format!("turn {turn} is to be cancelled"), "turn": turn });
        Draft::new(
            thread,
            Source::User,
            Modality::State,
            tags([tag::CANCEL, &format!("turn:{turn}")]),
            payload,
        )
    }
}

impl<'a> Family<'a> for Started<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::TurnStarted)
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Turn
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn has_root(&self) -> bool {
        true
    }

    fn label(&self) -> Option<String> {
        Some("turn".to_owned())
    }
}

impl<'a> Family<'a> for Ended {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::TurnEnded)
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Turn
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn label(&self) -> Option<String> {
        Some("turn".to_owned())
    }
}

impl<'a> Family<'a> for Cancel {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::TurnCancel)
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Turn
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn label(&self) -> Option<String> {
        Some("state".to_owned())
    }
}

impl Draft {
    /// A turn begins: its number, and its batch: the seqs of all that woke the thread and waited, in order.
    /// `voices` are the submodules it listens to.
    pub fn turn_started(thread: &ThreadId, turn: u64, batch: &[Seq], submodules: &[Name]) -> Self {
        let submodules = submodules.iter().map(Name::as_str).collect();
        let (batch, deadline_ms) = (batch.to_vec(), None);
        Started {
            turn,
            batch,
            submodules,
            step: None,
            waited: None,
            root: None,
            deadline_ms,
        }
        .encode(thread)
    }

    /// A turn ends. `handled` is where the thread's mailbox now begins.
    pub fn turn_ended(thread: &ThreadId, turn: u64, outcome: TurnOutcome, handled: Seq) -> Self {
        Ended {
            turn,
            outcome: Some(outcome),
            handled: Some(handled),
            wait: None,
            seen: None,
            mood: None,
        }
        .encode(thread)
    }

    /// Somebody wants a turn to end that another server runs.
    pub fn cancel(thread: &ThreadId, turn: u64) -> Self {
        Cancel { turn }.encode(thread)
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let step = json!({ "sends": [] });
    let started = Started {
        turn: 7,
        batch: vec![41, 42],
        submodules: vec!["critic"],
        step: Some(&step),
        waited: Some("wait!"),
        root: Some(41),
        deadline_ms: Some(20_000),
    };
    let wait = Waiting::for_anybody();
    let mood = Mood {
        sum: 80,
        walk: -20,
        facts: 100,
        seen: 3,
    };
    let ended = Ended {
        turn: 7,
        outcome: Some(TurnOutcome::Done),
        handled: Some(42),
        wait: Some(wait),
        seen: Some(51),
        mood: Some(mood),
    };
    vec![
        Draft::turn_started(thread, 7, &[41, 42], &[]),
        started.encode(thread),
        Draft::turn_ended(thread, 7, TurnOutcome::Done, 42),
        ended.encode(thread),
        Draft::cancel(thread, 7),
    ]
}
