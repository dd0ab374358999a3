//! The facts that frame a turn: its beginning, its end, and a request to cancel it.

use serde_json::Value;
use thinkd_facts::Fact;

use super::family::Family;
use crate::draft::Draft;
use crate::envelope::TurnOutcome;
use crate::mood::Mood;
use crate::process::Waiting;
use thinkd_words::id::{Name, Seq, ThreadId};

/// A turn begins: the thread thinks about its batch.
#[derive(Debug, Clone, PartialEq, Default, Fact)]
#[fact(name = "turn-started", tags("turn", "started", "turn:<number>" = turn),
       visibility = State, role = Turn, changes_thread = true, label = "turn",
       text = format!("turn {turn} started"))]
pub struct Started<'a> {
    /// The turn.
    pub turn: u64,
    /// The seqs of all that woke the thread and waited.
    #[fact(or_default)]
    pub batch: Vec<Seq>,
    /// The submodules it listens to.
    #[fact(or_default)]
    pub submodules: Vec<&'a str>,
    /// In sub-steps: the state of the step.
    #[fact(kind = "object")]
    pub step: Option<&'a Value>,
    /// The timer of the wait that it ends.
    pub waited: Option<&'a str>,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
    /// The time that the decision waits for the submodules, in milliseconds.
    pub deadline_ms: Option<u64>,
}

/// A running turn takes in messages that were said to join it, before a round of its decision.
#[derive(Debug, Clone, PartialEq, Eq, Fact)]
#[fact(name = "turn-steered", tags("turn", "steered", "turn:<number>" = turn), plain,
       visibility = State, role = Turn, changes_thread = true, label = "turn",
       text = format!("turn {turn} took in {} before round {round}", names(inputs)))]
pub struct Steered {
    /// The turn.
    pub turn: u64,
    /// The round of the decision that is the first to see them, from 0.
    pub round: u64,
    /// The seqs of the first and the last part of each; the last one woke the thread.
    #[fact(json, kind = "number[][]")]
    pub inputs: Vec<(Seq, Seq)>,
    /// The seq behind which the thread's mailbox begins when the turn ends.
    pub handled: Seq,
}

/// A turn ends. Everything up to `handled` that woke the thread has had its turn.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(name = "turn-ended", tags("turn", "ended", "turn:<number>" = turn), plain,
       visibility = State, role = Turn, changes_thread = true, label = "turn",
       text = format!("turn {turn} ended: {}", word(*outcome)))]
pub struct Ended {
    /// The turn.
    pub turn: u64,
    /// The outcome.
    ///
    /// None: with a word that this build does not know.
    #[fact(kind = "\"done\" | \"cancelled\" | \"interrupted\" | \"failed\"", required,
           read = raw.text("outcome").and_then(TurnOutcome::parse), write = Some(word(outcome)))]
    pub outcome: Option<TurnOutcome>,
    /// The seq behind which the thread's mailbox now begins.
    #[fact(or_null, kind = "number")]
    pub handled: Option<Seq>,
    /// For whom the thread waits: from, name, outside, until, reason.
    #[fact(json)]
    pub wait: Option<Waiting>,
    /// The log's end as the thread knew it.
    pub seen: Option<Seq>,
    /// The thread's mood from now on, in thousandths: sum; walk and facts, of which it is made; seen, the points by then.
    #[fact(json)]
    pub mood: Option<Mood>,
}

/// A user wants a turn to end that another server runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "turn-cancel", tags("cancel", "turn:<number>" = turn), plain,
       source = User, visibility = State, role = Turn, label = "state",
       text = format!("turn {turn} is to be cancelled"))]
pub struct Cancel {
    /// The turn.
    pub turn: u64,
    /// True if the threads above it are cancelled, too: these are told and not woken.
    #[fact(optional)]
    pub with_above: bool,
}

fn names(inputs: &[(Seq, Seq)]) -> String {
    let names = inputs.iter().map(|(_, input)| format!("#{input}"));
    Vec::from_iter(names).join(", ")
}

impl Steered {
    /// Returns whether it took in the event at this seq.
    pub fn has(&self, seq: Seq) -> bool {
        let has = |(from, input): &(Seq, Seq)| (*from..=*input).contains(&seq);
        self.inputs.iter().any(has)
    }
}

fn word(outcome: Option<TurnOutcome>) -> &'static str {
    outcome.map_or("unknown", TurnOutcome::as_str)
}

impl<'a> Family<'a> for Started<'a> {
    fn has_root(&self) -> bool {
        true
    }
}

impl Draft {
    /// A turn begins: its number, and its batch: the seqs of all that woke the thread and waited, in order.
    /// `voices` are the submodules it listens to.
    pub fn turn_started(thread: &ThreadId, turn: u64, batch: &[Seq], submodules: &[Name]) -> Self {
        let submodules = submodules.iter().map(Name::as_str).collect();
        Started {
            turn,
            batch: batch.to_vec(),
            submodules,
            ..Started::default()
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

    /// Asks for the end of a turn that another server runs.
    pub fn cancel(thread: &ThreadId, turn: u64) -> Self {
        let with_above = false;
        Cancel { turn, with_above }.encode(thread)
    }

    /// Asks for the same, and says that the threads above it are cancelled, too.
    pub fn cancel_with_above(thread: &ThreadId, turn: u64) -> Self {
        let with_above = true;
        Cancel { turn, with_above }.encode(thread)
    }
}
