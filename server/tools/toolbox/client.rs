//! The tools of a client: it offers them with its words, and runs their calls itself. A call is
//! only an event, and parked until its result comes through the client's door, or the time is over.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::approval::after;
use crate::schema::fit::unfit;
use crate::tool::{CallSite, Effect, Output, Spec, Tool, invalid, is_name, refused};
use thinkd_event::draft::without_nul;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::{ClientCall, Offered};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_model::provider::ToolSpec;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{self, Space};
use thinkd_words::text::Json;

/// Most tools of an offer: half of the most that a request to a model may have.
pub const TOOLS_MAX: usize = 64;
/// Longest description, in bytes.
const DESCRIPTION_MAX: usize = 8 << 10;
/// Most bytes of all descriptions and schemas.
const BYTES_MAX: usize = 128 << 10;
/// Stands before the name of a tool that the server has a tool of the same name of.
pub const PREFIX: &str = "client__";
/// Longest name of a tool.
const NAME_MAX: usize = 64;

/// The tools that a client offers with its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The tools, by the client's names.
    pub tools: Vec<ToolSpec>,
    /// The first decision calls one of these; none: it does as it sees fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must: Vec<String>,
    /// True if an answer may call one tool only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_at_a_time: bool,
    /// The time that a call waits for its result, in milliseconds.
    pub wait_ms: u64,
}

/// The fault of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The index of the tool; none: the fault is that of all together.
    pub tool: Option<usize>,
    /// The member of the tool.
    pub member: &'static str,
    /// The fault, in words.
    pub text: String,
}

impl Offer {
    /// Checks it before a model is told of it. The error is its first fault.
    pub fn check(&self) -> Result<(), Wrong> {
        let all = |text| Wrong {
            tool: None,
            member: "",
            text,
        };
        let count = self.tools.len();
        if count > TOOLS_MAX {
            let text = format!("a client offers at most {TOOLS_MAX} tools; these are {count}");
            return Err(all(text));
        }
        let mut names = BTreeSet::new();
        let mut bytes = 0;
        for (index, tool) in self.tools.iter().enumerate() {
            let wrong = |(member, text)| Wrong {
                tool: Some(index),
                member,
                text,
            };
            check(tool).map_err(wrong)?;
            if !names.insert(tool.name.as_str()) {
                let text = format!("another tool has the name {:?}, too", tool.name);
                return Err(wrong(("name", text)));
            }
            bytes += tool.description.len() + tool.parameters.as_str().len();
        }
        if bytes > BYTES_MAX {
            let text = format!(
                "the descriptions and schemas of all tools have at most {BYTES_MAX} bytes; these have {bytes}"
            );
            return Err(all(text));
        }
        match self.must.iter().find(|name| !names.contains(name.as_str())) {
            Some(name) => Err(all(format!("no tool has the name {:?}", short(name)))),
            None => Ok(()),
        }
    }
}

/// Checks one tool. The error is the member that is wrong, and the fault.
fn check(tool: &ToolSpec) -> Result<(), (&'static str, String)> {
    let name = &tool.name;
    if !is_name(name) {
        let text = format!(
            "{:?} is no name of a tool: it has 1 to {NAME_MAX} of a-z, A-Z, 0-9, _ and -",
            short(name)
        );
        return Err(("name", text));
    }
    if name.starts_with(PREFIX) {
        let text =
            format!("names that begin with {PREFIX} are kept for tools that the server has, too");
        return Err(("name", text));
    }
    if tool.description.len() > DESCRIPTION_MAX {
        let text = format!("the description of {name} has more than {DESCRIPTION_MAX} bytes");
        return Err(("description", text));
    }
    let schema = serde_json::from_str(tool.parameters.as_str()).unwrap_or_default();
    unfit(&schema).map_err(|fault| ("parameters", format!("{name} is not offered: {fault}")))
}

fn short(name: &str) -> String {
    name.chars().take(80).collect()
}

/// Returns the schema of a tool's arguments as providers take it: that of an object, with its
/// properties.
pub fn parameters(schema: Option<Value>) -> Json {
    let mut schema = schema.filter(|it| !it.is_null()).unwrap_or(json!({}));
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.entry("type").or_insert_with(|| "object".into());
        members.entry("properties").or_insert_with(|| json!({}));
    }
    Json::of(&schema)
}

/// An offer, and the client that made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTools {
    /// The offer.
    pub offer: Offer,
    /// The mark of the client.
    pub client: String,
}

/// Returns the tools that an event offers, if it offers any.
pub fn offered(event: &Event) -> Option<Offered> {
    match event.fact() {
        Fact::Input(input) => input.offered,
        Fact::ClientResults(results) => results.offered(),
        _ => None,
    }
}

impl ClientTools {
    /// Reads the tools that a client offered. The failure is told to the thread: its turn goes on
    /// without them.
    pub async fn read(
        store: &dyn Store,
        space: &Space,
        Offered { tools, client }: Offered,
    ) -> Result<Result<Self, Failure>, StoreError> {
        let blob = store.blob(space, &tools).await?;
        let offer = blob.and_then(|blob| serde_json::from_slice(&blob.bytes).ok());
        let offer = offer.ok_or_else(|| {
            let text = format!(
                "the tools that the client offered cannot be read (blob {tools}); the turn goes on without them"
            );
            Failure::new(FailureKind::Tool, text)
        });
        Ok(offer.map(|offer| Self { offer, client }))
    }

