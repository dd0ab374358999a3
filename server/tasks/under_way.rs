//! Work under way in one task: futures that go on side by side while their owner does something else, too.

#![expect(
    clippy::disallowed_types,
    reason = "this is what everybody else uses instead"
)]

use std::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

/// Futures under way. They go on only while they are polled. No other task gets a thing that one of
/// them holds meanwhile (a connection of the store, a lock). An owner that awaited the same thing
/// on its own would wait for itself. So the owner awaits everything [`beside`](Self::beside) them.
pub struct UnderWay<F: Future> {
    futures: FuturesUnordered<F>,
    /// The outputs of the futures that ended while their owner awaited something else, in the order
    /// in which they ended.
    ended: Vec<F::Output>,
}

impl<F: Future> Default for UnderWay<F> {
    fn default() -> Self {
        Self {
            futures: Default::default(),
            ended: Vec::new(),
        }
    }
}

impl<F: Future> UnderWay<F> {
    /// One more; it begins when they are polled.
    pub fn push(&mut self, future: F) {
        self.futures.push(future);
    }

    /// Returns the number under way, with those that ended and were not asked for.
    pub fn len(&self) -> usize {
        self.futures.len() + self.ended.len()
    }

    /// Returns true if none is under way, and none ended that was not asked for.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the output of the next one; none when none is under way. Cancel safe.
    pub async fn next(&mut self) -> Option<F::Output> {
        if self.ended.is_empty() {
            self.futures.next().await
        } else {
            Some(self.ended.remove(0))
        }
    }

    /// Awaits something else while they go on.
    pub async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(ended) = self.futures.next() => self.ended.push(ended),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Semaphore;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Takes the only connection, and works with it for a while.
    async fn query(connections: &Semaphore) -> u8 {
        let _taken = connections.acquire().await.unwrap();
        sleep(Duration::from_millis(10)).await;
        7
    }

    /// One is under way and holds the only connection.
    async fn begun(connections: &Arc<Semaphore>) -> UnderWay<impl Future<Output = u8> + use<>> {
        let mut under_way = UnderWay::default();
        let own = connections.clone();
        under_way.push(async move { query(&own).await });
        under_way.beside(tokio::task::yield_now()).await;
        assert_eq!(connections.available_permits(), 0, "it has begun");
        under_way
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_gets_what_its_own_work_under_way_holds() {
        let connections = Arc::new(Semaphore::new(1));
        let mut under_way = begun(&connections).await;
        let alone = timeout(Duration::from_secs(5), query(&connections)).await;
        assert!(alone.is_err(), "control: without them it waits for itself");
        assert_eq!(
            timeout(
                Duration::from_secs(5),
                under_way.beside(query(&connections))
            )
            .await,
            Ok(7)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_ends_meanwhile_is_told_by_next() {
        let connections = Arc::new(Semaphore::new(1));
        let mut under_way = begun(&connections).await;
        under_way.beside(query(&connections)).await;
        assert_eq!((under_way.len(), under_way.is_empty()), (1, false));
        assert_eq!(under_way.next().await, Some(7));
        assert_eq!(under_way.next().await, None);
        assert!(under_way.is_empty());
    }
}
