//! Immutable texts, shared cheaply: a text with its hash, and a value that is serialized as JSON once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest as _, Sha256};

/// Returns the text without a byte order mark at its beginning; editors and shells of Windows write
/// one.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A text and its SHA-256. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: Arc<str>,
    sha256: Arc<str>,
}

impl Text {
    /// The text, hashed.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let sha256 = sha256(text.as_bytes()).into();
        Self { text, sha256 }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its SHA-256, as 64 hex digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// A value serialized as JSON once. Cheap to clone; a larger value copies its bytes as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Serializes a value; `null` if JSON cannot express it.
    pub fn of(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).unwrap_or_default().into())
    }

    /// The JSON.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A value as JSON that is the same for the same value: the members of objects stand in the order of their names.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        Value::Object(members) => {
            let members: BTreeMap<&String, &Value> = members.iter().collect();
            let members = members.into_iter().map(|(name, value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            });
            format!("{{{}}}", Vec::from_iter(members).join(","))
        }
        plain => plain.to_string(),
    }
}

/// A count with its noun: `1 task`, `2 tasks`.
pub fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Returns true if some reader takes the character for a line break: Unicode's mandatory breaks,
/// and the separators of ASCII.
pub fn breaks(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The SHA-256 of bytes, as 64 hex digits: the name of a blob.
pub fn sha256(bytes: &[u8]) -> String {
    // Every call to a model names its request so: by table, for a formatter takes longer than the hash.
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    Sha256::digest(bytes)
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}
