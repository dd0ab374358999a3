//! Blocking reads: from any thread they end, do not panic, and are refused only where waiting could not end.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::LocalSet;
use unhurried::{Context, NodeExecutionError, Refusal, node};

/// Far longer than any of these takes on a busy machine.
const FOR_EVER: Duration = Duration::from_secs(60);

#[node]
async fn slowly(n: u64) -> u64 {
    tokio::time::sleep(Duration::from_millis(20)).await;
    n + 1
}

#[node]
async fn nested(n: u64) -> Result<u64, NodeExecutionError> {
    if n == 0 {
        Ok(0)
    } else {
        nested(Context::new(n - 1))
            .blocking_data()
            .map(|below| below + 1)
    }
}

#[node]
async fn once_open(n: u64, mut gate: watch::Receiver<bool>) -> Result<u64, String> {
    gate.wait_for(|open| *open)
        .await
        .map(|_| n)
        .map_err(|error| error.to_string())
}

/// Does this on a thread of its own, and fails where it would hang.
fn within_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (ended, end) = mpsc::sync_channel(1);
    std::thread::spawn(move || ended.send(work()));
    end.recv_timeout(FOR_EVER).expect("it hangs, or panicked")
}

fn multi_thread(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap()
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[node]
async fn for_a_while(n: u64, time: Duration) -> u64 {
    tokio::time::sleep(time).await;
    n + 1
}

#[test]
fn more_blocking_reads_at_once_than_a_runtime_has_threads_all_end() {
    for (reads, threads, time) in [(40, 8, 200), (530, 512, 500)] {
        let right = within_time(move || {
            let time = Duration::from_millis(time);
            let mut builder = Builder::new_multi_thread();
            let runtime = builder
                .worker_threads(2)
                .max_blocking_threads(threads)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let timer = tokio::spawn(tokio::time::sleep(time));
                let read = |n| {
                    tokio::spawn(async move { for_a_while(Context::new(n), time).blocking_data() })
                };
                let mut right = 0;
                for (n, done) in (0..reads)
                    .map(read)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .enumerate()
                {
                    right += usize::from(done.await.unwrap().unwrap() == n as u64 + 1);
                }
                timer.await.unwrap();
                right
            })
        });
        assert_eq!(right as u64, reads);
    }
}

/// A task opens the gate, on the very runtime that has its threads wait for it.
#[test]
fn reads_that_leave_their_runtime_no_thread_are_refused_and_the_others_end() {
    let ended = within_time(|| {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2)
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let (open, gate) = watch::channel(false);
            let context = once_open(Context::new(7), gate);
            let read = || {
                let context = context.clone();
                tokio::spawn(async move { context.blocking_data() })
            };
            let reads = (0..4).map(|_| read()).collect::<Vec<_>>();
            tokio::spawn(async move { open.send(true) });
            let mut ended = Vec::new();
            for done in reads {
                ended.push(done.await.unwrap());
            }
            ended
        })
    });
    assert!(ended.iter().any(Result::is_ok), "{ended:?}");
    for refused in ended.into_iter().filter_map(Result::err) {
        assert_eq!(
            refused.cause().downcast_ref(),
            Some(&Refusal::NoThread),
            "{refused}"
        );
    }
}

#[test]
fn the_control_a_runtime_with_threads_enough_refuses_none_of_them() {
    let begun = Instant::now();
    within_time(|| {
        multi_thread(1).block_on(async {
            let (open, gate) = watch::channel(false);
            let context = once_open(Context::new(7), gate);
            let reads = (0..4)
                .map(|_| context.clone())
                .map(|context| tokio::spawn(async move { context.blocking_data() }));
            let reads = reads.collect::<Vec<_>>();
            tokio::spawn(async move { open.send(true) });
            for done in reads {
                assert_eq!(done.await.unwrap().unwrap(), 7);
            }
        })
    });
    assert!(begun.elapsed() < FOR_EVER);
}

#[test]
fn a_blocking_read_in_a_local_set_works_or_is_refused_and_never_panics() {
    let (in_it, spawned) = within_time(|| {
        let local = LocalSet::new();
        local.block_on(&multi_thread(1), async {
            let spawned =
                tokio::task::spawn_local(async { slowly(Context::new(1)).blocking_data() });
            (
                slowly(Context::new(1)).blocking_data(),
                spawned.await.unwrap(),
            )
        })
    });
    assert_eq!((in_it.unwrap(), spawned.unwrap()), (2, 2));
    let refused = within_time(|| {
        let local = LocalSet::new();
        local.block_on(&current_thread(), async {
            tokio::task::spawn_local(async { slowly(Context::new(1)).blocking_data() })
                .await
                .unwrap()
        })
    });
    assert_eq!(
        refused.unwrap_err().cause().downcast_ref(),
        Some(&Refusal::WouldDeadlock)
    );
}

#[test]
fn a_thread_for_blocking_work_may_block_whatever_its_runtime_is() {
    for runtime in [multi_thread(1), current_thread()] {
        let read = within_time(move || {
            // Nobody drives the runtime meanwhile.
            let reading = runtime.spawn_blocking(|| slowly(Context::new(1)).blocking_data());
            while !reading.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let alone = runtime.block_on(reading).unwrap();
            let beside = runtime.block_on(async {
                tokio::task::spawn_blocking(|| slowly(Context::new(2)).blocking_data())
                    .await
                    .unwrap()
            });
            (alone, beside)
        });
        assert_eq!((read.0.unwrap(), read.1.unwrap()), (2, 3));
    }
}

#[test]
fn a_thread_that_only_entered_a_runtime_may_block() {
    for runtime in [multi_thread(1), current_thread()] {
        let read = within_time(move || {
            let _entered = runtime.enter();
            slowly(Context::new(1)).blocking_data()
        });
        assert_eq!(read.unwrap(), 2);
    }
}

#[test]
fn bodies_that_block_on_each_other_end() {
    assert_eq!(
        within_time(|| nested(Context::new(60)).blocking_data()).unwrap(),
        60
    );
    let in_a_runtime = within_time(|| {
        multi_thread(2).block_on(async {
            tokio::spawn(async { nested(Context::new(60)).blocking_data() })
                .await
                .unwrap()
        })
    });
    assert_eq!(in_a_runtime.unwrap(), 60);
}
