//! Tools that a provider refuses: those that a refusal names, and those that a model is not offered any more. Other tools of the same
//! requests stay as they are.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::provider::{ToolSpec, ToolSpecs};
use super::refusal_text::{has_any, places};
use super::wire::Trouble;
use thinkd_words::failure::Failure;
use thinkd_words::text::{Json, sha256};

/// Most refusals that are remembered.
const KNOWN_MAX: usize = 1000;
/// The time that one is remembered: a provider's next version may take the tool.
const FORGOTTEN: Duration = Duration::from_hours(24);
/// Most bytes of a refusal that are looked through.
const SAID_MAX: usize = 64 << 10;

/// Words of refusals that are about the calls of an answer, not about the tools of the request.
const OF_ANSWERS: &str =
    "tool_use_failed|failed_generation|attempted to call|failed to call a function";

/// The trouble with the names of the tools that it refuses, where it names any, among its facts.
pub(super) fn marked(mut trouble: Trouble, body: &Json) -> Trouble {
    let status = trouble.failure.detail["status"].as_u64();
    let is_of_request =
        status.is_some_and(|it| !matches!(it, 401 | 403 | 404 | 408 | 413 | 429 | 503));
    if !is_of_request || trouble.failure.is_too_long() {
        return trouble;
    }
    let tools = names(body);
    let places = named(&trouble.said, &tools).into_iter();
    let refused = Vec::from_iter(places.filter_map(|at| tools.get(at)));
    if !refused.is_empty() {
        trouble.failure.detail["tools"] = json!(refused);
    }
    trouble
}

/// The names of the tools of a request, in its order.
fn names(body: &Json) -> Vec<String> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        tools: Vec<Tool>,
    }
    #[derive(Deserialize)]
    struct Tool {
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
    }
    let body = serde_json::from_str::<Body>(body.as_str());
    let tools = body.map(|body| body.tools).unwrap_or_default();
    tools.into_iter().map(|tool| tool.function.name).collect()
}

/// Returns the places of the tools that a refusal names, by name or by place.
pub fn named(said: &str, tools: &[String]) -> Vec<usize> {
    let said = said[..said.floor_char_boundary(SAID_MAX)].replace('\\', "");
    let lower = said.to_lowercase();
    let is_of_tools = has_any(&lower, "tool|function|schema|parameters");
    if !is_of_tools || has_any(&lower, OF_ANSWERS) {
        return Vec::new();
    }
    let by_name = (0..tools.len()).filter(|at| is_named(&said, &tools[*at]));
    let by_place = places(&lower).into_iter().filter(|at| *at < tools.len());
    Vec::from_iter(BTreeSet::from_iter(by_name.chain(by_place)))
}

/// True where a text has a name that is no ordinary word, or one in quotation marks or behind the word `function` or `tool`.
fn is_named(said: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    said.match_indices(name).any(|(at, _)| {
        let before = &said[..at];
        let after = &said[at + name.len()..];
        if before.ends_with(is_part) || after.starts_with(is_part) {
            return false;
        }
        let is_quoted = |mark: char| before.ends_with(mark) && after.starts_with(mark);
        let lead = before.trim_end_matches([' ', ':']).to_lowercase();
        name.contains(['_', '-'])
            || ['\'', '"', '`'].into_iter().any(is_quoted)
            || (lead.len() < before.len() && (lead.ends_with("function") || lead.ends_with("tool")))
    })
}

/// The tools that providers refused lately.
#[derive(Debug, Default)]
pub struct RefusedTools {
    // A plain mutex: held for a look, never across an await.
    known: Mutex<HashMap<Key, Refusal>>,
}

/// A model at an endpoint, and the hash of the tool as it was told.
type Key = (String, String);

#[derive(Debug)]
struct Refusal {
    tool: String,
    words: String,
    at: Instant,
}

impl RefusedTools {
    /// Returns the tools of these that the model is offered.
    pub fn offered(
        &self,
        model: &str,
        tools: &ToolSpecs,
        is_kept: impl Fn(&str) -> bool,
    ) -> ToolSpecs {
        let known = self.known();
        if known.is_empty() {
            return tools.clone();
        }
        let is_refused = |tool: &ToolSpec| {
            let mut refused = known.iter();
            let is_like = refused.any(|((of, _), it)| of == model && it.tool == tool.name);
            is_like && !is_kept(&tool.name) && known.contains_key(&key(model, tool))
        };
        if !tools.list.iter().any(is_refused) {
            return tools.clone();
        }
        let offered = tools.list.iter().filter(|tool| !is_refused(tool));
        ToolSpecs::new(offered.cloned().collect())
    }

    /// Remembers that a model's provider refused a tool in these words. Returns whether that is new.
    pub fn learn(&self, model: &str, tool: &ToolSpec, words: &Failure) -> bool {
        let mut known = self.known();
        if known.len() >= KNOWN_MAX {
            let oldest = known.iter().min_by_key(|(_, it)| it.at);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.map(|key| known.remove(&key));
        }
        let refusal = Refusal {
            tool: tool.name.clone(),
            words: words.text.clone(),
            at: Instant::now(),
        };
        known.insert(key(model, tool), refusal).is_none()
    }

    /// The words with which a provider refused a tool that is told like this.
    pub fn words(&self, tool: &ToolSpec) -> Option<String> {
        let known = self.known();
        let hash = hash(tool);
        let mut refusals = known.iter().filter(|((_, it), _)| *it == hash);
        refusals.next().map(|(_, refusal)| refusal.words.clone())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Key, Refusal>> {
        let mut known = self.known.lock();
        known.retain(|_, refusal| refusal.at.elapsed() < FORGOTTEN);
        known
    }
}

fn key(model: &str, tool: &ToolSpec) -> Key {
    (model.to_owned(), hash(tool))
}

fn hash(tool: &ToolSpec) -> String {
    sha256(Json::of(tool).as_str().as_bytes())
}

/// The names of the tools that a failed call was refused for.
pub fn of(failure: &Failure) -> impl Iterator<Item = &str> {
    let tools = failure.detail.get("tools").and_then(Value::as_array);
    tools.into_iter().flatten().filter_map(Value::as_str)
}
