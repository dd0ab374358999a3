//! The options of turns: limits and manner, section `[turn]` of the settings.

use serde::{Deserialize, Serialize};

use thinkd_thread::settings::{Language, Policy};
use thinkd_words::defaults::with_defaults;

/// The meaning of plain words, without a tool call, of a conversation's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlainText {
    /// They are the answer.
    #[default]
    Reply,
    /// The decision is asked once more; a second answer in words fails the turn.
    AskAgain,
    /// They fail the turn.
    Refuse,
}

with_defaults! {
    /// The settings of turns.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TurnOptions {
        /// The time that the decision waits for the voices.
        pub submodule_timeout_ms: u64 = 20_000,
        /// The time that the server waits for a late voice; its answer after `submodule_timeout_ms`
        /// is appended as late.
        pub late_timeout_ms: u64 = 120_000,
        /// The time that one answer of the decision may take.
        pub decision_timeout_ms: u64 = 120_000,
        /// Most answers of the decision in one turn, and of a voice each time it is asked. In sub-steps `budget.model_calls` limits
        /// them instead.
        pub max_rounds: u64 = 6,
        /// Most tool calls of the decision in one turn, and of a voice each time it is asked. Of an answer with more the first call
        /// beyond is refused and the rest left out; one `failure`, `budget`, `core` says how many.
        pub max_tool_calls: u64 = 32,
        /// The effect of new input while a turn runs: `enqueue`, `steer`, `interrupt`, `reject`.
        pub policy: Policy = Policy::Enqueue,
        /// Plain words of a conversation's decision, without a tool call: `reply` (the words are the answer), `ask-again` (it is asked
        /// once more for a tool call, and a second answer in words fails the turn), or `refuse` (they fail the turn at once).
        pub plain_text: PlainText = PlainText::Reply,
        /// Voices of which `follow_up` is on are asked once more after the decision. The next view of every voice has the
        /// decision either way.
        pub follow_up: bool = true,
        /// The way in which decisions act where their threads do not say: by `tools`, by elements
        /// in their text (`xml`, no tools are offered), or `auto`. With `auto` they act by tools; a
        /// conversation that called none is taught the elements in one more call. Absent:
        /// conversations `tools`, processes `auto`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub language: Option<Language> = None,
    }
}
