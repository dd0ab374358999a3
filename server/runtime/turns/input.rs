//! Input: events from outside for a thread are checked, appended, and wake it: those of clients and
//! of schedules alike.

use uuid::Uuid;

use crate::ground::Ground;
use crate::refused::{Refused, too_many_threads};
use crate::requests::client::ended_by_words;
use crate::requests::{Reply, checked_answer, has_expired};
use thinkd_event::condition::{Condition, RequestState};
use thinkd_event::draft::{Draft, InputKind, Part};
use thinkd_event::envelope::{Event, Payload};
use thinkd_event::fact::Fact;
use thinkd_event::fact::input::Mark;
use thinkd_event::request::{FromClient, Parked, Settled};
use thinkd_log::appended::{Append, Appended, Placed};
use thinkd_log::error::StoreError;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::Why;
use thinkd_thread::settings::{Policy, Settings};
use thinkd_words::id::{self, Key, Name, Space, ThreadId};

mod undoing;
mod withdrawing;

pub use withdrawing::{Whose, first_part};

/// Something from outside for a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The space, from the credential.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// The user that says it, as far as known.
    pub user: Option<String>,
    /// The client's idempotency key: the id of the last (or only) event.
    pub event_id: Option<Key>,
    /// Its effect on a running turn; none: as the thread says.
    pub policy: Option<Policy>,
    /// The content.
    pub content: InputContent,
    /// The part of it that is about tools that the client runs itself.
    pub client: FromClient,
}

/// The content of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum InputContent {
    /// Something said or perceived; at least one part; media are stored as blobs already.
    Parts(InputKind, Vec<Part>),
    /// A message, and the mark by which the door that it came through finds it again.
    Marked(Mark, Vec<Part>),
    /// A named trigger.
    Trigger(Name, Payload),
    /// Events that are made already, at least one; the last one wakes the thread.
    Made(Vec<Draft>),
}

/// The result of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A turn begins with it.
    Started,
    /// The input waits for the next turn.
    Queued,
    /// The input was there already.
    Duplicate,
}

/// Takes in input from outside; cheap to clone.
#[derive(Clone)]
pub struct Inbox(Ground);

impl Inbox {
    /// Of the threads on this ground.
    pub fn new(ground: &Ground) -> Self {
        Self(ground.clone())
    }

    /// Appends an input and wakes its thread. Returns after the commit; never waits for a model.
    pub async fn submit(&self, input: Input) -> Result<(Received, Vec<Placed>), Refused> {
        self.0.opening.open(&input.space).await?;
        let row = match self
            .0
            .store
            .thread_lately(&input.space, &input.thread)
            .await?
        {
            None => None,
            Some(row) => {
                // An idle thread need not be read: whether it is as it is known, the append sees.
                if !is_busy(&row) && !row.status.is_final() {
                    match self
                        .receive(&input, Some(&row), Some(Condition::EndsWith(row.head)))
                        .await
                    {
                        Err(Refused::Store(StoreError::Unmet(
                            Condition::EndsWith(_) | Condition::Request { .. },
                        ))) => {}
                        received => return received,
                    }
                }
                self.0.store.thread(&input.space, &input.thread).await?
            }
        };
        match self.receive(&input, row.as_ref(), None).await {
            // Somebody else answered first: it is a message.
            Err(Refused::Store(StoreError::Unmet(Condition::Request { .. }))) => {
                let row = self.0.store.thread(&input.space, &input.thread).await?;
                self.receive(&input, row.as_ref(), None).await
            }
            received => received,
        }
    }

