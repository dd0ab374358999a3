//! Finds the running server for the commands that talk to it: its address and the secret.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::program::greeting::reachable;
use crate::program::output::complain;
use crate::program::settings::{Settings, environment};
use crate::program::telemetry::escaped;

/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Most items of a page.
const PAGE: &str = "500";
/// After how long a server that is away is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// The server to ask, and the key to ask with.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// The server; THINKD_URL or the configured listen address if not given
    #[arg(long, value_name = "URL", global = true)]
    url: Option<String>,
    /// The key; THINKD_TOKEN or the configured one if not given
    #[arg(long, value_name = "TOKEN", global = true)]
    token: Option<String>,
}

/// A page of a list.
#[derive(Deserialize)]
pub struct Page<T> {
    /// Its items.
    pub items: Vec<T>,
    /// The cursor of the next page.
    pub next: Option<String>,
}

/// A server to talk to.
#[derive(Debug, Clone)]
pub struct Server {
    /// `http://host:port`, without a slash at its end.
    pub base: String,
    /// The secret that opens it.
    pub token: Option<SecretString>,
    /// The name of the asking person, if given.
    pub user: Option<String>,
}

/// The server was there and said no: trying again would not help, unless it stops.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    status: u16,
    why: String,
}

/// No server answered.
#[derive(Debug, thiserror::Error)]
#[error("no thinkd answers at {base} ({why}): start one with `thinkd`, or name another with --url")]
pub struct Unreached {
    base: String,
    why: String,
}

impl Target {
    /// The server that the flags name, or else the configured one.
    pub fn server(&self, settings: &Settings) -> Server {
        let of_key = || settings.keys.iter().find_map(|key| key.key.clone());
        let configured = settings.token.clone().or_else(of_key);
        let of_environment = || environment().remove("THINKD_URL");
        let url = self.url.clone().or_else(of_environment);
        let base = match &url {
            Some(url) => http_base(url),
            None => format!("http://{}", reachable(settings.listen)),
        };
        Server {
            base,
            token: self.token.clone().map(SecretString::from).or(configured),
            user: None,
        }
    }
}

/// `ws://host/ws`, `host:2953/` and the like as `http://host:2953`.
fn http_base(url: &str) -> String {
    let url = match url.split_once("://") {
        Some(("ws", rest)) => format!("http://{rest}"),
        Some(("wss", rest)) => format!("https://{rest}"),
        Some(_) => url.to_owned(),
        None => format!("http://{url}"),
    };
    let url = url.trim_end_matches('/');
    url.strip_suffix("/ws").unwrap_or(url).to_owned()
}

impl Server {
    /// The same, asked by this person, or by whom THINKD_USER names.
    pub fn named(self, user: Option<String>) -> anyhow::Result<Self> {
        let user = user.or_else(|| environment().remove("THINKD_USER"));
        // It stands before the secret, in a line of its own.
        let is_strange = |c: char| c == ':' || c.is_control();
        if let Some(user) = user.as_deref().filter(|user| user.contains(is_strange)) {
            bail!(
                "--user: {:?} cannot be a name: it has a colon, or what cannot be printed",
                escaped(user)
            );
        }
        Ok(Self { user, ..self })
    }

    /// The address of the socket.
    pub fn socket(&self) -> String {
        format!("{}/ws", self.base.replacen("http", "ws", 1))
    }

    /// `Bearer …` or `NAME:…`, if there is a secret or a name.
    pub fn authorization(&self) -> Option<String> {
        let token = self.token.as_ref().map(|token| token.expose_secret());
        match &self.user {
            Some(user) => Some(format!("{user}:{}", token.unwrap_or("none"))),
            None => token.map(|token| format!("Bearer {token}")),
        }
    }

    /// A request for a path of it.
    pub fn get(&self, client: &reqwest::Client, path: &str) -> reqwest::RequestBuilder {
        self.authorized(client.get(format!("{}{path}", self.base)))
    }

