//! `connect`, `disconnect`, `view_contacts`: whom a thread can send to.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::event::intent::Intent;
use crate::event::process::described;
use crate::log::kernel::Store;
use crate::log::projections::contacts::ContactRow;
use crate::tools::contacts::{Contacts, PARENT, SELF, nobody, unreadable};
use crate::tools::supplies::Supplies;
use crate::tools::tool::{CallSite, Effect, Output, Typed};
use crate::words::budget::Budget;
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{Name, ThreadId};

/// `connect`. See the module.
pub struct Connect {
    contacts: Contacts,
    store: Arc<dyn Store>,
    budget: Arc<Budget>,
}

impl Connect {
    pub(super) fn new(supplies: &Supplies) -> Self {
        let Supplies { store, budget, .. } = supplies.clone();
        Self {
            contacts: Contacts::new(supplies),
            store,
            budget,
        }
    }
}

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
        let name = Name::parse(&input.name).map_err(|error| refused(&error.to_string()))?;
        if [PARENT, SELF].contains(&name.as_str()) {
            return Err(refused(&format!(
                "{name} means something already; choose another name"
            )));
        }
        let limit = self.budget.contacts;
        let contacts = self.contacts.known(site).await?;
        if contacts.len() as u64 >= limit && !contacts.contains_key(&name) {
            return Err(Failure::new(
                FailureKind::Budget,
                format!("there are {limit} contacts already (budget.contacts)"),
            ));
        }
        let row = match ThreadId::parse(&input.thread) {
            Ok(thread) if !thread.is_of_runs() => self
                .store
                .thread(&site.space, &thread)
                .await
                .map_err(unreadable)?,
            _ => None,
        };
        let Some(row) = row.filter(|row| !row.status.is_final()) else {
            let (error, text) = nobody(site, &input.thread);
            return Ok(Output::failed(vec![error], refused(&text)));
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
pub struct Disconnect {
    contacts: Contacts,
}

impl Disconnect {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            contacts: Contacts::new(supplies),
        }
    }
}

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
        let contacts = self.contacts.known(site).await?;
        let Some(name) = contacts
            .into_keys()
            .find(|name| name.as_str() == input.name)
        else {
            let (error, text) = nobody(site, &input.name);
            return Ok(Output::failed(vec![error], refused(&text)));
        };
        let value = format!("{name} is no contact any more");
        Ok(Output::intent(Intent::Disconnect { name }, value))
    }
}

/// `view_contacts`. See the module.
pub struct ViewContacts {
    contacts: Contacts,
}

impl ViewContacts {
    pub(super) fn new(supplies: &Supplies) -> Self {
        Self {
            contacts: Contacts::new(supplies),
        }
    }
}

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
        Ok(Output::value(
            self.contacts
                .known(site)
                .await?
                .values()
                .map(shown)
                .collect(),
        ))
    }
}

fn refused(text: &str) -> Failure {
    Failure::new(FailureKind::Tool, text)
}
