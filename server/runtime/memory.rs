//! `[memory]`: how statements are tried, and recalled.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use thinkd_mind::turn::recalling::Recalling;
use thinkd_recall::finder::Recall;
use thinkd_tools::knowledge;
use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// The options of trials and recall of statements: `[memory]` in thinkd.toml.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// A trial takes up to three readings of a prediction, until the rest cannot change its count; otherwise one.
        pub two_of_three: bool = false,
        /// Most calls that trials of one space make to models in an hour; the rest waits.
        pub calls_per_hour: u64 = 1000,
        /// Most calls in a day by which held statements of one space are tested again while nothing
        /// else is due; 0: none is. The most used and the longest untested come first, each by an
        /// instrument that has not carried it.
        pub retest_calls_per_day: u64 = 0,
        /// Most tokens, estimated, that every turn recalls before any module thinks, where
        /// something is held; 0: turns recall nothing by themselves.
        pub recall_in_turns: u32 = 300,
        /// The text that a model for vectors (`models.embedding`) is sent before a question:
        /// `"query: "` for e5.
        pub question_prefix: String = String::new(),
        /// The text that it is sent before a statement: `"passage: "` for e5.
        pub statement_prefix: String = String::new(),
        /// Most vectors of one space that are kept in memory and scanned. Words and names alone find
        /// statements beyond them.
        pub exact_vectors: usize = 500_000,
        /// The knowledge base in which predictions are looked up.
        pub knowledge: knowledge::Options = knowledge::Options::default(),
        /// Most bytes of statements that are kept in memory for recall, of all spaces together.
        pub recall_bytes: usize = 512 << 20,
    }
    fixed {
        /// Most questions to people that trials of one space have open; 0: people are never asked.
        pub questions: u32 = 5,
        /// Statements of one space that are tried at a time.
        pub trials_at_once: u32 = 4,
        /// The number of times a statement is tried while its predictions have no answer.
        pub tries: u64 = 3,
        /// The time after a trial without an outcome until the next one; four times as long after
        /// each.
        pub retry_ms: u64 = 60_000,
        /// The time that one answer of a model may take.
        pub answer_ms: u64 = 60_000,
        /// True if a statement that survived on reflection alone stays proposed.
        pub require_experiment: bool = false,
        /// The number of times a falsified statement is tried again: claimed with another quote, or
        /// where an instrument is new.
        pub reopenings: u64 = 3,
        /// The time that an answer of people is waited for; then it is no answer. From 1 s to 365
        /// days.
        pub question_ms: u64 = 24 * 60 * 60 * 1000,
        /// Most claims of one space that wait for their trial, or for its end; more are refused.
        pub waiting: u32 = 1000,
        /// The time after a test in which a statement is not tested again for its age.
        pub retest_after_ms: u64 = 30 * 24 * 60 * 60 * 1000,
        /// Most merges of names that stand in one space; more are refused.
        pub merges: u32 = 5000,
        /// Most names of one entity; a merge that would give it more is refused.
        pub entity_names: u32 = 32,
        /// The time without a recall in a space after which its statements go from memory; the next
        /// recall there reads them again.
        pub recall_idle_ms: u64 = 300_000,
        /// Most tokens, estimated, of the result of one recall, where it does not say.
        pub recall_tokens: u32 = 1500,
        /// The time that this recall may take; then the turn goes on without.
        pub recall_in_turns_ms: u64 = 2000,
        /// The time that a recall waits for vectors of that model; then it is answered by words and
        /// names.
        pub vectors_wait_ms: u64 = 2000,
    }
}

impl Options {
    /// Returns the options by which turns recall.
    pub fn recalling(&self, finder: Arc<Recall>) -> Recalling {
        Recalling {
            finder,
            tokens: self.recall_in_turns,
            limit: Duration::from_millis(self.recall_in_turns_ms),
        }
    }
}
