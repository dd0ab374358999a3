//! Reading values: the forms, from async code and from other code, and ordinary control flow over them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use unhurried::{Context, NodeExecutionError, Refusal, block_on, node, repeat_until};

#[node]
async fn add_one(n: i64) -> i64 {
    n + 1
}

#[node]
async fn double(n: i64) -> i64 {
    n * 2
}

/// Counts its executions in a counter that the test brings.
#[node]
async fn counted(n: i64, counter: Arc<AtomicUsize>) -> i64 {
    counter.fetch_add(1, Ordering::SeqCst);
    n + 1
}

fn counter() -> Arc<AtomicUsize> {
    Arc::default()
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

/// D2.21, D2.22: `run`, `.await` and `data` alike.
#[tokio::test]
async fn t2_01_t2_02_t2_03_d2_20_to_d2_23_every_form_of_reading_gives_the_same() {
    let context = || double(add_one(Context::new(5)));
    assert_eq!(context().data().await.unwrap(), 12);
    assert_eq!(context().await.unwrap(), 12);
    assert_eq!((&context()).await.unwrap(), 12);
    let ran = context().run().await.unwrap();
    assert!(!ran.is_pending());
    assert_eq!(ran.data().await.unwrap(), 12);
    assert_eq!(Context::new(42).data().await.unwrap(), 42);
    assert_eq!(add_one(Context::new(0)).await.unwrap(), 1);
}

#[test]
fn d2_07_blocking_forms_give_the_same() {
    let context = || double(add_one(Context::new(5)));
    assert_eq!(context().blocking_data().unwrap(), 12);
    assert_eq!(
        context().blocking_run().unwrap().blocking_data().unwrap(),
        12
    );
    assert_eq!(block_on(async { context().await }).unwrap().unwrap(), 12);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn t2_36_d2_08_a_blocking_read_works_in_a_multi_threaded_runtime() {
    assert_eq!(
        double(add_one(Context::new(5))).blocking_data().unwrap(),
        12
    );
    let inside_a_node = tokio::spawn(async { add_one(Context::new(1)).blocking_data().unwrap() });
    assert_eq!(inside_a_node.await.unwrap(), 2);
}

#[tokio::test(flavor = "current_thread")]
async fn t2_36_d2_08_a_blocking_read_on_the_only_thread_says_what_to_do() {
    let context = add_one(Context::new(1));
    let refused = context.blocking_data().unwrap_err();
    assert_eq!(
        refused.cause().downcast_ref(),
        Some(&Refusal::WouldDeadlock)
    );
    assert!(refused.to_string().contains(".data().await"), "{refused}");
    assert_eq!(context.data().await.unwrap(), 2, "and the async form works");
}

#[test]
fn reading_without_any_runtime_says_what_to_do() {
    let refused = futures_util::future::FutureExt::now_or_never(Box::pin(async {
        add_one(Context::new(1)).await
    }));
    assert!(
        refused
            .unwrap()
            .unwrap_err()
            .to_string()
            .contains("blocking_data()")
    );
}

#[tokio::test]
async fn t2_04_reading_in_the_middle_keeps_what_it_computed() {
    let counter = counter();
    let six = counted(Context::new(5), counter.clone());
    assert_eq!(six.data().await.unwrap(), 6);
    assert_eq!(double(six).await.unwrap(), 12);
    assert_eq!(count(&counter), 1);
}

#[tokio::test]
async fn t2_05_t2_06_d2_05_d2_26_only_the_chosen_side_runs() {
    let high = counter();
    let low = counter();
    for (start, expected) in [(10, 12), (2, 3)] {
        let n = add_one(Context::new(start));
        let side = if n.data().await.unwrap() > 5 {
            counted(n, high.clone())
        } else {
            n
        };
        assert_eq!(side.await.unwrap(), expected);
    }
    assert_eq!((count(&high), count(&low)), (1, 0));
}

#[tokio::test]
async fn t2_07_d2_27_while_runs_the_body_once_per_iteration() {
    let counter = counter();
    let mut n = Context::new(0);
    while n.data().await.unwrap() < 5 {
        n = counted(n, counter.clone());
    }
    assert_eq!((n.data().await.unwrap(), count(&counter)), (5, 5));
}

#[node]
async fn append(list: Vec<i64>, n: i64) -> Vec<i64> {
    list.into_iter().chain([n]).collect()
}

#[tokio::test]
async fn t2_08_for_appends() {
    let mut list = Context::new(Vec::new());
    for n in 0..3 {
        list = append(list, n);
    }
    assert_eq!(list.await.unwrap(), [0, 1, 2]);
}

fn twice(n: Context<i64>) -> Context<i64> {
    add_one(add_one(n))
}

async fn unless_above_ten(n: i64) -> Result<i64, NodeExecutionError> {
    let n = add_one(Context::new(n));
    if n.data().await? > 10 {
        return n.await;
    }
    double(n).await
}

#[tokio::test]
async fn t2_11_t2_12_d2_01_helpers_and_early_returns() {
    assert_eq!(double(twice(Context::new(5))).await.unwrap(), 14);
    assert_eq!(unless_above_ten(5).await.unwrap(), 12);
    assert_eq!(unless_above_ten(15).await.unwrap(), 16);
}

/// Each level reads before it goes on.
async fn down(n: Context<i64>) -> Result<Context<i64>, NodeExecutionError> {
    match n.data().await? {
        0 => Ok(n),
        _ => Box::pin(down(add(n, -1))).await,
    }
}

#[node]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// A node that reads a node that reads a node.
#[node]
async fn depth(n: u32) -> Result<u32, NodeExecutionError> {
    match n {
        0 => Ok(0),
        _ => Ok(depth(Context::new(n - 1)).await? + 1),
    }
}

#[tokio::test]
async fn d2_28_recursion_a_thousand_deep() {
    assert_eq!(down(Context::new(1000)).await.unwrap().await.unwrap(), 0);
    assert_eq!(depth(Context::new(1000)).await.unwrap(), 1000);
}

#[test]
fn d2_28_recursion_a_thousand_deep_from_blocking_code() {
    assert_eq!(depth(Context::new(1000)).blocking_data().unwrap(), 1000);
}

#[tokio::test]
async fn ten_thousand_in_a_chain_are_built_listed_run_drawn_and_dropped() {
    let mut n = Context::new(0);
    for _ in 0..10_000 {
        n = add_one(n);
    }
    assert_eq!((n.pending_count(), n.graph().edges.len()), (10_000, 10_000));
    let unread = n.clone();
    assert_eq!(n.await.unwrap(), 10_000);
    drop(unread);
    let mut never_read = Context::new(0);
    for _ in 0..10_000 {
        never_read = add_one(never_read);
    }
    drop(never_read);
}

#[node]
async fn orchestrate(n: i64) -> Result<i64, NodeExecutionError> {
    let staged = double(add_one(Context::new(n)));
    Ok(staged.await? + 1)
}

#[tokio::test]
async fn d2_29_a_node_may_call_nodes_and_await_them() {
    assert_eq!(double(orchestrate(Context::new(5))).await.unwrap(), 26);
}

#[tokio::test]
async fn d2_59_repeat_until_is_a_function() {
    let reached = repeat_until(Context::new(0), add_one, |n| *n >= 3, 10)
        .await
        .unwrap();
    assert_eq!(reached.await.unwrap(), 3);
    let refused = repeat_until(Context::new(0), add_one, |n| *n >= 3, 2)
        .await
        .unwrap_err();
    assert_eq!(
        refused.cause().downcast_ref(),
        Some(&Refusal::LimitReached(2))
    );
}
