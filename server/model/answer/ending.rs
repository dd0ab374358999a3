//! The reason why an answer ended, read from the provider's word for it. Pure.

use crate::refusal_text::has_any;

/// The reason why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    /// Not ended, as far as the provider says: there is no word, or one that means none.
    #[default]
    Open,
    /// The model came to its end.
    Done,
    /// A limit of tokens cut the answer.
    Cut,
    /// The provider withheld the answer, or the rest of it.
    Filtered,
    /// Something failed while the answer was made.
    Failed,
    /// A word that is not known. The answer has ended, but more may follow.
    Unknown,
}

const NONE: &str = "|null|none|undefined|unspecified|finish_reason_unspecified";

const DONE: &str = "stop|stopped|stop_sequence|stop_token|tool_calls|tool_call|tool_use|function_call|\
    eos|eos_token|end|end_turn|endoftext|complete|completed|done|finished|success|\
    refusal";

const CUT: &str = "incomplete|max_new_tokens|context_window_exceeded|length|max_tokens|max_token|\
    max_output_tokens|max_completion_tokens|model_length|model_context_window_exceeded|\
    token_limit|truncated";

const FILTERED: &str = "moderation|moderated|toxic|error_toxic|content_filter|content_filtered|safety|\
    image_safety|recitation|blocklist|prohibited_content|spii|sensitive|\
    guardrail_intervened";

const FAILED: &str = "error|failed|failure|abort|aborted|cancelled|canceled|timeout|network_error|\
    insufficient_system_resource|engine_overloaded|server_error|malformed_function_call|\
    unexpected_tool_call|too_many_tool_calls";

impl Ending {
    /// Reads a provider's word, in any case. One of several parts, such as
    /// `content_filter: RECITATION`, means the same as its last part, or as the one before, where that
    /// is not known.
    pub fn of(word: &str) -> Self {
        let is_told = |ending: &Self| *ending != Self::Unknown;
        let parts = word
            .rsplit([':', '.', '/'])
            .filter(|part| !part.trim().is_empty());
        let mut told = std::iter::once(word).chain(parts).map(Self::of_part);
        told.find(is_told).unwrap_or(Self::Unknown)
    }

    fn of_part(word: &str) -> Self {
        let word = word.trim().to_lowercase().replace(['-', ' '], "_");
        let is_among = |words: &str| words.split('|').any(|it| it == word);
        match () {
            () if is_among(NONE) => Self::Open,
            () if is_among(DONE) => Self::Done,
            () if is_among(CUT) => Self::Cut,
            () if is_among(FILTERED) => Self::Filtered,
            () if is_among(FAILED) => Self::Failed,
            () => Self::Unknown,
        }
    }

    /// True if nothing but the usage can follow.
    pub fn is_known_end(self) -> bool {
        !matches!(self, Self::Open | Self::Unknown)
    }
}

/// Returns whether a provider's word says that the model refused to answer.
pub(crate) fn is_refusal(word: &str) -> bool {
    word.to_lowercase().contains("refusal")
}

/// True if a provider's word says that the answer ended with calls.
pub(super) fn announces_calls(word: &str) -> bool {
    has_any(&word.to_lowercase(), "tool_call|tool_use|function_call")
}
