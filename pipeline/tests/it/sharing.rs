//! Shared ancestors, parallel branches, concurrent readers, cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{Barrier, Notify, Semaphore};
use tokio::time::timeout;
use unhurried::{Context, node};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|other| *other == line).count()
    }
}

#[node]
async fn named(n: i64, name: String, log: Log) -> i64 {
    log.write(&name);
    n + 1
}

#[node]
async fn merge(a: i64, b: i64, log: Log) -> i64 {
    log.write("merge");
    a + b
}

#[tokio::test]
async fn t2_14_t2_22_d2_10_d2_30_d2_53_a_shared_ancestor_runs_once() {
    let log = Log::default();
    let base = named(Context::new(0), "base", log.clone());
    let left = named(&base, "left", log.clone());
    let right = named(&base, "right", log.clone());
    assert_eq!(merge(left, right, log.clone()).await.unwrap(), 4);
    let lines = log.lines();
    assert_eq!(
        (lines[0].as_str(), lines[3].as_str(), lines.len()),
        ("base", "merge", 4)
    );
}

#[tokio::test]
async fn t2_15_t2_17_branches_do_not_change_each_other() {
    let log = Log::default();
    let base = named(Context::new(10), "base", log.clone());
    let doubled = merge(&base, &base, log.clone());
    let plus_one = named(&base, "plus one", log.clone());
    assert_eq!(
        (
            doubled.data().await.unwrap(),
            plus_one.data().await.unwrap()
        ),
        (22, 12)
    );
    let deeper = named(Context::new(1), "base", log.clone());
    let left = named(
        named(named(&deeper, "a", log.clone()), "b", log.clone()),
        "c",
        log.clone(),
    );
    let right = merge(
        &deeper,
        named(named(Context::new(4), "d", log.clone()), "e", log.clone()),
        log.clone(),
    );
    assert_eq!((left.await.unwrap(), right.await.unwrap()), (5, 8));
}

#[tokio::test]
async fn d2_24_d2_25_parents_come_first_also_when_shared_at_different_depths() {
    let log = Log::default();
    let base = named(Context::new(0), "base", log.clone());
    let middle = named(&base, "middle", log.clone());
    let end = merge(
        merge(&base, &middle, log.clone()),
        named(&middle, "late", log.clone()),
        log.clone(),
    );
    let top = merge(&base, end, log.clone());
    assert_eq!(
        top.pending(),
        ["named", "named", "merge", "named", "merge", "merge"]
    );
    top.await.unwrap();
    assert_eq!(log.count("base"), 1);
    assert_eq!(log.lines()[..2], ["base", "middle"]);
    assert_eq!(log.lines().len(), 6);
}

#[tokio::test]
async fn d2_34_reading_one_after_the_other_runs_each_once() {
    let log = Log::default();
    let base = named(Context::new(0), "base", log.clone());
    let left = named(&base, "left", log.clone());
    let right = named(&base, "right", log.clone());
    left.data().await.unwrap();
    right.data().await.unwrap();
    merge(left, right, log.clone()).await.unwrap();
    assert_eq!(log.lines(), ["base", "left", "right", "merge"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d2_33_branches_read_at_the_same_time_run_the_ancestor_once() {
    for _ in 0..50 {
        let log = Log::default();
        let base = named(Context::new(0), "base", log.clone());
        let reads =
            (0..32).map(|_| tokio::spawn(named(&base, "branch", log.clone()).into_future()));
        for read in reads.collect::<Vec<_>>() {
            assert_eq!(read.await.unwrap().unwrap(), 2);
        }
        assert_eq!((log.count("base"), log.count("branch")), (1, 32));
    }
}

#[node]
async fn meets(n: i64, others: Arc<Barrier>) -> i64 {
    others.wait().await;
    n
}

#[tokio::test]
async fn independent_branches_run_at_the_same_time() {
    let root = Context::new(1);
    let barrier = Arc::new(Barrier::new(2));
    let sum = merge(
        meets(&root, barrier.clone()),
        meets(&root, barrier),
        Log::default(),
    );
    let met = timeout(Duration::from_secs(10), sum.into_future()).await;
    assert_eq!(met.expect("each waits for the other").unwrap(), 2);
}

#[node]
async fn gated(n: i64, gate: Arc<Semaphore>, log: Log) -> i64 {
    log.write("begun");
    gate.acquire().await.expect("never closed").forget();
    log.write("done");
    n
}

#[tokio::test]
async fn a_cancelled_read_leaves_a_value_that_a_later_read_completes() {
    let gate = Arc::new(Semaphore::new(0));
    let log = Log::default();
    let context = gated(Context::new(7), gate.clone(), log.clone());
    assert!(
        timeout(Duration::from_millis(10), context.data())
            .await
            .is_err()
    );
    assert!(context.is_pending());
    gate.add_permits(1);
    assert_eq!(context.data().await.unwrap(), 7);
    assert_eq!(
        (log.count("begun"), log.count("done")),
        (2, 1),
        "nobody was left to wait for the first"
    );
}

#[tokio::test]
async fn when_one_of_two_readers_goes_the_other_keeps_the_same_execution() {
    let gate = Arc::new(Semaphore::new(0));
    let log = Log::default();
    let context = gated(Context::new(7), gate.clone(), log.clone());
    let first = tokio::spawn(context.clone().into_future());
    while log.count("begun") == 0 {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn(context.clone().into_future());
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(second.await.unwrap().unwrap(), 7);
    assert_eq!(log.lines(), ["begun", "done"]);
}

#[tokio::test]
async fn a_cancelled_read_stops_branches_that_nobody_else_waits_for() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let stopped = Arc::new(Notify::new());
    let branch = {
        let stopped = stopped.clone();
        unhurried::wrap("for ever", move |_: i64| {
            let guard = Dropped(stopped.clone());
            async move {
                let _guard = guard;
                std::future::pending::<Result<i64, String>>().await
            }
        })
    };
    let root = Context::new(1);
    let sum = merge(branch.call(&root), branch.call(&root), Log::default());
    assert!(
        timeout(Duration::from_millis(10), sum.data())
            .await
            .is_err()
    );
    stopped.notified().await;
}

#[tokio::test]
async fn d2_56_runs_of_the_same_pipeline_are_independent() {
    let pipeline = |n: i64| {
        named(
            named(Context::new(n), "a", Log::default()),
            "b",
            Log::default(),
        )
    };
    let results = join_all((0..20).map(|n| pipeline(n).into_future())).await;
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(result.unwrap(), n as i64 + 2);
    }
}

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

/// A value may come between a reader's look at the cell and its look at the pending nodes: then
/// there is nothing left to run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_who_come_just_as_the_value_does_have_it() {
    for _ in 0..5000 {
        let value = add_one(Context::new(1));
        let reads: Vec<_> = (0..4)
            .map(|_| tokio::spawn(value.clone().into_future()))
            .collect();
        for read in reads {
            assert_eq!(read.await.unwrap().unwrap(), 2);
        }
    }
}
