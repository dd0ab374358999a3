//! What all who serve a client share: who may come in, how much and how many there may be, and the running minds.
//! Who accepts connections and which address is whose is in `server.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::allowed_hosts::AllowedHosts;
use super::auth::{Authority, Denied, Shown};
use super::connections::{Connection, Connections};
use super::console;
use super::guesses::{Guesses, Peer};
use super::jwt::options::JwtOptions;
use super::keys::{self, Key};
use super::limits::Limits;
use super::problem::{Problem, Slug};
use super::rate_limit::RateLimits;
use super::stay::Stay;
use super::stream_limits::StreamLimits;
use thinkd_session::handle::{Error, Session, Sessions};
use thinkd_tasks::share::Places;
use thinkd_words::id::Space;

/// Blobs that are uploaded at a time: each is held in memory.
const UPLOADS: u32 = 8;

/// What is configured about the boundary.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// One secret that opens the space `default`.
    pub token: Option<SecretString>,
    /// Secrets that open the spaces they name.
    pub keys: Vec<Key>,
    /// More keys, of more spaces, may come while the server runs.
    pub keys_may_come: bool,
    /// Which tokens are taken beside keys.
    pub jwt: JwtOptions,
    /// Names this server answers to, besides loopback and the address it listens on; and whole origins whose pages may speak to it.
    pub hosts: Vec<String>,
    /// Whether the console is served.
    pub console: bool,
    /// How much, how many, how long.
    pub limits: Limits,
}

impl Options {
    /// Says what is wrong with the options, in a sentence for the operator.
    pub fn check(&self) -> Result<(), String> {
        keys::check(self.token.as_ref(), &self.keys)?;
        self.jwt.check()?;
        AllowedHosts::new(&self.hosts)?;
        self.limits.check()
    }

    /// How much of what spaces share one of them may hold: all of it where there is no other.
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

/// What the boundary serves.
pub struct Parts {
    /// What clients can do.
    pub sessions: Sessions,
    /// Who may come in: the program may replace the keys.
    pub authority: Authority,
    /// The collected metrics, as text at `/metrics`.
    pub metrics: PrometheusHandle,
    /// For `/metadata`: database, models and pipelines, one line each, without secrets.
    pub about: Vec<(&'static str, String)>,
}

/// The boundary's parts, shared by all who serve a client.
pub struct Edge {
    sessions: Sessions,
    /// Who may come in.
    pub authority: Authority,
    /// How much, how many, how long.
    pub limits: Limits,
    /// How many sockets and streams there are.
    pub stream_limits: Arc<StreamLimits>,
    /// How fast requests of each key are taken.
    pub rate_limits: RateLimits,
    /// The pace at which wrong keys are answered.
    guesses: Guesses,
    /// The server is going away.
    pub drain: CancellationToken,
    /// Everything that serves a client.
    pub tasks: TaskTracker,
    /// Blobs that are being uploaded.
    pub uploads: Places,
    /// The connections there are, and whose they are.
    pub connections: Arc<Connections>,
    /// Which names it answers to.
    pub hosts: AllowedHosts,
    /// Whether the console is served.
    pub console: bool,
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
            console: options.console && console::is_there(),
            stream_limits: StreamLimits::new(&limits, share),
            rate_limits: RateLimits::new(limits.requests_per_second),
            guesses: Guesses::default(),
            connections: Connections::new(&limits, share),
            uploads: Places::new("uploads", UPLOADS, share),
            authority: parts.authority,
            limits,
            drain,
            tasks: TaskTracker::new(),
            metrics: parts.metrics,
            about: parts.about,
        })
    }

    /// Refuses what would begin only to be ended: the server is going away.
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

    /// How long a socket or stream of this client may stay.
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

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.sessions.ping().await
    }
}
