//! The backend `grpc`: asks a server for instances and is their proxy here. A client has a session; its instances are its own.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::hash::BuildHasher;
use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::Deserialize;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use crate::replica::backend::{Backend, Eventually, Instance, Spec};
use crate::replica::data::Data;
use crate::replica::error::ReplicaError;
use crate::replica::wire::{
    Ask, MESSAGE_BYTES_MAX, PATH, Packed, Reply, packed, too_large, unpacked,
};
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
    /// Token that the server wants.
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
    /// No call or answer is larger.
    #[serde(default = "message_bytes_max")]
    message_bytes_max: usize,
}

fn connect_ms() -> u64 {
    5_000
}

fn call_ms() -> u64 {
    60_000
}

fn message_bytes_max() -> usize {
    MESSAGE_BYTES_MAX
}

/// Makes the backend from its options. Nothing is connected before it is used.
pub(crate) fn backend(options: &serde_json::Value) -> Result<Arc<dyn Backend>, ReplicaError> {
    let options = Options::deserialize(options).map_err(refused)?;
    Ok(Arc::new(Grpc(Arc::new(Link::new(options)?))))
}

fn refused(error: impl std::fmt::Display) -> ReplicaError {
    ReplicaError::Options {
        backend: "grpc".to_owned(),
        text: error.to_string(),
    }
}

struct Grpc(Arc<Link>);

/// The way to one server, and the deployments there.
struct Link {
    endpoint: Endpoint,
    address: String,
    token: Option<MetadataValue<Ascii>>,
    limit: Duration,
    message_bytes_max: usize,
    session: String,
    /// Made at the first use, and anew after it broke: it lives on the runtime that was current then.
    channel: Mutex<Option<Channel>>,
    /// Deployments wanted, made again on a server that comes back without them.
    deployed: Mutex<HashMap<&'static str, Fleet>>,
    /// The number of the next instance; none is given twice, so that a holder of one that is gone
    /// does not find another in its place. The lock is held while the server is told of a change:
    /// two such messages must not overtake each other.
    next: tokio::sync::Mutex<u64>,
}

/// The instances of one replica.
struct Fleet {
    arguments: Data,
    /// All that callers here may still call: the pool's, and those it gave up while a caller held
    /// them.
    alive: BTreeSet<u64>,
    /// Number that the server was told.
    told: usize,
    /// True if a task that will tell it runs already.
    telling: bool,
}

impl Fleet {
    fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges = Vec::<Range<u64>>::new();
        for id in &self.alive {
            match ranges.last_mut() {
                Some(last) if last.end == *id => last.end += 1,
                _ => ranges.push(*id..*id + 1),
            }
        }
        ranges
    }
}

