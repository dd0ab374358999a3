//! The tools of other servers as people see them: the standing of each in a space, and the changes
//! in its server's words that the space does not know.

use std::sync::Arc;

use serde_json::Value;

use super::line::Phase;
use super::offer::Offer;
use super::server::Server;
use super::standing::{Pins, Standing, standing};
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Set};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_tools::toolbox::said::Provider;
use thinkd_tools::toolbox::{Shown, State};
use thinkd_words::diff::unified;
use thinkd_words::id::Space;

/// The reason why a tool that its server lists later waits.
pub const LATER: &str = "its server lists it since this space knows that server, and a person has to approve it \
    (GET /tools shows it whole)";

/// The pins of a space.
pub struct SpacePins<'a> {
    pub store: &'a dyn Store,
    pub space: &'a Space,
    pub pins: &'a Pins,
}

/// Returns the tools that are offered, as a space has them.
pub async fn tools(servers: &[Arc<Server>], of: &SpacePins<'_>) -> Result<Vec<Shown>, StoreError> {
    let mut all = Vec::new();
    for server in servers {
        let away = match &*server.line.phase.borrow() {
            Phase::Away { why, .. } => Some(why.clone()),
            Phase::Asleep | Phase::Connecting | Phase::Ready(_) => None,
        };
        for offered in &*server.offered() {
            all.push(tool(of, server, &offered.offer, away.as_deref()).await?);
        }
    }
    Ok(all)
}

async fn tool(
    of: &SpacePins<'_>,
    server: &Server,
    offer: &Offer,
    away: Option<&str>,
) -> Result<Shown, StoreError> {
    let (state, why, diff) = match standing(server, offer, of.pins) {
        Standing::Ready => match away {
            Some(why) => (State::Away, Some(why.to_owned()), None),
            None => (State::Ready, None, None),
        },
        Standing::New => (State::New, None, None),
        Standing::Wrong(why) => (State::Withheld, Some(why), None),
        Standing::Later => {
            let now = words(&offer.description, &offer.schema, &offer.original);
            let diff = unified(("known", ""), ("now", &now));
            (State::Changed, Some(LATER.to_owned()), Some(diff))
        }
        Standing::Changed(_) => {
            let diff = difference(of, offer).await?;
            let why = match diff.as_deref() {
                Some("") => marks(offer),
                _ => "its server says something else of it than before: approve what it says now, or leave it".to_owned(),
            };
            (State::Changed, Some(why), diff)
        }
    };
    Ok(Shown {
        name: offer.name.clone(),
        server: Some(server.line.name.clone()),
        state,
        why,
        diff,
        sha256: offer.wrong.is_none().then(|| offer.sha256.clone()),
        needs_approval: offer.waits,
        told: None,
    })
}

/// Returns why a tool with the same words waits: its marks are others, or count otherwise.
fn marks(offer: &Offer) -> String {
    let calls = if offer.waits {
        "its calls would wait for a person"
    } else {
        "its calls would run without a person"
    };
    let marks = match (offer.only_reads, offer.is_repeatable) {
        (true, _) => "it is believed to only read, ",
        (false, true) => "it is believed to be repeatable, ",
        (false, false) => "",
    };
    format!(
        "its words are the same, and its marks (readOnlyHint, idempotentHint) are others or count otherwise by now (approve, \
         believe_annotations): once it is approved, {marks}{calls}"
    )
}

/// Returns the difference between the server's present words about a tool and those that the space
/// knows. None: the space has no pin of the tool that can be read.
async fn difference(of: &SpacePins<'_>, offer: &Offer) -> Result<Option<String>, StoreError> {
    let Some(pin) = of.pins.get(&offer.name) else {
        return Ok(None);
    };
    let Some(event) = of.store.event(of.space, pin.event).await? else {
        return Ok(None);
    };
    let Fact::Set(Set {
        change: Change::Pin(known),
        ..
    }) = event.fact()
    else {
        return Ok(None);
    };
    let before = words(&known.description, &known.schema, &known.tool);
    let now = words(&offer.description, &offer.schema, &offer.original);
    Ok(Some(unified(("known", &before), ("now", &now))))
}

fn words(description: &str, schema: &Value, original: &str) -> String {
    let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
    format!("tool {original}\n\n{description}\n\n{schema}\n")
}

/// Returns the servers and their words about their tools, as a space has them.
pub async fn providers(
    servers: &[Arc<Server>],
    of: &SpacePins<'_>,
) -> Result<Vec<Provider>, StoreError> {
    let mut all = Vec::new();
    for server in servers {
        let said = match server.said() {
            Some(said) => {
                let shown = tool(of, server, &said, None).await?;
                Some((said.description.clone(), shown))
            }
            None => None,
        };
        let (is_connected, why) = connection(server);
        all.push(Provider {
            name: server.line.name.clone(),
            approve: server.options.approve(),
            is_connected,
            why,
            said,
        });
    }
    Ok(all)
}

/// Returns true for a server that can be called, with the lacks of its list, if there are any.
/// Returns false with the reason for any other.
fn connection(server: &Server) -> (bool, Option<String>) {
    match &*server.line.phase.borrow() {
        Phase::Ready(_) => (true, server.lacks()),
        Phase::Asleep => (false, Some("nobody has needed it yet".to_owned())),
        Phase::Connecting => (false, Some("it is being reached".to_owned())),
        Phase::Away { why, .. } => (false, Some(why.clone())),
    }
}
