//! The error of a failing node, the values that are kept, and the nodes that a second read runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use unhurried::{Context, NodeExecutionError, Refusal, node, wrap};

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Debug, PartialEq)]
struct TooLarge(i64);

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is too large", self.0)
    }
}

impl std::error::Error for TooLarge {}

#[node]
async fn below_five(n: i64) -> Result<i64, TooLarge> {
    if n < 5 { Ok(n) } else { Err(TooLarge(n)) }
}

#[tokio::test]
async fn t2_31_d2_31_the_error_names_the_node_what_completed_and_the_cause() {
    let failure = below_five(add_one(add_one(Context::new(3))))
        .await
        .unwrap_err();
    assert_eq!(failure.node(), "below_five");
    assert_eq!(failure.completed(), ["add_one", "add_one"]);
    assert_eq!(failure.cause().downcast_ref(), Some(&TooLarge(5)));
    assert_eq!(
        failure.to_string(),
        "node `below_five` failed (completed: add_one, add_one): 5 is too large"
    );
    assert!(std::error::Error::source(&failure).is_some());
}

#[node]
async fn outer(n: i64) -> Result<i64, NodeExecutionError> {
    below_five(add_one(Context::new(n))).await
}

#[tokio::test]
async fn d2_31_a_failure_inside_a_node_is_not_wrapped_twice() {
    let failure = outer(add_one(Context::new(7))).await.unwrap_err();
    assert_eq!(
        (failure.node(), failure.completed()),
        ("below_five", ["add_one".to_owned()].as_slice())
    );
    assert_eq!(failure.cause().downcast_ref(), Some(&TooLarge(9)));
}

/// Fails until the counter has come to `until`.
#[node]
async fn flaky(n: i64, counter: Arc<AtomicUsize>, until: usize) -> Result<i64, String> {
    let count = counter.fetch_add(1, Ordering::SeqCst) + 1;
    if count < until {
        Err(format!("attempt {count}"))
    } else {
        Ok(n)
    }
}

#[tokio::test]
async fn a_second_read_runs_the_failed_node_alone() {
    let before = Arc::new(AtomicUsize::new(0));
    let failing = Arc::new(AtomicUsize::new(0));
    let context = add_one(flaky(
        flaky(Context::new(1), before.clone(), 1),
        failing.clone(),
        3,
    ));
    for attempt in ["attempt 1", "attempt 2"] {
        assert_eq!(
            context.data().await.unwrap_err().cause().to_string(),
            attempt
        );
        assert_eq!(context.pending(), ["flaky", "add_one"]);
    }
    assert_eq!(context.data().await.unwrap(), 2);
    assert_eq!(
        (
            before.load(Ordering::SeqCst),
            failing.load(Ordering::SeqCst)
        ),
        (1, 3)
    );
}

#[tokio::test]
async fn those_who_wait_for_the_same_failure_all_get_it_and_it_ran_once() {
    let counter = Arc::new(AtomicUsize::new(0));
    let counted = counter.clone();
    let slow = wrap("slow", move |_: i64| {
        let counted = counted.clone();
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            Err::<i64, _>("no")
        }
    });
    let shared = slow.call(Context::new(1));
    let reads = (0..16)
        .map(|_| tokio::spawn(add_one(&shared).into_future()))
        .collect::<Vec<_>>();
    for read in reads {
        assert_eq!(read.await.unwrap().unwrap_err().node(), "slow");
    }
    assert_eq!(counter.load(Ordering::SeqCst), 1);
}

#[node]
async fn panics(n: i64) -> i64 {
    panic!("no {n} here")
}

#[tokio::test]
async fn a_panic_is_an_error_naming_the_node_and_siblings_are_unharmed() {
    let root = Context::new(1);
    let sibling = add_one(&root);
    let failure = add(panics(&root), &sibling).await.unwrap_err();
    assert_eq!(failure.node(), "panics");
    assert_eq!(
        failure.cause().downcast_ref(),
        Some(&Refusal::Panicked("no 1 here".to_owned()))
    );
    assert!(!sibling.is_pending(), "it ran beside it, to its end");
    assert_eq!(sibling.await.unwrap(), 2);
}

#[tokio::test]
async fn a_running_sibling_of_a_failure_may_finish() {
    let slow = wrap("slow", |n: i64| async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok::<_, String>(n)
    });
    let slow = slow.call(Context::new(7));
    let failure = add(below_five(Context::new(9)), &slow).await.unwrap_err();
    assert_eq!(
        (failure.node(), failure.completed()),
        ("below_five", ["slow".to_owned()].as_slice())
    );
    assert!(!slow.is_pending());
}

#[derive(Debug)]
struct Fragile;

impl Clone for Fragile {
    fn clone(&self) -> Self {
        panic!("it broke")
    }
}

#[tokio::test]
async fn an_argument_that_panics_as_it_is_copied_is_a_failure_of_the_node_that_takes_it() {
    let fragile = Context::new(Fragile);
    let take = wrap("take", |_: Fragile| async { Ok::<_, String>(1) });
    let failure = add_one(take.call(&fragile)).await.unwrap_err();
    assert_eq!(
        (failure.node(), failure.to_string()),
        ("take", "node `take` failed: panicked: it broke".to_owned())
    );
}