    fn authorized(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match self.authorization() {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    }

    /// Posts a body and returns the server's answer as JSON; null if it is empty.
    pub async fn post(
        &self,
        client: &reqwest::Client,
        path: &str,
        body: &Value,
    ) -> anyhow::Result<Value> {
        let request = self.authorized(client.post(format!("{}{path}", self.base)));
        let request = request.json(body).timeout(ANSWER);
        let bytes = self.answered(request).await?.bytes().await;
        let bytes = bytes.map_err(|error| self.unreached(&error))?;
        match bytes.is_empty() {
            true => Ok(Value::Null),
            false => Ok(serde_json::from_slice(&bytes)?),
        }
    }

    /// Returns the server's answer to a question, as JSON.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        client: &reqwest::Client,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        let request = self.get(client, path).query(query).timeout(ANSWER);
        let answer = self.answered(request).await?.bytes().await;
        let answer = answer.map_err(|error| self.unreached(&error))?;
        let base = &self.base;
        let strange = || format!("{base} answers what this program does not understand");
        serde_json::from_slice(&answer).with_context(strange)
    }

    /// Fails if the server has no such thread.
    pub async fn check_thread(&self, client: &reqwest::Client, thread: &str) -> anyhow::Result<()> {
        let path = format!("/threads/{thread}");
        self.ask::<Value>(client, &path, &[]).await.map(|_| ())
    }

    /// All items of a list.
    pub async fn all(
        &self,
        client: &reqwest::Client,
        path: &str,
        wanted: &[(&str, String)],
    ) -> anyhow::Result<Vec<Value>> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let mut query = vec![("limit", PAGE.to_owned())];
            query.extend_from_slice(wanted);
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page: Page<Value> = self.ask(client, path, &query).await?;
            all.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(all);
            }
        }
    }

    /// The answer to a request, unless it is a refusal, or there is none.
    pub async fn answered(
        &self,
        request: reqwest::RequestBuilder,
    ) -> anyhow::Result<reqwest::Response> {
        let answer = request.send().await;
        let answer = answer.map_err(|error| self.unreached(&error))?;
        self.accepted(answer).await
    }

    /// Says that the server is away, and waits a moment, so that it can be asked again. Fails with any other error.
    pub async fn wait_until_back(&self, error: anyhow::Error) -> anyhow::Result<()> {
        let refused = error.downcast_ref::<Refused>();
        let is_draining = refused.is_some_and(|refused| refused.status == 503);
        if !is_draining && !error.is::<Unreached>() {
            return Err(error);
        }
        complain(&format!("{error:#}; trying again"));
        tokio::time::sleep(AGAIN).await;
        Ok(())
    }

    /// The answer, unless it is a refusal: then its problem as an error.
    pub async fn accepted(&self, answer: reqwest::Response) -> anyhow::Result<reqwest::Response> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let body = answer.bytes().await.unwrap_or_default();
        let problem: Value = serde_json::from_slice(&body).unwrap_or_default();
        let words = ["title", "detail"].map(|name| problem[name].as_str().unwrap_or_default());
        let words = Vec::from_iter(words.into_iter().filter(|word| !word.is_empty()));
        Err(self.refused(status.as_u16(), &words.join(": ")).into())
    }

    /// Returns the words for a person whom it refuses, with this status or code.
    pub fn refused(&self, status: u16, said: &str) -> Refused {
        let base = &self.base;
        let why = match (status, &self.token) {
            (401 | 4401, Some(_)) => format!(
                "the token is wrong: {base} refused it ({status}). Give the right one with --token, or in THINKD_TOKEN"
            ),
            (401 | 4401, None) => {
                format!("{base} wants a token ({status}): give it with --token, or in THINKD_TOKEN")
            }
            _ => format!("{base} refused ({status}): {}", escaped(said)),
        };
        Refused { status, why }
    }

    /// Returns the words for an unreachable server: of an error the cause beneath all others.
    pub fn unreached(&self, error: &(dyn Error + 'static)) -> Unreached {
        let mut cause = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let why = cause.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        self.unanswered(&escaped(why))
    }

    /// The same, where there is no error that says why.
    pub fn unanswered(&self, why: &str) -> Unreached {
        Unreached {
            base: self.base.clone(),
            why: why.to_owned(),
        }
    }
}

/// Asks the configured server whether it is ready; fails if it is not. Plain TCP: it must work in the barest container.
pub async fn healthcheck(settings: &Settings) -> anyhow::Result<()> {
    let address = reachable(settings.listen);
    let asked = tokio::time::timeout(Duration::from_secs(5), status_line(address)).await;
    let status = asked.with_context(|| format!("{address} did not answer within 5 s"))??;
    if !status.starts_with("HTTP/1.1 200") {
        bail!("{address} is not ready: {status}");
    }
    Ok(())
}

async fn status_line(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("nothing listens on {address}"))?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(1024).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    Ok(answer.lines().next().unwrap_or("no answer").to_owned())
}
