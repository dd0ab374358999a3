//! Input: what comes from outside for a thread is checked, appended, and wakes it.

use super::Turns;
use crate::event::condition::Condition;
use crate::event::draft::{Draft, InputKind, Part};
use crate::event::envelope::Payload;
use crate::log::store::{self, Append, Appended, Placed, ThreadRow};
use crate::mind::turn::stop::Why;
use crate::runtime::refused::{Refused, too_many_threads};
use crate::thread::settings::{Policy, Settings};
use crate::words::id::{self, Key, Name, Space, ThreadId};

/// Something from outside for a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The space, from the credential.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// Who says it, as far as known.
    pub user: Option<String>,
    /// The client's idempotency key: the id of the last (or only) event.
    pub event_id: Option<Key>,
    /// What it is.
    pub content: InputContent,
}

/// What an input consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum InputContent {
    /// Something said or perceived; at least one part; media are stored as blobs already.
    Parts(InputKind, Vec<Part>),
    /// A named trigger.
    Trigger(Name, Payload),
}

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A turn begins with it.
    Started,
    /// It waits for the next turn.
    Queued,
    /// It was there already.
    Duplicate,
}

impl Turns {
    /// Appends an input and wakes its thread. Returns after the commit; never waits for a model.
    pub async fn submit(&self, input: Input) -> Result<(Received, Vec<Placed>), Refused> {
        self.opening.open(&input.space).await?;
        let row = match self.store.thread_lately(&input.space, &input.thread).await? {
            None => None,
            Some(row) => {
                // An idle thread need not be read: whether it is as it is known, the append sees.
                if !is_busy(&row) && !row.status.is_final() {
                    match self.receive(&input, Some(&row), Some(Condition::EndsWith(row.head))).await {
                        Err(Refused::Store(store::Error::Unmet(Condition::EndsWith(_)))) => {}
                        received => return received,
                    }
                }
                self.store.thread(&input.space, &input.thread).await?
            }
        };
        self.receive(&input, row.as_ref(), None).await
    }

    /// Takes in an input for a thread that is like this.
    async fn receive(
        &self,
        input: &Input,
        row: Option<&ThreadRow>,
        only_if: Option<Condition>,
    ) -> Result<(Received, Vec<Placed>), Refused> {
        let Input { space, thread, user, event_id, content } = input;
        let event_id = event_id.map(Key::id);
        // As the log says: who has seen a turn end is not told that it still runs.
        let busy = row.is_some_and(is_busy);
        let settings = row.map(|row| Settings::of(&row.settings)).unwrap_or_default();
        let policy = settings.policy.unwrap_or(self.options.turn.policy);
        if let Err(refused) = self.admit(space, thread, row, busy, policy).await {
            // A repeated input is answered as the first time, whatever the thread has come to since.
            let known = match event_id {
                Some(id) => self.store.event(space, id).await?.is_some(),
                None => false,
            };
            if !known {
                return Err(refused);
            }
        }
        let id = event_id.unwrap_or_else(id::fresh);
        let mut drafts = match content.clone() {
            InputContent::Parts(kind, parts) => Draft::input(thread, kind, parts, user.as_deref(), id),
            InputContent::Trigger(name, payload) => {
                vec![Draft::trigger(thread, &name, payload, user.as_deref()).with_id(id)]
            }
        };
        if event_id.is_none() {
            // Nobody asked for these ids, so the store need not look whether it has them.
            drafts.iter_mut().for_each(|draft| draft.event_id = None);
        }
        // It begins with this, perhaps; or it may end before this is stored.
        let begins = row.is_none().then(|| self.options.room_in_space());
        drafts[0].conditions.extend(only_if.into_iter().chain([Condition::NotEnded]).chain(begins));
        let placed = match self.store.append(Append::free(space, drafts)).await {
            Ok(Appended::Stored(placed)) => placed,
            Ok(Appended::Stale) => return Err(Refused::Unprocessable("the input was dropped by the store".into())),
            Err(store::Error::Unmet(Condition::FewerThreads(limit))) => return Err(too_many_threads(limit)),
            Err(store::Error::Unmet(Condition::NotEnded)) => return Err(Refused::Ended(thread.clone())),
            Err(error) => return Err(error.into()),
        };
        if placed.iter().all(|placed| placed.duplicate) {
            // Stored by a commit whose outcome nobody heard, perhaps: then nobody woke the thread.
            let handled = row.map_or(0, |row| row.handled);
            if placed.iter().any(|placed| placed.shown.event.seq > handled) {
                self.waker.wake(space, thread, None);
            }
            return Ok((Received::Duplicate, placed));
        }
        if busy && policy == Policy::Interrupt {
            self.running.stop(&(space.clone(), thread.clone()), Why::Interrupt);
        }
        self.waker.wake(space, thread, None);
        Ok((if busy { Received::Queued } else { Received::Started }, placed))
    }

    async fn admit(
        &self,
        space: &Space,
        thread: &ThreadId,
        row: Option<&ThreadRow>,
        busy: bool,
        policy: Policy,
    ) -> Result<(), Refused> {
        if thread.is_of_runs() {
            return Err(Refused::Unprocessable(format!(
                "{thread} is kept for runs of pipelines, which take no messages"
            )));
        }
        let Some(row) = row else {
            // A conversation of its own is created by its first message; below another thread, that one must exist.
            return match thread.parent() {
                Some(parent) if self.store.thread(space, &parent).await?.is_none() => {
                    Err(Refused::NotFound(format!("thread {parent}")))
                }
                _ => Ok(()),
            };
        };
        if row.status.is_final() {
            return Err(Refused::Ended(thread.clone()));
        }
        if busy && policy == Policy::Reject {
            return Err(Refused::Busy(thread.clone()));
        }
        let max = self.options.queue_max;
        if self.queued(space, row, max).await? >= max {
            return Err(Refused::QueueFull(max));
        }
        Ok(())
    }

    /// How many messages wait for a thread's next turn, counted up to `limit`.
    pub async fn queued(&self, space: &Space, row: &ThreadRow, limit: u32) -> Result<u32, store::Error> {
        self.running.queued(space, row, limit).await
    }
}

/// Something waits for the thread's next turn, or has its turn now.
fn is_busy(row: &ThreadRow) -> bool {
    row.woken > row.handled
}