impl Link {
    fn new(options: Options) -> Result<Self, ReplicaError> {
        let token = options
            .token
            .map(|token| MetadataValue::try_from(format!("Bearer {token}")))
            .transpose();
        let mut token =
            token.map_err(|_| refused("the token has characters that a header cannot have"))?;
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
                let pem =
                    std::fs::read(&file).map_err(|error| refused(format!("{file}: {error}")))?;
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
            message_bytes_max: options.message_bytes_max,
            session: fresh_session(),
            channel: Mutex::new(None),
            deployed: Mutex::new(HashMap::new()),
            next: tokio::sync::Mutex::new(0),
        })
    }

    /// Asks, on behalf of this method.
    async fn ask(&self, ask: &Ask, of: (&str, &str)) -> Result<Data, ReplicaError> {
        self.send(packed(ask, "call", of, self.message_bytes_max)?, of)
            .await
    }

    async fn send(&self, message: Bytes, of: (&str, &str)) -> Result<Data, ReplicaError> {
        let channel = self.channel.with(|channel| {
            channel
                .get_or_insert_with(|| self.endpoint.connect_lazy())
                .clone()
        });
        let mut request = Request::new(message);
        request.set_timeout(self.limit);
        if let Some(token) = &self.token {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        let mut grpc = tonic::client::Grpc::new(channel)
            .max_decoding_message_size(self.message_bytes_max)
            .max_encoding_message_size(self.message_bytes_max);
        let exchange = async {
            grpc.ready()
                .await
                .map_err(|error| Status::unavailable(error.to_string()))?;
            let answer = grpc
                .unary(request, PathAndQuery::from_static(PATH), Packed)
                .await?;
            unpacked::<Reply>(answer.get_ref())
        };
        match tokio::time::timeout(self.limit, exchange).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(status)) => Err(self.broken(status, of)),
            Err(_) => Err(self.timed_out()),
        }
    }

    fn broken(&self, status: Status, (replica, method): (&str, &str)) -> ReplicaError {
        let address = self.address.clone();
        match status.code() {
            Code::Unauthenticated => ReplicaError::Refused(address),
            Code::Cancelled | Code::DeadlineExceeded => self.timed_out(),
            // What gRPC has for a message above the limit: the server's for a call, ours for an answer.
            Code::OutOfRange => {
                let text = format!("{} (see `message_bytes_max`)", status.message());
                too_large(replica, method, text)
            }
            _ => {
                // Whatever became of the connection: the next call has a new one.
                self.channel.with(|channel| *channel = None);
                ReplicaError::Unreachable {
                    address,
                    text: whole(&status),
                }
            }
        }
    }

    fn timed_out(&self) -> ReplicaError {
        ReplicaError::TimedOut {
            address: self.address.clone(),
            limit_ms: self.limit.as_millis() as u64,
        }
    }

    /// Has the server hold exactly these instances. The caller must hold `next`.
    async fn have(
        &self,
        spec: &Spec,
        arguments: Data,
        instances: Vec<Range<u64>>,
    ) -> Result<(), ReplicaError> {
        let ask = Ask::Scale {
            session: self.session.clone(),
            replica: spec.name.to_owned(),
            arguments,
            instances,
        };
        self.ask(&ask, (spec.name, "new")).await.map(drop)
    }

    /// Deploys again the instances that the server no longer has: it was restarted, or has not
    /// heard of us for too long. An instance that was shut down is not deployed again.
    async fn restore(&self, spec: &Spec, instance: u64) -> Result<(), ReplicaError> {
        let _one_at_a_time = self.next.lock().await;
        let there = self
            .deployed
            .with(|deployed| match deployed.get(spec.name) {
                Some(fleet) if fleet.alive.contains(&instance) => {
                    Some((fleet.arguments.clone(), fleet.ranges()))
                }
                _ => None,
            });
        match there {
            // A second one in a row finds them there, and changes nothing.
            Some((arguments, instances)) => self.have(spec, arguments, instances).await,
            None => Err(ReplicaError::NotDeployed(spec.name.to_owned())),
        }
    }

    /// The last holder here has let go of this instance. The server is told soon, of all that were
    /// let go by then.
    fn let_go(self: &Arc<Self>, spec: &'static Spec, instance: u64) {
        let runtime = tokio::runtime::Handle::try_current();
        let tell = self.deployed.with(|deployed| {
            let Some(fleet) = deployed.get_mut(spec.name) else {
                return false;
            };
            // Whoever lets go of all of them shuts them down, which is another message.
            fleet.alive.remove(&instance)
                && !fleet.alive.is_empty()
                && runtime.is_ok()
                && !std::mem::replace(&mut fleet.telling, true)
        });
        if let (true, Ok(runtime)) = (tell, runtime) {
            let link = self.clone();
            runtime.spawn(async move { link.tell(spec).await });
        }
    }

    async fn tell(&self, spec: &Spec) {
        let _one_at_a_time = self.next.lock().await;
        let news = self.deployed.with(|deployed| {
            let fleet = deployed.get_mut(spec.name)?;
            fleet.telling = false;
            let changed = !fleet.alive.is_empty() && fleet.alive.len() != fleet.told;
            changed.then(|| (fleet.arguments.clone(), fleet.ranges(), fleet.alive.len()))
        });
        let Some((arguments, instances, n)) = news else {
            return;
        };
        match self.have(spec, arguments, instances).await {
            Ok(()) => self.deployed.with(|deployed| {
                if let Some(fleet) = deployed.get_mut(spec.name) {
                    fleet.told = n;
                }
            }),
            // The next change tells it, too; and a server that is gone has none of them.
            Err(error) => {
                tracing::debug!(%error, "instances that were scaled away are still there")
            }
        }
    }
}

