//! A stay is the time for which a socket or stream may live: until its key is revoked, or its token ends.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::auth::Authority;
use thinkd_words::principal::{Credential, Principal};
use thinkd_words::time::{self, Timestamp};

/// The time for which a client may stay.
pub struct Stay {
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
    ends: Option<Ends>,
}

/// The longest that the clock is not looked at: a machine that was suspended wakes with a clock further on than its timers.
const LOOK: Duration = Duration::from_secs(60);

/// When a token ends.
struct Ends {
    at: Timestamp,
    /// When its holder is told; none: it was.
    told: Option<Timestamp>,
}

/// A notice to a client that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The token ends soon.
    Expiring(Timestamp),
    /// The token has ended.
    Expired,
    /// The key or token is worth nothing any more.
    Revoked,
}

impl Stay {
    /// Returns the stay of a client that came in like this.
    pub fn new(authority: &Authority, who: &Principal) -> Self {
        let ends = match (who.credential, &authority.tokens) {
            (Credential::Token { ends, .. }, Some(tokens)) => {
                let before = i64::try_from(tokens.expiring().as_micros()).unwrap_or(i64::MAX);
                Some(Ends {
                    at: ends,
                    told: Some(Timestamp::from_micros(ends.micros().saturating_sub(before))),
                })
            }
            _ => None,
        };
        Self {
            revoked: Box::pin(authority.revoked(who.credential).cancelled_owned()),
            ends,
        }
    }

    /// Waits for the next notice. Cancel safe.
    pub async fn next(&mut self) -> Notice {
        let Some(ends) = &mut self.ends else {
            self.revoked.as_mut().await;
            return Notice::Revoked;
        };
        tokio::select! {
            biased;
            () = self.revoked.as_mut() => Notice::Revoked,
            () = until(ends.told.unwrap_or(ends.at)) => match ends.told.take() {
                Some(_) => Notice::Expiring(ends.at),
                None => Notice::Expired,
            },
        }
    }
}

/// Waits until the clock says so. Cancel safe.
async fn until(moment: Timestamp) {
    while let Ok(left @ 1..) = u64::try_from(moment.micros().saturating_sub(time::now().micros())) {
        sleep(Duration::from_micros(left).min(LOOK)).await;
    }
}
