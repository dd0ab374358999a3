//! The backend `grpc`: asks a server for instances and stands in for them here.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::value::RawValue;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use crate::grpc::wire::{Ask, Json, MESSAGE_BYTES_MAX, PATH, Reply};
use crate::replica::backend::{Backend, Data, Eventually, Instance};
use crate::replica::error::ReplicaError;
use crate::replica::pool::Spec;
use crate::sync::Mutex;

/// A server that says nothing for this long, though asked, is gone.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEP_ALIVE_WAIT: Duration = Duration::from_secs(5);

/// The options of the backend.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// `http://` or `https://`, with a port.
    url: String,
    /// What the server wants to see.
    token: Option<String>,
    /// The authority of the server's certificate, a file in PEM.
    ca_file: Option<String>,
    /// The name in the server's certificate, if it is not the one in `url`.
    domain: Option<String>,
    #[serde(default = "connect_ms")]
    connect_ms: u64,
    /// For one call, and for building all instances of one replica.
    #[serde(default = "call_ms")]
    call_ms: u64,
}

fn connect_ms() -> u64 {
    5_000
}

fn call_ms() -> u64 {
    60_000
}

/// Makes the backend from its options. Nothing is connected before it is used.
pub(crate) fn backend(options: &serde_json::Value) -> Result<Arc<dyn Backend>, ReplicaError> {
    let options = Options::deserialize(options).map_err(refused)?;
    Ok(Arc::new(Grpc(Arc::new(Link::new(options)?))))
}

fn refused(error: impl std::fmt::Display) -> ReplicaError {
    ReplicaError::Options { backend: "grpc".to_owned(), text: error.to_string() }
}

struct Grpc(Arc<Link>);

/// The way to one server, and what was deployed there.
struct Link {
    endpoint: Endpoint,
    address: String,
    token: Option<MetadataValue<Ascii>>,
    limit: Duration,
    session: String,
    /// Made at the first use, and anew after it broke: it lives on the runtime that was current then.
    channel: Mutex<Option<Channel>>,
    /// What there should be, for a server that comes back without it.
    deployed: Mutex<HashMap<&'static str, (usize, Data)>>,
    /// One at a time restores it.
    restoring: tokio::sync::Mutex<()>,
}

impl Link {
    fn new(options: Options) -> Result<Self, ReplicaError> {
        let token = options.token.map(|token| MetadataValue::try_from(format!("Bearer {token}"))).transpose();
        let mut token = token.map_err(|_| refused("the token has characters that a header cannot have"))?;
        token.iter_mut().for_each(|token| token.set_sensitive(true));
        let mut endpoint = Endpoint::from_shared(options.url.clone())
            .map_err(refused)?
            .connect_timeout(Duration::from_millis(options.connect_ms))
            .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
            .keep_alive_timeout(KEEP_ALIVE_WAIT)
            .keep_alive_while_idle(true);
        if options.url.starts_with("https:") || options.ca_file.is_some() {
            let mut tls = ClientTlsConfig::new();
            if let Some(file) = options.ca_file {
                let pem = std::fs::read(&file).map_err(|error| refused(format!("{file}: {error}")))?;
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            if let Some(domain) = options.domain {
                tls = tls.domain_name(domain);
            }
            endpoint = endpoint.tls_config(tls).map_err(refused)?;
        }
        Ok(Link {
            endpoint,
            address: options.url,
            token,
            limit: Duration::from_millis(options.call_ms),
            session: fresh_session(),
            channel: Mutex::new(None),
            deployed: Mutex::new(HashMap::new()),
            restoring: tokio::sync::Mutex::new(()),
        })
    }

    async fn ask(&self, ask: Ask) -> Result<Data, ReplicaError> {
        let channel = self.channel.with(|channel| channel.get_or_insert_with(|| self.endpoint.connect_lazy()).clone());
        let mut request = Request::new(ask);
        request.set_timeout(self.limit);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.clone());
        }
        let mut grpc = tonic::client::Grpc::new(channel)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let exchange = async {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            grpc.unary(request, PathAndQuery::from_static(PATH), Json::<Ask, Reply>::new()).await
        };
        match tokio::time::timeout(self.limit, exchange).await {
            Ok(Ok(reply)) => reply.into_inner(),
            Ok(Err(status)) => Err(self.broken(status)),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn broken(&self, status: Status) -> ReplicaError {
        let address = self.address.clone();
        match status.code() {
            Code::Unauthenticated => ReplicaError::Refused(address),
            Code::Cancelled | Code::DeadlineExceeded => self.timed_out(),
            _ => {
                // Whatever became of the connection: the next call has a new one.
                self.channel.with(|channel| *channel = None);
                ReplicaError::Unreachable { address, text: whole(&status) }
            }
        }
    }

    fn timed_out(&self) -> ReplicaError {
        ReplicaError::TimedOut { address: self.address.clone(), limit_ms: self.limit.as_millis() as u64 }
    }

    async fn scale(&self, replica: &str, arguments: Data, n: usize) -> Result<(), ReplicaError> {
        let (session, replica) = (self.session.clone(), replica.to_owned());
        self.ask(Ask::Scale { session, replica, arguments, n }).await.map(drop)
    }

    async fn call(&self, at: &Remote, method: String, arguments: Data) -> Result<Data, ReplicaError> {
        let (session, replica) = (self.session.clone(), at.spec.name.to_owned());
        self.ask(Ask::Call { session, replica, instance: at.instance, method, arguments }).await
    }

    /// Deploys again what the server no longer has: it was restarted, or has not heard of us for too long.
    async fn restore(&self, spec: &Spec) -> Result<(), ReplicaError> {
        let _restoring = self.restoring.lock().await;
        match self.deployed.with(|deployed| deployed.get(spec.name).cloned()) {
            // A second one in a row finds them there, and changes nothing.
            Some((n, arguments)) => self.scale(spec.name, arguments, n).await,
            None => Err(ReplicaError::NotDeployed(spec.name.to_owned())),
        }
    }
}

/// A status's text is often only half of it.
fn whole(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// Nobody else's name. The standard library's hasher is seeded by the system; this needs no more.
fn fresh_session() -> String {
    let part = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", part(), part())
}

#[async_trait]
impl Backend for Grpc {
    async fn scale(
        &self,
        spec: &'static Spec,
        arguments: &RawValue,
        _: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
        self.0.scale(spec.name, arguments.to_owned(), n).await?;
        self.0.deployed.with(|deployed| deployed.insert(spec.name, (n, arguments.to_owned())));
        let remote = |instance| -> Arc<dyn Instance> { Arc::new(Remote { link: self.0.clone(), spec, instance }) };
        Ok((0..n).map(remote).collect())
    }

    async fn shutdown(&self, spec: &'static Spec) -> Result<(), ReplicaError> {
        self.0.deployed.with(|deployed| deployed.remove(spec.name));
        let (session, replica) = (self.0.session.clone(), spec.name.to_owned());
        self.0.ask(Ask::Shutdown { session, replica }).await.map(drop)
    }
}

/// Stands in for an instance over there.
struct Remote {
    link: Arc<Link>,
    spec: &'static Spec,
    instance: usize,
}

impl Instance for Remote {
    fn call(self: Arc<Self>, method: String, arguments: Data) -> Eventually<Data> {
        Box::pin(async move {
            match self.link.call(&self, method.clone(), arguments.clone()).await {
                // It was not run: it may be asked again.
                Err(ReplicaError::NotDeployed(_)) => {
                    self.link.restore(self.spec).await?;
                    self.link.call(&self, method, arguments).await
                }
                answer => answer,
            }
        })
    }
}
