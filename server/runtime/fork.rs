//! Forks of threads from outside: a new thread with the past of another, up to the end of one of
//! its turns. One append makes it, with its first message where one is given.

use uuid::Uuid;

use super::handle::Runtime;
use super::refused::Refused;
use super::turns::input::{Input, InputContent, drafts_of, first_part};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::tag;
use thinkd_event::fact::Fact;
use thinkd_event::request::FromClient;
use thinkd_log::appended::{Append, Appended, Placed};
use thinkd_log::error::StoreError;
use thinkd_log::past::Past;
use thinkd_log::query::{Order, Query, Show};
use thinkd_log::thread_row::ThreadRow;
use thinkd_thread::new_thread::{Ahead, NewThread, NotMade, ThreadLimits, ids};
use thinkd_words::id::{self, Key, Label, Seq, Space, ThreadId};

/// Turns that are looked at for the one that was about an input.
const PAGE: u32 = 100;

/// The wish for a fork.
#[derive(Debug, Clone, Default)]
pub struct NewFork {
    /// The thread to fork.
    pub thread: ThreadId,
    /// The event up to which its past comes along; none: all, or up to the turn about `instead_of`.
    pub at: Option<Seq>,
    /// The input that the fork's first message takes the place of: its past is without that.
    pub instead_of: Option<Uuid>,
    /// True if the thread may have ended: the fork goes on from there.
    pub of_ended: bool,
    /// The id of the fork; none: the server draws one.
    pub id: Option<ThreadId>,
    /// The first message of the fork.
    pub message: Option<InputContent>,
    /// The user that says it, as far as known.
    pub user: Option<String>,
    /// The client's idempotency key of the message.
    pub event_id: Option<Key>,
    /// The part of the message that is about tools that the client runs itself.
    pub client: FromClient,
}

/// A fork as it was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// The fork.
    pub thread: ThreadId,
    /// The thread with the event `at`.
    pub from: ThreadId,
    /// The end of the turn up to which its past goes; 0: its past is empty.
    pub at: Seq,
    /// The events of its first message.
    pub said: Vec<Placed>,
}

impl Runtime {
    /// Forks a thread. Nothing is copied, and no model is asked for it.
    pub async fn fork(&self, space: &Space, wish: NewFork) -> Result<Made, Refused> {
        self.open(space).await?;
        if let Some(made) = self.made_before(space, &wish).await? {
            return Ok(made);
        }
        let row = self.0.ground.known_thread(space, &wish.thread).await?;
        check(&row, wish.of_ended)?;
        let replaced = match wish.instead_of {
            Some(id) => Some(self.input(space, &row, id).await?),
            None => None,
        };
        let at = match (wish.at, replaced) {
            (Some(at), _) => self.checked(space, &row, at).await?,
            (None, Some((_, last))) => self.turn_about(space, &row, last).await?,
            (None, None) => row.head,
        };
        let past = self.store().past(space, &row, at, replaced).await?;
        let made = self.make(space, past, &wish).await?;
        if !made.said.is_empty() {
            self.0.ground.waker.wake(space, &made.thread, None);
        }
        Ok(made)
    }

