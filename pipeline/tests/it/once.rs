//! The once-only cell under a model checker: every interleaving of its lock.
//!
//! The cell's own source is compiled here a second time, with the checker's lock in place of the standard one. The
//! shared future inside is the standard one: to the checker each poll is one step.

#[path = "../../src/once.rs"]
#[allow(dead_code)]
mod cell;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cell::Once;
use loom::future::block_on;

/// A computation that is not over at its first poll.
async fn slowly(count: Arc<AtomicUsize>, result: Result<u32, &'static str>) -> Result<u32, &'static str> {
    count.fetch_add(1, Ordering::SeqCst);
    let mut polled = false;
    std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut polled, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    result
}

#[test]
fn two_readers_compute_once() {
    loom::model(|| {
        let (once, count) = (Arc::new(Once::empty()), Arc::new(AtomicUsize::new(0)));
        let (other, counted) = (once.clone(), count.clone());
        let reader = loom::thread::spawn(move || block_on(other.get_or_compute(|| slowly(counted, Ok(1)))));
        let mine = block_on(once.get_or_compute(|| slowly(count.clone(), Ok(2)))).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), mine);
        assert_eq!((once.get(), count.load(Ordering::SeqCst)), (Some(mine), 1));
    });
}

#[test]
fn a_failure_is_not_kept_and_a_late_settling_does_not_undo_a_new_attempt() {
    loom::model(|| {
        let (once, count) = (Arc::new(Once::empty()), Arc::new(AtomicUsize::new(0)));
        let (other, counted) = (once.clone(), count.clone());
        let reader = loom::thread::spawn(move || block_on(other.get_or_compute(|| slowly(counted, Err("no")))));
        let first = block_on(once.get_or_compute(|| slowly(count.clone(), Err("no"))));
        assert_eq!(first, Err("no"));
        assert_eq!(block_on(once.get_or_compute(|| slowly(count.clone(), Ok(7)))).ok().or(once.get()), once.get());
        let _ = reader.join().unwrap();
        assert!(matches!(once.get(), Some(7) | None));
        assert_eq!(block_on(once.get_or_compute(|| slowly(count.clone(), Ok(7)))), Ok(7));
    });
}

#[test]
fn a_reader_who_goes_away_leaves_the_other_with_a_value() {
    loom::model(|| {
        let (once, count) = (Arc::new(Once::empty()), Arc::new(AtomicUsize::new(0)));
        let (other, counted) = (once.clone(), count.clone());
        let reader = loom::thread::spawn(move || {
            // Polled once, then dropped.
            let read = other.get_or_compute(|| slowly(counted, Ok(1)));
            futures_util::FutureExt::now_or_never(read)
        });
        let mine = block_on(once.get_or_compute(|| slowly(count.clone(), Ok(1))));
        let _ = reader.join().unwrap();
        assert_eq!((mine, once.get()), (Ok(1), Some(1)));
        assert!(count.load(Ordering::SeqCst) <= 2);
    });
}
