//! A session speaks in threads, reads them, creates and ends them, and changes the submodules that they hear.

use uuid::Uuid;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::fact::set::Submodule;
use thinkd_event::request::FromClient;
use thinkd_log::appended::Placed;
use thinkd_log::change::Spent;
use thinkd_log::projections::contacts::ContactRow;
use thinkd_log::projections::forks::ForkRow;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::query::{Order, Query};
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::submodule::Heard;
use thinkd_runtime::fork::{Made, NewFork};
use thinkd_runtime::thread_change::ThreadChange;
use thinkd_runtime::turns::input::{Input, InputContent, Received, Whose};
use thinkd_thread::new_thread::NewThread;
use thinkd_thread::settings::Policy;
use thinkd_words::id::{Key, Name, Seq, ThreadId};

/// Most waiting messages that are counted.
const QUEUED_MAX: u32 = 1000;
/// Events of a mailbox that are read at a time.
const MAIL: u32 = 100;
/// Most forks of a thread that are named.
const FORKS_MAX: u32 = 1000;

/// The details of a thread that do not stand in its row.
pub struct ThreadDetails {
    /// Whom it can send to, besides its parent and itself.
    pub contacts: Vec<ContactRow>,
    /// Its timers.
    pub timers: Vec<TimerRow>,
    /// Messages that wait for its next turn; of very many, some.
    pub queued: u32,
    /// The forks of it.
    pub forks: Vec<ForkRow>,
    /// The use that a mission has made, with all its tasks.
    pub spent: Option<Spent>,
}

impl Session {
    /// Appends an input and wakes its thread. Returns after the commit; never waits for a model.
    /// `policy`: its effect on a running turn, where that is not the thread's.
    pub async fn submit(
        &self,
        thread: ThreadId,
        event_id: Option<Key>,
        content: InputContent,
        policy: Option<Policy>,
    ) -> Acted<(Received, Vec<Placed>)> {
        let manner = (policy, FromClient::default());
        self.submit_from(thread, event_id, content, manner).await
    }

    /// The same, of a client that offers tools or was asked to run some.
    pub async fn submit_from(
        &self,
        thread: ThreadId,
        event_id: Option<Key>,
        content: InputContent,
        (policy, client): (Option<Policy>, FromClient),
    ) -> Acted<(Received, Vec<Placed>)> {
        let turns = &self.kinds(Right::Speak)?.turns;
        let input = Input {
            space: self.space().clone(),
            thread,
            user: self.user().map(str::to_owned),
            event_id,
            policy,
            content,
            client,
        };
        Ok(turns.inbox.submit(input).await?)
    }

    /// Takes back an input that waits. A session without `Right::Shape` takes back only inputs of
    /// its own user.
    pub async fn withdraw(&self, thread: &ThreadId, event_id: Uuid) -> Acted<()> {
        let turns = &self.kinds(Right::Speak)?.turns;
        let whose = match self.may(Right::Shape) {
            true => Whose::Anybody,
            false => Whose::Only(self.user()),
        };
        let inbox = &turns.inbox;
        let place = (self.space(), thread);
        Ok(inbox.withdraw(place, event_id, self.user(), whose).await?)
    }

    /// Returns true if the turn of a message runs, or is the next one of its thread. A turn is
    /// stored with the first that comes of it: until then no event says that it has begun.
    pub async fn is_next(&self, thread: &ThreadId, seq: Seq) -> Acted<bool> {
        let (store, space) = self.reading()?;
        let row = store.thread(space, thread).await?;
        let has_turn = |row: &ThreadRow| seq <= row.state.taken || row.is_steered(seq);
        Ok(
            match row.filter(|row| seq > row.handled && row.has_work()) {
                None => false,
                Some(row) if row.is_settled(seq) => false,
                Some(row) => has_turn(&row) || self.first_mail(&row).await? == Some(seq),
            },
        )
    }

    /// Returns true if something waits in a thread for its turn, or has it now.
    pub async fn has_mail(&self, thread: &ThreadId) -> Acted<bool> {
        let (store, space) = self.reading()?;
        let row = store.thread(space, thread).await?;
        Ok(match row.filter(|row| row.woken > row.handled) {
            None => false,
            Some(row) => self.first_mail(&row).await?.is_some(),
        })
    }

    /// Returns the first event of a mailbox that has had no turn to its end, and was not taken back.
    async fn first_mail(&self, row: &ThreadRow) -> Acted<Option<Seq>> {
        let (store, space) = self.reading()?;
        let mut mail = Query {
            thread: Some(row.thread.clone()),
            after: Some(row.handled),
            before: Some(row.head + 1),
            order: Order::Ascending,
            limit: MAIL,
            ..Query::default()
        };
        loop {
            let page = store.events(space, &mail).await?;
            let mut waking = page.iter().filter(|event| event.wakes());
            let first = waking.find(|event| !row.is_settled(event.seq));
            if first.is_some() || page.len() < MAIL as usize {
                return Ok(first.map(|event| event.seq));
            }
            mail.after = page.last().map(|event| event.seq);
        }
    }