    async fn make(&self, space: &Space, past: Past, wish: &NewFork) -> Result<Made, Refused> {
        let from = past.forked.from.clone();
        let at = past.forked.at;
        let options = &self.0.ground.options;
        let limits = ThreadLimits::new(&options.budget, options.tool_limits.threads);
        let (label, parent) = match &wish.id {
            Some(id) if id.is_of_runs() => return Err(NotMade::OfRuns(id.clone()).into()),
            Some(id) => (Label::parse(id.label()).ok(), id.parent()),
            None => (None, None),
        };
        let new = NewThread {
            label,
            parent,
            ..NewThread::with_past(past)
        };
        let parent = match &new.parent {
            Some(parent) => Some(self.0.ground.known_thread(space, parent).await?),
            None => None,
        };
        limits.check(&new, parent.as_ref(), Ahead::default())?;
        let free = match &wish.id {
            Some(id) => vec![id.clone()],
            None => {
                let ids = ids(None, None, id::fresh())?.into_iter();
                ids.map(|(_, thread)| thread).collect()
            }
        };
        for thread in free {
            let mut drafts = limits.drafts(&new, &thread, None, Ahead::default());
            let others = drafts.len();
            drafts.extend(said(space, &thread, wish));
            match self.store().append(Append::free(space, drafts)).await {
                Ok(Appended::Stored(mut placed)) => {
                    let said = placed.split_off(others.min(placed.len()));
                    return Ok(Made {
                        thread,
                        from,
                        at,
                        said,
                    });
                }
                Ok(Appended::Stale) => {
                    let text = "the fork was dropped by the store";
                    return Err(Refused::Unprocessable(text.into()));
                }
                Err(StoreError::Unmet(Condition::NewThread) | StoreError::Conflict(_))
                    if wish.id.is_some() || wish.event_id.is_some() =>
                {
                    let made = self.made_before(space, wish).await?;
                    let taken = wish.event_id.map(Key::id).unwrap_or_default();
                    return match (made, &wish.id) {
                        (Some(made), _) => Ok(made),
                        (None, Some(id)) if self.store().thread(space, id).await?.is_some() => {
                            Err(Refused::Exists(format!("the thread {id}")))
                        }
                        (None, _) => Err(StoreError::Conflict(taken).into()),
                    };
                }
                Err(StoreError::Unmet(unmet)) => {
                    if let Some(why_not) = NotMade::by_append(&unmet, &new, &thread, &limits) {
                        return Err(why_not.into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(NotMade::NoFreeId.into())
    }

    /// Returns the fork that the same wish made before, found by the key of its message. With other
    /// words it is a conflict.
    async fn made_before(&self, space: &Space, wish: &NewFork) -> Result<Option<Made>, Refused> {
        let Some(id) = wish.event_id.map(Key::id) else {
            return Ok(None);
        };
        let Some(event) = self.store().event(space, id).await? else {
            return Ok(None);
        };
        let thread = event.thread;
        let row = self.store().thread(space, &thread).await?;
        let Some(fork) = row.and_then(|row| row.state.fork) else {
            return Ok(None);
        };
        if wish.id.as_ref().is_some_and(|id| *id != thread) {
            return Ok(None);
        }
        let again = Append::free(space, said(space, &thread, wish));
        let Appended::Stored(said) = self.store().append(again).await? else {
            return Ok(None);
        };
        Ok(Some(Made {
            thread,
            from: fork.from,
            at: fork.at,
            said,
        }))
    }

    /// Returns a position of a thread that its past may go up to. One before its first event means
    /// nothing; one beyond the log's end, or that is another thread's, is refused.
    async fn checked(&self, space: &Space, row: &ThreadRow, at: Seq) -> Result<Seq, Refused> {
        let here = |query: Query| Query {
            thread: Some(row.thread.clone()),
            show: Show::All,
            ..query
        };
        let store = self.store();
        if !store.events(space, &here(Query::at(at))).await?.is_empty() {
            return Ok(at);
        }
        let head = store.head(space).await?.seq;
        if at > head {
            return Err(Refused::Ahead { at, head });
        }
        let first = Query {
            order: Order::Ascending,
            limit: 1,
            ..Query::default()
        };
        let first = store.events(space, &here(first)).await?;
        match first.first().is_none_or(|first| at < first.seq) {
            true => Ok(0),
            false => Err(Refused::OfAnother {
                at,
                thread: row.thread.clone(),
            }),
        }
    }

    /// Returns the first and the last seq of an input of a thread.
    async fn input(&self, space: &Space, row: &ThreadRow, id: Uuid) -> Result<(Seq, Seq), Refused> {
        let none = || Refused::NotFound(format!("input {id} in {}", row.thread));
        let event = self.store().event(space, id).await?.ok_or_else(none)?;
        let here = Query {
            thread: Some(row.thread.clone()),
            ..Query::at(event.seq)
        };
        let is_input = matches!(event.fact(), Fact::Input(_) | Fact::Trigger(_)) && event.wakes();
        if !is_input || self.store().events(space, &here).await?.is_empty() {
            return Err(none());
        }
        let store = &**self.store();
        let first = first_part(store, space, &event.thread, event.seq).await?;
        Ok((first, event.seq))
    }

    /// Returns the position before the turn that was about an input; where none was, the thread's
    /// last one.
    async fn turn_about(
        &self,
        space: &Space,
        row: &ThreadRow,
        input: Seq,
    ) -> Result<Seq, StoreError> {
        let mut query = Query {
            thread: Some(row.thread.clone()),
            tags: vec![tag::TURN.to_owned()],
            after: Some(input),
            show: Show::All,
            order: Order::Ascending,
            limit: PAGE,
            ..Query::default()
        };
        loop {
            let page = self.store().events(space, &query).await?;
            for event in &page {
                let started = match event.fact() {
                    Fact::TurnStarted(started) => started,
                    // Its past is without that turn, which was begun about something before it.
                    Fact::TurnSteered(steered) if steered.has(input) => {
                        return self.begin_of(space, row, steered.turn, event.seq).await;
                    }
                    _ => continue,
                };
                if started.batch.contains(&input) {
                    return Ok(event.seq - 1);
                }
                // It was taken back before a turn had it.
                if started.batch.last().is_some_and(|last| *last > input) {
                    return Ok(input - 1);
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => query.after = Some(last.seq),
                _ => return Ok(row.head),
            }
        }
    }
}

impl Runtime {
    /// Returns the position before a turn that had begun before this event.
    async fn begin_of(
        &self,
        space: &Space,
        row: &ThreadRow,
        turn: u64,
        before: Seq,
    ) -> Result<Seq, StoreError> {
        let query = Query {
            thread: Some(row.thread.clone()),
            tags: [tag::TURN, tag::STARTED, &format!("turn:{turn}")]
                .map(str::to_owned)
                .into(),
            all_tags: true,
            before: Some(before),
            show: Show::All,
            limit: 1,
            ..Query::default()
        };
        let began = self.store().events(space, &query).await?;
        Ok(began.first().map_or(before, |event| event.seq) - 1)
    }
}

/// Refuses threads that have no turns of their own to go on from.
fn check(row: &ThreadRow, may_have_ended: bool) -> Result<(), Refused> {
    let thread = &row.thread;
    let why_not = if row.status.is_final() && !may_have_ended {
        return Err(Refused::Ended(thread.clone()));
    } else if thread.is_of_mission() {
        "it is a mission's; ask for the mission again (POST /threads)"
    } else if thread.is_of_runs() {
        "it is kept for runs of pipelines; start the pipeline again (POST /pipelines/{name})"
    } else if row.state.archived {
        "it was put aside; a message takes it up again"
    } else {
        return Ok(());
    };
    let text = format!("the thread {thread} cannot be forked: {why_not}");
    Err(Refused::Unprocessable(text))
}

fn said(space: &Space, thread: &ThreadId, wish: &NewFork) -> Vec<Draft> {
    let Some(content) = &wish.message else {
        return Vec::new();
    };
    let input = Input {
        policy: None,
        space: space.clone(),
        thread: thread.clone(),
        user: wish.user.clone(),
        event_id: wish.event_id,
        content: content.clone(),
        client: wish.client.clone(),
    };
    let id = wish.event_id.map(Key::id);
    let mut drafts = drafts_of(&input, id.unwrap_or_else(id::fresh));
    if id.is_none() {
        // Ids that no client gave are not looked up.
        drafts.iter_mut().for_each(|draft| draft.event_id = None);
    }
    drafts
}
