//! Who may come in, and whose mind they open: the one decision for sockets and HTTP.
//! Where credentials stand in a header or frame is read here too; what to answer when they are wrong is not.

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};

use crate::id::Space;

/// What a key's holder may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    #[default]
    Operator,
    /// Talk, but not change what the mind is made of.
    Member,
    /// Look.
    Viewer,
}

/// A configured key (`[[keys]]`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The secret.
    #[serde(serialize_with = "redacted")]
    pub key: SecretString,
    /// The space it opens.
    #[serde(default)]
    pub space: Space,
    /// What its holder may do there.
    #[serde(default)]
    pub role: Role,
}

/// Writes a secret as what is not one: for printing a configuration.
pub fn redacted<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if secret.expose_secret().is_empty() { "" } else { "(redacted)" })
}
