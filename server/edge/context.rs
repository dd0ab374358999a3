//! The state that all tasks for clients share: the authority, the limits and the running minds.
//! `server.rs` accepts connections and routes addresses.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::allowed_hosts::AllowedHosts;
use super::auth::{Authority, Denied, Shown};
use super::connections::{Connection, Connections};
use super::doors::Doors;
use super::guesses::{Guesses, Peer};
use super::jwt::options::JwtOptions;
use super::keys::{self, Key};
use super::limits::Limits;
use super::problem::{Problem, Slug};
use super::rate_limit::RateLimits;
use super::stay::Stay;
use super::stream_limits::StreamLimits;
use super::waiters::Waiters;
use thinkd_session::handle::{Error, Session, Sessions};
use thinkd_tasks::share::Places;
use thinkd_words::id::Space;

/// Blobs that are uploaded at a time: each is held in memory.
const UPLOADS: u32 = 8;

/// The configuration of the boundary.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// One secret that opens the space `default`.
    pub token: Option<SecretString>,
    /// Secrets that open the spaces they name.
    pub keys: Vec<Key>,
    /// More keys, of more spaces, may come while the server runs.
    pub keys_may_come: bool,
    /// The tokens that are taken beside keys.
    pub jwt: JwtOptions,
    /// Names this server answers to, besides loopback and the address it listens on; and whole
    /// origins of pages that may speak to it.
    pub hosts: Vec<String>,
    /// The doors for clients of other protocols.
    pub doors: Doors,
    /// The limits: sizes, counts and durations.
    pub limits: Limits,
}

impl Options {
    /// Checks the options; an error is a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        keys::check(self.token.as_ref(), &self.keys)?;
        self.jwt.check()?;
        AllowedHosts::new(&self.hosts)?;
        self.limits.check()
    }

    /// Returns the share that one space may hold of the resources that spaces share: all where
    /// there is no other.
    pub fn space_share(&self) -> f64 {
        let default = self.token.as_ref().map(|_| Space::default());
        let named = self.keys.iter().map(|key| key.space.clone());
        let spaces: BTreeSet<Space> = default.into_iter().chain(named).collect();
        if spaces.len() > 1 || self.keys_may_come || self.jwt.is_on() {
            self.limits.space_share
        } else {
            1.0
        }
    }
}

/// The parts that the boundary serves.
pub struct Parts {
    /// The sessions: the operations of clients.
    pub sessions: Sessions,
    /// The authority that lets clients in: the program may replace the keys.
    pub authority: Authority,
    /// The collected metrics, as text at `/metrics`.
    pub metrics: PrometheusHandle,
    /// For `/metadata`: database, models and pipelines, one line each, without secrets.
    pub about: Vec<(&'static str, String)>,
    /// The addresses of features, for clients with credentials.
    pub routes: Router<Arc<Edge>>,
}

/// The boundary's parts, shared by all tasks that serve a client.
pub struct Edge {
    sessions: Sessions,
    /// The authority that lets clients in.
    pub authority: Authority,
    /// The limits: sizes, counts and durations.
    pub limits: Limits,
    /// The number of sockets and streams, within its limits.
    pub stream_limits: Arc<StreamLimits>,
    /// The rate at which requests of each key are taken.
    pub rate_limits: RateLimits,
    /// The pace at which wrong keys are answered.
    guesses: Guesses,
    /// The server is going away.
    pub drain: CancellationToken,
    /// Everything that serves a client.
    pub tasks: TaskTracker,
    /// Blobs that are being uploaded.
    pub uploads: Places,
    /// The open connections, and the spaces they belong to.
    pub connections: Arc<Connections>,
    /// The names that the server answers to.
    pub hosts: AllowedHosts,
    /// The doors for clients of other protocols.
    pub doors: Doors,
    /// The clients that wait for the answer to a message.
    pub waiters: Waiters,
    /// The collected metrics.
    pub metrics: PrometheusHandle,
    /// Database, models and pipelines, one line each.
    pub about: Vec<(&'static str, String)>,
}

impl Edge {
    /// The parts, as configured.
    pub fn new(options: Options, parts: Parts, drain: CancellationToken) -> Result<Self, String> {
        options.check()?;
        let share = options.space_share();
        let limits = options.limits;
        Ok(Self {
            sessions: parts.sessions,
            hosts: AllowedHosts::new(&options.hosts)?,
            doors: options.doors,
            stream_limits: StreamLimits::new(&limits, share),
            rate_limits: RateLimits::new(limits.requests_per_second),
            guesses: Guesses::default(),
            connections: Connections::new(&limits, share),
            uploads: Places::new("uploads", UPLOADS, share),
            waiters: Waiters::default(),
            authority: parts.authority,
            limits,
            drain,
            tasks: TaskTracker::new(),
            metrics: parts.metrics,
            about: parts.about,
        })
    }

    /// Refuses work that would begin only to be ended: the server is going away.
    pub fn stays(&self) -> Result<(), Problem> {
        match self.drain.is_cancelled() {
            true => {
                let detail = "the server is going away; connect again";
                Err(Problem::new(Slug::Unavailable, detail))
            }
            false => Ok(()),
        }
    }

    /// The session that a credential opens; a guesser waits for the refusal.
    pub async fn enter(&self, shown: Shown<'_>, from: Peer) -> Result<Session, Denied> {
        let decided = self.authority.decide(shown).await;
        if let Err(Denied::Wrong) = decided {
            tokio::select! {
                () = self.guesses.hold(from) => {}
                () = self.drain.cancelled() => {}
            }
        }
        Ok(self.sessions.open(decided?))
    }

    /// Returns the stay of this client: the time for which its socket or stream may live.
    pub fn stay(&self, session: &Session) -> Stay {
        Stay::new(&self.authority, session.principal())
    }

    /// Lets a request of this client through when it is due, on a connection that counts for its space.
    pub async fn admit(
        &self,
        session: &Session,
        connection: Option<&Connection>,
    ) -> Result<(), Problem> {
        connection.map_or(Ok(()), |connection| connection.belongs(session.space()))?;
        let holder = session.principal().credential.holder();
        self.rate_limits.pass(holder).await?;
        Ok(session.open_space().await?)
    }

    /// Returns an error if the database does not answer.
    pub async fn ping(&self) -> Result<(), Error> {
        self.sessions.ping().await
    }
}
