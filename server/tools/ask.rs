//! `ask`: puts a question to one submodule. The tool only asks; the turn has it answered before the decision goes on.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::Name;

/// See the module.
pub struct Ask;

/// Whom and what.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The voice's name.
    submodule: String,
    question: String,
}

#[async_trait]
impl Typed for Ask {
    type Input = Input;
    const NAME: &'static str = "ask";
    const EFFECT: Effect = Effect::Events;

    async fn run(input: Input, desk: &Desk) -> Result<Output, Failure> {
        let known = |name: &Name| desk.submodules.contains(name);
        let Some(name) = Name::parse(&input.submodule).ok().filter(known) else {
            let names: Vec<_> = desk.submodules.iter().map(Name::as_str).collect();
            let text = format!("there is no voice {:?}; there are: {}", input.submodule, names.join(", "));
            return Err(Failure::new(FailureKind::Tool, text).with(json!({ "reason": "unknown_submodule" })));
        };
        let question = Draft::question(&desk.thread, desk.turn, &name, &input.question).of_call(&desk.call_id);
        Ok(Output { drafts: vec![question], value: Some(Value::from("asked")), ..Output::default() })
    }
}
