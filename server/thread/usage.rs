//! The sums of calls of models: their number, their time, their tokens; and the figures of a voice
//! over many turns. Nothing is decided by them.

use std::collections::BTreeMap;

use super::tokens::Tokens;
use super::turns::{TurnSummary, VoiceOutcome};
use thinkd_event::envelope::Event;
use thinkd_event::fact::calls::{CallOutcome, Record};
use thinkd_words::id::ThreadId;

/// The sums of some calls of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, utoipa::ToSchema)]
#[schema(as = CallSums)]
pub struct Calls {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls that came to nothing: failed, refused or stopped.
    pub failed: u64,
    /// The time that they took, in milliseconds, one after the other.
    pub ms: u64,
    /// The tokens that they used.
    pub tokens: Tokens,
}

impl Calls {
    /// Adds a call.
    pub fn add(&mut self, record: &Record<'_>) {
        self.calls += 1;
        self.failed += u64::from(record.outcome() != Some(CallOutcome::Answered));
        self.ms = self.ms.saturating_add(record.duration_ms().unwrap_or(0));
        self.tokens.add(record);
    }

    /// Adds others.
    pub fn join(&mut self, more: &Self) {
        self.calls += more.calls;
        self.failed += more.failed;
        self.ms = self.ms.saturating_add(more.ms);
        self.tokens.join(&more.tokens);
    }
}

/// The figures of a voice over many turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Figures {
    /// By outcome; none: nothing yet.
    pub outcomes: BTreeMap<Option<&'static str>, u64>,
    /// Number of turns in which it was asked.
    pub asked: u64,
    /// Number of turns in which it added something to the decision.
    pub followed_up: u64,
    /// Durations of its calls before each decision, in milliseconds, the shortest first.
    pub times: Vec<u64>,
    /// Tokens that its calls used, those after decisions with them.
    pub tokens: Tokens,
}

/// Turns in which a voice was asked, as far as its own events say it.
#[derive(Debug, Default)]
pub struct VoiceTurns(BTreeMap<(ThreadId, u64), TurnSummary>);

impl VoiceTurns {
    /// Takes in an event of the voice.
    pub fn take(&mut self, event: &Event) {
        if let Some(turn) = event.turn() {
            let key = (event.thread.clone(), turn);
            self.0.entry(key).or_default().take(event);
        }
    }

    /// Returns the figures of a voice over these turns.
    pub fn figures(self, name: &str) -> Figures {
        let mut figures = Figures::default();
        for turn in self.0.into_values() {
            figures.tokens.join(&turn.tokens);
            let Some(voice) = turn.voices.get(name) else {
                continue;
            };
            figures.asked += 1;
            figures.followed_up += u64::from(voice.followed_up);
            let outcome = voice.outcome().map(VoiceOutcome::as_str);
            *figures.outcomes.entry(outcome).or_default() += 1;
            figures.times.extend(voice.ms);
        }
        figures.times.sort_unstable();
        figures
    }
}

impl Figures {
    /// Returns the number of turns with this outcome.
    pub fn of(&self, outcome: VoiceOutcome) -> u64 {
        let count = self.outcomes.get(&Some(outcome.as_str()));
        count.copied().unwrap_or(0)
    }

    /// The time that so many of a hundred stayed within, in milliseconds; none: no call has come back.
    pub fn percentile(&self, percent: usize) -> Option<u64> {
        let last = self.times.len().checked_sub(1)?;
        let within = (self.times.len() * percent).div_ceil(100);
        Some(self.times[within.saturating_sub(1).min(last)])
    }
}
