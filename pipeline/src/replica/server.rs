//! The server of the backend `grpc`: it holds instances for its clients, separate for each client.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::{BoxFuture, Either, select};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::UnaryService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

use crate::replica::backend::{Backend, Instance, Local, Spec, answer, guarded};
use crate::replica::data::Data;
use crate::replica::error::ReplicaError;
use crate::replica::manager::Manager;
use crate::replica::wire::{Ask, MESSAGE_BYTES_MAX, PATH, Packed, Reply, packed, unpacked};
use crate::sync::Mutex;

/// Time for running calls to finish after the server was told to stop.
const GRACE: Duration = Duration::from_secs(5);
/// Characters of a token, at least, where others than this machine can try some.
const TOKEN_MIN: usize = 16;
const SWEEP_EVERY: Duration = Duration::from_secs(10);

/// A server for the replicas of this program: those of a manager, built here, for clients that
/// configure the backend `grpc`.
///
/// ```no_run
/// use unhurried::{Manager, ReplicaServer};
///
/// # struct Tooling;
/// #[unhurried::replica]
/// impl Tooling {
///     pub fn new() -> Self {
///         Tooling
///     }
/// }
///
/// #[tokio::main]
/// async fn main() -> std::io::Result<()> {
///     let server = ReplicaServer::of(Manager::standard()).bind("127.0.0.1:7433").await?;
///     server.serve(std::future::pending()).await
/// }
/// ```
pub struct ReplicaServer {
    manager: &'static Manager,
    token: Option<String>,
    identity: Option<Identity>,
    instances_max: usize,
    message_bytes_max: usize,
    silent_for: Duration,
}

impl ReplicaServer {
    /// Offers the replicas registered with this manager.
    pub fn of(manager: &'static Manager) -> Self {
        ReplicaServer {
            manager,
            token: None,
            identity: None,
            instances_max: 1000,
            message_bytes_max: MESSAGE_BYTES_MAX,
            silent_for: Duration::from_secs(3600),
        }
    }

    /// Serves only clients with this token. Needed to listen beyond this machine, with sixteen
    /// characters at least.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Speaks TLS with this certificate and key, both PEM.
    pub fn tls(mut self, certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        self.identity = Some(Identity::from_pem(certificate, key));
        self
    }

    /// Holds at most this many instances, of all clients together; 1,000 if not said.
    pub fn instances_max(mut self, limit: usize) -> Self {
        self.instances_max = limit;
        self
    }

    /// Reads no call and writes no answer of more bytes than this; 64 MiB if not said. Clients have the same option.
    pub fn message_bytes_max(mut self, limit: usize) -> Self {
        self.message_bytes_max = limit;
        self
    }

    /// Ends the instances of a client that has not been heard of for this long; an hour if not said. A client that comes
    /// back after it gets new ones.
    pub fn silent_for(mut self, limit: Duration) -> Self {
        self.silent_for = limit;
        self
    }

