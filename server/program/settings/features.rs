//! Settings of features: read as types of their own, shown without their secrets.

use std::collections::BTreeMap;

use figment::Figment;
use figment::value::{Dict, Value};
use secrecy::SecretString;
use serde::Serializer;
use serde::de::DeserializeOwned;

use super::Invalid;
use super::sources::{Layer, explain, is_secret};
use thinkd_words::secret::REDACTED;

/// Reads the settings of a feature, as they were found, as a type of its own. Of a key that has the
/// name of a secret no error shows the value.
pub fn of_feature<T: DeserializeOwned>(name: &str, found: &Dict) -> Result<T, Invalid> {
    let (source, key) = (format!("the feature {name}"), format!("features.{name}"));
    let figment = Figment::from(Layer::key(source, &key, Value::from(found.clone())));
    // Whole, so that errors have the whole path. Lossy: an environment has texts only.
    let read = figment.extract_lossy::<BTreeMap<String, BTreeMap<String, T>>>();
    let mut all = read.map_err(|error| explain(&figment, &error))?;
    let own = all.get_mut("features").and_then(|all| all.remove(name));
    own.ok_or_else(|| Invalid(format!("the setting {key} is missing")))
}

/// Returns the secrets among the settings of features: all that stands under the name of one.
pub fn secrets_of_features(found: &BTreeMap<String, Dict>) -> Vec<SecretString> {
    let mut secrets = Vec::new();
    for found in found.values() {
        let found = Value::from(found.clone());
        let _ = shown_value(&found, false, &mut |text| secrets.push(text.into()));
    }
    secrets
}

/// Serializes the settings of features without their secrets.
pub fn without_secrets<S: Serializer>(
    found: &BTreeMap<String, Dict>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = |found: &Dict| shown_value(&Value::from(found.clone()), false, &mut drop);
    serializer.collect_map(found.iter().map(|(name, found)| (name, shown(found))))
}

/// Returns a value with `(redacted)` in the place of each secret, which `secret` is told.
fn shown_value(value: &Value, is_hidden: bool, secret: &mut impl FnMut(String)) -> Value {
    match value {
        Value::Dict(tag, inner) => {
            let mut shown = Dict::new();
            for (key, value) in inner {
                let value = shown_value(value, is_hidden || is_secret(key), secret);
                shown.insert(key.clone(), value);
            }
            Value::Dict(*tag, shown)
        }
        Value::Array(tag, items) => {
            let items = items.iter().map(|it| shown_value(it, is_hidden, secret));
            Value::Array(*tag, items.collect())
        }
        value if is_hidden => {
            if let Some(text) = value.clone().into_string() {
                secret(text);
            }
            Value::from(REDACTED)
        }
        value => value.clone(),
    }
}
