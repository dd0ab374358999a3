//! Settings of features: read as types of their own, shown without their secrets.

use std::collections::BTreeMap;

use figment::Figment;
use figment::value::{Dict, Value};
use secrecy::SecretString;
use serde::Serializer;
use serde::de::DeserializeOwned;

use super::Invalid;
use super::sources::{Layer, explain};
use super::values::is_secret;
use thinkd_words::secret::{REDACTED, in_variable};

/// Reads the settings of a feature, as they were found, as a type of its own. Of a key that has the
/// name of a secret no error shows the value.
pub fn of_feature<T: DeserializeOwned>(name: &str, found: &Dict) -> Result<T, Invalid> {
    let source = format!("the feature {name}");
    let key = format!("features.{name}");
    let figment = Figment::from(Layer::key(source, &key, Value::from(found.clone())));
    // Whole, so that errors have the whole path. Lossy: an environment has texts only.
    let read = figment.extract_lossy::<BTreeMap<String, BTreeMap<String, T>>>();
    let mut all = read.map_err(|error| explain(&figment, &error))?;
    let own = all.get_mut("features").and_then(|all| all.remove(name));
    own.ok_or_else(|| Invalid(format!("the setting {key} is missing")))
}

/// Returns the secrets among the settings of features.
pub fn secrets_of_features(found: &BTreeMap<String, Dict>) -> Vec<SecretString> {
    let mut secrets = Vec::new();
    for (name, found) in found {
        let found = Value::from(found.clone());
        let _ = shown(name, &found, &mut |text| secrets.push(text.into()));
    }
    secrets
}

/// Serializes the settings of features without their secrets.
pub fn without_secrets<S: Serializer>(
    found: &BTreeMap<String, Dict>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let each = found.iter().map(|(name, found)| {
        let found = Value::from(found.clone());
        (name, shown(name, &found, &mut drop))
    });
    serializer.collect_map(each)
}

/// Returns the value of this name with `(redacted)` in the place of each secret, which `secret` is
/// told. A secret is all below a key that has the name of one, and a text that is one by its key or
/// its form, as in variables of servers of tools.
fn shown(name: &str, value: &Value, secret: &mut impl FnMut(String)) -> Value {
    match value {
        Value::Dict(tag, inner) => {
            let inner = inner.iter().map(|(key, value)| {
                let of = if is_secret(name) { name } else { key };
                (key.clone(), shown(of, value, secret))
            });
            Value::Dict(*tag, inner.collect())
        }
        Value::Array(tag, items) => {
            let items = items.iter().map(|item| shown(name, item, secret));
            Value::Array(*tag, items.collect())
        }
        Value::String(_, text) => {
            match is_secret(name) || !in_variable(name, text.as_str().into()).is_empty() {
                true => {
                    secret(text.clone());
                    Value::from(REDACTED)
                }
                false => value.clone(),
            }
        }
        _ if is_secret(name) => Value::from(REDACTED),
        other => other.clone(),
    }
}