/// A status's text is often only half of it.
fn whole(status: &Status) -> String {
    let sources = successors(status.source(), |&error| error.source());
    sources.fold(status.message().to_owned(), |text, error| {
        format!("{text}: {error}")
    })
}

/// Returns a unique name. The standard library's hasher is seeded by the system; this needs no
/// more.
fn fresh_session() -> String {
    let part = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", part(), part())
}

#[async_trait]
impl Backend for Grpc {
    async fn scale(
        &self,
        spec: &'static Spec,
        arguments: &Data,
        mut existing: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
        let Link { deployed, next, .. } = &*self.0;
        let mut next = next.lock().await;
        existing.truncate(n); // those that nobody holds are let go of here, and so are not in the list that follows
        let new = *next..next.saturating_add((n - existing.len()) as u64);
        let alive =
            deployed.with(|deployed| deployed.get(spec.name).map_or(Vec::new(), Fleet::ranges));
        let instances = alive
            .into_iter()
            .chain((!new.is_empty()).then(|| new.clone()))
            .collect::<Vec<_>>();
        // Counted before it is sent: what is let go of during the exchange is still there, and the server is yet to be told.
        let told = instances
            .iter()
            .map(|range| (range.end - range.start) as usize)
            .sum();
        self.0.have(spec, arguments.clone(), instances).await?;
        *next = new.end;
        deployed.with(|deployed| {
            let none = || Fleet {
                arguments: arguments.clone(),
                alive: BTreeSet::new(),
                told: 0,
                telling: false,
            };
            let fleet = deployed.entry(spec.name).or_insert_with(none);
            fleet.arguments = arguments.clone();
            fleet.alive.extend(new.clone());
            (fleet.told, fleet.telling) = (told, false);
        });
        let remote = |instance| -> Arc<dyn Instance> {
            Arc::new(Remote {
                link: self.0.clone(),
                spec,
                instance,
            })
        };
        Ok(existing.into_iter().chain(new.map(remote)).collect())
    }

    async fn shutdown(&self, spec: &'static Spec) -> Result<(), ReplicaError> {
        let _one_at_a_time = self.0.next.lock().await;
        self.0.deployed.with(|deployed| deployed.remove(spec.name));
        let session = self.0.session.clone();
        let replica = spec.name.to_owned();
        self.0
            .ask(&Ask::Shutdown { session, replica }, (spec.name, "shutdown"))
            .await
            .map(drop)
    }
}

/// Stands in for an instance over there.
struct Remote {
    link: Arc<Link>,
    spec: &'static Spec,
    instance: u64,
}

impl Instance for Remote {
    fn call(self: Arc<Self>, method: String, arguments: Data) -> Eventually<Data> {
        Box::pin(async move {
            let link = &self.link;
            let spec = self.spec;
            let ask = Ask::Call {
                session: link.session.clone(),
                replica: spec.name.to_owned(),
                instance: self.instance,
                method: method.clone(),
                arguments,
            };
            let of = (spec.name, method.as_str());
            let message = packed(&ask, "call", of, link.message_bytes_max)?;
            match link.send(message.clone(), of).await {
                // It was not run: it may be asked again.
                Err(ReplicaError::NotDeployed(_)) => {
                    link.restore(spec, self.instance).await?;
                    link.send(message, of).await
                }
                answer => answer,
            }
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.link.let_go(self.spec, self.instance);
    }
}
