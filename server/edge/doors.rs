//! The settings of doors that speak the protocols of others.

use serde::{Deserialize, Serialize};

use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// Doors for clients of other protocols. They need the credentials and rights that `/threads`
    /// needs.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Doors {
        /// True if clients of OpenAI's protocols are served at `/v1`.
        pub openai: bool = true,
        /// True if the comments of submodules go to these clients as `reasoning_content`.
        pub remarks: bool = false,
        /// Headers with the id that a client gives a conversation.
        pub chat_id_headers: Vec<String> = vec!["x-openwebui-chat-id".into()],
        /// Headers with the id that a client gives the answer it wants: the same again is answered
        /// with the same turn.
        pub message_id_headers: Vec<String> = vec!["idempotency-key".into(), "x-openwebui-message-id".into()],
        /// Longest time that a call of a client's own tool waits for its result, in milliseconds:
        /// then it fails, and the turn goes on.
        pub client_tool_ms: u64 = 3_600_000,
        /// Beginnings of a last message that mark the same.
        pub side_calls: Vec<String> = vec!["### Task:".into()],
    }
    fixed {
        /// Headers that mark a small question beside the conversation: a title, tags, a completion
        /// of a line that is being typed.
        pub side_call_headers: Vec<String> = vec!["x-openwebui-task".into()],
    }
}
