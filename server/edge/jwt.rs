//! Bearer tokens (JWT): the principal that a token of the configured issuer makes of its holder.
//! The issuer's public keys are kept here; the program fetches them (`program/jwks.rs`). A client
//! with a token of an unknown key waits for the next fetch, if one is due.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jsonwebtoken::Validation;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::keys::cancelled;
use super::limits::ms;
use claims::{Claims, Unfit};
use key_set::{Key, KeySet};
use options::JwtOptions;
use thinkd_words::principal::Principal;
use thinkd_words::time::Timestamp;

pub mod claims;
mod key_set;
pub mod options;
mod signature;

/// Most bytes of a token.
const TOKEN_MAX: usize = 16 << 10;

/// Between two warnings of tokens that the issuer has signed for something else.
const WARNING: Duration = Duration::from_secs(10);

/// The reason why a token lets no client in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The issuer has not signed it. The exact error is for the operator alone.
    Forged(&'static str),
    /// The issuer has signed it, but not for this.
    Unfit(Unfit),
    /// The issuer's keys cannot be had, so its signature cannot be verified.
    Away,
}

/// The tokens of the issuer, and the keys that verify them.
pub struct Tokens {
    options: JwtOptions,
    /// The checks that all tokens have to pass.
    validation: Validation,
    // A plain lock: held to copy or replace the handle, never across an await.
    keys: RwLock<Arc<KeySet>>,
    fetches: watch::Sender<Fetches>,
    /// Notified when a client shows a token of an unknown key.
    wanted: Notify,
    /// When a token that the issuer signed for something else was warned of last.
    warned: Mutex<Option<Instant>>,
}

/// The state of the fetching.
#[derive(Clone, Copy, Default)]
struct Fetches {
    /// The number of fetches that have ended.
    ended: u64,
    /// When the last one began.
    begun: Option<Instant>,
    /// When the last one began that brought keys.
    succeeded: Option<Instant>,
    /// The last one that ended brought none.
    failed: bool,
    /// One is under way.
    running: bool,
}

