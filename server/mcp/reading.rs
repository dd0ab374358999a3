//! `mcp_read` lists and reads the resources and prompts of servers, as data. One tool serves all
//! servers; models are told of it as soon as a server says that it has resources or prompts. They
//! are allowed and denied as tools are, as `resource:<uri>` and `prompt:<name>`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::content::output;
use super::remote::{self, late};
use super::server::Server;
use super::wire::Trouble;
use super::wire::reading::{Entry, Has, Kind, Page};
use thinkd_log::kernel::Store;
use thinkd_model::prompt::{Error, Prompts};
use thinkd_tools::catalogue::READS_SERVERS;
use thinkd_tools::tool::{
    CallSite, Effect, Output, Spec, Tool, Typed, boxed, invalid, refused, spec_of,
};
use thinkd_words::failure::Failure;

/// Most entries of a page, and their default number.
const ENTRIES: (usize, usize) = (200, 50);
/// Longest address, name, or cursor of a server, in bytes.
const ID_MAX: usize = 2000;
/// Longest name, description or kind that a list shows, in characters; the rest is cut off.
const DESCRIPTION_MAX: usize = 300;
/// Most arguments of a prompt that a list shows.
const ARGUMENTS_MAX: usize = 32;

/// See the module.
struct Read {
    servers: Vec<Arc<Server>>,
    store: Arc<dyn Store>,
}

/// Returns the tool for these servers.
pub fn tool(
    servers: &[Arc<Server>],
    store: Arc<dyn Store>,
    prompts: &Prompts,
) -> Result<Arc<dyn Tool>, Error> {
    let longest = servers.iter().map(|server| server.options.timeout()).max();
    let spec = Spec {
        time: longest.map(|longest| longest * 2),
        ..spec_of::<Read>(prompts)?
    };
    let servers = servers.to_vec();
    Ok(boxed(spec, Read { servers, store }))
}

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    server: Option<String>,
    list: Option<Kind>,
    cursor: Option<String>,
    limit: Option<u64>,
    uri: Option<String>,
    prompt: Option<String>,
    arguments: Option<String>,
}

impl Typed for Read {
    type Input = Input;
    const NAME: &'static str = READS_SERVERS;
    const PROMPT: &'static str = include_str!("../../prompts/tools/mcp_read.md");
    // What a server does when it is asked is its own affair, and no annotation says.
    const EFFECT: Effect = Effect::Outside;

    async fn call(&self, input: Input, site: &CallSite) -> Result<Output, Failure> {
        let Some(name) = &input.server else {
            return Ok(Output::value(self.all()));
        };
        let server = self.servers.iter().find(|server| server.line.name == *name);
        let server = server.ok_or_else(|| {
            let names = self.servers.iter().map(|it| it.line.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            invalid(format!("there is no server {name:?}; there are {names}"))
        })?;
        let limit = server.options.timeout();
        let garbled = server.line.garbled.so_far();
        let late = |_| {
            let garbled = server.line.garbled.so_far() - garbled;
            late(&at(name), Self::EFFECT, limit, garbled)
        };
        let place = server.line.place(&site.space, limit).await;
        let _place = place.ok_or_else(|| remote::busy(&at(name), name, limit))?;
        timeout(limit, self.asked(server, &input, site))
            .await
            .map_err(late)?
    }
}

impl Read {
    /// Returns the servers, and whether each says that it has resources and prompts.
    fn all(&self) -> Value {
        let shown = |server: &Arc<Server>| {
            let Has { resources, prompts } = server.has();
            json!({ "server": server.line.name, "resources": resources, "prompts": prompts })
        };
        json!({ "servers": self.servers.iter().map(shown).collect::<Vec<_>>() })
    }

    async fn asked(
        &self,
        server: &Server,
        input: &Input,
        site: &CallSite,
    ) -> Result<Output, Failure> {
        let name = &server.line.name;
        let answer = match (input.list, &input.uri, &input.prompt) {
            (Some(kind), None, None) => {
                return self.list(server, kind, input).await.map(Output::value);
            }
            (None, Some(uri), None) => {
                may(server, &resource(uri))?;
                link(server).await?.read(uri).await
            }
            (None, None, Some(prompt)) => {
                may(server, &format!("prompt:{prompt}"))?;
                let arguments = arguments(input.arguments.as_deref())?;
                link(server).await?.prompt(prompt, arguments).await
            }
            _ => return Err(invalid("give one of list, uri and prompt")),
        };
        let answer = answer.map_err(|trouble| failed(name, trouble))?;
        output(READS_SERVERS, answer, &*self.store, &site.space).await
    }

