//! `more_tools`: opens tools that are seldom needed. A model is told only of those that are open. A
//! tool that it opened, or called unasked, stays open for its thread's life and stands last, so
//! that the text before it stays the same bytes.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::crowd::OPENER;
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Spec, Tool, decoded, described};
use thinkd_event::draft::Draft;
use thinkd_model::prompt::Error;
use thinkd_words::failure::{Failure, FailureKind};

/// Its name.
pub const NAME: &str = OPENER;
const PROMPT: &str = include_str!("../../../prompts/tools/more_tools.md");

/// See the module.
pub struct MoreTools {
    spec: Spec,
    rare: Vec<String>,
}

/// Most names that stand as an `enum`; more stand in the description.
const ENUM_MAX: usize = 250;

/// The tool that opens these.
pub(super) fn tool(supplies: &Supplies, rare: Vec<String>) -> Result<Arc<dyn Tool>, Error> {
    let mut words = supplies.prompts.tool(NAME, PROMPT)?;
    let mut items = json!({ "type": "string" });
    if rare.len() > ENUM_MAX {
        let names = words.arguments.entry("names".to_owned()).or_default();
        *names = format!("{names} {}", rare.join(", ")).trim().to_owned();
    } else {
        items["enum"] = json!(rare);
    }
    let names = json!({ "type": "array", "items": items });
    let parameters = json!({
        "type": "object", "properties": { "names": names }, "required": ["names"], "additionalProperties": false,
    });
    let told = described(NAME, words, parameters)?;
    // What is open is among the tools of the next call: the decision is asked again.
    Ok(Arc::new(MoreTools {
        spec: Spec::new(told, Effect::Events),
        rare,
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    names: Vec<String>,
}

#[async_trait]
impl Tool for MoreTools {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        let Input { names } = decoded(NAME, arguments)?;
        let (known, unknown): (Vec<_>, Vec<_>) = names
            .iter()
            .map(|name| name.trim())
            .partition(|name| self.rare.iter().any(|rare| rare == name));
        let drafts =
            Vec::from_iter((!known.is_empty()).then(|| Draft::tools_opened(&site.thread, &known)));
        if known.is_empty() || !unknown.is_empty() {
            let text = match unknown.as_slice() {
                [] => "more_tools needs names".to_owned(),
                unknown => format!("there are no further tools {}", unknown.join(", ")),
            };
            let text = format!("{text}; there are: {}", self.rare.join(", "));
            let failure = Failure::new(FailureKind::Tool, text);
            return Ok(Output::failed(drafts, failure));
        }
        let value = format!("open from your next call on: {}", known.join(", "));
        Ok(Output::done(drafts, value))
    }
}