impl Tokens {
    /// The tokens of a configuration; none: it takes none. The keys are still to come (`keep`).
    pub fn new(options: &JwtOptions) -> Result<Option<Self>, String> {
        options.check()?;
        let (Some(issuer), Some(audience)) = (&options.issuer, &options.audience) else {
            return Ok(None);
        };
        signature::install();
        let mut validation = Validation::default();
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[issuer]);
        validation.set_audience(&[audience]);
        validation.leeway = options.leeway_s;
        validation.validate_nbf = true;
        // Each key says its own.
        validation.algorithms = Vec::new();
        Ok(Some(Self {
            options: options.clone(),
            validation,
            keys: RwLock::default(),
            fetches: watch::Sender::new(Fetches::default()),
            wanted: Notify::new(),
            warned: Mutex::default(),
        }))
    }

    /// Returns the time before its end at which the holder of a token is told.
    pub fn expiring(&self) -> Duration {
        ms(self.options.expiring_ms)
    }

    /// Returns the principal that shows this token.
    pub async fn identify(&self, token: &str, now: Timestamp) -> Result<Principal, Refused> {
        let identified = self.verified(token, now).await;
        let Err(refused) = &identified else {
            return identified;
        };
        let reason = match refused {
            Refused::Forged(reason) => *reason,
            Refused::Unfit(unfit) => unfit.label(),
            Refused::Away => "away",
        };
        metrics::counter!("thinkd_jwt_refused_total", "reason" => reason).increment(1);
        match refused {
            Refused::Forged(reason) => {
                tracing::debug!(reason, "a token was refused that the issuer has not signed");
            }
            // A token that has expired is everyday business.
            Refused::Unfit(unfit) if *unfit != Unfit::Expired && self.may_warn() => {
                tracing::warn!(why = %unfit, "a token of the issuer was refused");
            }
            Refused::Unfit(unfit) => {
                tracing::debug!(why = %unfit, "a token of the issuer was refused");
            }
            Refused::Away => {}
        }
        identified
    }

    /// Returns true if the log is to be warned again: a client that tries for ever with a wrong
    /// token does not fill it. All are counted.
    fn may_warn(&self) -> bool {
        let mut warned = self.warned.lock();
        let is_due = warned.is_none_or(|at| at.elapsed() >= WARNING);
        if is_due {
            *warned = Some(Instant::now());
        }
        is_due
    }

    async fn verified(&self, token: &str, now: Timestamp) -> Result<Principal, Refused> {
        if token.len() > TOKEN_MAX {
            return Err(Refused::Forged("too_long"));
        }
        let header =
            jsonwebtoken::decode_header(token).map_err(|error| Refused::Forged(unread(&error)))?;
        // What a header says that must be understood is not understood here.
        if header.crit.is_some() {
            return Err(Refused::Forged("critical"));
        }
        let key = self.key(header.kid.as_deref()).await?;
        let decoded = jsonwebtoken::decode::<Claims>(token, &key.decoding, &key.validation)
            .map_err(refused)?;
        // Of several issuers the library takes any.
        let issuer = decoded.claims.get("iss");
        if !issuer.is_some_and(serde_json::Value::is_string) {
            return Err(Refused::Unfit(Unfit::Issuer));
        }
        claims::principal(&self.options, &decoded.claims, key.number, now).map_err(Refused::Unfit)
    }

    /// Returns a `CancellationToken` that is cancelled as soon as clients that came in by this key
    /// have to go: the issuer has withdrawn it.
    pub fn withdrawn(&self, key: u32) -> CancellationToken {
        let key = self.keys().numbered(key).map(|key| key.gone.clone());
        key.unwrap_or_else(cancelled)
    }

    fn keys(&self) -> Arc<KeySet> {
        self.keys.read().clone()
    }
}

/// Why a token's header cannot be read.
fn unread(error: &jsonwebtoken::errors::Error) -> &'static str {
    use jsonwebtoken::errors::ErrorKind;
    // `none`, or one nobody knows: the library has no names for them.
    let unnamed = matches!(error.kind(), ErrorKind::Json(wrong) if wrong.to_string().starts_with("unknown variant"));
    if unnamed { "algorithm" } else { "malformed" }
}

/// Why a token is not one for this server, in our words: those of the library quote it.
fn refused(error: jsonwebtoken::errors::Error) -> Refused {
    use jsonwebtoken::errors::ErrorKind;
    Refused::Unfit(match error.into_kind() {
        ErrorKind::ExpiredSignature => Unfit::Expired,
        ErrorKind::ImmatureSignature => Unfit::Early,
        ErrorKind::InvalidIssuer => Unfit::Issuer,
        ErrorKind::InvalidAudience => Unfit::Audience,
        ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => {
            Unfit::Claim(claim)
        }
        ErrorKind::InvalidSignature => return Refused::Forged("signature"),
        ErrorKind::InvalidAlgorithm => return Refused::Forged("algorithm"),
        _ => return Refused::Forged("malformed"),
    })
}

impl Tokens {
    /// Returns the key of this name: at once, if it is there. Otherwise it may come with the next
    /// fetch, which is waited for if it is due; callers that ask meanwhile wait for the same one.
    async fn key(&self, kid: Option<&str>) -> Result<Arc<Key>, Refused> {
        let mut fetches = self.fetches.subscribe();
        let before = *fetches.borrow_and_update();
        if let Some(key) = self.counting(&before).find(kid) {
            return Ok(key.clone());
        }
        let is_due = before
            .begun
            .is_none_or(|begun| begun + ms(self.options.refetch_ms) <= Instant::now());
        if is_due {
            self.wanted.notify_one();
        }
        if is_due || before.running {
            // A little longer than a fetch takes, which says itself when it is late.
            let limit = ms(self.options.fetch_ms) + LATE;
            let ended = fetches.wait_for(|now| now.ended != before.ended);
            let _ = timeout(limit, ended).await;
        }
        let now = *self.fetches.borrow();
        let keys = self.counting(&now);
        match keys.find(kid) {
            Some(key) => Ok(key.clone()),
            None if now.failed || keys.len() == 0 => Err(Refused::Away),
            None => Err(Refused::Forged("unknown_key")),
        }
    }

