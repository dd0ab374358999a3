//! Limits of a node's body, from its attribute: how often it is tried, how long a try may take, how many run at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::{Cause, Refusal};

/// The limits of one node function. All its calls in the process share them.
pub struct Limits {
    retry: u32,
    /// Zero is no limit.
    time: Duration,
    at_once: Option<Semaphore>,
}

/// The places that the bodies around hold.
pub(crate) struct Held {
    limits: &'static Limits,
    around: Option<Arc<Held>>,
}

impl Limits {
    /// So many tries after the first, milliseconds for a try, bodies at once; for the last two, 0 is no limit.
    pub const fn new(retry: u32, time_ms: u64, at_once: usize) -> Self {
        let at_once = match at_once {
            0 => None,
            bodies => Some(Semaphore::const_new(bodies)),
        };
        Limits {
            retry,
            time: Duration::from_millis(time_ms),
            at_once,
        }
    }

    /// Tries a body as often as it may be tried. `held` are the places that the bodies around hold; the body is given
    /// those and its own.
    pub(crate) async fn keep<T, F: Future<Output = Result<T, Cause>>>(
        &'static self,
        held: Option<Arc<Held>>,
        body: impl Fn(Option<Arc<Held>>) -> F,
    ) -> Result<T, Cause> {
        let mut left = self.retry;
        loop {
            match self.within(held.clone(), &body).await {
                Err(_) if left > 0 => left -= 1,
                outcome => return outcome,
            }
        }
    }

    async fn within<T, F: Future<Output = Result<T, Cause>>>(
        &'static self,
        held: Option<Arc<Held>>,
        body: impl Fn(Option<Arc<Held>>) -> F,
    ) -> Result<T, Cause> {
        let mut all = std::iter::successors(held.as_deref(), |held| held.around.as_deref());
        // A body that reads its own node has its place already: if it waited for another one, all could wait for each other.
        let is_held = all.any(|held| std::ptr::eq(held.limits, self));
        let Some(at_once) = self.at_once.as_ref().filter(|_| !is_held) else {
            return self.in_time(body(held)).await;
        };
        let _place = at_once.acquire().await.ok(); // it is never closed
        let own = Held {
            limits: self,
            around: held,
        };
        self.in_time(body(Some(Arc::new(own)))).await
    }

    async fn in_time<T>(&self, body: impl Future<Output = Result<T, Cause>>) -> Result<T, Cause> {
        if self.time.is_zero() {
            return body.await;
        }
        let late = |_| Err(Arc::new(Refusal::OutOfTime(self.time)) as Cause);
        tokio::time::timeout(self.time, body)
            .await
            .unwrap_or_else(late)
    }
}
