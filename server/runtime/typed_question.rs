//! A typed question: the model answers by one strict call of the only tool, and its arguments are the answer. Missions and trials ask so.

use std::any::type_name;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use thinkd_event::draft::without_nul;
use thinkd_mind::call::Question;
use thinkd_model::prompt::{Prompts, Template};
use thinkd_model::provider::{Answer, Tier, ToolChoice, ToolSpec, ToolSpecs};
use thinkd_tools::arguments;
use thinkd_tools::schema;
use thinkd_tools::tool::decoded;
use thinkd_words::failure::Who;
use thinkd_words::text::Json;

/// A question for one call of a tool.
#[derive(Clone, Copy)]
pub struct Form {
    /// Its purpose, and the name of its only tool.
    pub purpose: &'static str,
    /// Its prompts: the fixed instructions, and the text that follows them.
    pub prompts: fn(&Prompts) -> (&Template, &Template),
}

impl Form {
    /// Returns the form of a question.
    pub const fn new(
        purpose: &'static str,
        prompts: fn(&Prompts) -> (&Template, &Template),
    ) -> Self {
        Self { purpose, prompts }
    }

    /// Returns the question without values, in its first round. Its tool takes a `T`.
    pub fn question<T: JsonSchema>(self, who: Who, tier: Tier, prompts: &Prompts) -> Question {
        let name = self.purpose;
        let (system, tail) = (self.prompts)(prompts);
        Question {
            who,
            purpose: name,
            round: 0,
            system: system.source().clone(),
            tail: tail.clone(),
            values: Vec::new(),
            prompt: None,
            own: Vec::new(),
            tools: tool_taking::<T>(name),
            choice: ToolChoice::Only(vec![name.into()]),
            tier,
        }
    }
}

/// Returns the tool of a typed question. Made once for a type: a schema takes longer than the rest of a call.
fn tool_taking<T: JsonSchema>(tool: &'static str) -> ToolSpecs {
    // A plain mutex: held for a look, never across an await.
    static MADE: Mutex<BTreeMap<&str, ToolSpecs>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let spec = || ToolSpec {
        name: tool.into(),
        description: "Your answer.".into(),
        parameters: Json::of(&schema::strict::<T>()),
        is_strict: true,
    };
    let made = made.entry(type_name::<T>());
    made.or_insert_with(|| ToolSpecs::new(vec![spec()])).clone()
}

/// Returns the arguments of the call, as the log will have them.
///
/// # Errors
///
/// The defect of the answer, in words for the model.
pub fn typed_answer<T: DeserializeOwned>(
    question: &Question,
    answer: &Answer,
) -> Result<T, String> {
    let tool = question.tools.list.first();
    let name = tool.map_or("", |tool| tool.name.as_str());
    let call = answer.calls.iter().find(|call| call.name == name);
    let call = call.ok_or_else(|| format!("the model did not call the tool {name}"))?;
    let read = arguments::read(&call.arguments, tool);
    let arguments = read.map(|read| read.value).unwrap_or_default();
    decoded(name, without_nul(arguments)).map_err(|wrong| wrong.text)
}
