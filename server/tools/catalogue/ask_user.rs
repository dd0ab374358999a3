//! `ask_user`: a question to a person. The call is parked, and the answer is its result; the turn goes on meanwhile.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::wait::millis;
use crate::approval::after;
use crate::gate::open_places;
use crate::schema;
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, invalid, refused};
use thinkd_event::draft::is_within_depth;
use thinkd_event::fact::Fact;
use thinkd_event::fact::question::Question;
use thinkd_event::request::{ASK_USER, AWAY};
use thinkd_words::failure::Failure;
use thinkd_words::id;

/// Most choices, and most names of people that may answer.
const LIST_MAX: usize = 32;
/// Longest schema, in bytes.
const SCHEMA_MAX: usize = 16 << 10;
/// Deepest schema.
const SCHEMA_DEPTH: usize = 32;

/// See the module.
pub struct AskUser(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    question: String,
    choices: Option<Vec<String>>,
    schema: Option<String>,
    who: Option<Vec<String>>,
    expires_s: Option<f64>,
}

impl Typed for AskUser {
    type Input = Input;
    const NAME: &'static str = ASK_USER;
    const PROMPT: &'static str = include_str!("../../../prompts/tools/ask_user.md");
    const EFFECT: Effect = Effect::Events;
    const READS_ROWS: bool = true;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let Input {
            question,
            choices,
            schema,
            who,
            expires_s,
        } = input;
        let choices = choices.unwrap_or_default();
        let who = who.unwrap_or_default();
        if question.trim().is_empty() {
            return Err(invalid("the question is empty"));
        }
        if choices.len() > LIST_MAX || who.len() > LIST_MAX {
            return Err(invalid(format!(
                "at most {LIST_MAX} choices, and {LIST_MAX} names of who may answer"
            )));
        }
        let schema = schema.as_deref().map(parsed).transpose()?;
        if self.0.store.is_user_away(&site.space).await? {
            let text = "people are away (user_away), and nobody is asked: do without the answer, or leave this until they are back";
            return Err(refused(text, AWAY));
        }
        open_places(&*self.0.store, self.0.approvals.open_max, site).await?;
        let expires = match expires_s {
            Some(seconds) => after(site.now, Duration::from_millis(millis(seconds)?.max(1000))),
            None => self.0.approvals.expires(site.now),
        };
        let id = id::fresh();
        let asked = Question {
            question: &id.to_string(),
            turn: site.turn,
            call_id: &site.call_id,
            text: &question,
            choices: choices.iter().map(String::as_str).collect(),
            schema: schema.as_ref(),
            who: who.iter().map(String::as_str).collect(),
            expires: &expires.to_string(),
            server: None,
            trial: None,
        };
        Ok(Output::events(vec![
            Fact::Question(asked).encode(&site.thread).with_id(id),
        ]))
    }
}

fn parsed(text: &str) -> Result<Value, Failure> {
    if text.len() > SCHEMA_MAX {
        return Err(invalid(format!(
            "the schema has more than {SCHEMA_MAX} bytes"
        )));
    }
    let schema: Value = serde_json::from_str(text)
        .map_err(|error| invalid(format!("the schema is not JSON: {error}")))?;
    if !schema.is_object() {
        return Err(invalid("the schema is not a JSON object"));
    }
    if !is_within_depth(&schema, SCHEMA_DEPTH) {
        return Err(invalid(format!(
            "the schema is nested more than {SCHEMA_DEPTH} deep"
        )));
    }
    // A few that name one another twice take for ever to go through.
    if refers(&schema) {
        return Err(invalid("the schema has a $ref: write what it stands for"));
    }
    schema::check(&schema).map_err(invalid)?;
    Ok(schema)
}

/// Returns true if a schema has references.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(members) => members.iter().any(|(key, value)| {
            matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") || refers(value)
        }),
        _ => false,
    }
}
