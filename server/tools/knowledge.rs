//! The knowledge base that trials ask: an address that searches, and answers JSON. The request, and
//! the part of the answer that is believed, are in docs/memory.md. A server of tools that searches
//! instead is asked as its tools are (`mcp/servers.rs`). The meaning of an answer for a prediction
//! is judged elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::BytesMut;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use super::secret_file::with_file;
use super::server_names::names;
use thinkd_model::http::{client, root_cause};
use thinkd_words::defaults::with_defaults;
use thinkd_words::secret::{self, optional_url};
use thinkd_words::veil::{Veil, is_long};

/// Most passages of an answer that are read.
const PASSAGES_MAX: usize = 8;
/// Most characters of a passage that are read.
const PASSAGE_MAX: usize = 2000;
/// Most characters of a passage's title, and of its address.
const NAME_MAX: usize = 500;
/// The longest that reaching the address may take.
const CONNECT: Duration = Duration::from_secs(3);

with_defaults! {
    /// The knowledge base in which trials look things up: an address that searches (`url`), or a
    /// search tool of a server of tools (`mcp`). Off until one is set.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// The address. It is sent `GET` with the words as the parameter `q`, and answers `{"results": [{"title", "url", "text"}]}` as JSON.
        #[serde(
            serialize_with = "optional_url",
            skip_serializing_if = "Option::is_none"
        )]
        pub url: Option<String> = None,
        /// A file with headers of every search, a line `Name: value` each; it is read at every search.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub headers_file: Option<PathBuf> = None,
        /// A search tool instead: `server/tool`, the name of a server in `[tools.mcp]` and the name
        /// that this one gives the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub mcp: Option<String> = None,
    }
    fixed {
        /// The argument of that tool that takes the words.
        pub argument: String = "query".into(),
        /// The time that a search of the address may take; a tool has the limit of its server.
        pub timeout_ms: u64 = 10_000,
        /// Most bytes of an answer of the address; a larger one is no answer.
        pub bytes: usize = 256 << 10,
    }
}

impl Options {
    /// Returns true if there is a knowledge base.
    pub fn is_on(&self) -> bool {
        self.url.is_some() || self.mcp.is_some()
    }

    /// The server and the tool that search, where no address does.
    pub fn tool(&self) -> Option<(&str, &str)> {
        self.mcp.as_deref()?.split_once('/')
    }

    /// Returns the name of that tool here.
    pub fn tool_name(&self) -> Option<String> {
        let (server, tool) = self.tool()?;
        names(server, &[tool]).pop()
    }

    /// Checks the options. The error says the fault. `servers`: the names of the servers of tools.
    pub fn check<'a>(&self, mut servers: impl Iterator<Item = &'a String>) -> Result<(), String> {
        let has_headers = self.headers_file.is_some();
        let is_address = |url: &String| Url::parse(url).is_ok() && url.starts_with("http");
        let has_url = self.url.is_some();
        let has_mcp = self.mcp.is_some();
        let is_known = |(server, _): (&str, &str)| servers.any(|known| known == server);
        let wrongs = [
            (has_url && has_mcp, "it has both url and mcp: leave one"),
            (has_headers && !self.is_on(), "it has headers and no url"),
            (
                has_headers && has_mcp,
                "headers are for a url; those of a server are in [tools.mcp]",
            ),
            (
                !self.url.iter().all(is_address),
                "its url is no address of the kind http:// or https://",
            ),
            (
                has_mcp && !self.tool().is_some_and(is_known),
                "mcp is server/tool, and the server one of [tools.mcp]",
            ),
        ];
        match wrongs.into_iter().find(|(is_so, _)| *is_so) {
            Some((_, why)) => Err(format!("[memory.knowledge]: {why}")),
            None => Ok(()),
        }
    }

    /// Returns the secrets that are configured here, without those in the file.
    pub fn secrets(&self) -> impl Iterator<Item = SecretString> {
        self.url.iter().flat_map(|url| secret::in_url(url))
    }
}

/// A found text and its place. Others wrote it: it is data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Its title.
    pub title: String,
    /// Its place.
    pub url: String,
    /// Its text.
    pub text: String,
}

/// An answer as it is documented.
#[derive(Deserialize)]
struct Results {
    results: Vec<Found>,
}

#[derive(Default, Deserialize)]
struct Found {
    title: Option<String>,
    url: Option<String>,
    text: String,
}

