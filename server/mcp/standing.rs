//! The standing of an offered tool in a space: by its pin, by the server's present words about it,
//! and by the rule for tools that the server lists later.

use std::collections::BTreeMap;

use super::offer::Offer;
use super::options::NewTools;
use super::said;
use super::server::Server;
use thinkd_log::projections::pins::PinRow;
use thinkd_words::id::Seq;

/// The pins of a space by the names of their tools.
pub(super) type Pins = BTreeMap<String, PinRow>;

/// The standing of a tool in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Models are told of it.
    Ready,
    /// The space knows no tool of its server yet, or tools that the server lists later are trusted.
    New,
    /// Its server lists it since the space knows that server.
    Later,
    /// The tool is another one than the space knows by this event.
    Changed(Seq),
    /// Something is wrong with it.
    Wrong(String),
}

/// Returns the standing of an offered tool in a space.
pub fn standing(server: &Server, offer: &Offer, pins: &Pins) -> Standing {
    let name = &server.line.name;
    // What it says of all of them is no tool.
    let is_tool = |pin: &str| pin != said::name(name);
    let is_known = || {
        let mut pins = pins.iter();
        pins.any(|(pin, row)| row.server == *name && is_tool(pin))
    };
    match (&offer.wrong, pins.get(&offer.name)) {
        (Some(why), _) => Standing::Wrong(why.clone()),
        (None, None) if server.options.new_tools == NewTools::Wait && is_known() => Standing::Later,
        (None, None) => Standing::New,
        (None, Some(pin)) if offer.is(&pin.sha256) => Standing::Ready,
        (None, Some(pin)) => Standing::Changed(pin.seq),
    }
}
