//! The workers that run code, as a replica of a pipeline: those of this process, or, by
//! configuration, those of `thinkd replica` on another machine. Only data travels: the request, the
//! answer, and the limits of a run.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runner::pool::Pool;
use runner::request::{Answer, Error, Limits, Request};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use unhurried::{Config, Manager, Replica as _, ReplicaError, replica};

use super::Options;
use thinkd_words::secret::{optional_url, redacted};

/// The time beyond a run's own limit: the way there and back, and the start of a worker.
const ON_THE_WAY: Duration = Duration::from_secs(20);

/// The replicas that a process may offer to others.
pub static REPLICAS: Manager = Manager::new();

/// The one pool of a process that serves others. Its limits are for all of them together, and count
/// regardless of the limits that each asks for.
static SHARED: OnceLock<Pool> = OnceLock::new();

/// The number of these that there were: two servers may each have a space of the same name, and
/// share no process for that.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// `[tools.code.replica]`: another machine that runs the code. Off until `url` is set.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remote {
    /// The address at which `thinkd replica` listens: `http://HOST:PORT`, or `https://…` where it
    /// has a certificate. The configuration of that machine says the limits of a run, and the
    /// number of workers.
    #[serde(
        serialize_with = "optional_url",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
    /// Its `token`.
    #[serde(serialize_with = "redacted", skip_serializing_if = "Option::is_none")]
    pub token: Option<SecretString>,
    /// A file with the authority of its certificate, in PEM, where that is one of your own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The name in its certificate, where that is not the one in `url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
}

impl Remote {
    /// Checks the address, the token and the certificate. The error says the fault.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self {
            url,
            token,
            ca_file,
            domain,
        } = self;
        match url {
            None if token.is_some() || ca_file.is_some() || domain.is_some() => {
                Err("tools.code.replica has no url: it says nothing without one".to_owned())
            }
            Some(url) if !(url.starts_with("http://") || url.starts_with("https://")) => Err(
                "tools.code.replica.url is no address of the kind http:// or https://".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

/// A pool of workers as a replica.
pub struct Workers {
    pool: Pool,
    number: u64,
}

/// The end of a run: an answer as much as a failure of its own travels as data.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ran(pub Result<Answer, Error>);

#[replica(manager = &REPLICAS, name = "thinkd::tools::code::workers::Workers")]
impl Workers {
    /// A pool of so many workers; where this process serves others, the one that they share.
    pub fn new(limits: Limits, workers: u32) -> Self {
        let pool = SHARED
            .get()
            .cloned()
            .unwrap_or_else(|| Pool::new(super::pool(limits, workers)));
        Self {
            pool,
            number: COUNT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Runs it as soon as a worker is free.
    pub async fn run(&self, space: String, request: Request) -> Ran {
        Ran(self
            .pool
            .run(&format!("{} {space}", self.number), request)
            .await)
    }

    /// Starts a worker and returns the rights that the kernel there did not let it give up.
    pub async fn probe(&self) -> Result<Vec<String>, Error> {
        self.pool.probe().await
    }
}

/// Makes all callers that reach this process share one pool from now on.
pub fn share(options: &Options) {
    // Said once, at the start of the process.
    let _ = SHARED.set(Pool::new(options.pool()));
}

/// The workers, here or there.
///
/// # Errors
/// Where the other machine cannot be reached, or does not know the token.
pub async fn reach(options: &Options) -> Result<WorkersProxy, ReplicaError> {
    Workers::alone(config(options), (options.limits(), options.workers)).await
}

fn config(options: &Options) -> Config {
    let Remote {
        url,
        token,
        ca_file,
        domain,
    } = &options.replica;
    let Some(url) = url else {
        return Config::default();
    };
    let limit = options
        .limits()
        .time
        .saturating_mul(2)
        .saturating_add(ON_THE_WAY);
    let config = Config::new("grpc")
        .option("url", url.as_str())
        .option("call_ms", limit.as_millis() as u64);
    let ca_file = ca_file.as_ref().map(|file| file.display().to_string());
    let token = token.as_ref().map(|token| token.expose_secret().to_owned());
    let others = [
        ("token", token),
        ("ca_file", ca_file),
        ("domain", domain.clone()),
    ];
    others
        .into_iter()
        .fold(config, |config, (key, value)| match value {
            Some(value) => config.option(key, value),
            None => config,
        })
}
