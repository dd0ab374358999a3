//! What servers have besides tools, read over the protocol: resources by their addresses, prompts by their names, and the lists of both.

use rmcp::model::{
    GetPromptRequest, GetPromptRequestParams, ListPromptsRequest, ListResourceTemplatesRequest,
    ListResourcesRequest, PaginatedRequestParams, Prompt, ReadResourceRequest,
    ReadResourceRequestParams, Resource, ResourceTemplate, Role, ServerResult,
};
use rmcp::service::ServiceError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Answer, Link, Part, Trouble, answers};

/// What a server says that it has.
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
    /// What is on it.
    pub entries: Vec<Entry>,
    /// Where the next one begins, in the words of the server.
    pub next: Option<String>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The address, the pattern of addresses, or the name of a prompt.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What the server says of it.
    pub description: String,
    /// What kind of data it says that it is.
    pub mime: Option<String>,
    /// The arguments of a prompt, and whether they are required.
    pub arguments: Vec<(String, bool)>,
}

impl Link {
    /// What the server says that it has.
    pub fn has(&self) -> Has {
        let info = self.peer.peer_info();
        let can = info.as_deref().map(|info| &info.capabilities);
        Has {
            resources: can.is_some_and(|can| can.resources.is_some()),
            prompts: can.is_some_and(|can| can.prompts.is_some()),
        }
    }

    /// A page of a list.
    pub async fn list(&self, kind: Kind, cursor: Option<String>) -> Result<Page, Trouble> {
        let params =
            cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let request = match kind {
            Kind::Resources => ListResourcesRequest {
                params,
                ..ListResourcesRequest::default()
            }
            .into(),
            Kind::Templates => ListResourceTemplatesRequest {
                params,
                ..ListResourceTemplatesRequest::default()
            }
            .into(),
            Kind::Prompts => ListPromptsRequest {
                params,
                ..ListPromptsRequest::default()
            }
            .into(),
        };
        let result = self
            .running
            .send(&self.peer, request, None)
            .await
            .map_err(|error| self.trouble(error))?;
        match result {
            ServerResult::ListResourcesResult(list) if kind == Kind::Resources => Ok(Page {
                entries: list.resources.into_iter().map(resource).collect(),
                next: list.next_cursor,
            }),
            ServerResult::ListResourceTemplatesResult(list) if kind == Kind::Templates => {
                Ok(Page {
                    entries: list.resource_templates.into_iter().map(template).collect(),
                    next: list.next_cursor,
                })
            }
            ServerResult::ListPromptsResult(list) if kind == Kind::Prompts => Ok(Page {
                entries: list.prompts.into_iter().map(prompt).collect(),
                next: list.next_cursor,
            }),
            _ => Err(self.trouble(ServiceError::UnexpectedResponse)),
        }
    }

    /// What is at an address.
    pub async fn read(&self, uri: &str) -> Result<Answer, Trouble> {
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri)).into();
        match self
            .running
            .send(&self.peer, request, None)
            .await
            .map_err(|error| self.trouble(error))?
        {
            ServerResult::ReadResourceResult(result) => {
                Ok(data(result.contents.into_iter().map(answers::contents)))
            }
            _ => Err(self.trouble(ServiceError::UnexpectedResponse)),
        }
    }

    /// A prompt with these arguments: each of its messages behind who it lets say it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Trouble> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let request = GetPromptRequest::new(params).into();
        match self
            .running
            .send(&self.peer, request, None)
            .await
            .map_err(|error| self.trouble(error))?
        {
            ServerResult::GetPromptResult(result) => {
                Ok(data(result.messages.into_iter().flat_map(|message| {
                    let who = if message.role == Role::User {
                        "user"
                    } else {
                        "assistant"
                    };
                    match answers::part(message.content) {
                        Part::Text(text) => vec![Part::Text(format!("{who}: {text}"))],
                        other => vec![Part::Text(format!("{who}:")), other],
                    }
                })))
            }
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

fn resource(it: Resource) -> Entry {
    let Resource {
        uri,
        name,
        description,
        mime_type,
        ..
    } = it;
    Entry {
        id: uri,
        name,
        description: description.unwrap_or_default(),
        mime: mime_type,
        arguments: Vec::new(),
    }
}

fn template(it: ResourceTemplate) -> Entry {
    let ResourceTemplate {
        uri_template,
        name,
        description,
        mime_type,
        ..
    } = it;
    Entry {
        id: uri_template,
        name,
        description: description.unwrap_or_default(),
        mime: mime_type,
        arguments: Vec::new(),
    }
}

fn prompt(it: Prompt) -> Entry {
    let Prompt {
        name,
        title,
        description,
        arguments,
        ..
    } = it;
    let arguments = arguments
        .unwrap_or_default()
        .into_iter()
        .map(|it| (it.name, it.required.unwrap_or(false)));
    let (title, description) = (title.unwrap_or_default(), description.unwrap_or_default());
    Entry {
        id: name,
        name: title,
        description,
        mime: None,
        arguments: arguments.collect(),
    }
}
