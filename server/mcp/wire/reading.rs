//! The resources and prompts of servers, read over the protocol: resources by their addresses,
//! prompts by their names, and the lists of both.

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ReadResourceRequest,
    ReadResourceRequestParams,
};
use rmcp::service::ServiceError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answers::{self, text};
use super::listing::params;
use super::{Answer, Link, Part, Trouble};

/// The kinds that a server says it has besides tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Has {
    /// Resources.
    pub resources: bool,
    /// Prompts.
    pub prompts: bool,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What can be read.
    Resources,
    /// Patterns of addresses of what can be read.
    Templates,
    /// Prompts.
    Prompts,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The entries of the page.
    pub entries: Vec<Entry>,
    /// The beginning of the next page, in the words of the server.
    pub next: Option<String>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The address, the pattern of addresses, or the name of a prompt.
    pub id: String,
    /// The name of the entry, or the title of a prompt.
    pub name: String,
    /// The server's description of the entry.
    pub description: String,
    /// The kind of its data, as the server says.
    pub mime: Option<String>,
    /// The arguments of a prompt, and whether they are required.
    pub arguments: Vec<(String, bool)>,
}

impl Link {
    /// Returns the kinds that the server says it has besides tools.
    pub fn has(&self) -> Has {
        let info = self.peer.peer_info();
        let can = info.as_deref().map(|info| &info.capabilities);
        Has {
            resources: can.is_some_and(|can| can.resources.is_some()),
            prompts: can.is_some_and(|can| can.prompts.is_some()),
        }
    }

    /// Returns the words of the server about itself, for models.
    pub fn instructions(&self) -> String {
        let info = self.peer.peer_info();
        info.and_then(|info| info.instructions.clone())
            .unwrap_or_default()
    }

    /// Returns a page of a list.
    pub async fn list(&self, kind: Kind, cursor: Option<String>) -> Result<Page, Trouble> {
        let params = params(cursor);
        let (request, list, id) = match kind {
            Kind::Resources => {
                let request = ListResourcesRequest {
                    params,
                    ..ListResourcesRequest::default()
                };
                (request.into(), "resources", "uri")
            }
            Kind::Templates => {
                let request = ListResourceTemplatesRequest {
                    params,
                    ..ListResourceTemplatesRequest::default()
                };
                (request.into(), "resourceTemplates", "uriTemplate")
            }
            Kind::Prompts => {
                let request = ListPromptsRequest {
                    params,
                    ..ListPromptsRequest::default()
                };
                (request.into(), "prompts", "name")
            }
        };
        let mut page = self.json(request).await?;
        let entries = self.listed(&mut page, list)?;
        let entry = |entry: &Value| {
            let name = match kind {
                Kind::Prompts => "title",
                _ => "name",
            };
            Some(Entry {
                id: text(entry, id)?,
                name: text(entry, name).unwrap_or_default(),
                description: text(entry, "description").unwrap_or_default(),
                mime: text(entry, "mimeType"),
                arguments: arguments(entry),
            })
        };
        Ok(Page {
            entries: entries.iter().filter_map(entry).collect(),
            next: text(&page, "nextCursor"),
        })
    }

    /// Returns the contents at an address.
    pub async fn read(&self, uri: &str) -> Result<Answer, Trouble> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri)).into();
        let contents = self.listed(&mut self.json(request).await?, "contents")?;
        Ok(data(contents.into_iter().map(answers::contents)))
    }

    /// Returns a prompt with these arguments: each of its messages behind its role, `user` or
    /// `assistant`.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Trouble> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = GetPromptRequest::new(params).into();
        let messages = self.listed(&mut self.json(request).await?, "messages")?;
        let said = messages.into_iter().flat_map(|mut message| {
            let is_user = message.get("role").is_some_and(|role| role == "user");
            let who = if is_user { "user" } else { "assistant" };
            let parts = message.get_mut("content").map(Value::take);
            let parts = answers::parts(parts.unwrap_or_default()).into_iter();
            parts.flat_map(move |part| match part {
                Part::Text(text) => vec![Part::Text(format!("{who}: {text}"))],
                other => vec![Part::Text(format!("{who}:")), other],
            })
        });
        Ok(data(said))
    }

    /// Returns the answer to a request, as JSON.
    async fn json(&self, request: ClientRequest) -> Result<Value, Trouble> {
        let result = self.running.send(&self.peer, request, None).await;
        let result = result.map_err(|error| self.trouble(error))?;
        Ok(answers::json(result))
    }

    /// Returns a list of objects in an answer; other entries are left out.
    fn listed(&self, answer: &mut Value, list: &str) -> Result<Vec<Value>, Trouble> {
        match answer.get_mut(list).map(Value::take) {
            Some(Value::Array(all)) => Ok(all.into_iter().filter(Value::is_object).collect()),
            _ => Err(self.trouble(ServiceError::UnexpectedResponse)),
        }
    }
}

fn data(parts: impl Iterator<Item = Part>) -> Answer {
    Answer {
        parts: parts.collect(),
        structured: None,
        is_error: false,
    }
}

/// Returns the arguments of a prompt, and whether they are required.
fn arguments(entry: &Value) -> Vec<(String, bool)> {
    let all = entry.get("arguments").and_then(Value::as_array);
    let argument = |it: &Value| Some((text(it, "name")?, it.get("required") == Some(&true.into())));
    all.into_iter().flatten().filter_map(argument).collect()
}
