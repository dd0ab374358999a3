//! Fan-in: many contexts as one argument and as one context, results by index, failures by choice, at most so many at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Barrier, Semaphore};
use tokio::time::timeout;
use unhurried::{
    Context, Journal, JournalStore, MemoryStore, NodeExecutionError, Run, all, at_once, node,
    outcomes,
};

#[node]
async fn double(n: u64) -> u64 {
    n * 2
}

#[node]
async fn sum(numbers: Vec<u64>) -> u64 {
    numbers.into_iter().sum()
}

#[node]
async fn joined(parts: &[String], between: &str) -> String {
    parts.join(between)
}

#[tokio::test]
async fn a_vec_of_contexts_is_an_argument_in_every_form() {
    let numbers = (1..=4).map(|n| double(Context::new(n))).collect::<Vec<_>>();
    assert_eq!(sum(&numbers).await.unwrap(), 20);
    assert_eq!(sum(&numbers[..2]).await.unwrap(), 6);
    assert_eq!(sum(numbers).await.unwrap(), 20);
    assert_eq!(
        sum([double(Context::new(1)), Context::new(3)])
            .await
            .unwrap(),
        5
    );
    assert_eq!(
        sum(Vec::<Context<u64>>::new()).await.unwrap(),
        0,
        "none is a number of branches"
    );
    let parts = ["a", "b"].map(|part| Context::new(part.to_owned()));
    assert_eq!(
        joined(parts, Context::new("+".to_owned())).await.unwrap(),
        "a+b"
    );
    assert_eq!(
        sum(Context::new(vec![1, 2])).await.unwrap(),
        3,
        "and a context of a vec still is"
    );
}

/// The earlier its index, the later it is done.
#[node]
async fn later_the_earlier(i: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(20 - 2 * i)).await;
    i
}

#[tokio::test]
async fn results_are_by_index_whoever_was_first() {
    let branches = || (0..10).map(|i| later_the_earlier(Context::new(i)));
    let expected = (0..10).collect::<Vec<_>>();
    assert_eq!(all(branches()).await.unwrap(), expected);
    assert_eq!(at_once(3).all(branches()).await.unwrap(), expected);
    let found = outcomes(branches()).await.unwrap();
    assert_eq!(
        found.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        expected
    );
}

/// Fails where the number is odd, and counts.
#[node]
async fn even(n: u64, ran: Arc<Mutex<Vec<u64>>>) -> Result<u64, String> {
    ran.lock().unwrap().push(n);
    if n.is_multiple_of(2) {
        Ok(n)
    } else {
        Err(format!("{n} is odd"))
    }
}

#[tokio::test]
async fn the_first_failure_is_the_fan_ins_and_a_second_read_runs_what_did_not_complete() {
    for limited in [false, true] {
        let ran = Arc::new(Mutex::new(Vec::new()));
        let flaky = |n: u64| even(Context::new(n), ran.clone());
        let a = flaky(0);
        let b = flaky(1);
        let c = flaky(2);
        let fan_in = match limited {
            true => at_once(1).all([a.clone(), b, c]),
            false => all([a.clone(), b, c]),
        };
        let failure = fan_in.data().await.unwrap_err();
        assert_eq!(
            (failure.node(), failure.cause().to_string().as_str()),
            ("even", "1 is odd")
        );
        assert_eq!(
            (fan_in.name(), fan_in.is_pending(), a.is_pending()),
            ("all", true, false)
        );
        assert_eq!(
            fan_in.data().await.unwrap_err().cause().to_string(),
            "1 is odd"
        );
        assert_eq!(
            ran.lock().unwrap().iter().filter(|n| **n == 0).count(),
            1,
            "what completed is kept"
        );
    }
}

#[tokio::test]
async fn every_failure_is_had_by_index_and_stops_no_branch() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let branches = (0..6).map(|n| double(even(Context::new(n), ran.clone())));
    let found = at_once(2).outcomes(branches).await.unwrap();
    for (n, outcome) in found.iter().enumerate() {
        match outcome {
            Ok(value) => assert_eq!((n % 2, *value), (0, 2 * n as u64)),
            Err(failure) => {
                assert_eq!(
                    (failure.node(), failure.cause().to_string()),
                    ("even", format!("{n} is odd"))
                );
            }
        }
    }
    assert_eq!(
        (
            found.iter().filter(|outcome| outcome.is_err()).count(),
            ran.lock().unwrap().len()
        ),
        (3, 6)
    );
}

#[node]
async fn panics(n: u64) -> u64 {
    panic!("no {n} here")
}

#[tokio::test]
async fn a_branch_that_panics_is_a_failure_like_another() {
    let found = outcomes([panics(Context::new(1)), double(Context::new(1))])
        .await
        .unwrap();
    assert_eq!(
        found[0].as_ref().unwrap_err().to_string(),
        "node `panics` failed: panicked: no 1 here"
    );
    assert_eq!(found[1].as_ref().unwrap(), &2);
}

/// Number of bodies inside now, and the most so far.
#[derive(Clone, Default)]
struct Room(Arc<(AtomicUsize, AtomicUsize)>);

