//! The facts of tools that a client offers with its words and calls itself: a call that waits for
//! the client, and the results that it gave.

use serde_json::Value;
use thinkd_facts::Fact;

use super::calls::named;
use super::family::{Byline, Family, Piece};
use crate::envelope::Source;
use crate::raw::Raw;

/// The first tag of a call that waits for its client.
pub const CALL: &str = "client-call";
/// The first tag of the results of such calls.
pub const RESULTS: &str = "client-results";

/// The tools that a client offers with its words, as events name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    /// The SHA-256 of the tools: `GET /blobs/{client_tools}`.
    pub tools: String,
    /// The mark of the client: results are taken from no other one.
    pub client: String,
}

/// A call of a tool that its client offered waits for the client to run it. It is no result: that
/// comes from the client, or says that none came.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(name = "client-call", tags("client-call", "tool:<name>" = tool),
       source = System, modality = Text, visibility = Heard, role = Decision, label = "client call",
       text = format!("{tool} waits for the client"))]
pub struct ClientCall<'a> {
    /// The turn.
    pub turn: u64,
    /// The id of the event that asked the client.
    #[fact(name = "request_id")]
    pub request: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The tool.
    #[fact(from_tag = "tool:")]
    pub tool: &'a str,
    /// The client's name for it, where the server has a tool of that name.
    pub name: Option<&'a str>,
    /// The arguments that it is called with.
    pub arguments: &'a Value,
    /// The mark of the client: results are taken from no other one.
    pub client: &'a str,
    /// When it counts as failed.
    #[fact(name = "expires_at")]
    pub expires: &'a str,
}

/// The calls of a turn have results: of the client, or, where it gave none in time, failures.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(name = "client-results", tags("client-results", "expired?" = is_expired, "overrules"),
       source = source(*is_expired), modality = Text, visibility = Heard, role = Aside, wakes = true,
       label = "client", text = self.text())]
pub struct ClientResults<'a> {
    /// The turn that made the calls.
    pub of_turn: u64,
    /// The ids of the events that asked the client.
    pub requests: Vec<&'a str>,
    /// True if the time for results was over.
    #[fact(flag = "expired")]
    pub is_expired: bool,
    /// The user of the client, when known.
    pub user: Option<&'a str>,
    /// SHA-256 of the tools that the client offers from here on: GET /blobs/{client_tools}.
    #[fact(name = "client_tools")]
    pub tools: Option<&'a str>,
    /// The mark of the client.
    pub client: Option<&'a str>,
    /// The members of the request that a door's answer repeats, where they came through one.
    pub request: Option<&'a Value>,
}

impl ClientResults<'_> {
    fn text(&self) -> String {
        match self.is_expired {
            true => "the client gave no result in time".to_owned(),
            false => "the client gave its results".to_owned(),
        }
    }

    /// The tools that the client offers from here on.
    pub fn offered(&self) -> Option<Offered> {
        Some(Offered {
            tools: self.tools?.to_owned(),
            client: self.client?.to_owned(),
        })
    }
}

const fn source(is_expired: bool) -> Source {
    match is_expired {
        true => Source::System,
        false => Source::User,
    }
}

impl ClientCall<'_> {
    /// The name by which the client knows the tool.
    pub fn client_name(&self) -> &str {
        self.name.unwrap_or(self.tool)
    }
}

impl<'a> Family<'a> for ClientCall<'a> {
    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        named("client call ", self.tool, self.call_id)
    }

    // The arguments stand in the entry of the call.
    fn content(&self) -> Option<String> {
        Some(format!(
            "waits for the client until {}; the result comes from there",
            self.expires
        ))
    }
}

// No root: all calls of an exchange draw on the budget of the message that began it.
impl<'a> Family<'a> for ClientResults<'a> {
    fn is_from_outside(&self) -> bool {
        true
    }

    fn ends_any_wait(&self) -> bool {
        true
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word("client")]
    }
}