    /// The name under which a model is told of a tool, beside tools of these names.
    pub fn told_name(name: &str, own: &[&str]) -> String {
        match own.contains(&name) {
            true => format!("{PREFIX}{name}").chars().take(NAME_MAX).collect(),
            false => name.to_owned(),
        }
    }

    /// The tools for one answer of a model, beside tools of these names.
    pub fn tools(&self, own: &[&str]) -> Vec<Arc<dyn Tool>> {
        let first = self.offer.one_at_a_time.then(Arc::default);
        let tool = |told: &ToolSpec| -> Arc<dyn Tool> {
            let name = Self::told_name(&told.name, own);
            let original = (name != told.name).then(|| told.name.clone());
            let told = ToolSpec {
                name,
                ..told.clone()
            };
            // The result comes with the next turn: the decision is not asked before.
            let spec = Spec {
                asks_again: false,
                ..Spec::new(told, Effect::Events)
            };
            Arc::new(ClientTool {
                spec,
                original,
                client: self.client.clone(),
                wait: Duration::from_millis(self.offer.wait_ms),
                first: first.clone(),
            })
        };
        self.offer.tools.iter().map(tool).collect()
    }
}

/// One of them.
struct ClientTool {
    spec: Spec,
    /// The client's name for it, where it is told under another one.
    original: Option<String>,
    client: String,
    wait: Duration,
    /// The first call of the answer, where no other one runs.
    first: Option<Arc<OnceLock<String>>>,
}

#[async_trait]
impl Tool for ClientTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        let tool = self.spec.name();
        if site.by != Who::Decision {
            let text =
                format!("{tool} is run by the client, so that only the decision may call it");
            return Err(refused(text, "of_the_client"));
        }
        if !arguments.is_object() {
            return Err(invalid(format!(
                "the arguments of {tool} are no JSON object"
            )));
        }
        let is_first = |first: &Arc<OnceLock<String>>| {
            first.get_or_init(|| site.call_id.clone()) == &site.call_id
        };
        if !self.first.as_ref().is_none_or(is_first) {
            let text = format!(
                "{tool} was not run: the client takes one call at a time; call it again when the other one has its result"
            );
            return Err(refused(text, "one_at_a_time"));
        }
        let request = id::fresh();
        let call = ClientCall {
            turn: site.turn,
            request: &request.to_string(),
            call_id: &site.call_id,
            tool,
            name: self.original.as_deref(),
            arguments: &without_nul(arguments),
            client: &self.client,
            expires: &after(site.now, self.wait).to_string(),
        };
        let draft = Fact::ClientCall(call).encode(&site.thread);
        Ok(Output::events(vec![draft.with_id(request)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, schema: Value) -> ToolSpec {
        ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: parameters(Some(schema)),
            is_strict: false,
        }
    }

    fn offer(tools: Vec<ToolSpec>) -> Offer {
        Offer {
            tools,
            must: Vec::new(),
            one_at_a_time: false,
            wait_ms: 1000,
        }
    }

    #[test]
    fn an_offer_is_refused_for_its_number_its_names_and_its_size() {
        let many = |count: usize| {
            let names = (0..count).map(|number| format!("t{number}"));
            offer(names.map(|name| tool(&name, json!({}))).collect())
        };
        assert_eq!(many(TOOLS_MAX).check(), Ok(()));
        let wrong = many(TOOLS_MAX + 1).check().unwrap_err();
        assert!(
            wrong.tool.is_none() && wrong.text.contains("65"),
            "{wrong:?}"
        );
        for (tools, member) in [
            (vec![tool("a b", json!({}))], "name"),
            (vec![tool("", json!({}))], "name"),
            (vec![tool("client__reply", json!({}))], "name"),
            (vec![tool("a", json!({})), tool("a", json!({}))], "name"),
            (vec![tool("a", json!({ "type": "string" }))], "parameters"),
            (vec![tool("a", json!([]))], "parameters"),
            (
                vec![tool("a", json!({ "title": "x".repeat(40_000) }))],
                "parameters",
            ),
        ] {
            let wrong = offer(tools).check().unwrap_err();
            assert_eq!(wrong.member, member, "{wrong:?}");
        }
        let large = |name: &str| tool(name, json!({ "title": "x".repeat(30_000) }));
        let all = ["a", "b", "c", "d", "e"].map(large).into();
        assert!(offer(all).check().unwrap_err().text.contains("bytes"));
        let must = Offer {
            must: vec!["b".into()],
            ..offer(vec![tool("a", json!({}))])
        };
        assert!(must.check().unwrap_err().text.contains("\"b\""));
    }

    #[test]
    fn a_name_that_the_server_has_is_told_with_a_prefix() {
        let own = ["reply", "recall"];
        assert_eq!(ClientTools::told_name("recall", &own), "client__recall");
        assert_eq!(ClientTools::told_name("weather", &own), "weather");
    }
}
