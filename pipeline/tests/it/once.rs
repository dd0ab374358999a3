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
use futures_util::future::BoxFuture;
use loom::future::block_on;

type Slow = BoxFuture<'static, Result<u32, &'static str>>;

/// A computation that is not over at its first poll.
fn slowly(count: Arc<AtomicUsize>, result: Result<u32, &'static str>) -> Slow {
    Box::pin(async move {
        count.fetch_add(1, Ordering::SeqCst);
        let mut polled = false;
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut polled, true) {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        })
        .await;
        result
    })
}

#[test]
fn two_readers_compute_once() {
    loom::model(|| {
        let once = Arc::new(Once::pending(()));
        let count = Arc::new(AtomicUsize::new(0));
        let other = once.clone();
        let counted = count.clone();
        let reader =
            loom::thread::spawn(move || block_on(other.get_or_compute(|| slowly(counted, Ok(1)))));
        let mine = block_on(once.get_or_compute(|| slowly(count.clone(), Ok(2)))).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), mine);
        assert_eq!((once.get(), count.load(Ordering::SeqCst)), (Some(mine), 1));
    });
}

#[test]
fn a_failure_is_not_kept_and_a_late_settling_does_not_undo_a_new_attempt() {
    loom::model(|| {
        let once = Arc::new(Once::pending(()));
        let count = Arc::new(AtomicUsize::new(0));
        let other = once.clone();
        let counted = count.clone();
        let reader = loom::thread::spawn(move || {
            block_on(other.get_or_compute(|| slowly(counted, Err("no"))))
        });
        let first = block_on(once.get_or_compute(|| slowly(count.clone(), Err("no"))));
        assert_eq!(first, Err("no"));
        assert_eq!(
            block_on(once.get_or_compute(|| slowly(count.clone(), Ok(7))))
                .ok()
                .or(once.get()),
            once.get()
        );
        let _ = reader.join().unwrap();
        assert!(matches!(once.get(), Some(7) | None));
        assert_eq!(
            block_on(once.get_or_compute(|| slowly(count.clone(), Ok(7)))),
            Ok(7)
        );
    });
}

#[test]
fn a_reader_who_goes_away_leaves_the_other_with_a_value() {
    loom::model(|| {
        let once = Arc::new(Once::pending(()));
        let count = Arc::new(AtomicUsize::new(0));
        let other = once.clone();
        let counted = count.clone();
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

/// The recipe of a value; counts that it is gone, and looks into its cell when it goes.
struct Recipe {
    gone: Arc<AtomicUsize>,
    cell: std::sync::OnceLock<std::sync::Weak<Once<Recipe, u32, Slow>>>,
}

impl Drop for Recipe {
    fn drop(&mut self) {
        if let Some(cell) = self.cell.get().and_then(std::sync::Weak::upgrade) {
            // Stands still if the lock is held meanwhile.
            assert_eq!(cell.get(), Some(1));
        }
        self.gone.fetch_add(1, Ordering::SeqCst);
    }
}

fn made_of(gone: &Arc<AtomicUsize>) -> Arc<Once<Recipe, u32, Slow>> {
    let once = Arc::new(Once::pending(Recipe {
        gone: gone.clone(),
        cell: std::sync::OnceLock::new(),
    }));
    once.recipe(|recipe| recipe.cell.set(Arc::downgrade(&once)));
    once
}

#[test]
fn what_a_value_is_made_of_is_there_until_the_value_is_and_goes_outside_of_the_lock() {
    loom::model(|| {
        let gone = Arc::new(AtomicUsize::new(0));
        let count = Arc::new(AtomicUsize::new(0));
        let once = made_of(&gone);
        let other = once.clone();
        let counted = count.clone();
        let reader =
            loom::thread::spawn(move || block_on(other.get_or_compute(|| slowly(counted, Ok(1)))));
        match once.recipe(|recipe| recipe.gone.load(Ordering::SeqCst)) {
            Some(gone) => assert_eq!(gone, 0),
            None => assert_eq!(once.get(), Some(1)),
        }
        assert_eq!(
            block_on(once.get_or_compute(|| slowly(count.clone(), Ok(1)))),
            Ok(1)
        );
        assert_eq!(reader.join().unwrap(), Ok(1));
        assert_eq!(
            (once.recipe(|_| ()), gone.load(Ordering::SeqCst)),
            (None, 1)
        );
    });
}

#[test]
fn a_failure_keeps_what_the_next_computation_is_made_of() {
    loom::model(|| {
        let gone = Arc::new(AtomicUsize::new(0));
        let once = made_of(&gone);
        let other = once.clone();
        let counted = Arc::new(AtomicUsize::new(0));
        let reader = loom::thread::spawn(move || {
            block_on(other.get_or_compute(|| slowly(counted, Err("no"))))
        });
        let mine = block_on(once.get_or_compute(|| slowly(Arc::default(), Err("no"))));
        assert_eq!((mine, reader.join().unwrap()), (Err("no"), Err("no")));
        assert_eq!(
            (once.recipe(|_| ()), gone.load(Ordering::SeqCst)),
            (Some(()), 0)
        );
        assert_eq!(
            block_on(once.get_or_compute(|| slowly(Arc::default(), Ok(1)))),
            Ok(1)
        );
        assert_eq!(gone.load(Ordering::SeqCst), 1);
    });
}