    /// Cancels the turn that runs in a thread, or is about to. False: there is none.
    pub async fn cancel(&self, thread: &ThreadId) -> Acted<bool> {
        let (runtime, space) = self.acting(Right::Speak)?;
        Ok(runtime.cancel(space, thread, None).await?)
    }

    /// Cancels the turns of a thread and of all below it. Returns the number of threads in which
    /// one ran, or was about to.
    pub async fn cancel_subtree(&self, thread: &ThreadId) -> Acted<u64> {
        let (runtime, space) = self.acting(Right::Speak)?;
        Ok(runtime.cancel_subtree(space, thread, self.user()).await?)
    }

    /// One thread.
    pub async fn thread(&self, thread: &ThreadId) -> Acted<Option<ThreadRow>> {
        let (store, space) = self.reading()?;
        Ok(store.thread(space, thread).await?)
    }

    /// Threads by id, those after `after`, at most `limit`.
    pub async fn threads(&self, after: Option<&ThreadId>, limit: u32) -> Acted<Vec<ThreadRow>> {
        let (store, space) = self.reading()?;
        Ok(store.threads(space, after, limit).await?)
    }

    /// Returns the details of a thread, which are looked up apart from its row.
    pub async fn thread_details(&self, row: &ThreadRow) -> Acted<ThreadDetails> {
        let inbox = &self.kinds(Right::Read)?.turns.inbox;
        let ((store, space), thread) = (self.reading()?, &row.thread);
        Ok(ThreadDetails {
            contacts: store.contacts(space, thread).await?,
            timers: store.timers(space, thread..=thread).await?,
            queued: inbox.queued(space, row, QUEUED_MAX).await?,
            forks: store.forks(space, thread, FORKS_MAX).await?,
            spent: self.mission_spent(row).await?,
        })
    }

    /// The model calls and tokens of a mission with all its tasks; none: the thread is no mission.
    async fn mission_spent(&self, row: &ThreadRow) -> Acted<Option<Spent>> {
        if !row.thread.is_of_mission() {
            return Ok(None);
        }
        let store = self.store(Right::Read)?;
        let first = Query {
            thread: Some(row.thread.clone()),
            order: Order::Ascending,
            limit: 1,
            ..Query::default()
        };
        let first = store.events(self.space(), &first).await?;
        match first.first() {
            Some(began) => Ok(Some(store.spent(self.space(), Some(began.seq)).await?)),
            None => Ok(None),
        }
    }

    /// Creates a thread; the server assigns the id.
    pub async fn create_thread(&self, new: NewThread) -> Acted<ThreadRow> {
        let (runtime, space) = self.acting(Right::Speak)?;
        Ok(runtime.create_thread(space, new).await?)
    }

    /// Forks a thread; the first message of the fork is said by the session's user.
    pub async fn fork(&self, mut wish: NewFork) -> Acted<Made> {
        let (runtime, space) = self.acting(Right::Speak)?;
        wish.user = self.user().map(str::to_owned);
        Ok(runtime.fork(space, wish).await?)
    }

    /// Changes the title of a thread (inside `None`: it has none), and whether it is put aside. A
    /// member that is absent stays as it is.
    pub async fn change_thread(
        &self,
        thread: &ThreadId,
        title: Option<Option<String>>,
        archived: Option<bool>,
    ) -> Acted<ThreadRow> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let change = ThreadChange { title, archived };
        let changed = runtime.change_thread(space, thread, &change, self.user());
        Ok(changed.await?)
    }

    /// Ends a thread; with `subtree` all below it, too.
    pub async fn end_thread(&self, thread: &ThreadId, subtree: bool) -> Acted<ThreadRow> {
        let (runtime, space) = self.acting(Right::Speak)?;
        Ok(runtime.end(space, thread, subtree).await?)
    }

    /// The submodules by name.
    pub async fn submodules(&self) -> Acted<Vec<SubmoduleRow>> {
        Ok(self.runtime(Right::Read)?.submodules(self.space()).await?)
    }

    /// Returns the counts of this server's requests to a submodule, by their outcome.
    pub fn heard(&self, name: &Name) -> Acted<Heard> {
        Ok(self.kinds(Right::Read)?.turns.heard(self.space(), name))
    }

    /// Creates a submodule.
    pub async fn create_submodule(&self, name: &Name, submodule: Submodule) -> Acted<SubmoduleRow> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.create_submodule(space, name, submodule).await?)
    }

    /// Changes a submodule. A member that is absent stays as it is.
    pub async fn change_submodule(
        &self,
        name: &Name,
        prompt: Option<&str>,
        follow_up: Option<bool>,
    ) -> Acted<SubmoduleRow> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime
            .change_submodule(space, name, prompt, follow_up)
            .await?)
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, name: &Name) -> Acted<()> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime.remove_submodule(space, name).await?)
    }
}