    /// Listens, on loopback or with a token that cannot be guessed.
    pub async fn bind(self, address: &str) -> io::Result<BoundServer> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let length = self.token.as_ref().map_or(0, |token| token.chars().count());
        if !address.ip().is_loopback() && length < TOKEN_MIN {
            let text = format!(
                "{address} can be reached by others: set a token of {TOKEN_MIN} characters at least, or listen on 127.0.0.1"
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        Ok(BoundServer {
            server: self,
            listener,
            address,
        })
    }
}

/// A server that listens already.
pub struct BoundServer {
    server: ReplicaServer,
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundServer {
    /// Address that it listens on, with the chosen port if none was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`; then finishes running calls, within five seconds. Every instance ends
    /// with it.
    pub async fn serve(mut self, stop: impl Future<Output = ()> + Send) -> io::Result<()> {
        let mut builder = Server::builder().http2_keepalive_interval(Some(SWEEP_EVERY));
        if let Some(identity) = self.server.identity.take() {
            builder = builder
                .tls_config(ServerTlsConfig::new().identity(identity))
                .map_err(io::Error::other)?;
        }
        let places = self.server.instances_max.min(Semaphore::MAX_PERMITS);
        let desk = Arc::new(Desk {
            server: self.server,
            places: Arc::new(Semaphore::new(places)),
            sessions: Mutex::default(),
        });
        let incoming = TcpIncoming::from(self.listener).with_nodelay(Some(true));
        let (stopping, stopped) = oneshot::channel();
        let stop = async {
            stop.await;
            let _ = stopping.send(()); // nobody there: it is over already
        };
        let serving = std::pin::pin!(builder.serve_with_incoming_shutdown(
            Front(desk.clone()),
            incoming,
            stop
        ));
        let limit = std::pin::pin!(async {
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(GRACE).await;
        });
        let sweeping = std::pin::pin!(desk.sweep());
        match select(serving, select(limit, sweeping)).await {
            Either::Left((served, _)) => served.map_err(io::Error::other),
            Either::Right(_) => Ok(()),
        }
    }
}

/// State of the server.
struct Desk {
    server: ReplicaServer,
    /// Number of instances that may still be made.
    places: Arc<Semaphore>,
    sessions: Mutex<HashMap<String, Session>>,
}

struct Session {
    heard: Instant,
    instances: HashMap<&'static str, BTreeMap<u64, Held>>,
}

/// An instance, and the place it takes: before it is built, and until it ends, or never is.
struct Held {
    instance: Arc<dyn Instance>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Desk {
    async fn answer(&self, ask: Ask) -> Reply {
        match ask {
            Ask::Scale {
                session,
                replica,
                arguments,
                instances,
            } => self.scale(session, &replica, arguments, instances).await,
            Ask::Call {
                session,
                replica,
                instance,
                method,
                arguments,
            } => {
                let instance = self.instance(&session, &replica, instance);
                call(
                    instance.ok_or_else(|| ReplicaError::NotDeployed(replica.clone()))?,
                    &replica,
                    method,
                    arguments,
                )
                .await
            }
            Ask::Shutdown { session, replica } => {
                self.end(&session, &replica);
                nothing()
            }
        }
    }

    async fn scale(
        &self,
        session: String,
        replica: &str,
        arguments: Data,
        wanted: Vec<Range<u64>>,
    ) -> Reply {
        let spec = self.server.manager.find(replica)?.spec();
        let too_many = |n| ReplicaError::TooMany {
            replica: replica.to_owned(),
            n,
            limit: self.server.instances_max,
        };
        let n = count(&wanted).ok_or(too_many(usize::MAX))?;
        if n == 0 {
            return Err(ReplicaError::NoInstances(replica.to_owned()));
        }
        if n > self.server.instances_max {
            return Err(too_many(n));
        }
        let wanted = wanted.into_iter().flatten().collect::<BTreeSet<_>>(); // not before it is known to be short
        let missing = self.missing(&session, spec, &wanted);
        // All of these places at once, or none.
        let places = u32::try_from(missing.len()).ok();
        let places = places.and_then(|n| self.places.clone().try_acquire_many_owned(n).ok());
        let mut places = places.ok_or(too_many(n))?;
        let built = Local
            .scale(spec, &arguments, Vec::new(), missing.len())
            .await?;
        let built = built.into_iter().map(|instance| Held {
            instance,
            _place: places.split(1),
        });
        let over = self.sessions.with(|sessions| {
            let heard = Instant::now();
            let new = || Session {
                heard,
                instances: HashMap::new(),
            };
            let session = sessions.entry(session).or_insert_with(new);
            session.heard = heard;
            let held = session.instances.entry(spec.name).or_default();
            let (kept, ended): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(held)
                .into_iter()
                .partition(|(id, _)| wanted.contains(id));
            *held = kept;
            // The same may have been asked twice, after a time-out: who was first is called already, and stays.
            let late = missing.into_iter().zip(built).filter_map(|(id, new)| {
                match held.contains_key(&id) {
                    true => Some(new),
                    false => held.insert(id, new),
                }
            });
            late.chain(ended.into_values()).collect::<Vec<_>>()
        });
        drop(over); // not under the lock: their cleanup is not ours
        nothing()
    }

    fn missing(&self, session: &str, spec: &Spec, wanted: &BTreeSet<u64>) -> Vec<u64> {
        self.sessions.with(|sessions| {
            let held = sessions
                .get(session)
                .and_then(|session| session.instances.get(spec.name));
            wanted
                .iter()
                .copied()
                .filter(|id| held.is_none_or(|held| !held.contains_key(id)))
                .collect()
        })
    }

    fn instance(&self, session: &str, replica: &str, instance: u64) -> Option<Arc<dyn Instance>> {
        self.sessions.with(|sessions| {
            let session = sessions.get_mut(session)?;
            session.heard = Instant::now();
            session
                .instances
                .get(replica)?
                .get(&instance)
                .map(|held| held.instance.clone())
        })
    }

    fn end(&self, session: &str, replica: &str) {
        let ended = self.sessions.with(|sessions| {
            let of = sessions.get_mut(session)?;
            let ended = of.instances.remove(replica);
            if of.instances.is_empty() {
                sessions.remove(session);
            }
            ended
        });
        drop(ended); // not under the lock: their cleanup is not ours
    }

    /// Ends the instances of clients that are gone.
    async fn sweep(&self) {
        loop {
            tokio::time::sleep(SWEEP_EVERY.min(self.server.silent_for)).await;
            let silent = self.sessions.with(|sessions| {
                sessions
                    .extract_if(|_, session| session.heard.elapsed() > self.server.silent_for)
                    .collect::<Vec<_>>()
            });
            drop(silent);
        }
    }

    /// The token is compared whole, that the time taken tells nothing of it.
    fn admits(&self, shown: Option<&str>) -> bool {
        let Some(token) = &self.server.token else {
            return true;
        };
        let Some(shown) = shown.and_then(|shown| shown.strip_prefix("Bearer ")) else {
            return false;
        };
        token.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

async fn call(
    instance: Arc<dyn Instance>,
    replica: &str,
    method: String,
    arguments: Data,
) -> Reply {
    if method.starts_with('_') {
        return Err(ReplicaError::Private(method));
    }
    let calling = instance.call(method.clone(), arguments);
    guarded(calling, replica, &method).await
}

/// Returns the count of these numbers.
fn count(ranges: &[Range<u64>]) -> Option<usize> {
    let lengths = ranges
        .iter()
        .map(|range| range.end.saturating_sub(range.start));
    lengths
        .map(usize::try_from)
        .try_fold(0_usize, |n, length| n.checked_add(length.ok()?))
}

fn nothing() -> Reply {
    answer("", "", &())
}

/// The one method of the service, as tonic's generated code would have it.
#[derive(Clone)]
struct Front(Arc<Desk>);

impl Service<http::Request<Body>> for Front {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move {
            if request.uri().path() != PATH {
                return Ok(Status::unimplemented(format!("there is only {PATH}")).into_http());
            }
            // Before anything is read of what a stranger sends.
            let shown = request
                .headers()
                .get("authorization")
                .and_then(|shown| shown.to_str().ok());
            if !front.0.admits(shown) {
                return Ok(Status::unauthenticated("the token is missing or wrong").into_http());
            }
            let limit = front.0.server.message_bytes_max;
            // An answer that is too large becomes a short one that says so; so only what is read has tonic's limit.
            let mut grpc = tonic::server::Grpc::new(Packed)
                .max_decoding_message_size(limit)
                .max_encoding_message_size(usize::MAX);
            Ok(grpc.unary(front, request).await)
        })
    }
}

impl UnaryService<Bytes> for Front {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let desk = self.0.clone();
        Box::pin(async move {
            let ask = unpacked::<Ask>(request.get_ref())?;
            drop(request);
            let of = ask.of();
            let reply = desk.answer(ask).await;
            let limit = desk.server.message_bytes_max;
            let bytes = packed(&reply, "answer", (&of.0, &of.1), limit).or_else(|refused| {
                packed(&Reply::Err(refused), "answer", (&of.0, &of.1), usize::MAX)
            });
            bytes
                .map(Response::new)
                .map_err(|error| Status::internal(error.to_string()))
        })
    }
}