impl Room {
    fn enter(&self) {
        let inside = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(inside, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

#[node]
async fn stay(n: u64, room: Room, log: Arc<Mutex<Vec<u64>>>) -> u64 {
    room.enter();
    log.lock().unwrap().push(n);
    tokio::time::sleep(Duration::from_millis(2)).await;
    room.leave();
    n
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn at_most_so_many_run_at_once_and_as_many_do() {
    for n in [1, 2, 8] {
        let room = Room::default();
        let log = Arc::default();
        let root = double(Context::new(5));
        let add = |i: u64| {
            stay(
                stay(&root, room.clone(), Arc::clone(&log)),
                room.clone(),
                Arc::new(Mutex::new(vec![i])),
            )
        };
        assert_eq!(at_once(n).all((0..24).map(add)).await.unwrap(), [10; 24]);
        assert_eq!(room.most(), n, "at once");
    }
    let room = Room::default();
    let branches = (0..24).map(|i| stay(Context::new(i), room.clone(), Arc::default()));
    all(branches).await.unwrap();
    assert_eq!(room.most(), 24, "the control: without a limit all of them");
}

#[tokio::test]
async fn a_branch_comes_to_its_end_before_the_next_begins() {
    let room = Room::default();
    let log = Arc::new(Mutex::new(Vec::new()));
    let branch = |i: u64| {
        stay(
            double(stay(Context::new(i), room.clone(), log.clone())),
            room.clone(),
            log.clone(),
        )
    };
    at_once(1).all((1..=3).map(branch)).await.unwrap();
    assert_eq!(*log.lock().unwrap(), [1, 2, 2, 4, 3, 6]);
}

#[node]
async fn meets(n: u64, others: Arc<Barrier>) -> u64 {
    others.wait().await;
    n
}

#[tokio::test]
async fn a_limit_holds_up_nothing_but_its_own_branches() {
    let barrier = Arc::new(Barrier::new(2));
    let limited = at_once(1).all([meets(Context::new(1), barrier.clone())]);
    let both = [sum(limited), meets(Context::new(2), barrier)];
    let met = timeout(Duration::from_secs(10), sum(both).into_future()).await;
    assert_eq!(met.expect("each waits for the other").unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_branches_share_runs_once_however_they_are_gathered() {
    for _ in 0..50 {
        let log = Arc::new(Mutex::new(Vec::new()));
        let shared = stay(Context::new(1), Room::default(), log.clone());
        let branches = || (0..8).map(|_| double(&shared)).collect::<Vec<_>>();
        let gathered = [all(branches()), at_once(2).all(branches())].map(sum);
        let tolerant = outcomes(branches());
        let (gathered, tolerant) =
            tokio::join!(sum(gathered).into_future(), tolerant.into_future());
        assert_eq!((gathered.unwrap(), tolerant.unwrap().len()), (32, 8));
        assert_eq!(*log.lock().unwrap(), [1]);
    }
}

#[tokio::test]
async fn what_a_fan_in_would_run_is_seen_without_running_it() {
    let branches = || [double(Context::new(1)), double(Context::new(2))];
    let tolerant = at_once(2).outcomes(branches());
    for (pending, graph) in [
        (all(branches()).pending(), all(branches()).graph()),
        (tolerant.pending(), tolerant.graph()),
    ] {
        assert_eq!(
            (&pending[..2], graph.edges),
            (
                ["double".to_owned(), "double".to_owned()].as_slice(),
                vec![(0, 1), (2, 3), (1, 4), (3, 4)]
            )
        );
    }
    assert_eq!(tolerant.name(), "outcomes");
}

#[tokio::test]
async fn a_cancelled_read_of_a_fan_in_is_completed_by_a_later_one() {
    let gate = Arc::new(Semaphore::new(0));
    let gated = |n: u64| {
        let gate = gate.clone();
        let wait = unhurried::wrap("gated", move |n: u64| {
            let gate = gate.clone();
            async move {
                gate.acquire()
                    .await
                    .map_err(|error| error.to_string())?
                    .forget();
                Ok::<_, String>(n)
            }
        });
        wait.call(Context::new(n))
    };
    let fan_in = at_once(2).all((0..4).map(gated));
    assert!(
        timeout(Duration::from_millis(10), fan_in.data())
            .await
            .is_err()
    );
    gate.add_permits(4);
    assert_eq!(fan_in.data().await.unwrap(), [0, 1, 2, 3]);
}

#[tokio::test]
async fn branches_of_a_fan_in_are_recorded_by_where_they_were_called() {
    let store = MemoryStore::default();
    let run = || {
        let branches = async { sum(at_once(2).all((0..5).map(|n| double(Context::new(n))))).await };
        Run::new("r")
            .hook(Journal::new(store.clone()))
            .scope(branches)
    };
    assert_eq!(run().await.unwrap(), 20);
    assert_eq!(
        store.find("r", "5").await.unwrap().unwrap().value,
        serde_json::json!(8)
    );
    assert_eq!(run().await.unwrap(), 20);
}

#[test]
fn a_hundred_thousand_branches_are_gathered_and_dropped() {
    let branches = || {
        (0..100_000)
            .map(|n| double(Context::new(n)))
            .collect::<Vec<_>>()
    };
    let expected = 99_999 * 100_000;
    assert_eq!(sum(branches()).blocking_data().unwrap(), expected);
    assert_eq!(
        at_once(64)
            .all(branches())
            .blocking_data()
            .unwrap()
            .into_iter()
            .sum::<u64>(),
        expected
    );
    let found = outcomes(branches()).blocking_data().unwrap();
    assert_eq!(
        found
            .into_iter()
            .map(|outcome| outcome.unwrap())
            .sum::<u64>(),
        expected
    );
    drop(all(branches()));
}

#[test]
fn fan_ins_beneath_each_other_are_as_deep_as_chains() -> Result<(), NodeExecutionError> {
    let deep = |levels: u64, round: fn([Context<u64>; 2]) -> Context<u64>| {
        (0..levels).fold(Context::new(0), |n, _| round([n, Context::new(1)]))
    };
    assert_eq!(deep(100_000, sum).blocking_data()?, 100_000);
    assert_eq!(
        deep(2_000, |both| sum(at_once(2).all(both))).blocking_data()?,
        2_000
    );
    drop(deep(100_000, |both| sum(at_once(2).all(both))));
    Ok(())
}
