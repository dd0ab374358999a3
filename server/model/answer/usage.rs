//! The count of tokens in an answer. Pure.

use serde_json::Value;

use super::members::number_at;
use crate::provider::Usage;

/// The places where servers count tokens: the chunk, the choice, and Groq's own member.
pub fn usages<'c>(chunk: &'c Value, choice: Option<&'c Value>) -> impl Iterator<Item = &'c Value> {
    let own = chunk.get("x_groq").and_then(|own| own.get("usage"));
    let usual = [
        chunk.get("usage"),
        choice.and_then(|choice| choice.get("usage")),
        own,
    ];
    usual
        .into_iter()
        .flatten()
        .filter(|usage| usage.is_object())
}

/// Reads a count of tokens, under each provider's names.
pub fn read_usage(usage: &Value) -> Usage {
    let first = |keys: [&str; 2]| keys.into_iter().find_map(|key| number_at(usage, key));
    let cached = ["prompt_tokens_details", "input_tokens_details"]
        .into_iter()
        .find_map(|key| {
            usage
                .get(key)
                .and_then(|details| number_at(details, "cached_tokens"))
        });
    let input_tokens = first(["prompt_tokens", "input_tokens"]).unwrap_or(0);
    let output_tokens = first(["completion_tokens", "output_tokens"]).unwrap_or(0);
    // Some leave thinking out of the answer's tokens; the total has it.
    let rest = number_at(usage, "total_tokens").map_or(0, |all| all.saturating_sub(input_tokens));
    Usage {
        input_tokens,
        output_tokens: output_tokens.max(rest),
        cached_tokens: cached
            .or_else(|| first(["prompt_cache_hit_tokens", "cached_tokens"]))
            .unwrap_or(0),
    }
}
