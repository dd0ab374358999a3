//! The questions of a server to a person while it works on a call. A question belongs to the thread
//! of the call, and stands in the queue of all questions. It is open at most as long as the call
//! runs: it is answered, expires or is withdrawn. The answer is not the result of the call: it goes
//! back to the server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::fit::unfit;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::question::{Answer, Answered, Question};
use thinkd_event::request::{Parked, Settled};
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::feed::Follower;
use thinkd_log::kernel::Store;
use thinkd_log::query::{Order, Query, Show};
use thinkd_tools::approval::after;
use thinkd_tools::gate::open_places;
use thinkd_tools::tool::{CallSite, refused};
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{self, Seq, Space};
use thinkd_words::time;
use thinkd_words::unseen::first_unseen;

/// Longest words of a question, in bytes.
const MESSAGE_MAX: usize = 4 << 10;
/// Most questions of one call.
const QUESTIONS_MAX: usize = 8;
/// The poll interval for an answer that no notice tells of: another server may have taken the
/// answer.
const LOOK: Duration = Duration::from_secs(1);
/// The number of answers of a thread that are read at once.
const PAGE: u32 = 100;

/// A callback that is told of every event that is stored.
pub type OnStored = Arc<dyn Fn(&Space, &Event) + Send + Sync>;

/// A question of a server to a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The question, in the words of the server.
    pub message: String,
    /// The schema of the answer.
    pub schema: Value,
}

/// The reply that the server gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The answer of a person.
    Given(Value),
    /// No person is asked for that, people are away, or the answer holds no value.
    Declined,
    /// No person answered while the call ran.
    Nobody,
}

/// The desk at which questions are put to people.
pub struct Desk {
    /// The log.
    pub store: Arc<dyn Store>,
    /// Most requests to people that a thread may have open.
    pub open_max: u64,
    /// The listener that is told of stored events, as soon as there is one.
    pub on_stored: OnceLock<OnStored>,
}

/// Asks people the questions of the server of one call.
pub struct Asker {
    desk: Arc<Desk>,
    /// The server.
    server: String,
    /// The tool that it works on, by its name here.
    tool: String,
    /// The call.
    site: CallSite,
    /// The time at which the call is given up.
    until: Instant,
    /// The number of questions so far.
    so_far: AtomicUsize,
    /// Notified when the server tells of the progress of the call.
    pub progress: Notify,
}

impl std::fmt::Debug for Asker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asker")
            .field("server", &self.server)
            .field("call_id", &self.site.call_id)
            .finish_non_exhaustive()
    }
}

impl Asker {
    /// Returns an asker for a call that is given up at `until`.
    pub fn new(desk: Arc<Desk>, server: &str, tool: &str, site: CallSite, until: Instant) -> Self {
        let server = server.to_owned();
        let tool = tool.to_owned();
        Self {
            desk,
            server,
            tool,
            site,
            until,
            so_far: AtomicUsize::new(0),
            progress: Notify::new(),
        }
    }

    /// Asks a person and returns the reply. The wait ends with `over`: the call has ended, or the
    /// server has withdrawn its request. `None` as the question: the server wants more than a form.
    pub async fn ask(&self, asked: Option<Asked>, over: impl Future<Output = ()>) -> Reply {
        let outcome = match self.question(asked).await {
            Ok((parked, seq, follower)) => self.wait(&parked, seq, follower, over).await,
            Err(failure) => {
                let text = format!(
                    "the server {} asked for something from a person, which was declined: {}",
                    self.server, failure.text
                );
                let failure = Failure { text, ..failure };
                let who = Who::Tool(self.tool.clone());
                let CallSite { thread, turn, .. } = &self.site;
                let draft = Draft::failure(thread, Some(*turn), &who, &failure);
                self.append(vec![draft]).await.map(|_| Reply::Declined)
            }
        };
        outcome.unwrap_or_else(|error| {
            tracing::warn!(%error, server = self.server, "what a server of tools asked a person for could not be stored");
            Reply::Nobody
        })
    }

