//! A model's server, asked for facts that no turn needs: its models, its time, an embedding.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use reqwest::header::DATE;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::{base_url_remedy, key_remedy, short};
use crate::program::command::doctor::clock::Clock;
use thinkd_model::endpoint::{Options, address};
use thinkd_words::secret::{in_url, shown_url};
use thinkd_words::time::Timestamp;
use thinkd_words::veil::Veil;

/// Longest wait for an answer beside the calls.
const BESIDE: Duration = Duration::from_secs(5);
/// By how many seconds a server's clock may differ: it may be anywhere.
const CLOCK: i64 = 60;

/// A server and the client that asks it.
pub struct Endpoint<'a> {
    options: &'a Options,
    http: reqwest::Client,
}

impl<'a> Endpoint<'a> {
    pub fn of(options: &'a Options) -> anyhow::Result<Self> {
        let limit = Duration::from_millis(options.connect_timeout_ms);
        let redirect = reqwest::redirect::Policy::none();
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect)
            .connect_timeout(limit)
            .build()?;
        Ok(Self { options, http })
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self
            .http
            .request(method, address(&self.options.base_url, path));
        match &self.options.api_key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        }
    }

    async fn list(&self) -> Option<reqwest::Response> {
        self.request(reqwest::Method::GET, "/models")
            .timeout(BESIDE)
            .send()
            .await
            .ok()
    }

    /// The time that a connection to it takes, with the look-up of its name and without the handshake of TLS.
    pub async fn connects(&self) -> Option<Duration> {
        let url = reqwest::Url::parse(&self.options.base_url).ok()?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        let place = (host, url.port_or_known_default()?);
        let begin = Instant::now();
        let connected = tokio::time::timeout(BESIDE, TcpStream::connect(place)).await;
        connected.ok()?.ok().map(|_| begin.elapsed())
    }

    /// The models it says that it has.
    pub async fn models(&self) -> Vec<String> {
        let Some(list) = self.list().await else {
            return Vec::new();
        };
        let list: Value = list.json().await.unwrap_or_default();
        let models = list["data"].as_array().into_iter().flatten();
        let id = |model: &Value| Some(model["id"].as_str()?.to_owned());
        models.filter_map(id).collect()
    }

    /// Its clock, if it says.
    pub async fn clock(&self) -> Option<Clock> {
        let answer = self.list().await?;
        let said = Timestamp::parse_http(answer.headers().get(DATE)?.to_str().ok()?)?;
        Some(Clock::running("the model server's", said, CLOCK))
    }

    /// Asks for one embedding.
    pub async fn embeds(&self) -> anyhow::Result<String> {
        let Options {
            model,
            base_url,
            api_key,
            ..
        } = self.options;
        let name = format!("model {model} at {}", shown_url(base_url));
        let request = self
            .request(reqwest::Method::POST, "/embeddings")
            .json(&json!({ "model": model, "input": "hello" }));
        // Its own words have the whole address, and what that hides.
        let unreached = |_| anyhow!("{name} could not be reached. {}", base_url_remedy());
        let answer = request.send().await.map_err(unreached)?;
        let status = answer.status();
        let body = answer.bytes().await;
        let body = body.map_err(|_| anyhow!("{name} broke its answer off"))?;
        if !status.is_success() {
            let veil = Veil::new(in_url(base_url).into_iter().chain(api_key.clone()));
            let said = short(&veil.over(&String::from_utf8_lossy(&body)));
            let remedy = match status.as_u16() {
                401 | 403 => key_remedy(api_key.is_some()),
                _ => "Does this endpoint have embeddings, and this model?".to_owned(),
            };
            bail!("{name} answered {status}: {said}. {remedy}");
        }
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let vector = answer.pointer("/data/0/embedding");
        match vector.and_then(Value::as_array).map(Vec::len) {
            Some(size) if size > 0 => Ok(format!("{name} makes vectors of {size} numbers")),
            _ => bail!("{name} answered without a vector: is it a model for embeddings?"),
        }
    }
}
