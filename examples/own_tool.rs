//! thinkd with a tool of one's own: ask it where the lamp is. How to add a tool: `docs/add-a-tool.md`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use thinkd::pipelines::registry;
use thinkd::tools::catalogue::{self, Catalogue, DECISIONS};
use thinkd::tools::tool::{CallSite, Effect, Output, Typed};
use thinkd::words::failure::{Failure, FailureKind};

/// Knows the places of things. It owns its data: here a list, elsewhere a connection and a key.
struct WhereIs {
    places: BTreeMap<&'static str, &'static str>,
}

/// The schema and the decoding come from this type.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    thing: String,
}

impl Typed for WhereIs {
    type Input = Input;
    const NAME: &'static str = "where_is";
    const PROMPT: &'static str =
        "Look up where a thing is kept.\n\n## thing\nOne word, in the singular.";
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: Input, _: &CallSite) -> Result<Output, Failure> {
        match self.places.get(input.thing.as_str()) {
            Some(place) => Ok(Output::value(json!({ "place": place }))),
            None => Err(Failure::new(
                FailureKind::Tool,
                format!("nobody knows where the {} is", input.thing),
            )),
        }
    }
}

/// The tools of the server, and one more.
pub fn tools() -> Catalogue {
    let places = BTreeMap::from([("lamp", "attic"), ("ladder", "shed")]);
    catalogue::built_in().with(DECISIONS, move |_| WhereIs {
        places: places.clone(),
    })
}

fn main() -> std::process::ExitCode {
    thinkd::program::command::run(registry::built_in(), tools())
}