    /// Opens the question. The error says why no person is asked.
    async fn question(&self, asked: Option<Asked>) -> Result<(Parked, Seq, Follower), Failure> {
        let CallSite {
            space,
            thread,
            turn,
            call_id,
            ..
        } = &self.site;
        let lost = |error: StoreError| Failure::new(FailureKind::Store, error.to_string());
        let Some(Asked { message, schema }) = asked else {
            return Err(refused("it wants more than a form", "not_a_form"));
        };
        if let Who::Mission(_) = self.site.by {
            let text = "whom a task of a mission asks, the mission decides";
            return Err(refused(text, "mission"));
        }
        if message.len() > MESSAGE_MAX || first_unseen(&message).is_some() {
            let text = "its question is too long, or has characters that people do not see";
            return Err(refused(text, "unfit"));
        }
        unfit(&schema).map_err(|why| refused(why, "unfit"))?;
        if self.so_far.fetch_add(1, Ordering::Relaxed) >= QUESTIONS_MAX {
            let text = format!("one call may ask {QUESTIONS_MAX} times");
            return Err(refused(text, "too_many"));
        }
        if self.desk.store.is_user_away(space).await.map_err(lost)? {
            return Err(refused("people are away (user_away)", "away"));
        }
        open_places(&*self.desk.store, self.desk.open_max, &self.site).await?;
        let id = id::fresh();
        let left = self.until.saturating_duration_since(Instant::now());
        let expires = after(time::now(), left);
        let question = Question {
            question: &id.to_string(),
            turn: *turn,
            call_id,
            text: &format!(
                "The server {} asks, for {}: {message}",
                self.server, self.tool
            ),
            choices: Vec::new(),
            schema: Some(&schema),
            who: Vec::new(),
            expires: &expires.to_string(),
            server: Some(&self.server),
            trial: None,
        };
        let draft = Fact::Question(question)
            .encode(thread)
            .with_id(id)
            .only_if(Condition::NotEnded);
        let parked = Parked {
            id: id.to_string(),
            call_id: call_id.clone(),
            tool: None,
            server: Some(self.server.clone()),
            client: None,
            turn: *turn,
            trial: None,
        };
        // Followed first: what comes behind the question is in one of the two.
        let follower = self.desk.store.feed().follow(space, Some(thread));
        let seq = self.append(vec![draft]).await.map_err(lost)?;
        Ok((parked, seq, follower))
    }

    /// Waits until the question is settled, and returns the reply. If the call is over first, it
    /// withdraws the question.
    async fn wait(
        &self,
        parked: &Parked,
        seq: Seq,
        mut follower: Follower,
        over: impl Future<Output = ()>,
    ) -> Result<Reply, StoreError> {
        let mut over = std::pin::pin!(over);
        loop {
            if self
                .desk
                .store
                .request(&self.site.space, &parked.id)
                .await?
                .is_none()
            {
                return self.reply(parked, seq).await;
            }
            tokio::select! {
                () = follower.changed() => {}
                () = sleep(LOOK) => {}
                () = &mut over => {
                    let withdrawn = Settled::Withdrawn { reason: "the call is over" };
                    return match self.append(parked.settled(&self.site.thread, withdrawn)).await {
                        Ok(_) => Ok(Reply::Nobody),
                        // Somebody was faster.
                        Err(StoreError::Unmet(_)) => self.reply(parked, seq).await,
                        Err(error) => Err(error),
                    };
                }
            }
        }
    }

    /// Returns the reply from the answers behind this seq, or `Nobody` if none of them is to this
    /// question.
    async fn reply(&self, parked: &Parked, mut seq: Seq) -> Result<Reply, StoreError> {
        loop {
            let query = Query {
                thread: Some(self.site.thread.clone()),
                after: Some(seq),
                tags: vec!["answer".into()],
                show: Show::Visible,
                order: Order::Ascending,
                limit: PAGE,
                ..Query::default()
            };
            let events = self.desk.store.events(&self.site.space, &query).await?;
            for event in &events {
                if let Fact::Answer(Answer { question, what, .. }) = event.fact()
                    && question == parked.id
                {
                    return Ok(match what {
                        Answered::Given { value, .. } => {
                            value.cloned().map_or(Reply::Declined, Reply::Given)
                        }
                        Answered::Away => Reply::Declined,
                        Answered::Expired | Answered::Withdrawn => Reply::Nobody,
                    });
                }
            }
            match events.last() {
                Some(last) if events.len() == PAGE as usize => seq = last.seq,
                _ => return Ok(Reply::Nobody),
            }
        }
    }

    /// Stores the drafts, and tells the listener of each. Returns the seq of the last, or 0 if none
    /// was stored.
    async fn append(&self, drafts: Vec<Draft>) -> Result<Seq, StoreError> {
        let Desk {
            store, on_stored, ..
        } = &*self.desk;
        let space = &self.site.space;
        let Appended::Stored(placed) = store.append(Append::free(space, drafts)).await? else {
            return Ok(0);
        };
        if let Some(on_stored) = on_stored.get() {
            for placed in &placed {
                on_stored(space, &placed.shown.event);
            }
        }
        Ok(placed.last().map_or(0, |placed| placed.shown.event.seq))
    }
}
