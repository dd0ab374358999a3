//! Who runs which thread: takes input into the log, wakes threads, gives each to one driver at a time, stops them.
//! A thread with nothing to do is not in here at all.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use crate::event::{InputKind, Part, Payload};
use crate::id::{Name, Seq, Space, ThreadId};
use crate::store::{self, Placed, Store, SubmoduleRow, ThreadRow};

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
    pub event_id: Option<Uuid>,
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

/// Why something was refused. Nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// No such thread, submodule, …; what is named is what the caller wrote.
    #[error("there is no {0}")]
    NotFound(String),
    /// The thread has ended.
    #[error("the thread {0} has ended and takes no more messages")]
    Ended(ThreadId),
    /// The thread's policy is `reject` and a turn runs.
    #[error("the thread {0} is busy and refuses input while a turn runs (policy reject)")]
    Busy(ThreadId),
    /// Too many inputs wait.
    #[error("{0} inputs wait for the thread already; send again when some have had their turn")]
    QueueFull(u32),
    /// A limit on how many there may be.
    #[error("there may be at most {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
    /// What should be created exists.
    #[error("{0} exists already")]
    Exists(String),
    /// What is asked for is understood but cannot be done.
    #[error("{0}")]
    Unprocessable(String),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// What a new thread should be like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewThread {
    /// A suggestion for the last part of its id.
    pub label: Option<Name>,
    /// The thread it is created below.
    pub parent: Option<ThreadId>,
    /// A line for people.
    pub title: Option<String>,
    /// What the decision is told besides its own prompt.
    pub prompt: Option<String>,
    /// The voices it hears; `None`: all.
    pub submodules: Option<Vec<Name>>,
    /// What new input does to a running turn; `None`: as configured.
    pub policy: Option<Policy>,
    /// Which tier its decision uses; `None`: low.
    pub high_tier: bool,
}

/// What new client input does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It waits for the next turn.
    #[default]
    Enqueue,
    /// The turn is cut off; the next one has both.
    Interrupt,
    /// It is refused.
    Reject,
}

/// A handle on the running minds; cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    store: Arc<dyn Store>,
}

impl Runtime {
    /// Appends an input and wakes its thread. Returns after the commit; never waits for a model.
    pub async fn submit(&self, input: Input) -> Result<(Received, Vec<Placed>), Refused> {
        let _ = input;
        todo!()
    }

    /// Cancels the turn that runs in a thread, down to the provider's connection. False: none ran.
    pub async fn cancel(&self, space: &Space, thread: &ThreadId) -> Result<bool, Refused> {
        let _ = (space, thread);
        todo!()
    }

    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages.
    pub async fn end(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, Refused> {
        let _ = (space, thread);
        todo!()
    }

    /// Creates a conversation. The server assigns the id.
    pub async fn create_thread(&self, space: &Space, new: NewThread) -> Result<ThreadRow, Refused> {
        let _ = (space, new);
        todo!()
    }

    /// Creates a submodule (`create`) or gives one another prompt.
    pub async fn set_submodule(
        &self,
        space: &Space,
        name: &Name,
        prompt: &str,
        create: bool,
    ) -> Result<SubmoduleRow, Refused> {
        let _ = (space, name, prompt, create);
        todo!()
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        let _ = (space, name);
        todo!()
    }

    /// The prompt view of the model call behind an event (the call's own record, or anything that the call produced):
    /// rebuilt from the log, with `exact` saying whether its hash is the recorded one.
    pub async fn prompt_view(&self, space: &Space, event_id: Uuid) -> Result<Value, Refused> {
        let _ = (space, event_id);
        todo!()
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Stops taking up turns, gives those that run `grace`, then lets them go for a later start to take up.
    pub async fn drain(&self, grace: std::time::Duration) {
        let _ = grace;
        todo!()
    }

    /// How many turns run now, and the seq type they speak of; for metrics.
    pub fn running(&self) -> usize {
        let _: Seq = 0;
        todo!()
    }
}
