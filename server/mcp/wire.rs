//! The protocol, by rmcp, which only this file and its folder name: connecting, and calling tools.
//! Input is bounded before it is read (`meter.rs`, `wire/counted.rs`), and leaves as types of ours
//! (`wire/answers.rs`). The lists of servers are in `wire/listing.rs`, their questions to us in
//! `wire/asked.rs`, and their resources and prompts in `wire/reading.rs`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequest, CallToolRequestParams, PingRequest};
use rmcp::service::{
    ClientCacheConfig, Peer, RoleClient, RunningServiceCancellationToken, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use secrecy::ExposeSecret as _;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::asked::{Handler, Running};
use self::counted::Counted;
pub use self::listing::Listing;
use self::matched::{Elsewhere, Matched};
use self::piped::Piped;
pub use self::trouble::Trouble;
use self::trouble::{Holds, SAID_MAX, bounded, causes, unconnected};
use super::asking::Asker;
use super::child::{self, Group, Said};
pub use super::meter::Garbled;
use super::meter::{Lines, MESSAGE_MAX, Messages};
use super::options::Options;
use thinkd_model::http::client;
use thinkd_words::secret;
use thinkd_words::veil::Veil;

mod answers;
mod asked;
mod counted;
mod listing;
mod matched;
mod piped;
pub mod reading;
mod trouble;
mod veiled;
mod whose;

/// The filter that keeps the library's lines out of the log: it writes the words of servers about
/// themselves.
pub const QUIET: &str = "rmcp=off";

/// The time limit for reaching a server's address, and for a word of a server in doubt.
const REACH: Duration = Duration::from_secs(5);

/// Most calls of one server at a time.
pub const CALLS_MAX: u32 = 64;
/// Room beside the calls for the upkeep of the connection: pings, lists, answers to questions of a
/// server.
const BESIDE: usize = 16;

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The name that the server gives the tool.
    pub name: String,
    /// The server's description of the tool.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// True if the server says that the tool only reads.
    pub only_reads: bool,
    /// True if the server says that the tool may be called again.
    pub is_idempotent: bool,
}

impl Told {
    /// Returns about how many bytes of memory its words take.
    fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.schema.to_string().len()
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its parts, in order.
    pub parts: Vec<Part>,
    /// The same as JSON, if the server gives that.
    pub structured: Option<Value>,
    /// True if the call failed.
    pub is_error: bool,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture, a sound, or any other bytes, in base64.
    Media {
        /// The kind of the data, as the server says.
        mime: String,
        /// The data in base64.
        data: String,
    },
    /// A link to more.
    Link(Pointer),
}

/// A link to more, with the words about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pointer {
    /// The address.
    pub uri: String,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The server's words about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The kind of its data, as the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
}

/// A way to a server that is connected; cheap to clone.
#[derive(Debug, Clone)]
pub struct Link {
    peer: Peer<RoleClient>,
    running: Arc<Running>,
    /// The veil over quotations in errors of the transport.
    veil: Arc<Veil>,
    /// Notified when the line may not hold any more.
    doubted: Arc<Notify>,
    /// Notified when the line does not hold any more.
    gone: Arc<Notify>,
}

/// The end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Nothing comes over it any more.
    Lost(String),
    /// The connection has to be made anew. Requests that run over it may still come to their end.
    Stale(String),
}

/// A connection. It ends when this is dropped, and the server's program with it.
pub struct Connection {
    /// The way to the server.
    pub link: Link,
    /// Notified when the server says that its list of tools is another one.
    pub changed: Arc<Notify>,
    /// Ends with the service.
    service: JoinHandle<()>,
    stop: RunningServiceCancellationToken,
    messages: Messages,
    program: Option<Group>,
}

/// Connects to a server. Lines of its program that are no messages are counted as `garbled`. The
/// caller bounds the time.
pub async fn connect(
    name: &str,
    options: &Options,
    garbled: Garbled,
) -> Result<Connection, String> {
    let changed = Arc::new(Notify::new());
    let calls = Arc::new(Running::default());
    let handler = Handler {
        changed: changed.clone(),
        running: calls.clone(),
        server: name.to_owned(),
    };
    let messages = Messages::new();
    let doubted = Arc::<Notify>::default();
    let veil = Arc::new(options.veil());
    let strict = Arc::new(options.strict_veil());
    let (running, program) = if options.command.is_some() {
        let child::Program {
            output,
            input,
            group,
        } = child::start(name, options, strict.clone())?;
        let place = "on standard output, where its messages belong";
        let said = Said::new(name, place, strict.clone());
        let transport = Piped {
            output: Lines::new(output, messages.clone()),
            input: AsyncRwTransport::new(tokio::io::empty(), input),
            garbled,
            said,
            veil,
        };
        (handler.serve(transport).await, Some(group))
    } else {
        let elsewhere = Elsewhere::default();
        let (inner, config) = http(options, &elsewhere)?;
        let client = Matched {
            inner,
            messages: messages.clone(),
            elsewhere,
            doubted: doubted.clone(),
        };
        let inner = StreamableHttpClientTransport::with_client(client, config);
        let transport = Counted {
            inner,
            messages: messages.clone(),
            veil,
        };
        (handler.serve(transport).await, None)
    };
    let running = match running {
        Ok(running) => running,
        Err(error) => {
            if let Some(what) = messages.overrun() {
                return Err(format!("it sent {what}"));
            }
            let command = options.command.as_deref().unwrap_or_default();
            let unstarted = match program {
                Some(program) => program.was_not_started(command).await,
                None => None,
            };
            return Err(unstarted.unwrap_or_else(|| bounded(&strict.over(&unconnected(&error)))));
        }
    };
    let link = Link {
        peer: running.peer().clone(),
        running: calls,
        veil: strict,
        doubted,
        gone: Arc::default(),
    };
    // What a server says is so for a day would be kept for a day, and is told where it does not answer.
    link.peer
        .set_response_cache_config(ClientCacheConfig::disabled())
        .await;
    let stop = running.cancellation_token();
    let service = tokio::spawn(async move { drop(running.waiting().await) });
    Ok(Connection {
        link,
        changed,
        service,
        stop,
        messages,
        program,
    })
}