    /// Returns a page of a list, with only the entries that may be read. A page of the server may
    /// be several pages here: a cursor says how much of it was shown.
    async fn list(&self, server: &Server, kind: Kind, input: &Input) -> Result<Value, Failure> {
        let word = match kind {
            Kind::Resources => "resources",
            Kind::Templates => "templates",
            Kind::Prompts => "prompts",
        };
        let most = input
            .limit
            .map_or(ENTRIES.1, |limit| {
                usize::try_from(limit).unwrap_or(ENTRIES.0)
            })
            .clamp(1, ENTRIES.0);
        let (skip, at) = input.cursor.as_deref().map_or(Ok((0, None)), place)?;
        let page = link(server).await?.list(kind, at.clone()).await;
        let Page { entries, next } = page.map_err(|trouble| failed(&server.line.name, trouble))?;
        let count = entries.len();
        let taken = |entry: &Entry| {
            let name = if kind == Kind::Prompts {
                format!("prompt:{}", entry.id)
            } else {
                resource(&entry.id)
            };
            entry.id.len() <= ID_MAX && server.options.takes(&name)
        };
        let shown = entries.into_iter().skip(skip).take(most).filter(taken);
        let shown: Vec<Value> = shown.map(|entry| entry_shown(kind, entry)).collect();
        let passed = skip.saturating_add(most);
        let cursor = match next {
            _ if passed < count => Some(format!("{passed} {}", at.unwrap_or_default())),
            Some(next) if next.len() <= ID_MAX => Some(format!("0 {next}")),
            _ => None,
        };
        Ok(json!({ word: shown, "cursor": cursor }))
    }
}

/// Returns the name of a resource for allowing and denying.
fn resource(uri: &str) -> String {
    format!("resource:{uri}")
}

/// Refuses a name that is too long or may not be read. Refuses an address with a part `.` or `..`,
/// also an encoded one: it is another address than it looks.
fn may(server: &Server, name: &str) -> Result<(), Failure> {
    let plain = name
        .to_ascii_lowercase()
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/")
        .replace('\\', "/");
    let is_roundabout = plain
        .split(['/', '?', '#'])
        .any(|part| part == ".." || part == ".");
    if name.len() <= ID_MAX && !is_roundabout && server.options.takes(name) {
        return Ok(());
    }
    let text = format!("{} may not be asked for that", server.line.name);
    Err(refused(text, "not_allowed"))
}

/// Returns the way to a server, as soon as there is one. Fails if the server is away.
async fn link(server: &Server) -> Result<super::wire::Link, Failure> {
    let name = &server.line.name;
    server
        .line
        .link()
        .await
        .map_err(|why| failed(name, Trouble::Unreached(why)))
}

fn failed(server: &str, trouble: Trouble) -> Failure {
    remote::failed(&at(server), server, Read::EFFECT, trouble)
}

/// Returns the name of the call in failures: the tool and its server.
fn at(server: &str) -> String {
    format!("{READS_SERVERS} of {server}")
}

/// Reads a cursor: the number of entries to skip in a page of the server, and the server's own
/// cursor of that page, if it has one.
fn place(cursor: &str) -> Result<(usize, Option<String>), Failure> {
    let read = cursor
        .split_once(' ')
        .and_then(|(skip, at)| Some((skip.parse().ok()?, at)));
    let (skip, at) = read.ok_or_else(|| invalid("that is no cursor of a page before"))?;
    Ok((skip, (!at.is_empty()).then(|| at.to_owned())))
}

fn arguments(text: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Map::new());
    };
    serde_json::from_str(text)
        .map_err(|error| invalid(format!("the arguments are no JSON object: {error}")))
}

fn entry_shown(kind: Kind, entry: Entry) -> Value {
    let Entry {
        id,
        name,
        description,
        mime,
        arguments,
    } = entry;
    let short = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    let key = match kind {
        Kind::Resources => "uri",
        Kind::Templates => "template",
        Kind::Prompts => "prompt",
    };
    let mut shown = Map::from_iter([(key.to_owned(), Value::from(id))]);
    let described = [
        ("name", name),
        ("description", description),
        ("mime", mime.unwrap_or_default()),
    ];
    let described = described.into_iter().filter(|(_, text)| !text.is_empty());
    shown.extend(
        described.map(|(key, text)| (key.to_owned(), short(&text, DESCRIPTION_MAX).into())),
    );
    if kind == Kind::Prompts {
        let argument = |(name, required): (String, bool)| json!({ "name": short(&name, DESCRIPTION_MAX), "required": required });
        let arguments: Vec<Value> = arguments
            .into_iter()
            .take(ARGUMENTS_MAX)
            .map(argument)
            .collect();
        shown.insert("arguments".into(), arguments.into());
    }
    Value::Object(shown)
}
