//! `ask`: puts a question to one submodule. The tool only asks; the turn has it answered before the decision goes on.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::event::draft::Draft;
use crate::tools::tool::{CallSite, Effect, Output, Typed};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::Name;

/// See the module.
pub struct Ask;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    submodule: String,
    question: String,
}

impl Typed for Ask {
    type Input = Input;
    const NAME: &'static str = "ask";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/ask.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let known = |name: &Name| site.so_far.submodules.contains(name);
        let Some(name) = Name::parse(&input.submodule).ok().filter(known) else {
            let names: Vec<_> = site.so_far.submodules.iter().map(Name::as_str).collect();
            let text = format!(
                "there is no voice {:?}; there are: {}",
                input.submodule,
                names.join(", ")
            );
            return Err(Failure::new(FailureKind::Tool, text)
                .with(json!({ "reason": "unknown_submodule" })));
        };
        let question =
            Draft::question(&site.thread, site.turn, &name, &input.question).of_call(&site.call_id);
        Ok(Output {
            drafts: vec![question],
            value: Some(Value::from("asked")),
            ..Output::default()
        })
    }
}
