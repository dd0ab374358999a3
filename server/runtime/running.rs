//! The threads that are run at this server, and how far: one entry a thread, as long as it has
//! something to do. Code that wakes a thread, stops its turn, or shows its status asks here.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use thinkd_log::error::StoreError;
use thinkd_log::hint::Hint;
use thinkd_log::kernel::Store;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::{Stop, Why};
use thinkd_tasks::share::Place;
use thinkd_words::id::{Seq, Space, ThreadId};

/// A thread of a space.
pub(super) type ThreadKey = (Space, ThreadId);

/// The threads that are run here; cheap to clone.
#[derive(Clone)]
pub struct Running {
    store: Arc<dyn Store>,
    // A plain mutex: held for look-ups, never across an await.
    active: Arc<Mutex<HashMap<ThreadKey, Active>>>,
}

/// A thread that is being run here.
#[derive(Default)]
struct Active {
    /// Something woke it since its runner last looked.
    again: bool,
    /// The turn it is about to begin is to be cancelled, with messages up to this one.
    cancel: Option<Seq>,
    /// The turn that runs.
    stop: Option<Arc<Stop>>,
    /// The last event that the turn is about; 0: it has not begun.
    taken: Seq,
    /// True: it was ended from here, and that was shown.
    ended: bool,
    /// The place to work at that it was begun with.
    place: Option<Place>,
}

impl Running {
    /// None yet.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            active: Arc::default(),
        }
    }

    /// Returns the number of threads that are run here.
    pub fn len(&self) -> usize {
        self.active.lock().len()
    }

    /// Enters a thread, with a place to work at if it has one. False: it is run already, and is looked at once more.
    pub fn enter(&self, key: &ThreadKey, place: Option<Place>) -> bool {
        let mut active = self.active.lock();
        if let Some(active) = active.get_mut(key) {
            active.again = true;
            return false;
        }
        let entered = Active {
            place,
            ..Active::default()
        };
        active.insert(key.clone(), entered);
        true
    }

    /// Notes that all causes that woke the thread up to now are about to be looked at.
    pub fn looks(&self, key: &ThreadKey) {
        self.change(key, |active| active.again = false);
    }

    /// Takes a thread off the list if nothing woke it meanwhile, or in any case (`always`). `Some`: it stays; whether it was woken.
    pub fn leave(&self, key: &ThreadKey, idle: bool, always: bool) -> Option<bool> {
        let mut active = self.active.lock();
        let again = active.get(key).is_some_and(|active| active.again);
        if always || (idle && !again) {
            active.remove(key);
            return None;
        }
        Some(again)
    }

    /// Work on a thread begins; it can be stopped from now on.
    pub fn begin(&self, key: &ThreadKey, stop: &Arc<Stop>) {
        let mut active = self.active.lock();
        let Some(active) = active.get_mut(key) else {
            return;
        };
        active.stop = Some(stop.clone());
        if active.cancel.is_some() {
            stop.stop(Why::Cancel);
        }
        self.hint(key, Status::Thinking, 0);
    }

    /// The work is over.
    pub fn end(&self, key: &ThreadKey) {
        self.change(key, |active| {
            (active.stop, active.cancel, active.taken) = (None, None, 0);
        });
    }

    /// The turn that runs is about events up to this one.
    pub fn takes(&self, key: &ThreadKey, seq: Seq) {
        self.change(key, |active| active.taken = seq);
    }

    /// Returns whether the turn that runs here is about this event.
    pub fn has_taken(&self, key: &ThreadKey, seq: Seq) -> bool {
        self.active
            .lock()
            .get(key)
            .is_some_and(|active| active.taken >= seq)
    }

    /// Takes the place that a thread was entered with.
    pub fn take_place(&self, key: &ThreadKey) -> Option<Place> {
        self.active
            .lock()
            .get_mut(key)
            .and_then(|active| active.place.take())
    }

    /// Stops the work on a thread that is under way here. False: there is none.
    pub fn stop(&self, key: &ThreadKey, why: Why) -> bool {
        let active = self.active.lock();
        let stop = active.get(key).and_then(|active| active.stop.as_ref());
        stop.inspect(|stop| stop.stop(why)).is_some()
    }

    /// Cancels the work on a thread, or the work about to begin, with messages up to `head`. False:
    /// the thread is not run here.
    pub fn cancel(&self, key: &ThreadKey, head: Seq) -> bool {
        self.change(key, |active| match &active.stop {
            Some(stop) => stop.stop(Why::Cancel),
            None => active.cancel = Some(head),
        })
    }

    /// Returns the head of a thread when the turn about to begin was cancelled; none: it was not.
    pub fn cancelled_at(&self, key: &ThreadKey) -> Option<Seq> {
        self.active.lock().get(key)?.cancel
    }

    /// Returns the number of messages that wait for a thread's next turn, counted up to `limit`.
    /// Messages of the running turn wait no longer; as long as nothing of that turn is in the log,
    /// only the server that runs it knows this.
    pub async fn queued(
        &self,
        space: &Space,
        row: &ThreadRow,
        limit: u32,
    ) -> Result<u32, StoreError> {
        let taken = self
            .active
            .lock()
            .get(&(space.clone(), row.thread.clone()))
            .map_or(0, |active| active.taken);
        let after = row.handled.max(row.state.taken).max(taken);
        if row.woken <= after || row.status.is_final() {
            return Ok(0);
        }
        let settled = u32::try_from(row.settled_after(after)).unwrap_or(u32::MAX);
        let most = limit.saturating_add(settled);
        let mail = self.store.queued(space, &row.thread, after, most).await?;
        Ok(mail.saturating_sub(settled))
    }

    /// Shows the status of a thread now that its turn is over. One that has ended stays ended,
    /// regardless of the status of its last turn. Returns whether it has more to do, by the append
    /// that ended the turn. The lease was given back in it, so that events that another server has
    /// stored since are looked after there.
    pub async fn show(&self, key: &ThreadKey, status: Status, queued: u32) -> bool {
        let (space, thread) = key;
        let Ok(row) = self.store.thread_lately(space, thread).await else {
            return true;
        };
        let ended = row.as_ref().map(|row| row.status);
        let ended = ended.filter(|status| status.is_final());
        // Under the lock, so that an end is not overtaken by what was read before it.
        let active = self.active.lock();
        // Nothing waits for a thread that will have no turn any more.
        let queued = if ended.is_some() { 0 } else { queued };
        if ended.is_some() || !active.get(key).is_some_and(|active| active.ended) {
            self.hint(key, ended.unwrap_or(status), queued);
        }
        row.as_ref().is_some_and(ThreadRow::has_work)
    }

    /// Shows that a thread was ended from here, regardless of any later status of its last turn.
    pub fn show_end(&self, key: &ThreadKey, status: Status) {
        let mut active = self.active.lock();
        if let Some(active) = active.get_mut(key) {
            active.ended = true;
        }
        self.hint(key, status, 0);
    }

    fn hint(&self, (space, thread): &ThreadKey, status: Status, queued: u32) {
        let hint = Hint::Status {
            thread: thread.clone(),
            status,
            queued,
        };
        self.store.feed().hint(space, 0, hint);
    }

    /// False: the thread is not run here.
    fn change(&self, key: &ThreadKey, change: impl FnOnce(&mut Active)) -> bool {
        self.active.lock().get_mut(key).map(change).is_some()
    }
}