    /// Takes in an input for a thread that is like this.
    async fn receive(
        &self,
        input: &Input,
        row: Option<&ThreadRow>,
        only_if: Option<Condition>,
    ) -> Result<(Received, Vec<Placed>), Refused> {
        let Input {
            space,
            thread,
            user,
            event_id,
            ..
        } = input;
        let event_id = event_id.map(Key::id);
        // As the log says: who has seen a turn end is not told that it still runs.
        let busy = row.is_some_and(is_busy);
        let settings = row
            .map(|row| Settings::of(&row.settings))
            .unwrap_or_default();
        let of_thread = settings.policy.unwrap_or(self.0.options.turn.policy);
        let policy = input.policy.unwrap_or(of_thread);
        let joining;
        let input = match input.policy {
            None if policy == Policy::Steer => {
                joining = Input {
                    policy: Some(policy),
                    ..input.clone()
                };
                &joining
            }
            _ => input,
        };
        if let Err(refused) = self.admit(space, thread, row, busy, policy).await {
            // A repeated input is answered as the first time, whatever the thread has come to since.
            let known = match event_id {
                Some(id) => self.0.store.event(space, id).await?.is_some(),
                None => false,
            };
            if !known {
                return Err(refused);
            }
        }
        let id = event_id.unwrap_or_else(id::fresh);
        let mut drafts = drafts_of(input, id);
        let parts = drafts.len();
        if let Some((parked, reply)) = self.answers(input, row).await? {
            drafts = answering(drafts, &parked.id);
            drafts.push(result_of(&parked, thread, &reply, user.as_deref()));
        }
        let ground = (
            &*self.0.store,
            space,
            self.0.options.tool_limits.output_bytes,
        );
        drafts.extend(ended_by_words(ground, thread, &input.client).await?);
        if event_id.is_none() {
            // Nobody asked for these ids, so the store need not look whether it has them.
            drafts.iter_mut().for_each(|draft| draft.event_id = None);
        }
        // It begins with this, perhaps; or it may end before this is stored.
        let begins = row.is_none().then(|| self.0.options.room_in_space());
        drafts[0].conditions.extend(
            only_if
                .into_iter()
                .chain([Condition::NotEnded])
                .chain(begins),
        );
        let mut appended = self.0.store.append(Append::free(space, drafts)).await;
        if let (Err(StoreError::Conflict(_)), Some(id)) = (&appended, event_id) {
            // A repeated input may have answered a question the first time that is open no more, or the other way round.
            let drafts = self.as_stored(input, id).await?;
            appended = self.0.store.append(Append::free(space, drafts)).await;
        }
        let placed = match appended {
            Ok(Appended::Stored(mut placed)) => {
                placed.truncate(parts);
                placed
            }
            Ok(Appended::Stale) => {
                let text = "the input was dropped by the store";
                return Err(Refused::Unprocessable(text.into()));
            }
            Err(StoreError::Unmet(Condition::FewerThreads(limit))) => {
                return Err(too_many_threads(limit));
            }
            Err(StoreError::Unmet(Condition::NotEnded)) => {
                return Err(Refused::Ended(thread.clone()));
            }
            Err(error) => return Err(error.into()),
        };
        if placed.iter().all(|placed| placed.duplicate) {
            // Stored by a commit whose outcome nobody heard, perhaps: then nobody woke the thread.
            let handled = row.map_or(0, |row| row.handled);
            if placed.iter().any(|placed| placed.shown.event.seq > handled) {
                self.0.waker.wake(space, thread, None);
            }
            return Ok((Received::Duplicate, placed));
        }
        if busy && policy == Policy::Interrupt {
            self.0
                .running
                .stop(&(space.clone(), thread.clone()), Why::Interrupt);
        }
        self.0.waker.wake(space, thread, None);
        Ok((
            if busy {
                Received::Queued
            } else {
                Received::Started
            },
            placed,
        ))
    }

