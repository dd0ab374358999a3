//! The configuration of a model's endpoint: where it is, which model, how it is asked, and its time limits.

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use thinkd_words::secret::{redacted, redacted_url};

/// A model and how to ask it: `[models.low]` and its like.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The model's name at the provider.
    pub model: String,
    /// The model's own endpoint, up to and without `/chat/completions`; absent: the shared one.
    #[serde(default = "default::base_url", serialize_with = "redacted_url")]
    pub base_url: String,
    /// The key of its own endpoint; absent: the shared one, if the endpoint is shared, too.
    #[serde(
        default,
        serialize_with = "redacted",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_key: Option<SecretString>,
    /// True if answers are asked for piece by piece.
    #[serde(default = "default::yes")]
    pub stream: bool,
    /// Further members of the request, a table as the provider names them (`temperature`, `max_tokens`, `reasoning_effort`, …).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// Most calls at a time; further ones wait, and spaces take turns. Absent: no limit, but one is learned from a server that
    /// answers 503 while it is busy. `[models.embedding]` does not heed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// The time that a whole call may take after it is sent, retries and pauses included. The first piece of a streamed answer
    /// has two fifths of it, at least 120000, and a pause between two pieces a fifth, at least 60000.
    #[serde(default = "default::timeout_ms")]
    pub timeout_ms: u64,
    // Numbers that no setting sets, as under `fixed` elsewhere.
    /// Retries after 429, 5xx or a broken connection, while nothing of the answer has come.
    #[serde(default = "default::retries", skip_serializing)]
    pub retries: u32,
    /// The pause before the first retry; it doubles each time. A provider's `Retry-After` comes first.
    #[serde(default = "default::backoff_ms", skip_serializing)]
    pub backoff_ms: u64,
    /// The time that reaching the endpoint may take.
    #[serde(default = "default::connect_timeout_ms", skip_serializing)]
    pub connect_timeout_ms: u64,
    /// The time that the first piece of a streamed answer may take, from the request on.
    #[serde(default = "default::first_piece_timeout_ms", skip_serializing)]
    pub first_piece_timeout_ms: u64,
    /// The time that a streamed answer may pause between two pieces.
    #[serde(default = "default::between_pieces_timeout_ms", skip_serializing)]
    pub between_pieces_timeout_ms: u64,
}

mod default {
    pub fn base_url() -> String {
        "https://api.openai.com/v1".to_owned()
    }
    pub fn yes() -> bool {
        true
    }
    pub fn retries() -> u32 {
        3
    }
    pub fn backoff_ms() -> u64 {
        500
    }
    pub fn connect_timeout_ms() -> u64 {
        5_000
    }
    pub fn first_piece_timeout_ms() -> u64 {
        120_000
    }
    pub fn between_pieces_timeout_ms() -> u64 {
        60_000
    }
    pub fn timeout_ms() -> u64 {
        300_000
    }
}

impl Options {
    /// A model with every setting at its default.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: default::base_url(),
            api_key: None,
            stream: true,
            parameters: Map::new(),
            retries: default::retries(),
            backoff_ms: default::backoff_ms(),
            at_once: None,
            connect_timeout_ms: default::connect_timeout_ms(),
            first_piece_timeout_ms: default::first_piece_timeout_ms(),
            between_pieces_timeout_ms: default::between_pieces_timeout_ms(),
            timeout_ms: default::timeout_ms(),
        }
    }
}

/// Returns the endpoint of a model as an address; none: it is none of HTTP.
pub fn base(base_url: &str) -> Option<Url> {
    let url = Url::parse(base_url).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Returns the address of a path below an endpoint, with the endpoint's query behind it.
pub fn address(base_url: &str, path: &str) -> String {
    match base_url.split_once('?') {
        Some((base, query)) => format!("{}{path}?{query}", base.trim_end_matches('/')),
        None => format!("{}{path}", base_url.trim_end_matches('/')),
    }
}
