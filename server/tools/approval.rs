//! The rules for tools that wait for a person, how long they wait, and the calls that a verdict
//! lets run: values, without the tools. The layer that goes by them is `gate.rs`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use thinkd_words::alike::folded;
use thinkd_words::defaults::with_defaults;
use thinkd_words::text::{canonical, sha256};
use thinkd_words::time::Timestamp;

with_defaults! {
    /// The tools that wait for a person, and the time that they wait.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Rules {
        /// Names of tools; `*` stands for anything.
        pub tools: Vec<String> = Vec::new(),
        /// The time that a call waits for a verdict.
        pub expiry: Duration = Duration::from_secs(7 * 24 * 60 * 60),
        /// Most requests to people that a thread may have open.
        pub open_max: u64 = 64,
    }
}

/// The calls to a server of tools that wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitingCalls {
    /// Each.
    All,
    /// All but those of tools that their server marks as only reading.
    Writes,
    /// None but those that `tools.approval` names.
    #[default]
    None,
}

/// Longest that a request may wait: 365 days.
pub const EXPIRY_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Rules {
    /// Returns true for a tool that is marked, also where its name only looks like one that is.
    pub fn marks(&self, tool: &str) -> bool {
        let mut patterns = self.tools.iter();
        patterns.any(|pattern| matches_alike(pattern, tool))
    }

    /// When a request counts as rejected that is made now.
    pub fn expires(&self, now: Timestamp) -> Timestamp {
        after(now, self.expiry)
    }
}

/// So long after a time, but at most `EXPIRY_MAX`.
pub fn after(now: Timestamp, wait: Duration) -> Timestamp {
    let micros = u64::try_from(wait.min(EXPIRY_MAX).as_micros()).unwrap_or(u64::MAX);
    Timestamp::from_micros(now.micros().saturating_add_unsigned(micros))
}

/// Returns true if a name is as a pattern says, where `*` stands for any characters.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            (0..=name.len())
                .filter(|at| name.is_char_boundary(*at))
                .any(|at| matches(rest, &name[at..]))
        }),
    }
}

/// The right to run one call once, as a verdict gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The approval.
    pub approval: String,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The hash of the arguments that it may run with.
    pub arguments_sha256: String,
    /// The tool as it was then.
    pub tool_version: String,
}

/// Returns the hash of arguments, the same for any order of their members.
pub fn hash_of(arguments: &Value) -> String {
    sha256(canonical(arguments).as_bytes())
}

/// Returns true for a name that is as a pattern says, or looks so: a rule that keeps out. One that lets in goes by `matches`.
pub fn matches_alike(pattern: &str, name: &str) -> bool {
    matches(&folded(pattern), &folded(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let cases = [
            ("send", "send", true),
            ("send", "sends", false),
            ("mcp__*", "mcp__a__b", true),
        ];
        let more = [
            ("*__delete*", "mcp__a__delete_all", true),
            ("*__delete", "mcp__a__undo", false),
            ("*", "", true),
        ];
        for (pattern, name, is_so) in cases.into_iter().chain(more) {
            assert_eq!(matches(pattern, name), is_so, "{pattern} {name}");
        }
    }

    #[test]
    fn arguments_in_another_order_are_the_same() {
        let one = r#"{"a":1,"b":{"c":[1,2],"d":null}}"#;
        let other = r#"{"b":{"d":null,"c":[1,2]},"a":1}"#;
        let hash = |text: &str| hash_of(&serde_json::from_str(text).unwrap_or_default());
        assert_eq!(hash(one), hash(other));
        assert_ne!(hash(one), hash(r#"{"a":1,"b":{"c":[2,1],"d":null}}"#));
    }
}
