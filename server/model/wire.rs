//! One exchange with a provider through async-openai: sent, refused or answered, within our limits
//! of size.
//! async-openai builds the request and reads the events. It would also retry (unseen by us), read
//! error bodies and events of any size, and take settings from the environment. So each call gets a
//! client of its own (two small allocations) around one shared connection pool. The service of the
//! client does the exchange and knows the outcome. Retries are `openai.rs`'s.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_openai::Client;
use async_openai::config::Config;
use async_openai::middleware::HttpRequestFactory;
use async_openai::traits::RequestOptionsBuilder as _;
use async_openai::types::stream::StreamResponse;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use parking_lot::Mutex;
use reqwest::{Response, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::Instant;

use super::answer::{ANSWER_MAX, Unreadable};
use super::endpoint::{Options, address, base};
use super::guard::{Seen, guarded};
use super::http::{client, root_cause};
use super::provider::Prepared;
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::secret;
use thinkd_words::text::Json;
use thinkd_words::veil::Veil;

pub(super) use trouble::Trouble;
use trouble::refused;

mod echo;
mod refusal;
mod trouble;

/// Idle connections kept: one for each call that may run at the same time.
const IDLE_MAX: usize = 512;

/// The way to one model.
pub(super) struct Wire {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
}

/// The endpoint of the model, for async-openai, which would otherwise look into the environment.
struct Endpoint {
    /// `model … at …`, without anything secret.
    name: String,
    base: String,
    key: SecretString,
    headers: HeaderMap,
    /// Over the key, and the secrets in the address.
    veil: Veil,
}

impl Wire {
    pub fn new(options: &Options) -> Result<Self, Failure> {
        let endpoint = Endpoint::new(options)?;
        let http = client(&endpoint.base)
            .user_agent(concat!("thinkd/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(options.connect_timeout_ms))
            .tcp_nodelay(true)
            .pool_max_idle_per_host(IDLE_MAX)
            .build()
            .map_err(|error| {
                endpoint.failure(format_args!("cannot be asked: {}", root_cause(&error)))
            })?;
        Ok(Self {
            http,
            endpoint: Arc::new(endpoint),
        })
    }

    pub fn name(&self) -> &str {
        &self.endpoint.name
    }

    /// Sends a request: exactly the bytes of `body`. Returns when the answer begins.
    pub async fn send(&self, prepared: &Prepared, body: &Json) -> Result<Events, Trouble> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let exchange = Exchange {
            http: self.http.clone(),
            endpoint: self.endpoint.clone(),
            seen: seen.clone(),
            asked: body.clone(),
        };
        let config: Arc<dyn Config> = self.endpoint.clone();
        let client = Client::build(self.http.clone(), config).with_http_service(exchange);
        let chat = client.chat().headers(headers(prepared)?);
        let endpoint = self.endpoint.clone();
        match chat.create_stream_byot(body).await {
            Ok(source) => Ok(Events {
                source,
                endpoint,
                seen,
            }),
            Err(error) => Err(endpoint.trouble(error, &seen)),
        }
    }

    /// Sends a body as JSON to a path below the endpoint, and reads an answer of at most so many bytes.
    pub async fn post(&self, path: &str, body: Vec<u8>, most: usize) -> Result<Vec<u8>, Trouble> {
        let request = self.http.post(address(&self.endpoint.base, path));
        let request = request.headers(self.endpoint.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let sent = request.send().await;
        let mut response = sent.map_err(|error| self.endpoint.unreachable(&error))?;
        if !response.status().is_success() {
            return Err(refused(&self.endpoint, response, "").await);
        }
        let mut answer = Vec::new();
        loop {
            let chunk = response.chunk().await;
            let Some(chunk) = chunk.map_err(|_| self.broken_off("its end"))? else {
                return Ok(answer);
            };
            if answer.len() + chunk.len() > most {
                return Err(self.too_large(most));
            }
            answer.extend_from_slice(&chunk);
        }
    }

    /// Returns a failure of this model with these words.
    pub fn failure(&self, what: std::fmt::Arguments<'_>) -> Failure {
        self.endpoint.failure(what)
    }

    /// An answer that ended before it was whole.
    pub fn broken_off(&self, before: &str) -> Trouble {
        let text = format_args!("broke its answer off before {before}");
        self.failure(text).retryable().into()
    }

    /// An answer that cannot be read on.
    pub fn unreadable(&self, why: Unreadable, asked: &Json) -> Trouble {
        match why {
            Unreadable::TooLarge => self.too_large(ANSWER_MAX),
            Unreadable::Reported(reported) => {
                let asked = (asked.as_str(), None);
                self.endpoint.refusal(StatusCode::OK, &reported, asked)
            }
        }
    }

    fn too_large(&self, most: usize) -> Trouble {
        let text = format_args!("gave an answer of more than {most} bytes");
        self.failure(text).into()
    }
}

fn headers(prepared: &Prepared) -> Result<HeaderMap, Failure> {
    let header = |text: &str| {
        HeaderValue::from_str(text)
            .map_err(|error| Failure::new(FailureKind::Model, format!("{text:?}: {error}")))
    };
    let thread = header(prepared.thread.as_str())?;
    let module = header(&prepared.module.to_string())?;
    Ok(HeaderMap::from_iter([
        (http::HeaderName::from_static("x-thinkd-thread"), thread),
        (http::HeaderName::from_static("x-thinkd-module"), module),
    ]))
}

/// The events of one answer. Dropping it closes the connection.
pub(super) struct Events {
    source: StreamResponse<Value>,
    endpoint: Arc<Endpoint>,
    seen: Arc<Mutex<Seen>>,
}

impl Events {
    /// The next event; none at the end.
    pub async fn next(&mut self) -> Result<Option<Value>, Trouble> {
        let next = self.source.next().await.transpose();
        next.map_err(|error| self.endpoint.trouble(error, &self.seen))
    }

    /// Returns true if the provider marked the end: a plain answer, or a streamed one with
    /// `[DONE]`.
    pub fn was_ended(&self) -> bool {
        self.seen.lock().done
    }

    /// The time of the last bytes.
    pub fn heard(&self) -> Option<Instant> {
        self.seen.lock().heard
    }

    /// True if the answer is plain, not streamed.
    pub fn is_plain(&self) -> bool {
        self.seen.lock().plain
    }
}

impl Endpoint {
    fn new(options: &Options) -> Result<Self, Failure> {
        let failure = |what: &str| {
            let text = format!("model {}: {what}", options.model);
            Failure::new(FailureKind::Model, text)
        };
        let mut shown = base(&options.base_url)
            .ok_or_else(|| failure("base_url must be an http:// or https:// address"))?;
        // What is shown has no credentials and no query.
        let cleaned = shown.set_username("");
        let cleaned = cleaned.and_then(|()| shown.set_password(None));
        cleaned.map_err(|()| failure("base_url cannot be read"))?;
        shown.set_query(None);
        shown.set_fragment(None);
        let key = options.api_key.clone().unwrap_or_default();
        let mut headers = HeaderMap::new();
        if !key.expose_secret().is_empty() {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()))
                .map_err(|_| failure("api_key has characters that no key has"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let shown = shown.as_str().trim_end_matches('/');
        let secrets = secret::in_url(&options.base_url).into_iter();
        Ok(Self {
            name: format!("model {} at {shown}", options.model),
            base: options.base_url.clone(),
            veil: Veil::new(secrets.chain([key.clone()])),
            key,
            headers,
        })
    }

    fn failure(&self, what: std::fmt::Arguments<'_>) -> Failure {
        Failure::new(FailureKind::Model, format!("{} {what}", self.name))
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        address(&self.base, path)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

/// The service through which async-openai sends a request.
#[derive(Clone)]
struct Exchange {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
    seen: Arc<Mutex<Seen>>,
    /// The body of the request.
    asked: Json,
}

impl tower::Service<HttpRequestFactory> for Exchange {
    type Response = Response;
    type Error = tower::BoxError;
    type Future = BoxFuture<'static, Result<Response, tower::BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequestFactory) -> Self::Future {
        let exchange = self.clone();
        Box::pin(async move {
            let request = request.build().await?;
            let asked = exchange.asked;
            let endpoint = exchange.endpoint;
            let sent = exchange.http.execute(request).await;
            let response = sent.map_err(|error| endpoint.unreachable(&error))?;
            if response.status().is_success() {
                return Ok(guarded(response, exchange.seen));
            }
            Err(refused(&endpoint, response, asked.as_str()).await.into())
        })
    }
}
