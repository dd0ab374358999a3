//! `connect`, `disconnect`, `view_contacts`: whom a thread can send to. And how a name is resolved: to a contact, the parent, or
//! the thread itself; whoever is none of these is not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::event::intent::Intent;
use crate::event::process::{ErrorCode, described};
use crate::log::standing::ContactRow;
use crate::log::store::{self, Store};
use crate::words::failure::{Failure, FailureKind};
use crate::words::id::{Name, Space, ThreadId};

/// What every thread with a parent calls it.
pub const PARENT: &str = "parent";
/// What every thread calls itself.
pub const SELF: &str = "self";

/// The thread's contacts, as they will be when its turn ends.
pub async fn known(desk: &Desk) -> Result<BTreeMap<Name, ContactRow>, Failure> {
    contacts_after(&desk.store, &desk.space, &desk.thread, &desk.intents).await.map_err(unreadable)
}

/// A thread's contacts, as they will be when a turn ends that intends this.
pub async fn contacts_after(
    store: &Arc<dyn Store>,
    space: &Space,
    thread: &ThreadId,
    intents: &[Intent],
) -> Result<BTreeMap<Name, ContactRow>, store::Error> {
    let rows = store.contacts(space, thread).await?;
    let mut contacts: BTreeMap<Name, ContactRow> = rows.into_iter().map(|row| (row.name.clone(), row)).collect();
    for intent in intents {
        match intent {
            Intent::Connect { name, thread, description } => {
                let row = ContactRow { name: name.clone(), target: thread.clone(), description: description.clone() };
                contacts.insert(name.clone(), row);
            }
            Intent::Disconnect { name } => drop(contacts.remove(name)),
            _ => {}
        }
    }
    Ok(contacts)
}

/// The thread that a name means here; `None` if there is no such contact, or none that may be written to.
pub async fn resolve(desk: &Desk, given: &str) -> Result<Option<ThreadId>, Failure> {
    let given = given.trim();
    if given == SELF || given == desk.thread.as_str() {
        return Ok(Some(desk.thread.clone()));
    }
    let contacts = known(desk).await?;
    let named = contacts.values().find(|row| row.name.as_str() == given).map(|row| row.target.clone());
    let by_id = || contacts.values().find(|row| row.target.as_str() == given).map(|row| row.target.clone());
    let Some(thread) = (match named.or_else(by_id) {
        Some(thread) => Some(thread),
        None => parent(desk).await?.filter(|parent| given == PARENT || given == parent.as_str()),
    }) else {
        return Ok(None);
    };
    let row = desk.store.thread(&desk.space, &thread).await.map_err(unreadable)?;
    Ok(row.filter(|row| !row.status.is_final()).map(|_| thread))
}

async fn parent(desk: &Desk) -> Result<Option<ThreadId>, Failure> {
    let row = desk.store.thread(&desk.space, &desk.thread).await.map_err(unreadable)?;
    Ok(row.and_then(|row| row.parent()))
}

/// The error for a name that means nobody.
pub fn nobody(desk: &Desk, given: &str) -> (Draft, String) {
    let given: String = given.chars().take(100).collect();
    let text =
        format!("there is no contact {given:?} to send to; use one of your contacts, or spawn_thread to make a thread");
    let error = Draft::thread_error(&desk.thread, Some(desk.turn), &given, ErrorCode::UnknownThread, &text);
    (error, text)
}

pub(super) fn unreadable(error: store::Error) -> Failure {
    Failure::new(FailureKind::Store, format!("the log could not be read: {error}")).retryable()
}

/// `connect`. See the module.
pub struct Connect;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectInput {
    name: String,
    /// Its id.
    thread: String,
    /// What it does, wants and offers.
    description: String,
}

#[async_trait]
impl Typed for Connect {
    type Input = ConnectInput;
    const NAME: &'static str = "connect";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: ConnectInput, desk: &Desk) -> Result<Output, Failure> {
        let name = Name::parse(&input.name).map_err(|error| refused(&error.to_string()))?;
        if [PARENT, SELF].contains(&name.as_str()) {
            return Err(refused(&format!("{name} means something already; choose another name")));
        }
        let limit = desk.budget.contacts;
        let contacts = known(desk).await?;
        if contacts.len() as u64 >= limit && !contacts.contains_key(&name) {
            return Err(Failure::new(
                FailureKind::Budget,
                format!("there are {limit} contacts already (budget.contacts)"),
            ));
        }
        let row = match ThreadId::parse(&input.thread) {
            Ok(thread) if !thread.is_of_runs() => desk.store.thread(&desk.space, &thread).await.map_err(unreadable)?,
            _ => None,
        };
        let Some(row) = row.filter(|row| !row.status.is_final()) else {
            let (error, text) = nobody(desk, &input.thread);
            return Ok(Output::failed(vec![error], refused(&text)));
        };
        let value = format!("{name} is {}", row.thread);
        let description = described(&input.description);
        let contact = || Draft::contact(&desk.thread, &name, &row.thread, &description);
        let drafts = if desk.immediate { vec![contact()] } else { vec![] };
        let intent = Intent::Connect { name, thread: row.thread, description };
        Ok(Output { drafts, ..Output::intent(intent, value) })
    }
}

/// `disconnect`. See the module.
pub struct Disconnect;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisconnectInput {
    name: String,
}

#[async_trait]
impl Typed for Disconnect {
    type Input = DisconnectInput;
    const NAME: &'static str = "disconnect";
    const EFFECT: Effect = Effect::Events;
    const BRINGS_BACK: bool = false;

    async fn run(input: DisconnectInput, desk: &Desk) -> Result<Output, Failure> {
        let contacts = known(desk).await?;
        let Some(name) = contacts.into_keys().find(|name| name.as_str() == input.name) else {
            let (error, text) = nobody(desk, &input.name);
            return Ok(Output::failed(vec![error], refused(&text)));
        };
        let value = format!("{name} is no contact any more");
        let gone = || Draft::changed(&desk.thread, "contact", name.as_str(), Value::Null);
        let drafts = if desk.immediate { vec![gone()] } else { vec![] };
        Ok(Output { drafts, ..Output::intent(Intent::Disconnect { name }, value) })
    }
}

/// `view_contacts`. See the module.
pub struct ViewContacts;

/// It has no arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewInput {}

#[async_trait]
impl Typed for ViewContacts {
    type Input = ViewInput;
    const NAME: &'static str = "view_contacts";
    const EFFECT: Effect = Effect::Repeatable;

    async fn run(_: ViewInput, desk: &Desk) -> Result<Output, Failure> {
        let shown =
            |row: &ContactRow| json!({ "name": row.name, "thread": row.target, "description": row.description });
        Ok(Output::value(known(desk).await?.values().map(shown).collect()))
    }
}

fn refused(text: &str) -> Failure {
    Failure::new(FailureKind::Tool, text)
}
