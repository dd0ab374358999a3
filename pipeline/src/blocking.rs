//! Blocking reads, for code that is not async.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_util::future::{self, Either};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor, worker_index};
use tokio::task;

use crate::error::Refusal;

/// Longest wait of a blocking worker until its runtime goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bodies that block on each other take a thread each.
const OWN_THREADS: usize = 1 << 14;

/// Runs a future to its end from code that is not async.
///
/// The work runs on a runtime of this library, which is started once and kept, so that it does not wait for the thread that it
/// blocks.
///
/// | called from | |
/// | --- | --- |
/// | a thread without a runtime | works |
/// | a thread of a runtime that runs no tasks: `spawn_blocking`, `Handle::enter` | works |
/// | a multi-threaded runtime | works: another thread of it takes over this one's tasks; [`Refusal::NoThread`] if it has none left |
/// | a `LocalSet` on such a runtime | works, unless it waits for a task of the `LocalSet` |
/// | the thread of a current-thread runtime | [`Refusal::WouldDeadlock`], which names the async form |
///
/// ```
/// use unhurried::Context;
///
/// let pipeline = async { Context::new(20).data().await };
/// assert_eq!(unhurried::block_on(pipeline).unwrap().unwrap(), 20);
/// ```
pub fn block_on<F: Future>(future: F) -> Result<F::Output, Refusal> {
    let Ok(around) = Handle::try_current() else {
        return Ok(own_runtime()?.block_on(future));
    };
    match (worker_index(), around.runtime_flavor()) {
        (None, _) => Ok(wait(own_runtime()?, future)),
        (Some(_), RuntimeFlavor::MultiThread) => {
            let own = own_runtime()?;
            task::block_in_place(|| wait(own, unless_all_stand_still(&around, future)))
        }
        (Some(_), _) => Err(Refusal::WouldDeadlock),
    }
}

/// Runs a future unless its runtime stands still. A worker that blocks leaves its tasks, timers and
/// sockets to another thread of its runtime. If there is none, all of them stand still, perhaps
/// also the work that this waits for.
async fn unless_all_stand_still<F: Future>(
    runtime: &Handle,
    future: F,
) -> Result<F::Output, Refusal> {
    let mut future = pin!(future);
    let relieved = pin!(async {
        // Either shows it: a worker that works, or a free thread, for whoever waits for one is served in turn.
        let relieved = future::select(runtime.spawn(async {}), runtime.spawn_blocking(|| ()));
        tokio::time::timeout(PATIENCE, relieved).await.is_ok()
    });
    match future::select(future.as_mut(), relieved).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right((true, _)) => Ok(future.await),
        Either::Right((false, _)) => Err(Refusal::NoThread),
    }
}

/// Polls on this thread, also inside of a runtime: `Runtime::block_on` would panic in a `LocalSet`.
fn wait<F: Future>(runtime: &Runtime, future: F) -> F::Output {
    let _entered = runtime.enter();
    // Nobody refills the budget of a task that does not return.
    let mut future = pin!(task::unconstrained(future));
    let woken = Arc::new(Woken {
        thread: thread::current(),
        since: AtomicBool::new(false),
    });
    let waker = Waker::from(woken.clone());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        // A thread is unparked for whoever waits on it, further out, too: the flag is for this one.
        while !woken.since.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

struct Woken {
    thread: Thread,
    since: AtomicBool,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.since.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Kept for the life of the process: connections to replicas live on it from one call to the next.
fn own_runtime() -> Result<&'static Runtime, Refusal> {
    static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
    let start = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .enable_all()
            .thread_name("unhurried")
            .max_blocking_threads(OWN_THREADS)
            .build()
            .ok()
    };
    RUNTIME
        .get_or_init(start)
        .as_ref()
        .ok_or(Refusal::NoRuntime)
}
