//! The protocol, by rmcp, which only this file and its folder name: connecting, listing tools, calling them. What comes in is bounded before it is
//! read (`meter.rs`, `wire/counted.rs`), and leaves as types of ours (`wire/answers.rs`). What servers ask of us is in `wire/asked.rs`, what else is
//! read of them in `wire/reading.rs`.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{ClientCacheConfig, Peer, RoleClient, RunningServiceCancellationToken, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use self::asked::{Handler, Running};
use self::counted::Counted;
use super::asking::Asker;
use super::child::{self, Group};
use super::meter::{MESSAGE_MAX, Messages, Metered};
use super::options::Options;
use crate::words::secret::Veil;

mod answers;
mod asked;
mod counted;
pub mod reading;

/// What is kept out of the log: the library writes what servers say of themselves.
pub const QUIET: &str = "rmcp=off";

/// Most pages of a list.
const PAGES_MAX: usize = 32;
/// Most bytes of a list, all pages together.
const LIST_MAX: usize = 8 << 20;
/// How long reaching a server's address may take.
const REACH: Duration = Duration::from_secs(5);
/// Longest words of a server in an error.
const SAID_MAX: usize = 2000;

/// Why a server did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It is not there, or not any more.
    Away(String),
    /// It answered with an error.
    Refused(String),
    /// It answered with something else than what was asked for.
    Odd(String),
    /// What it answered cannot be read, or has no end. Of other calls that says nothing.
    Garbled(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(why) | Self::Odd(why) | Self::Garbled(why) => f.write_str(why),
            Self::Refused(why) => write!(f, "it refuses: {why}"),
        }
    }
}

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// What the server calls it.
    pub name: String,
    /// What it says of it.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// It says that it only reads.
    pub only_reads: bool,
    /// It says that it may be called again.
    pub is_idempotent: bool,
}

impl Told {
    /// About how much memory its words take.
    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// The same as JSON, where the server has that.
    pub structured: Option<Value>,
    /// It failed.
    pub is_error: bool,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture, a sound, or any other bytes, in base64.
    Media {
        /// What it says they are.
        mime: String,
        /// They.
        data: String,
    },
    /// Where more is.
    Link(String),
}

/// A way to a server that is connected; cheap to clone.
#[derive(Debug, Clone)]
pub struct Link {
    peer: Peer<RoleClient>,
    running: Arc<Running>,
    broken: Arc<Notify>,
}

/// A connection. It ends when this is dropped, and the server's program with it.
pub struct Connection {
    /// The way there.
    pub link: Link,
    /// Told when the server says that its list of tools is another one.
    pub changed: Arc<Notify>,
    /// Ends with the service.
    service: JoinHandle<()>,
    stop: RunningServiceCancellationToken,
    messages: Messages,
    program: Option<Group>,
}

/// Connects to a server. Bounded in time by the caller.
pub async fn connect(name: &str, options: &Options) -> Result<Connection, String> {
    let (changed, calls) = (Arc::new(Notify::new()), Arc::new(Running::default()));
    let handler = Handler { changed: changed.clone(), running: calls.clone(), server: name.to_owned() };
    let messages = Messages::new();
    let (running, program) = if options.command.is_some() {
        let child::Program { output, input, group } = child::start(name, options)?;
        let transport =
            AsyncRwTransport::new(Metered::new(output, messages.clone()), input).with_max_line_length(usize::MAX);
        (handler.serve(transport).await, Some(group))
    } else {
        let (client, config) = http(options)?;
        let inner = StreamableHttpClientTransport::with_client(client, config);
        (handler.serve(Counted::new(inner, messages.clone())).await, None)
    };
    let running = running.map_err(|error| {
        let why = messages.overrun().map(|what| format!("it sent {what}"));
        why.unwrap_or_else(|| bounded(&causes(&error)))
    })?;
    let link = Link { peer: running.peer().clone(), running: calls, broken: Arc::new(Notify::new()) };
    // What a server says is so for a day would be kept for a day, and is told where it does not answer.
    link.peer.set_response_cache_config(ClientCacheConfig::disabled()).await;
    let stop = running.cancellation_token();
    let service = tokio::spawn(async move { drop(running.waiting().await) });
    Ok(Connection { link, changed, service, stop, messages, program })
}