/// Returns the client and its configuration: requests go to this address, with these headers, and
/// nowhere else. The place that the server sends on to is kept.
fn http(
    options: &Options,
    elsewhere: &Elsewhere,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let url = options.url.as_deref().unwrap_or_default();
    let mut headers = HashMap::new();
    for (name, value) in options.whole_headers()? {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| {
            format!("the value of the header {name} has characters that no header may have")
        })?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    let elsewhere = elsewhere.clone();
    let client = client(url)
        .user_agent(concat!("thinkd/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::custom(move |attempt| {
            let _ = elsewhere.set(secret::shown_url(attempt.url().as_str()));
            attempt.stop()
        }))
        .connect_timeout(REACH)
        .build()
        .map_err(|error| format!("the server cannot be asked: {}", causes(&error)))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers)
        // Calls wait for a place by space (`line.rs`), and never here, where the first that comes is the first that is sent.
        .max_concurrent_requests(CALLS_MAX as usize + BESIDE)
        .max_sse_event_size(MESSAGE_MAX)
        .max_json_response_size(MESSAGE_MAX)
        .max_error_response_size(SAID_MAX)
        // It would send the call once more: whoever has forgotten the session may have done it.
        .reinit_on_expired_session(false);
    Ok((client, config))
}

impl Connection {
    /// Waits until the connection is of no more use.
    pub async fn ended(&mut self) -> Ended {
        let link = self.link.clone();
        let stale = async {
            loop {
                tokio::select! {
                    () = link.gone.notified() => return "its session is gone",
                    () = link.doubted.notified() => {}
                }
                if !link.is_there().await {
                    return "it does not answer";
                }
            }
        };
        let is_program = self.program.is_some();
        let exited = async {
            match &mut self.program {
                Some(program) => program.wait().await,
                None => std::future::pending().await,
            }
        };
        let why = tokio::select! {
            // What has one way for all cannot be kept beside another; nor what nothing comes over any more.
            why = stale => {
                if !is_program && !self.link.peer.is_transport_closed() {
                    return Ended::Stale(why.to_owned());
                }
                why.to_owned()
            }
            status = exited => match status {
                Ok(status) => format!("its program ended ({status})"),
                Err(error) => format!("its program is lost: {error}"),
            },
            _ = &mut self.service => "it ended the connection".to_owned(),
        };
        // Whoever is cut off for that is seen to be gone in any of these ways.
        Ended::Lost(
            self.messages
                .overrun()
                .map_or(why, |what| format!("it sent {what}, and was cut off")),
        )
    }

    /// Lets requests that run over the connection come to their end, for so long at most and not
    /// beyond `stop`. Then ends the connection in order.
    pub async fn retire(self, most: Duration, stop: CancellationToken) {
        tokio::select! {
            () = self.link.running.all_ended() => {}
            () = tokio::time::sleep(most) => {}
            () = stop.cancelled() => {}
        }
        self.close().await;
    }

    /// Ends the connection in order.
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
    /// Calls a tool; meanwhile the server may ask by `asker`. A call that is dropped before the
    /// answer tells the server that no caller waits any more.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        asker: Arc<Asker>,
    ) -> Result<Answer, Trouble> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = CallToolRequest::new(params).into();
        let result = self.running.send(&self.peer, request, Some(asker)).await;
        let result = result.map_err(|error| self.trouble(error))?;
        answers::answer(answers::json(result))
            .ok_or_else(|| self.trouble(ServiceError::UnexpectedResponse))
    }

    /// Returns true if the server answers a ping in any way, or takes its time: it may be busy.
    async fn is_there(&self) -> bool {
        let asked =
            tokio::time::timeout(REACH, self.peer.send_request(PingRequest::default().into()));
        matches!(
            asked.await,
            Err(_) | Ok(Ok(_) | Err(ServiceError::McpError(_)))
        )
    }

    fn trouble(&self, error: ServiceError) -> Trouble {
        let (trouble, line) = trouble::judged(&error, &self.veil);
        match line {
            Holds::Yes => {}
            Holds::Doubted => self.doubted.notify_one(),
            Holds::No => self.gone.notify_one(),
        }
        trouble
    }
}
