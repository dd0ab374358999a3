//! How long a socket or stream may stay that came in by a credential: until that is revoked, or its token ends.

use std::pin::Pin;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::auth::Authority;
use crate::words::principal::{Credential, Principal};
use crate::words::time::{self, Timestamp};

/// How long somebody may stay.
pub struct Stay {
    revoked: Pin<Box<WaitForCancellationFutureOwned>>,
    ends: Option<Ends>,
}

/// When a token ends.
struct Ends {
    at: Timestamp,
    then: Instant,
    /// When its holder is told; none: it was.
    told: Option<Instant>,
}

/// What somebody who stays learns.
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
    /// The stay of who came in like this.
    pub fn new(authority: &Authority, who: &Principal) -> Self {
        let ends = match (who.credential, &authority.tokens) {
            (Credential::Token { ends, .. }, Some(tokens)) => {
                let left = u64::try_from(ends.micros().saturating_sub(time::now().micros())).unwrap_or(0);
                let (now, left) = (Instant::now(), std::time::Duration::from_micros(left));
                let told = now + left.saturating_sub(tokens.expiring());
                Some(Ends { at: ends, then: now + left, told: Some(told) })
            }
            _ => None,
        };
        Self { revoked: Box::pin(authority.revoked(who.credential).cancelled_owned()), ends }
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
            () = sleep_until(ends.told.unwrap_or(ends.then)) => match ends.told.take() {
                Some(_) => Notice::Expiring(ends.at),
                None => Notice::Expired,
            },
        }
    }
}
