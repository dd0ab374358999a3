//! `ask`: puts a question to one submodule. The tool only asks; the turn has it answered before the decision goes on.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tool::{CallSite, Effect, Output, Typed, refused};
use thinkd_event::draft::Draft;
use thinkd_words::failure::Failure;
use thinkd_words::id::Name;

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
            return Err(refused(text, "unknown_submodule"));
        };
        let question =
            Draft::question(&site.thread, site.turn, &name, &input.question).of_call(&site.call_id);
        Ok(Output::done(vec![question], "asked"))
    }
}
