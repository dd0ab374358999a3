//! `connect`, `disconnect`, `view_contacts`: whom a thread can send to.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::contacts::{self, PARENT, SELF, nobody};
use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed};
use thinkd_event::intent::Intent;
use thinkd_event::process::described;
use thinkd_log::projections::contacts::ContactRow;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{Name, ThreadId};

/// `connect`. See the module.
pub struct Connect(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectInput {
    name: String,
    thread: String,
    description: String,
}

impl Typed for Connect {
    type Input = ConnectInput;
    const NAME: &'static str = "connect";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/connect.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: ConnectInput, site: &CallSite) -> Result<Output, Failure> {
        let name = Name::parse(&input.name).map_err(|error| failed(error.to_string()))?;
        if [PARENT, SELF].contains(&name.as_str()) {
            let text = format!("{name} means something already; choose another name");
            return Err(failed(text));
        }
        let limit = self.0.budget.contacts;
        let known = contacts::known(&self.0.store, site).await?;
        if known.len() as u64 >= limit && !known.contains_key(&name) {
            let text = format!("there are {limit} contacts already");
            return Err(Failure::new(FailureKind::Budget, text));
        }
        let row = match ThreadId::parse(&input.thread) {
            Ok(thread) if !thread.is_of_runs() => self.0.store.thread(&site.space, &thread).await?,
            _ => None,
        };
        let Some(row) = row.filter(|row| !row.status.is_final()) else {
            return Ok(nobody(site, &input.thread));
        };
        let value = format!("{name} is {}", row.thread);
        let description = described(&input.description);
        Ok(Output::intent(
            Intent::Connect {
                name,
                thread: row.thread,
                description,
            },
            value,
        ))
    }
}

/// `disconnect`. See the module.
pub struct Disconnect(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisconnectInput {
    name: String,
}

impl Typed for Disconnect {
    type Input = DisconnectInput;
    const NAME: &'static str = "disconnect";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/disconnect.md");
    const EFFECT: Effect = Effect::Events;
    const ASKS_AGAIN: bool = false;

    async fn call(&self, input: DisconnectInput, site: &CallSite) -> Result<Output, Failure> {
        let known = contacts::known(&self.0.store, site).await?;
        let Some(name) = known.into_keys().find(|name| name.as_str() == input.name) else {
            return Ok(nobody(site, &input.name));
        };
        let value = format!("{name} is no contact any more");
        Ok(Output::intent(Intent::Disconnect { name }, value))
    }
}

/// `view_contacts`. See the module.
pub struct ViewContacts(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewInput {}

impl Typed for ViewContacts {
    type Input = ViewInput;
    const NAME: &'static str = "view_contacts";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/view_contacts.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, _: ViewInput, site: &CallSite) -> Result<Output, Failure> {
        let shown = |row: &ContactRow| json!({ "name": row.name, "thread": row.target, "description": row.description });
        let known = contacts::known(&self.0.store, site).await?;
        Ok(Output::value(known.values().map(shown).collect()))
    }
}

fn failed(text: String) -> Failure {
    Failure::new(FailureKind::Tool, text)
}
