//! `more_tools`: opens tools that are seldom needed. A model is told only of those that are open; what it opened, or called
//! unasked, stays open for its thread's life and stands last, so that what comes before it stays the same bytes.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Tool, Toolbox, decoded};
use crate::event::draft::Draft;
use crate::model::prompt::Prompts;
use crate::model::provider::ToolSpec;
use crate::words::failure::{Failure, FailureKind};
use crate::words::text::Json;

const NAME: &str = "more_tools";

/// The same toolbox, of which a model is told those of these names only when they are open.
pub fn behind(toolbox: Toolbox, names: &[&'static str], prompts: &Prompts) -> Toolbox {
    let rare: Vec<&'static str> = names.iter().copied().filter(|name| toolbox.get(name).is_some()).collect();
    let tool = MoreTools { about: prompts.tool(NAME), rare: rare.clone() };
    toolbox.and(vec![Arc::new(tool)]).rarely(rare)
}

/// See the module.
struct MoreTools {
    about: String,
    rare: Vec<&'static str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    names: Vec<String>,
}

#[async_trait]
impl Tool for MoreTools {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        let names = json!({ "type": "array", "items": { "type": "string", "enum": self.rare } });
        let parameters = json!({
            "type": "object", "properties": { "names": names }, "required": ["names"], "additionalProperties": false,
        });
        ToolSpec { name: NAME.to_owned(), description: self.about.clone(), parameters: Json::of(&parameters) }
    }

    fn effect(&self) -> Effect {
        Effect::Events
    }

    /// What is open is among the tools of the next call.
    fn brings_back(&self) -> bool {
        true
    }

    async fn call(&self, arguments: Value, desk: &Desk) -> Result<Output, Failure> {
        let Input { names } = decoded(NAME, arguments)?;
        let (known, unknown): (Vec<_>, Vec<_>) =
            names.iter().map(|name| name.trim()).partition(|name| self.rare.contains(name));
        let drafts = Vec::from_iter((!known.is_empty()).then(|| Draft::tools_opened(&desk.thread, &known)));
        if known.is_empty() || !unknown.is_empty() {
            let text = match unknown.as_slice() {
                [] => "more_tools needs names".to_owned(),
                unknown => format!("there are no further tools {}", unknown.join(", ")),
            };
            let text = format!("{text}; there are: {}", self.rare.join(", "));
            return Ok(Output::failed(drafts, Failure::new(FailureKind::Tool, text)));
        }
        let value = format!("open from your next call on: {}", known.join(", "));
        Ok(Output { drafts, ..Output::value(value.into()) })
    }
}
