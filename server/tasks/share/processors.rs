//! Processors that spaces share: a space polls only so many of its tasks at a time; its other tasks wait outside of the async runtime's
//! queue, space by space. That queue treats all tasks alike, so a thousand tasks of one tenant would stand before one of another.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::state::State;
use thinkd_words::id::Space;

/// Processors that spaces share; cheap to clone.
#[derive(Clone, Default)]
pub struct Processors(Option<Arc<Inner>>);

// A plain mutex: held to count, never across an await.
struct Inner(Mutex<State<Arc<Ticket>>>);

/// A task's place in the queue.
#[derive(Default)]
struct Ticket(Mutex<Standing>);

#[derive(Default)]
enum Standing {
    #[default]
    Outside,
    Waits(Waker),
    Granted,
}

thread_local! {
    /// True while a task of a space is worked on this thread: tasks inside it need no place of
    /// their own.
    static WORKING: Cell<bool> = const { Cell::new(false) };
}

impl Processors {
    /// Shares the threads of a runtime: a space may hold the fraction `share` of them (rounded down, at least one); 1: no limit.
    pub fn new(threads: usize, share: f64) -> Self {
        if share >= 1.0 {
            return Self(None);
        }
        let threads = u32::try_from(threads.max(2)).unwrap_or(u32::MAX);
        let state = State::new(threads, share, true);
        Self(Some(Arc::new(Inner(Mutex::new(state)))))
    }

    /// Wraps work of a space, so that it is polled when the space may have a processor.
    pub fn of<F: Future>(&self, space: &Space, work: F) -> Work<F> {
        let gate = self.0.as_ref().map(|inner| Gate {
            inner: inner.clone(),
            space: space.clone(),
            ticket: Arc::default(),
        });
        Work {
            gate,
            work: Box::pin(work),
        }
    }
}

/// A future that [`Processors::of`] wrapped.
pub struct Work<F> {
    gate: Option<Gate>,
    work: Pin<Box<F>>,
}

struct Gate {
    inner: Arc<Inner>,
    space: Space,
    ticket: Arc<Ticket>,
}

impl<F: Future> Future for Work<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        match &this.gate {
            Some(gate) if !WORKING.get() => {
                if !gate.enter(context) {
                    return Poll::Pending;
                }
                let _working = Working::begin(gate);
                this.work.as_mut().poll(context)
            }
            _ => this.work.as_mut().poll(context),
        }
    }
}

/// A processor that works for a space; given back when dropped.
struct Working<'a>(&'a Gate);

impl<'a> Working<'a> {
    fn begin(gate: &'a Gate) -> Self {
        WORKING.set(true);
        Self(gate)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        WORKING.set(false);
        self.0.inner.give_back(&self.0.space);
    }
}

impl Gate {
    /// Returns true if the task may be worked now; else it is woken when it may.
    fn enter(&self, context: &Context<'_>) -> bool {
        let mut standing = self.ticket.0.lock();
        match &mut *standing {
            Standing::Granted => {
                *standing = Standing::Outside;
                return true;
            }
            Standing::Waits(waker) => {
                waker.clone_from(context.waker());
                return false;
            }
            Standing::Outside => {}
        }
        let mut state = self.inner.0.lock();
        if state.take(&self.space) {
            return true;
        }
        state.wait(&self.space, 0, self.ticket.clone());
        metrics::counter!("thinkd_limit_total", "limit" => "processors").increment(1);
        *standing = Standing::Waits(context.waker().clone());
        false
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let standing = std::mem::take(&mut *self.ticket.0.lock());
        if matches!(standing, Standing::Granted) {
            self.inner.give_back(&self.space);
        }
    }
}

impl Inner {
    /// Gives a processor back, and to the next task in line.
    fn give_back(&self, space: &Space) {
        // The lock is free again before a ticket's is taken: who begins to wait locks the two the other way round.
        let mut next = self.pass_on(space);
        while let Some((space, ticket)) = next {
            if ticket.grant() {
                return;
            }
            // That task has gone: the processor is for the next one.
            next = self.pass_on(&space);
        }
    }

    /// Gives a processor back and takes it for the next task in line.
    fn pass_on(&self, space: &Space) -> Option<(Space, Arc<Ticket>)> {
        let mut state = self.0.lock();
        state.give_back(space);
        state.next()
    }
}

impl Ticket {
    /// Wakes the task that waits with it; false: it has gone.
    fn grant(&self) -> bool {
        let waker = match std::mem::replace(&mut *self.0.lock(), Standing::Granted) {
            Standing::Waits(waker) => waker,
            Standing::Outside | Standing::Granted => return false,
        };
        waker.wake();
        true
    }
}
