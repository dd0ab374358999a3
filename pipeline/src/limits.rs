//! Limits of a node's body, from its attribute: how often it is tried, how long a try may take, how many run at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::Refusal;
use crate::node::{Kind, Outcome};
use crate::run::{HERE, Here};

/// The limits of one node function. All its calls in the process share them.
pub struct Limits {
    retry: u32,
    time: Option<Duration>,
    at_once: Option<Semaphore>,
}

/// The places that the bodies around hold.
pub(crate) struct Held {
    limits: &'static Limits,
    around: Option<Arc<Held>>,
}

impl Kind {
    /// Its body runs within these limits.
    pub fn limited(self, limits: &'static Limits) -> Self {
        Kind {
            limits: Some(limits),
            ..self
        }
    }
}

impl Limits {
    /// So many tries after the first, milliseconds for a try, bodies at once; for the last two, 0 is no limit.
    pub const fn new(retry: u32, time_ms: u64, at_once: usize) -> Self {
        let time = if time_ms == 0 {
            None
        } else {
            Some(Duration::from_millis(time_ms))
        };
        let at_once = if at_once == 0 {
            None
        } else {
            Some(Semaphore::const_new(at_once))
        };
        Limits {
            retry,
            time,
            at_once,
        }
    }

    /// Tries a body as often as it may be tried.
    pub(crate) async fn keep<F: Future<Output = Outcome>>(
        &'static self,
        body: impl Fn() -> F,
    ) -> Outcome {
        let mut left = self.retry;
        loop {
            match self.within(&body).await {
                Err(_) if left > 0 => left -= 1,
                outcome => return outcome,
            }
        }
    }

    async fn within<F: Future<Output = Outcome>>(&'static self, body: impl Fn() -> F) -> Outcome {
        let here = Here::now();
        let Some(at_once) = &self.at_once else {
            return self.in_time(body()).await;
        };
        // A body that reads its own node has its place already: if it waited for another one, all could wait for each other.
        if here.holds(self) {
            return self.in_time(body()).await;
        }
        let _place = at_once.acquire().await.ok(); // it is never closed
        let held = Some(Arc::new(Held {
            limits: self,
            around: here.held.clone(),
        }));
        HERE.scope(Here { held, ..here }, self.in_time(body()))
            .await
    }

    async fn in_time(&self, body: impl Future<Output = Outcome>) -> Outcome {
        let Some(time) = self.time else {
            return body.await;
        };
        let late = |_| Err(Arc::new(Refusal::OutOfTime(time)) as crate::Cause);
        tokio::time::timeout(time, body).await.unwrap_or_else(late)
    }
}

impl Here {
    fn holds(&self, limits: &Limits) -> bool {
        std::iter::successors(self.held.as_deref(), |held| held.around.as_deref())
            .any(|held| std::ptr::eq(held.limits, limits))
    }
}
