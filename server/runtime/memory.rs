//! `[memory]`: how statements are tried, and recalled.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::mind::turn::recalling::Recalling;
use crate::recall::finder::Recall;
use crate::tools::knowledge;

/// How statements are tried, and recalled: `[memory]` in thinkd.toml.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Statements of one space that are tried at a time.
    pub trials_at_once: u32,
    /// How often a statement is tried while its predictions have no answer.
    pub tries: u64,
    /// How long after a trial without an outcome the next one comes; four times as long after each.
    pub retry_ms: u64,
    /// How long one answer of a model may take.
    pub answer_ms: u64,
    /// A trial takes up to three readings of a prediction, until the rest cannot change its count; otherwise one.
    pub two_of_three: bool,
    /// What survived on reflection alone stays proposed.
    pub require_experiment: bool,
    /// How often a falsified statement is tried again: claimed with another quote, or where an instrument is new.
    pub reopenings: u64,
    /// Most questions to people that trials of one space have open; 0: people are never asked.
    pub questions: u32,
    /// How long an answer of people is waited for; then it is no answer. From 1 s to 365 days.
    pub question_ms: u64,
    /// Most claims of one space that wait for their trial, or for its end; more are refused.
    pub waiting: u32,
    /// Most calls that trials of one space make to models in an hour; what is left waits.
    pub calls_per_hour: u64,
    /// Most calls in a day by which what is held is tested again while nothing else is due, in one space: the most used and the longest untested
    /// first, each by an instrument that has not carried it; 0: nothing is.
    pub retest_calls_per_day: u64,
    /// What was tested is not tested again for its age before so long.
    pub retest_after_ms: u64,
    /// Most merges of names that stand in one space; more are refused.
    pub merges: u32,
    /// Most names of one entity; what would give it more is refused.
    pub entity_names: u32,
    /// Most bytes of statements that are kept in memory for recall, of all spaces together.
    pub recall_bytes: usize,
    /// What nobody recalls in for so long goes from memory, and is read again when somebody does.
    pub recall_idle_ms: u64,
    /// Most tokens, estimated, of what one recall returns, where it does not say.
    pub recall_tokens: u32,
    /// Most tokens, estimated, of what every turn recalls before anybody thinks, where something is held; 0: turns recall nothing
    /// by themselves.
    pub recall_in_turns: u32,
    /// How long that may take; then the turn goes on without.
    pub recall_in_turns_ms: u64,
    /// What a model for vectors (`models.embedding`) is sent before a question: `"query: "` for e5.
    pub question_prefix: String,
    /// What it is sent before a statement: `"passage: "` for e5.
    pub statement_prefix: String,
    /// How long a recall waits for vectors of that model; then it is answered by words and names.
    pub vectors_wait_ms: u64,
    /// Most vectors of one space that are kept in memory and scanned. Words and names alone find
    /// statements beyond them.
    pub exact_vectors: usize,
    /// Where predictions are looked up.
    pub knowledge: knowledge::Options,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trials_at_once: 4,
            tries: 3,
            retry_ms: 60_000,
            answer_ms: 60_000,
            two_of_three: false,
            require_experiment: false,
            reopenings: 3,
            questions: 5,
            question_ms: 24 * 60 * 60 * 1000,
            waiting: 1000,
            calls_per_hour: 1000,
            knowledge: knowledge::Options::default(),
            retest_calls_per_day: 0,
            retest_after_ms: 30 * 24 * 60 * 60 * 1000,
            merges: 5000,
            entity_names: 32,
            recall_bytes: 512 << 20,
            recall_idle_ms: 300_000,
            recall_tokens: 1500,
            recall_in_turns: 300,
            recall_in_turns_ms: 2000,
            question_prefix: String::new(),
            statement_prefix: String::new(),
            vectors_wait_ms: 2000,
            exact_vectors: 500_000,
        }
    }
}

impl Options {
    /// How turns recall by this.
    pub fn recalling(&self, finder: Arc<Recall>) -> Recalling {
        Recalling {
            finder,
            tokens: self.recall_in_turns,
            limit: Duration::from_millis(self.recall_in_turns_ms),
        }
    }
}
