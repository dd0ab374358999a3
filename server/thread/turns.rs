//! The summary of a turn by its events: its times, its end, the outcomes of its voices, its cost.
//! The events are taken in any order, so that they can be read from the end of the log. Nothing is
//! decided by it.

use std::collections::BTreeMap;

use super::tokens::Tokens;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::Record;
use thinkd_event::fact::turn::Started;
use thinkd_words::failure::{By, FailureKind};
use thinkd_words::id::Seq;
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

words! {
    /// The outcome of a voice in a turn.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum VoiceOutcome {
        /// The voice spoke in time.
        Spoke = "spoke",
        /// The voice had nothing to say.
        Passed = "passed",
        /// The voice had not answered when the decision began.
        Late = "late",
        /// The voice could not answer.
        Failed = "failed",
    }
}

/// A voice in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Voice {
    spoke: bool,
    late: bool,
    failed: bool,
    done: bool,
    /// True if it added something to the decision.
    pub followed_up: bool,
    /// Duration of its calls before the decision, in milliseconds; none: none has come back.
    pub ms: Option<u64>,
}

impl Voice {
    /// Returns its outcome; none: it has none yet.
    pub fn outcome(&self) -> Option<VoiceOutcome> {
        match self {
            Self { late: true, .. } => Some(VoiceOutcome::Late),
            Self { failed: true, .. } => Some(VoiceOutcome::Failed),
            Self { spoke: true, .. } => Some(VoiceOutcome::Spoke),
            Self { done: true, .. } => Some(VoiceOutcome::Passed),
            _ => None,
        }
    }
}

/// One turn, as far as its events were taken in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnSummary {
    /// Its first event and when that was stored; none: that was not taken in yet.
    pub started: Option<(Seq, Timestamp)>,
    /// Its last event so far, and when that was stored.
    pub last: Option<(Seq, Timestamp)>,
    /// When it ended, and how; of a later build's word nothing is known.
    pub ended: Option<(Timestamp, Option<TurnOutcome>)>,
    /// Milliseconds that the decision waits for the voices.
    pub deadline_ms: Option<u64>,
    /// The seqs of all that woke the thread and waited.
    pub batch: Vec<Seq>,
    /// The seqs of the messages that joined it while it ran.
    pub joined: Vec<Seq>,
    /// The voices by name.
    pub voices: BTreeMap<String, Voice>,
    /// Calls of the decision's model.
    pub rounds: u64,
    /// Calls of models, the decision's with them.
    pub calls: u64,
    /// Calls of tools that were begun.
    pub tools: u64,
    /// Replies.
    pub replies: u64,
    /// Failures, of voices, tools and the decision.
    pub failures: u64,
    /// Tokens that its calls used.
    pub tokens: Tokens,
}

impl TurnSummary {
    /// Takes in an event of the turn.
    pub fn take(&mut self, event: &Event) {
        if self.last.is_none_or(|(seq, _)| seq < event.seq) {
            self.last = Some((event.seq, event.ts));
        }
        match event.fact() {
            Fact::TurnStarted(started) => self.start(event, started),
            Fact::TurnSteered(steered) => {
                let inputs = steered.inputs.iter().map(|(_, input)| *input);
                self.joined.extend(inputs);
            }
            Fact::TurnEnded(ended) => self.ended = Some((event.ts, ended.outcome)),
            Fact::Remark(remark) => {
                let voice = self.voice(remark.submodule);
                voice.followed_up |= remark.is_follow_up;
                voice.late |= remark.is_late && !remark.is_follow_up;
                voice.spoke |= !remark.is_late && !remark.is_follow_up;
            }
            Fact::Call(record) => self.called(&record),
            Fact::Action(_) => self.tools += 1,
            Fact::Reply(_) => self.replies += 1,
            Fact::Failure(failed) => {
                self.failures += 1;
                if let (By::Submodule(name), false) = (failed.who, failed.is_follow_up) {
                    let voice = self.voice(name);
                    let is_late =
                        failed.is_late || failed.problem.kind == FailureKind::Timeout.as_str();
                    voice.late |= is_late;
                    voice.failed |= !is_late;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, event: &Event, started: Started<'_>) {
        self.started = Some((event.seq, event.ts));
        self.deadline_ms = started.deadline_ms;
        self.batch = started.batch;
        for name in started.submodules {
            self.voice(name);
        }
    }

    fn called(&mut self, record: &Record<'_>) {
        self.calls += 1;
        self.tokens.add(record);
        match record.submodule() {
            Some(name) if record.purpose() != "follow-up" => {
                let voice = self.voice(name);
                voice.done |= record.is_last();
                if let Some(ms) = record.duration_ms() {
                    voice.ms = Some(voice.ms.unwrap_or(0).saturating_add(ms));
                }
            }
            Some(_) => {}
            None => self.rounds += u64::from(record.module == "decision"),
        }
    }

    fn voice(&mut self, name: &str) -> &mut Voice {
        self.voices.entry(name.to_owned()).or_default()
    }
}