impl Results {
    /// Returns the first passages that say something, without secrets. A passage that says nothing
    /// of its place has this one.
    fn passages(self, veil: &Veil, place: &str) -> Vec<Passage> {
        let cut = |text: Option<String>, most: usize| -> String {
            // No database has room for NUL.
            let text = text.iter().flat_map(|text| text.chars());
            veil.over(&text.filter(|c| *c != '\0').take(most).collect::<String>())
        };
        let passage = |found: Found| {
            let url = cut(found.url, NAME_MAX);
            Passage {
                title: cut(found.title, NAME_MAX),
                url: if url.is_empty() {
                    place.to_owned()
                } else {
                    url
                },
                text: cut(Some(found.text), PASSAGE_MAX),
            }
        };
        let passages = self.results.into_iter().take(PASSAGES_MAX).map(passage);
        passages.filter(|it| !it.text.trim().is_empty()).collect()
    }
}

/// Returns the result of a search tool as passages: results as an address gives them, or any other
/// text as one.
pub fn of_tool(name: &str, value: Value) -> Vec<Passage> {
    let text = match &value {
        Value::String(text) => text.clone(),
        // Of what is too large its beginning is read.
        Value::Object(all) if all.get("truncated").is_some_and(Value::is_string) => {
            all["truncated"].as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    };
    let results = serde_json::from_str(&text).unwrap_or_else(|_| {
        let found = Found {
            text,
            ..Found::default()
        };
        Results {
            results: vec![found],
        }
    });
    results.passages(&Veil::new([]), name)
}

/// The way to the address.
pub struct Search {
    options: Options,
    /// Made once; why it could not be, is the answer to every search.
    http: Result<Client, String>,
}

impl Search {
    /// Returns the way to the address of these options, which no request has gone yet.
    pub fn new(options: &Options) -> Self {
        let url = options.url.as_deref().unwrap_or_default();
        // Where an answer sends us is not where the operator did: it might be inside of the operator's network.
        let http = client(url).connect_timeout(CONNECT).build();
        Self {
            options: options.clone(),
            http: http.map_err(|error| root_cause(&error)),
        }
    }

    /// Returns the passages that are found for these words. Within the time limit, and never with
    /// anything secret.
    ///
    /// # Errors
    /// Where the address cannot be reached in time, or answers something else than it should.
    pub async fn ask(&self, words: &str) -> Result<Vec<Passage>, String> {
        let ms = self.options.timeout_ms;
        let asked = timeout(Duration::from_millis(ms), self.asked(words)).await;
        asked.map_err(|_| format!("the knowledge base did not answer within {ms} ms"))?
    }

    async fn asked(&self, words: &str) -> Result<Vec<Passage>, String> {
        let http = self.http.as_ref().map_err(Clone::clone)?;
        let address = self.options.url.as_deref().unwrap_or_default();
        let mut url = Url::parse(address).map_err(|_| "the knowledge base has no address")?;
        url.query_pairs_mut().append_pair("q", words);
        let file = self.options.headers_file.as_deref();
        let headers = with_file(&BTreeMap::new(), file, ':')?;
        let in_header =
            |(name, value): (&String, &SecretString)| secret::in_variable(name, value.clone());
        let secrets = headers.iter().flat_map(in_header);
        let secrets = secrets.chain(secret::named_in_url(address));
        let veil = Veil::new(secrets.filter(is_long));
        let broke = |error: reqwest::Error| {
            let cause = root_cause(&error);
            format!("the knowledge base cannot be reached: {cause}")
        };
        let request = http.get(url).headers(headers_of(&headers)?);
        let mut answer = request.send().await.map_err(broke)?;
        let status = answer.status();
        if status != StatusCode::OK {
            let why = match status.is_redirection() {
                true => ", and is not followed",
                false => "",
            };
            return Err(format!("the knowledge base answers {status}{why}"));
        }
        if !is_json(answer.headers()) {
            return Err("the knowledge base answers something that it does not call JSON".into());
        }
        let mut body = BytesMut::new();
        let most = self.options.bytes;
        while let Some(chunk) = answer.chunk().await.map_err(broke)? {
            body.extend_from_slice(&chunk);
            if body.len() > most {
                return Err(format!("the knowledge base answers more than {most} bytes"));
            }
        }
        let results: Results = serde_json::from_slice(&body).map_err(
            |_| "the knowledge base answers something else than results with texts, in JSON",
        )?;
        Ok(results.passages(&veil, ""))
    }
}

fn headers_of(headers: &BTreeMap<String, SecretString>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
    for (name, value) in headers {
        let wrong = || format!("memory.knowledge: the header {name:?} cannot be sent");
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| wrong())?;
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        map.insert(name, value);
    }
    Ok(map)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json")
}
