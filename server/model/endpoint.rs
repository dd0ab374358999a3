//! A model's endpoint as it is configured: where it is, which model, how it is asked, and for how long.

use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::words::secret::redacted_url;

/// A model and how to ask it: `[models.low]` and its like.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The model's name at the provider.
    pub model: String,
    /// The endpoint, up to and without `/chat/completions`.
    #[serde(default = "default::base_url", serialize_with = "redacted_url")]
    pub base_url: String,
    /// The key, if the endpoint wants one.
    #[serde(default, serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// How it is spoken to.
    #[serde(default)]
    pub api: Api,
    /// Whether answers come in pieces.
    #[serde(default = "default::yes")]
    pub stream: bool,
    /// Sampling temperature; the provider's default if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Most tokens of an answer; the provider's default if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Whether tools are sent as strict ones; off for servers that refuse that.
    #[serde(default = "default::yes")]
    pub strict_tools: bool,
    /// Whether the decision may answer without calling a tool.
    #[serde(default)]
    pub tool_choice: Calling,
    /// Whether streamed answers are asked for their usage; off for servers that refuse that.
    #[serde(default = "default::yes")]
    pub usage_in_stream: bool,
    /// Further members of the request body, as the provider names them (`reasoning_effort`, `max_completion_tokens`, …).
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// How often a call is tried again while nothing of its answer has come.
    #[serde(default = "default::retries")]
    pub retries: u32,
    /// The first pause before trying again; it doubles each time. A provider's `Retry-After` comes first.
    #[serde(default = "default::backoff_ms")]
    pub backoff_ms: u64,
    /// Limit for reaching the endpoint.
    #[serde(default = "default::connect_timeout_ms")]
    pub connect_timeout_ms: u64,
    /// Limit from the request to the first piece of a streamed answer.
    #[serde(default = "default::first_piece_timeout_ms")]
    pub first_piece_timeout_ms: u64,
    /// Limit between two pieces of a streamed answer.
    #[serde(default = "default::between_pieces_timeout_ms")]
    pub between_pieces_timeout_ms: u64,
    /// Limit of a whole call, tries and pauses included.
    #[serde(default = "default::timeout_ms")]
    pub timeout_ms: u64,
}

/// The ways to speak to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions, which they all have.
    #[default]
    Chat,
}

/// Whether a decision must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Calling {
    /// It may answer in words, which is then repaired.
    #[default]
    Auto,
    /// It must.
    Required,
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

/// For printing a configuration: that there is a key, not which.
fn redacted<S: Serializer>(_: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("(redacted)")
}

impl Options {
    /// A model with every setting at its default.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: default::base_url(),
            api_key: None,
            api: Api::Chat,
            stream: true,
            temperature: None,
            max_tokens: None,
            strict_tools: true,
            tool_choice: Calling::Auto,
            usage_in_stream: true,
            parameters: Map::new(),
            retries: default::retries(),
            backoff_ms: default::backoff_ms(),
            connect_timeout_ms: default::connect_timeout_ms(),
            first_piece_timeout_ms: default::first_piece_timeout_ms(),
            between_pieces_timeout_ms: default::between_pieces_timeout_ms(),
            timeout_ms: default::timeout_ms(),
        }
    }
}

/// The address of a path below an endpoint, whose query stays behind it.
pub fn address(base_url: &str, path: &str) -> String {
    match base_url.split_once('?') {
        Some((base, query)) => format!("{}{path}?{query}", base.trim_end_matches('/')),
        None => format!("{}{path}", base_url.trim_end_matches('/')),
    }
}
