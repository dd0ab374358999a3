//! What people are shown of the tools of other servers: how each stands in a space, and what its server says differently from what the space knows.

use serde_json::Value;

use super::line::Phase;
use super::offer::Offer;
use super::server::Server;
use super::{Mcp, Pins, Standing};
use crate::toolbox::said::Provider;
use crate::toolbox::{Shown, State};
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Set};
use thinkd_log::error::StoreError;
use thinkd_words::diff::unified;
use thinkd_words::id::Space;

/// Why a tool waits that its server lists later.
pub const LATER: &str = "its server lists it since this space knows that server, and a person has to approve it \
    (GET /tools shows it whole)";

/// The tools that are offered, as a space has them.
pub async fn tools(mcp: &Mcp, space: &Space) -> Result<Vec<Shown>, StoreError> {
    let pins = mcp.known(space);
    let mut all = Vec::new();
    for server in &mcp.servers {
        let away = match &*server.line.phase.borrow() {
            Phase::Away { why, .. } => Some(why.clone()),
            Phase::Asleep | Phase::Connecting | Phase::Ready(_) => None,
        };
        for offered in &*server.offered() {
            all.push(tool(mcp, space, server, &offered.offer, &pins, away.as_deref()).await?);
        }
    }
    Ok(all)
}

async fn tool(
    mcp: &Mcp,
    space: &Space,
    server: &Server,
    offer: &Offer,
    pins: &Pins,
    away: Option<&str>,
) -> Result<Shown, StoreError> {
    let (state, why, diff) = match Mcp::standing(server, offer, pins) {
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
            let diff = difference(mcp, space, offer, pins).await?;
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

/// Why a tool waits of which the words are the same: its marks are others, or count otherwise.
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

/// What a server says of a tool now, against what the space knows.
async fn difference(
    mcp: &Mcp,
    space: &Space,
    offer: &Offer,
    pins: &Pins,
) -> Result<Option<String>, StoreError> {
    let Some(pin) = pins.get(&offer.name) else {
        return Ok(None);
    };
    let Some(event) = mcp.desk.store.event(space, pin.event).await? else {
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

/// The servers and their words about their tools, as a space has them.
pub async fn providers(mcp: &Mcp, space: &Space) -> Result<Vec<Provider>, StoreError> {
    let pins = mcp.known(space);
    let mut all = Vec::new();
    for server in &mcp.servers {
        let said = match server.said() {
            Some(said) => {
                let shown = tool(mcp, space, server, &said, &pins, None).await?;
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

/// Returns true for a server that can be called, and why it cannot be, or what else is to be known.
fn connection(server: &Server) -> (bool, Option<String>) {
    match &*server.line.phase.borrow() {
        Phase::Ready(_) => (true, server.lacks()),
        Phase::Asleep => (false, Some("nobody has needed it yet".to_owned())),
        Phase::Connecting => (false, Some("it is being reached".to_owned())),
        Phase::Away { why, .. } => (false, Some(why.clone())),
    }
}
