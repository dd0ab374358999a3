//! Forms of single settings, to read and to write: addresses, lists with commas, and secrets, which
//! are never printed.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serializer};
use strsim::damerau_levenshtein;

use thinkd_words::secret::redacted_url;

pub fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| {
        serde::de::Error::custom(format!(
            "{text:?} is no address and port, such as 127.0.0.1:2953 or [::1]:2953"
        ))
    })
}

/// A list, or a text with commas.
pub fn list<'de, D: Deserializer<'de>, T: From<String>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        List(Vec<String>),
        Text(String),
    }
    let items = match Given::deserialize(deserializer)? {
        Given::List(items) => items,
        Given::Text(text) => text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    Ok(items.into_iter().map(T::from).collect())
}

pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    list(deserializer).map(Some)
}

pub fn without_password<S: Serializer>(
    url: &SecretString,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    redacted_url(url.expose_secret(), serializer)
}

/// Writes the address without its password; an empty text for none, which `skip_serializing_if` leaves out.
pub fn database_url<S: Serializer>(
    url: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let url = url.as_ref().map_or("", ExposeSecret::expose_secret);
    redacted_url(url, serializer)
}

/// Returns true for the key of a secret. Its value is text even if it looks like a number; an error
/// never quotes it; it has a `…_FILE` variant.
pub fn is_secret(path: &str) -> bool {
    let is_one = |name| matches!(name, "token" | "api_key" | "key");
    path.starts_with("database") || path.rsplit('.').next().is_some_and(is_one)
}

/// Returns true if a secret may stand there, also by mistake: in a table that has some, or in an
/// address.
pub fn may_be_secret(path: &str) -> bool {
    let words: Vec<&str> = path.split('.').collect();
    match words.as_slice() {
        ["keys", ..]
        | ["tools", "mcp", ..]
        | ["tools", "code", "replica", ..]
        | ["models"]
        | ["models", _]
        | ["models", "modules", _] => true,
        [.., last] => *last == "base_url" || is_secret(path),
        [] => false,
    }
}

/// Returns the setting, or the short name of one in the environment, that is spelt nearly so.
pub fn nearest(path: &str, known: &[&str], aliases: &[(&str, &str)]) -> Option<String> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let as_variable = format!("THINKD_{}", path.to_uppercase().replace('.', "__"));
    let whole = |key: &&str| match table {
        "" => (*key).to_owned(),
        table => format!("{table}.{key}"),
    };
    let keys = known
        .iter()
        .map(|it| (damerau_levenshtein(key, it), whole(it)));
    let aliases = aliases.iter();
    let aliases =
        aliases.map(|(name, _)| (damerau_levenshtein(&as_variable, name), (*name).to_owned()));
    let near = keys.chain(aliases).min()?;
    (near.0 <= key.len().div_ceil(3)).then_some(near.1)
}