    /// The keys, unless they are too old to count.
    fn counting(&self, fetches: &Fetches) -> Arc<KeySet> {
        let is_fresh = |at: Instant| at.elapsed() < ms(self.options.stale_ms);
        let counts = fetches.succeeded.is_some_and(is_fresh);
        if counts { self.keys() } else { Arc::default() }
    }

    /// Returns the address at which the issuer publishes its keys.
    pub fn address(&self) -> &str {
        self.options.jwks_url.as_deref().unwrap_or_default()
    }

    /// Fetches the keys now, and then as often as it takes, for as long as the server lives.
    pub async fn keep<F: Future<Output = Result<Bytes, String>>>(&self, fetch: impl Fn() -> F) {
        loop {
            let begun = Instant::now();
            self.fetches
                .send_modify(|it| (it.begun, it.running) = (Some(begun), true));
            let fetched = timeout(ms(self.options.fetch_ms), fetch()).await;
            let late = |_| format!("no whole answer came within {} ms", self.options.fetch_ms);
            let fetched = fetched.map_err(late).flatten();
            let taken = fetched.and_then(|document| self.take(&document));
            self.fetches.send_modify(|it| {
                (it.running, it.failed, it.ended) = (false, taken.is_err(), it.ended + 1);
                if taken.is_ok() {
                    it.succeeded = Some(begun);
                }
            });
            self.tell(taken);
            self.due(begun).await;
        }
    }

    /// Puts the keys of a document in the place of those there are.
    fn take(&self, document: &[u8]) -> Result<usize, String> {
        let before = self.keys();
        let later = Arc::new(before.read(document, &self.validation)?);
        *self.keys.write() = later.clone();
        before.yields_to(&later);
        Ok(later.len())
    }

    /// Tells the operator how a fetch ended.
    fn tell(&self, taken: Result<usize, String>) {
        let outcome = if taken.is_ok() { "done" } else { "failed" };
        metrics::counter!("thinkd_jwks_fetches_total", "outcome" => outcome).increment(1);
        metrics::gauge!("thinkd_jwks_stale").set(if taken.is_ok() { 0.0 } else { 1.0 });
        let now = *self.fetches.borrow();
        match taken {
            Ok(keys) => tracing::debug!(keys, "the keys of the issuer were fetched"),
            Err(error) if self.counting(&now).len() > 0 => {
                let stale_s = self.options.stale_ms / 1000;
                tracing::warn!(%error, stale_s, "the keys of the issuer cannot be fetched: those fetched before count until they are `stale_s` seconds old");
            }
            Err(error) => {
                tracing::error!(%error, "the keys of the issuer cannot be fetched, and there are none that count: no token is taken");
            }
        }
    }

    /// Waits until the keys are to be fetched again: after a while, soon where it failed, or when a
    /// client wants another key.
    async fn due(&self, begun: Instant) {
        let soonest = begun + ms(self.options.refetch_ms);
        let refresh = if self.fetches.borrow().failed {
            soonest
        } else {
            soonest.max(begun + ms(self.options.refresh_ms))
        };
        let wanted = async {
            loop {
                self.wanted.notified().await;
                // A wish from before the last fetch ended was fulfilled by it.
                if soonest <= Instant::now() {
                    return;
                }
            }
        };
        tokio::select! {
            () = sleep_until(refresh) => {}
            () = wanted => {}
        }
    }
}

/// The time for which a fetch is waited for beyond its own limit.
const LATE: Duration = Duration::from_secs(1);