/// The client and where it goes: to this address, with these headers, and nowhere else.
fn http(options: &Options) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let url = options.url.as_deref().unwrap_or_default();
    let mut headers = HashMap::new();
    for (name, value) in options.whole_headers()? {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::from_str(value.expose_secret())
            .map_err(|_| format!("the value of the header {name} has characters that no header may have"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    // Whoever uses the library without the program has installed no provider; a second installation is refused, harmlessly.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut client = reqwest::Client::builder();
    if url.starts_with("http://") {
        client = client.tls_certs_only([]);
    }
    let client = client
        .user_agent(concat!("thinkd/", env!("CARGO_PKG_VERSION")))
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(REACH)
        .build()
        .map_err(|error| format!("the server cannot be asked: {}", causes(&error)))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        .max_sse_event_size(MESSAGE_MAX)
        .max_json_response_size(MESSAGE_MAX)
        .max_error_response_size(SAID_MAX)
        // It would send the call once more: whoever has forgotten the session may have done it.
        .reinit_on_expired_session(false);
    Ok((client, config))
}

impl Connection {
    /// Waits until the connection is of no more use, and says why.
    pub async fn ended(&mut self) -> String {
        let broken = self.link.broken.clone();
        let exited = async {
            match &mut self.program {
                Some(program) => program.wait().await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            () = broken.notified() => "the connection broke".to_owned(),
            status = exited => match status {
                Ok(status) => format!("its program ended ({status})"),
                Err(error) => format!("its program is lost: {error}"),
            },
            _ = &mut self.service => "it ended the connection".to_owned(),
        };
        // Whoever is cut off for that is seen to be gone in any of these ways.
        self.messages.overrun().map_or(why, |what| format!("it sent {what}, and was cut off"))
    }

    /// Ends it in order.
    pub async fn close(self) {
        self.stop.cancel();
        // A task that has ended and was seen to may not be asked again.
        if !self.service.is_finished() {
            let _ = tokio::time::timeout(Duration::from_secs(1), self.service).await;
        }
        if let Some(program) = self.program {
            program.end().await;
        }
    }
}

impl Link {
    /// The tools of the server, at most `most` and one more.
    pub async fn tools(&self, most: usize) -> Result<Vec<Told>, Trouble> {
        let mut tools = Vec::new();
        let (mut params, mut left) = (None, LIST_MAX);
        for _ in 0..PAGES_MAX {
            let request = ListToolsRequest { params, ..ListToolsRequest::default() }.into();
            let (told, next) = match self.peer.send_request(request).await.map_err(|error| self.trouble(error))? {
                ServerResult::ListToolsResult(page) => {
                    (page.tools.into_iter().map(answers::told).collect(), page.next_cursor)
                }
                // The library reads all of a page or nothing of it.
                ServerResult::CustomResult(page) => {
                    answers::told_apart(&page.0).ok_or_else(|| self.trouble(ServiceError::UnexpectedResponse))?
                }
                _ => return Err(self.trouble(ServiceError::UnexpectedResponse)),
            };
            let told: Vec<Told> = told;
            let long = || Trouble::Odd(format!("its list of tools has more than {LIST_MAX} bytes"));
            left = left.checked_sub(told.iter().map(Told::bytes).sum()).ok_or_else(long)?;
            tools.extend(told);
            match next {
                Some(cursor) if tools.len() <= most => {
                    params = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
                }
                _ => break,
            }
        }
        tools.truncate(most + 1);
        Ok(tools)
    }

    /// Calls a tool; meanwhile the server may ask by `asker`. Dropped before the answer, it tells the server that nobody waits any more.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>, asker: Arc<Asker>) -> Result<Answer, Trouble> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = CallToolRequest::new(params).into();
        let result = self.running.send(&self.peer, request, Some(asker)).await;
        match result.map_err(|error| self.trouble(error))? {
            ServerResult::CallToolResult(result) => Ok(answers::answer(result)),
            // Nothing to say, in so many words.
            ServerResult::EmptyResult(_) => Ok(Answer { parts: Vec::new(), structured: None, is_error: false }),
            _ => Err(self.trouble(ServiceError::UnexpectedResponse)),
        }
    }

    fn trouble(&self, error: ServiceError) -> Trouble {
        match error {
            ServiceError::McpError(error) => Trouble::Refused(bounded(&error.message)),
            ServiceError::TransportSend(sent) if is_garbled(&sent) => Trouble::Garbled(bounded(&causes(&*sent.error))),
            // The stream of one answer came to its end, and others may go on.
            ServiceError::TransportClosed if !self.peer.is_transport_closed() => {
                Trouble::Garbled("its answer has no end".to_owned())
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                self.broken.notify_one();
                let why = match &error {
                    ServiceError::TransportSend(sent) => causes(&*sent.error),
                    other => causes(other),
                };
                Trouble::Away(bounded(&why))
            }
            other => Trouble::Odd(bounded(&causes(&other))),
        }
    }
}

/// Whether a server answered over HTTP, only with what cannot be read. Who refuses the key is asked anew with the headers of then, and behind a gateway that
/// finds no server there is none.
fn is_garbled(sent: &DynamicTransportError) -> bool {
    match sent.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::UnexpectedServerResponse(text)) => !text.starts_with("HTTP 401"),
        Some(StreamableHttpError::HttpStatus(error)) => !(502..=504).contains(&error.status),
        Some(StreamableHttpError::UnexpectedContentType(_) | StreamableHttpError::ResponseBodyTooLarge { .. }) => true,
        _ => false,
    }
}

/// An error with what caused it: the library names the causes apart.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Words of others in an error: a bounded part of them.
fn bounded(text: &str) -> String {
    text.chars().take(SAID_MAX).collect()
}

/// Over what a server's errors may say of its secrets.
pub fn veil(options: &Options) -> Veil {
    let files = [options.whole_env(), options.whole_headers()];
    let values = files.into_iter().flatten().flat_map(std::collections::BTreeMap::into_values);
    Veil::new(values.chain(options.secrets()))
}
