//! Processors are shared: the work of one space does not stand before the work of another one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};

use kit::within;
use proptest::prelude::{ProptestConfig, Strategy, prop, proptest};
use thinkd::tasks::share::Processors;
use thinkd::words::id::Space;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, yield_now};

fn space(name: &str) -> Space {
    Space::parse(name).unwrap()
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .unwrap()
}

/// Work that a processor has to do before it can do anything else.
fn spin() {
    (0..200).for_each(|n| _ = std::hint::black_box(n));
}

/// Returns the number of polls of A's thousand tasks for each poll of B's only task.
fn crowding(processors: &Processors) -> usize {
    const TIMES: usize = 100;
    runtime(2).block_on(async {
        let polls = Arc::new(AtomicUsize::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let mut crowd = JoinSet::new();
        for _ in 0..1000 {
            let polls = polls.clone();
            let over = over.clone();
            crowd.spawn(processors.of(&space("a"), async move {
                while !over.load(Ordering::Relaxed) {
                    polls.fetch_add(1, Ordering::Relaxed);
                    spin();
                    yield_now().await;
                }
            }));
        }
        let begun = polls.clone();
        let one = tokio::spawn(processors.of(&space("b"), async move {
            let before = begun.load(Ordering::Relaxed);
            for _ in 0..TIMES {
                yield_now().await;
            }
            begun.load(Ordering::Relaxed) - before
        }));
        let between = within("the one task of B", one).await.unwrap();
        over.store(true, Ordering::Relaxed);
        within("the tasks of A", crowd.join_all()).await;
        between / TIMES
    })
}

#[test]
fn the_thousand_tasks_of_one_space_do_not_stand_before_the_one_of_another() {
    let shared = crowding(&Processors::new(2, 0.75));
    let control = crowding(&Processors::new(2, 1.0));
    assert!(shared < 50, "{shared} polls of A for each of B");
    assert!(
        control > 200,
        "without shares there are only {control}: this test could not fail"
    );
}

/// The most of twenty tasks of one space that are worked at one moment, in so many rounds of each;
/// ends once four are.
fn most_at_once(processors: &Processors, rounds: usize) -> usize {
    runtime(4).block_on(async {
        let now = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..20 {
            let now = now.clone();
            let most = most.clone();
            tasks.spawn(processors.of(&space("a"), async move {
                for _ in 0..rounds {
                    let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                    let is_over = most.fetch_max(at_once, Ordering::SeqCst).max(at_once) >= 4;
                    if !is_over {
                        spin();
                        // On two processors, too, four threads are in here at a time. Every
                        // call may cost a slice of each other program's, so there are few.
                        std::thread::yield_now();
                    }
                    now.fetch_sub(1, Ordering::SeqCst);
                    if is_over {
                        break;
                    }
                    yield_now().await;
                }
            }));
        }
        within("all tasks", tasks.join_all()).await;
        most.load(Ordering::SeqCst)
    })
}

#[test]
fn no_space_is_worked_by_more_processors_than_its_share() {
    assert!(most_at_once(&Processors::new(4, 0.5), 20) <= 2);
    assert_eq!(
        most_at_once(&Processors::new(4, 0.01), 20),
        1,
        "every space has one at least"
    );
    assert_eq!(
        most_at_once(&Processors::new(4, 1.0), usize::MAX),
        4,
        "where one space is all there is, it has all of them"
    );
}

/// A task: which space it is of, how often it yields, whether it is aborted after how many yields of the test.
fn task() -> impl Strategy<Value = (usize, usize, Option<usize>)> {
    (0..3_usize, 0..20_usize, prop::option::of(0..4_usize))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tasks come, wait, work within others, and are aborted anywhere: each that is left comes to its end, and none takes a processor with it.
    #[test]
    fn no_task_waits_for_ever_whichever_others_are_aborted(tasks in prop::collection::vec(task(), 1..80), share in 0.1..0.9_f64) {
        let processors = Processors::new(3, share);
        runtime(3).block_on(async {
            let mut left = JoinSet::new();
            for (of, yields, aborted) in tasks {
                let inner = processors.clone();
                let space = space(["a", "b", "c"][of]);
                let within_it = space.clone();
                let work = processors.of(&space, async move {
                    for _ in 0..yields {
                        inner.of(&within_it, yield_now()).await;
                        spin();
                    }
                });
                match aborted {
                    None => drop(left.spawn(work)),
                    Some(after) => {
                        let task = tokio::spawn(work);
                        for _ in 0..after {
                            yield_now().await;
                        }
                        task.abort();
                    }
                }
            }
            within("the tasks that are left", left.join_all()).await;
            for name in ["a", "b", "c"] {
                within("a task that comes last", tokio::spawn(processors.of(&space(name), yield_now()))).await.unwrap();
            }
        });
    }
}

/// Returns true if a task of A is worked that stands behind a task that has gone. The other task
/// goes before the processor was given to it, or after.
fn is_worked_behind_one_that_has_gone(is_granted: bool) -> bool {
    let processors = Processors::new(2, 0.5);
    let space = space("a");
    let mut context = Context::from_waker(Waker::noop());
    let mut poll =
        |work: &mut Pin<Box<dyn Future<Output = ()>>>| work.as_mut().poll(&mut context).is_ready();
    let waiting =
        || -> Pin<Box<dyn Future<Output = ()>>> { Box::pin(processors.of(&space, async {})) };
    let mut gone = waiting();
    let mut next = waiting();
    let begun = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        let (end, ended) = std::sync::mpsc::sync_channel::<()>(0);
        let begun = &begun;
        let holding = processors.of(&space, async move {
            begun.wait();
            // The other thread drops its end.
            let _ = ended.recv();
        });
        let holding = scope.spawn(move || futures_util::FutureExt::now_or_never(holding));
        begun.wait();
        assert!(
            !poll(&mut gone) && !poll(&mut next),
            "the space has one processor, which is taken"
        );
        let first = (!is_granted).then(|| drop(std::mem::replace(&mut gone, waiting())));
        drop(end);
        holding.join().unwrap();
        drop((first, gone));
    });
    poll(&mut next)
}

#[test]
fn a_task_that_has_gone_takes_no_processor_with_it() {
    for is_granted in [false, true] {
        assert!(
            is_worked_behind_one_that_has_gone(is_granted),
            "granted before it had gone: {is_granted}"
        );
    }
}