    /// Returns the question that an input answers: the only open one of its thread. The input has
    /// to be a message of a user that may answer, in words that can be its answer. Most threads
    /// have no open question: their row says so.
    async fn answers(
        &self,
        input: &Input,
        row: Option<&ThreadRow>,
    ) -> Result<Option<(Parked, Reply)>, StoreError> {
        let Some([only]) = row.map(|row| row.state.questions.as_slice()) else {
            return Ok(None);
        };
        let (InputContent::Parts(InputKind::Message, parts) | InputContent::Marked(_, parts)) =
            &input.content
        else {
            return Ok(None);
        };
        let words = parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Media { .. } => None,
        });
        let text = words.collect::<Vec<_>>().join("\n");
        if text.trim().is_empty() {
            return Ok(None);
        }
        let asked = self
            .0
            .store
            .request(&input.space, only)
            .await?
            .map(|row| row.asked());
        let Some(asked) = asked.filter(|asked| !has_expired(asked)) else {
            return Ok(None);
        };
        let reply = Reply {
            value: serde_json::from_str(&text).ok(),
            text,
        };
        let reply = checked_answer(&asked, reply, input.user.as_deref());
        Ok(Parked::of(only, &asked).zip(reply.ok()))
    }

    /// Returns the drafts of an input as its event was stored before, if it was.
    async fn as_stored(&self, input: &Input, id: Uuid) -> Result<Vec<Draft>, StoreError> {
        let stored = self.0.store.event(&input.space, id).await?;
        let stored = match stored.as_ref().map(Event::fact) {
            Some(Fact::Input(input)) => Some(input),
            _ => None,
        };
        let answered = stored.as_ref().and_then(|input| input.answers);
        // The thread may have had another policy then.
        let policy = stored.as_ref().and_then(|input| input.policy);
        let drafts = drafts_of(
            &Input {
                policy: policy.and_then(Policy::parse),
                ..input.clone()
            },
            id,
        );
        Ok(match answered {
            Some(question) => answering(drafts, question),
            None => drafts,
        })
    }

    async fn admit(
        &self,
        space: &Space,
        thread: &ThreadId,
        row: Option<&ThreadRow>,
        busy: bool,
        policy: Policy,
    ) -> Result<(), Refused> {
        self.admit_ever(space, thread, row).await?;
        let Some(row) = row else { return Ok(()) };
        if busy && policy == Policy::Reject {
            return Err(Refused::Busy(thread.clone()));
        }
        let max = self.0.options.queue_max;
        // What was taken back counts until it would have had its turn: the thread's row keeps it as long.
        let withdrawn = u32::try_from(row.state.withdrawn.len()).unwrap_or(u32::MAX);
        if self
            .queued(space, row, max)
            .await?
            .saturating_add(withdrawn)
            >= max
        {
            return Err(Refused::QueueFull(max));
        }
        Ok(())
    }

    /// Checks that input can reach a thread at all, now or later.
    pub async fn admit_ever(
        &self,
        space: &Space,
        thread: &ThreadId,
        row: Option<&ThreadRow>,
    ) -> Result<(), Refused> {
        if thread.mission().is_some() {
            return Err(Refused::Unprocessable(format!(
                "{thread} is a mission's, which takes no messages: answer its questions, or change its tasks (docs/missions.md)"
            )));
        }
        if thread.is_of_runs() {
            return Err(Refused::Unprocessable(format!(
                "{thread} is kept for runs of pipelines, which take no messages"
            )));
        }
        match (row, thread.parent()) {
            (Some(row), _) if row.status.is_final() => Err(Refused::Ended(thread.clone())),
            // A conversation of its own is created by its first message; below another thread, that one must exist.
            (None, Some(parent)) if self.0.store.thread(space, &parent).await?.is_none() => {
                Err(Refused::NotFound(format!("thread {parent}")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the number of messages that wait for a thread's next turn, counted up to `limit`.
    pub async fn queued(
        &self,
        space: &Space,
        row: &ThreadRow,
        limit: u32,
    ) -> Result<u32, StoreError> {
        self.0.running.queued(space, row, limit).await
    }
}

/// Returns the events of an input; its last part has the id.
pub(crate) fn drafts_of(
    Input {
        thread,
        user,
        policy,
        content,
        client,
        ..
    }: &Input,
    id: Uuid,
) -> Vec<Draft> {
    let with_policy = |draft: Draft| draft.with_policy(policy.map(Policy::as_str));
    let mut drafts: Vec<Draft> = match content.clone() {
        InputContent::Parts(kind, parts) => {
            let drafts = Draft::input(thread, kind, parts, user.as_deref(), id);
            drafts.into_iter().map(with_policy).collect()
        }
        InputContent::Marked(mark, parts) => {
            let drafts = Draft::input(thread, InputKind::Message, parts, user.as_deref(), id);
            drafts
                .into_iter()
                .map(|draft| with_policy(draft.marked(&mark)))
                .collect()
        }
        InputContent::Trigger(name, payload) => {
            vec![Draft::trigger(thread, &name, payload, user.as_deref()).with_id(id)]
        }
        InputContent::Made(drafts) => drafts,
    };
    if let Some(last) = drafts.pop() {
        drafts.push(last.offering(client.offered.as_ref()));
    }
    drafts
}

/// Returns an input with its last part, which wakes the thread, as the answer to a question.
fn answering(mut drafts: Vec<Draft>, question: &str) -> Vec<Draft> {
    let last = drafts.pop().map(|last| last.answering(question));
    drafts.extend(last);
    drafts
}

fn result_of(
    parked: &Parked,
    thread: &ThreadId,
    Reply { text, value }: &Reply,
    by: Option<&str>,
) -> Draft {
    let outcome = parked.outcome(
        thread,
        Settled::Answered {
            by,
            text,
            value: value.as_ref(),
        },
    );
    outcome.only_if(Condition::Request {
        id: parked.id.clone(),
        state: RequestState::Question,
    })
}

/// Something waits for the thread's next turn, or has its turn now.
fn is_busy(row: &ThreadRow) -> bool {
    row.woken > row.handled
}
