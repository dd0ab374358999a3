//! Limits that a node sets to its own body: tries, time of a try, bodies at once. And hooks that
//! run a body again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use unhurried::{
    Call, Context, Hook, Journal, MemoryStore, Next, NodeExecutionError, Outcome, Refusal, Run,
    Stats, all, node,
};

type Count = Arc<AtomicUsize>;

/// Fails until it was tried so often.
#[node(retry = 3)]
async fn flaky(n: u64, tries: Count, good: usize) -> Result<u64, String> {
    let tried = tries.fetch_add(1, Ordering::SeqCst) + 1;
    if tried < good {
        Err(format!("try {tried}"))
    } else {
        Ok(n)
    }
}

#[tokio::test]
async fn a_body_that_fails_is_tried_again_as_often_as_its_node_says() {
    let tries = Count::default();
    assert_eq!(flaky(Context::new(1), tries.clone(), 4).await.unwrap(), 1);
    assert_eq!(tries.swap(0, Ordering::SeqCst), 4, "three after the first");
    let failing = flaky(Context::new(1), tries.clone(), 6);
    assert_eq!(
        failing.data().await.unwrap_err().cause().to_string(),
        "try 4",
        "the last one says why"
    );
    assert_eq!(
        failing.data().await.unwrap(),
        1,
        "the next read begins anew"
    );
}

#[node(retry = 1)]
async fn panics_once(n: u64, tries: Count) -> u64 {
    assert!(tries.fetch_add(1, Ordering::SeqCst) > 0, "the first time");
    n
}

#[tokio::test]
async fn a_panic_is_tried_again_too() {
    assert_eq!(
        panics_once(Context::new(1), Count::default())
            .await
            .unwrap(),
        1
    );
}

#[node(time_ms = 20, retry = 1)]
async fn slow_at_first(n: u64, tries: Count) -> u64 {
    if tries.fetch_add(1, Ordering::SeqCst) == 0 {
        std::future::pending::<()>().await;
    }
    n
}

#[node(time_ms = 20)]
async fn never(n: u64) -> u64 {
    std::future::pending::<()>().await;
    n
}

#[tokio::test]
async fn a_try_that_takes_too_long_fails_and_is_tried_again() {
    assert_eq!(
        slow_at_first(Context::new(1), Count::default())
            .await
            .unwrap(),
        1
    );
    let late = timeout(
        Duration::from_secs(10),
        never(Context::new(1)).into_future(),
    )
    .await
    .unwrap()
    .unwrap_err();
    assert_eq!(
        late.cause().downcast_ref(),
        Some(&Refusal::OutOfTime(Duration::from_millis(20)))
    );
    assert_eq!(
        late.to_string(),
        "node `never` failed: it took longer than the 20 ms that `time_ms` gives it"
    );
}

#[derive(Clone, Default)]
struct Room(Arc<Mutex<(usize, usize)>>);

impl Room {
    fn change(&self, change: impl FnOnce(&mut usize)) {
        let (now, most) = &mut *self.0.lock().unwrap();
        change(now);
        *most = (*most).max(*now);
    }

    fn most(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

#[node(at_once = 3)]
async fn stays(n: u64, room: Room) -> u64 {
    room.change(|now| *now += 1);
    tokio::time::sleep(Duration::from_millis(5)).await;
    room.change(|now| *now -= 1);
    n
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_more_bodies_run_at_once_than_their_node_says_whoever_reads() {
    let room = Room::default();
    let reads =
        || tokio::spawn(all((0..12).map(|n| stays(Context::new(n), room.clone()))).into_future());
    let (one, two) = tokio::join!(reads(), reads());
    assert_eq!(
        (
            one.unwrap().unwrap().len(),
            two.unwrap().unwrap().len(),
            room.most()
        ),
        (12, 12, 3)
    );
}

/// As deep as there are places, and deeper.
#[node(at_once = 2)]
async fn nested(n: u64) -> Result<u64, NodeExecutionError> {
    if n == 0 {
        Ok(0)
    } else {
        Ok(nested(Context::new(n - 1)).await? + 1)
    }
}

#[tokio::test]
async fn a_body_that_reads_its_own_node_does_not_wait_for_itself() {
    let reads = all((0..8).map(|_| nested(Context::new(20))));
    let read = timeout(Duration::from_secs(10), reads.into_future())
        .await
        .expect("it waits for itself");
    assert_eq!(read.unwrap(), [20; 8]);
}

struct Settings;

#[node(retry = 2)]
impl Settings {
    async fn tried(&self, n: u64, tries: Count) -> Result<u64, String> {
        if tries.fetch_add(1, Ordering::SeqCst) < 2 {
            Err("not yet".to_owned())
        } else {
            Ok(n)
        }
    }
}

impl Clone for Settings {
    fn clone(&self) -> Self {
        Settings
    }
}

#[tokio::test]
async fn a_node_object_has_limits_too() {
    assert_eq!(
        Settings
            .tried(Context::new(1), Count::default())
            .await
            .unwrap(),
        1
    );
}

/// Runs failed nodes again, and counts the failures.
#[derive(Clone, Default)]
struct Again(Count);

#[unhurried::async_trait]
impl Hook for Again {
    async fn around(&self, _: &Call, next: Next<'_>) -> Outcome {
        loop {
            match next.run().await {
                Err(_) if self.0.fetch_add(1, Ordering::SeqCst) < 5 => {}
                outcome => return outcome,
            }
        }
    }
}

#[node]
async fn unsteady(n: u64, tries: Count) -> Result<u64, String> {
    if tries.fetch_add(1, Ordering::SeqCst) < 2 {
        Err("not yet".to_owned())
    } else {
        Ok(n)
    }
}

#[tokio::test]
async fn a_hook_may_run_the_body_and_the_hooks_within_again() {
    let again = Again::default();
    let within = Stats::default();
    let tries = Count::default();
    let run = Run::new("r").hook(again.clone()).hook(within.clone());
    assert_eq!(
        run.scope(async { unsteady(Context::new(1), tries.clone()).await })
            .await
            .unwrap(),
        1
    );
    let stats = within.node("unsteady");
    assert_eq!(
        (
            stats.executions,
            stats.failures,
            tries.load(Ordering::SeqCst)
        ),
        (3, 2, 3)
    );
}

/// Under a journal arguments are data, so these counters are no arguments.
static TRIES: AtomicUsize = AtomicUsize::new(0);
static RAN: AtomicUsize = AtomicUsize::new(0);

#[node(retry = 2)]
async fn steps(n: u64) -> Result<u64, NodeExecutionError> {
    let second = step(step(Context::new(n))).await?;
    late(Context::new(second)).await
}

#[node]
async fn step(n: u64) -> u64 {
    RAN.fetch_add(1, Ordering::SeqCst);
    n + 1
}

#[node]
async fn late(n: u64) -> Result<u64, String> {
    if TRIES.fetch_add(1, Ordering::SeqCst) < 2 {
        Err("not yet".to_owned())
    } else {
        Ok(n)
    }
}

#[tokio::test]
async fn what_a_try_recorded_is_not_run_again_by_the_next() {
    let run = Run::new("r").hook(Journal::new(MemoryStore::default()));
    assert_eq!(
        run.scope(async { steps(Context::new(1)).await })
            .await
            .unwrap(),
        3
    );
    assert_eq!(
        (TRIES.load(Ordering::SeqCst), RAN.load(Ordering::SeqCst)),
        (3, 2)
    );
}
