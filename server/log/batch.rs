//! One query for many callers that ask for rows by their keys at the same time: while one is under
//! way, later callers gather for the next. So each sees the rows that were stored before it asked,
//! and a crowd costs a query, not a query each.

use std::future::Future;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use super::error::{StoreError, within};

/// Longest time of a query: a connection that is dead without saying so is not to keep every
/// caller.
const LIMIT: Duration = Duration::from_secs(10);
/// Queries under way at a time: one that a lock keeps waiting does not keep all.
const AT_A_TIME: usize = 2;

struct Ask<K, V> {
    key: K,
    answer: oneshot::Sender<Result<V, StoreError>>,
}

/// The callers that wait for a query.
pub(super) struct Batch<K, V> {
    turns: Semaphore,
    // A plain mutex: held to put in or take out, never across an await.
    asked: Mutex<Vec<Ask<K, V>>>,
}

impl<K: Clone + PartialEq, V: Clone> Batch<K, V> {
    pub fn new() -> Self {
        Self {
            turns: Semaphore::new(AT_A_TIME),
            asked: Mutex::default(),
        }
    }

    /// Returns the value that is stored under a key. `read` returns the answers to all keys, in
    /// their order: a value that cannot be read fails its own caller alone. The first caller calls
    /// it.
    pub async fn load<F>(&self, key: K, read: impl Fn(Vec<K>) -> F) -> Result<V, StoreError>
    where
        F: Future<Output = Result<Vec<Result<V, StoreError>>, StoreError>>,
    {
        loop {
            let (answer, mut answered) = oneshot::channel();
            self.asked.lock().push(Ask {
                key: key.clone(),
                answer,
            });
            let turn = tokio::select! {
                biased;
                answer = &mut answered => match answer {
                    Ok(answer) => return answer,
                    // Who asked for all has gone before there was an answer.
                    Err(_) => continue,
                },
                turn = self.turns.acquire() => turn.map_err(|_| StoreError::closed())?,
            };
            let asks = std::mem::take(&mut *self.asked.lock());
            if asks.is_empty() {
                // Somebody asks for this one already.
                drop(turn);
            } else {
                let keys = asks.iter().map(|ask| ask.key.clone()).collect();
                let result = within(LIMIT, read(keys)).await;
                drop(turn);
                let mut rows = result.as_ref().map(|rows| rows.iter());
                for ask in asks {
                    let answer = match &mut rows {
                        Ok(rows) => rows.next().cloned().unwrap_or_else(|| {
                            Err(StoreError::Broken("a row has no answer".into()))
                        }),
                        Err(error) => Err(error.clone()),
                    };
                    // Who asked may be gone.
                    let _ = ask.answer.send(answer);
                }
            }
            if let Ok(answer) = answered.await {
                return answer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use futures_util::poll;
    use tokio::sync::Notify;

    use super::*;

    async fn squares(
        queries: &AtomicUsize,
        keys: Vec<u64>,
    ) -> Result<Vec<Result<u64, StoreError>>, StoreError> {
        queries.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        Ok(keys.iter().map(|key| Ok(key * key)).collect())
    }

    #[tokio::test]
    async fn a_crowd_is_answered_by_few_queries_each_with_its_own() {
        let batch = Batch::new();
        let queries = AtomicUsize::new(0);
        let all = (0..100).map(|key| batch.load(key, |keys| squares(&queries, keys)));
        let answers: Vec<u64> = futures_util::future::join_all(all)
            .await
            .into_iter()
            .map(Result::unwrap)
            .collect();
        assert_eq!(answers, (0..100).map(|key| key * key).collect::<Vec<_>>());
        assert!(queries.load(Ordering::Relaxed) <= 4, "{queries:?}");
    }

    #[tokio::test]
    async fn who_asks_while_a_query_is_under_way_is_answered_by_a_later_one() {
        let batch = Batch::new();
        let begun = AtomicUsize::new(0);
        let go = Notify::new();
        let read = |keys: Vec<u64>| {
            let number = begun.fetch_add(1, Ordering::Relaxed);
            let go = &go;
            async move {
                go.notified().await;
                Ok(vec![Ok(number); keys.len()])
            }
        };
        let (mut first, mut second) =
            (Box::pin(batch.load(1, read)), Box::pin(batch.load(2, read)));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        let mut third = Box::pin(batch.load(1, read));
        assert!(poll!(&mut third).is_pending());
        go.notify_one();
        let Poll::Ready(Ok(0)) = poll!(&mut first) else {
            panic!("the first query answers who asked for it")
        };
        go.notify_one();
        assert!(poll!(&mut second).is_ready());
        assert!(poll!(&mut third).is_pending());
        go.notify_one();
        let Poll::Ready(Ok(2)) = poll!(&mut third) else {
            panic!("a query of its own, which began later")
        };
    }

    #[tokio::test]
    async fn who_leaves_with_the_query_of_others_leaves_them_to_ask_again() {
        let batch = Batch::new();
        let never = |_: Vec<u64>| {
            std::future::pending::<Result<Vec<Result<u64, StoreError>>, StoreError>>()
        };
        let mut one = Box::pin(batch.load(1, never));
        let mut two = Box::pin(batch.load(2, never));
        assert!(poll!(&mut one).is_pending() && poll!(&mut two).is_pending());
        let queries = AtomicUsize::new(0);
        let mut three = Box::pin(batch.load(3, |keys| squares(&queries, keys)));
        assert!(poll!(&mut three).is_pending());
        drop(one);
        assert_eq!(three.await.unwrap(), 9);
        drop(two);
    }

    #[tokio::test]
    async fn a_failure_is_everybodys() {
        let batch: Batch<u64, u64> = Batch::new();
        let fails = |_| async { Err(StoreError::Unavailable("gone".into())) };
        let (one, two) = tokio::join!(batch.load(1, fails), batch.load(2, fails));
        assert!(one.is_err() && two.is_err());
    }
}
