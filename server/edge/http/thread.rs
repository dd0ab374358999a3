//! A thread as HTTP shows it.

use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::pending::{self, Gathering, OpenWatch, Timer};
use crate::problem::Problem;
use thinkd_event::mission::{MissionBudget, Plan, Value};
use thinkd_event::outcome::{Counts, Outcome};
use thinkd_log::projections::contacts::ContactRow;
use thinkd_log::projections::forks::ForkRow;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_session::handle::Session;
use thinkd_session::lines::ChatLine;
use thinkd_thread::settings::{self, Settings};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::spelling::words;

/// A thread.
#[derive(Debug, Serialize, ToSchema)]
pub struct Thread {
    /// Its id.
    #[schema(value_type = String, example = "main")]
    pub id: ThreadId,
    /// The thread it is below.
    #[schema(value_type = Option<String>)]
    pub parent: Option<ThreadId>,
    /// A line for people.
    pub title: Option<String>,
    /// The kind of process that it is.
    pub kind: Kind,
    /// Of a mission: the result that is wanted, its worth, and the resources that it may use up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mission: Option<MissionOf>,
    /// `idle`, `thinking`, `waiting`, `done`, `failed` or `stopped`.
    pub status: String,
    /// The outcome, its tasks counted, once it has ended.
    pub outcome: Option<Outcome>,
    /// Of a mission that has ended: its tasks, counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Counts>,
    /// Why it ended, or cannot go on.
    pub reason: Option<String>,
    /// The thread it waits for; absent while it waits: anybody.
    pub waiting_for: Option<String>,
    /// When it stops waiting.
    #[schema(example = "2026-11-21T04:25:00.123456Z")]
    pub waiting_until: Option<String>,
    /// The number of its last turn.
    pub turn: u64,
    /// True if it was put aside: by a person, or because it had nothing to do when its parent
    /// needed room for another. A message takes it up again.
    pub archived: bool,
    /// Of a fork: the thread that its past comes from, and the end of the turn up to which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The forks of it in the order in which they were made, at most 1,000; in answers about one
    /// thread.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<ForkRow>,
    /// The first thing that was said in it; in lists with `lines`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<ChatLine>,
    /// The last thing that was said in it; in lists with `lines`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<ChatLine>,
    /// The seq of its last event.
    #[schema(value_type = i64)]
    pub head: Seq,
    /// Everything that woke it up to here has had its turn.
    #[schema(value_type = i64)]
    pub handled: Seq,
    /// The number of messages that wait for its next turn; in answers about one thread.
    pub queued: Option<u32>,
    /// Whom it can send to, besides its parent and itself; in answers about one thread.
    pub contacts: Vec<ContactRow>,
    /// The plan of its next acts: `condition`, `steps` (`text`, `done`), `complete`.
    #[schema(value_type = Option<Object>)]
    pub plan: Option<Json>,
    /// The timers that it has set; in answers about one thread.
    pub timers: Vec<Timer>,
    /// The watches that are open.
    pub watches: Vec<OpenWatch>,
    /// The subthreads that it sent out together and waits to have back; `until` in answers about
    /// one thread.
    pub gatherings: Vec<Gathering>,
    /// The resources that it has used.
    pub budget: Used,
}

/// The place where a fork left another thread.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ForkedFrom {
    /// The thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The end of one of its turns; 0: the past of the fork is empty.
    #[schema(value_type = i64)]
    pub at: Seq,
}

/// A mission as it was given.
#[derive(Debug, Serialize, ToSchema)]
pub struct MissionOf {
    /// The result that is wanted, as it was said.
    pub mission: String,
    /// Its worth.
    pub value: Value,
    /// When its tasks begin.
    pub plan: Plan,
    /// The resources that it may use up.
    pub budget: MissionBudget,
    /// Why it rests: `paused`, until a person lets it go on, or `people`, until they have answered
    /// its requests; null: it does not.
    #[schema(value_type = Option<String>, example = "people")]
    pub rests: Option<&'static str>,
}

/// The resources that a thread has used.
#[derive(Debug, Serialize, ToSchema)]
pub struct Used {
    /// Model calls.
    pub model_calls: u64,
    /// Tokens, in and out, as far as providers said.
    pub tokens: u64,
    /// Messages to itself since something came from outside or from another thread.
    pub self_messages: u32,
    /// Messages to others since something came from outside.
    pub sends: u32,
    /// Subthreads that have not ended.
    pub subthreads: u32,
    /// Of a mission: milliseconds of work, as far as its events tell; work under way counts with
    /// its next event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
}

words! {
    /// The kind of process that a thread is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        /// A thread that talks with people.
        Conversation = "conversation",
        /// A thread that thinks by itself.
        Process = "process",
        /// A run of a pipeline: `POST /pipelines/{name}` makes these.
        Pipeline = "pipeline",
        /// A mission, or the stream of consciousness of one of its tasks.
        Mission = "mission",
    }
}

impl Kind {
    /// Returns the kind of a thread.
    pub fn of_row(row: &ThreadRow) -> Self {
        let Settings { pipeline, kind, .. } = Settings::of(&row.settings);
        match (pipeline, kind) {
            (Some(_), _) => Self::Pipeline,
            (None, settings::Kind::Process) => Self::Process,
            (None, settings::Kind::Mission) => Self::Mission,
            (None, settings::Kind::Conversation) => Self::Conversation,
        }
    }
}

/// Returns the shown status of a thread: an idle one with something to handle thinks, or is about
/// to.
pub fn shown_status(row: &ThreadRow) -> Status {
    let busy = row.status == Status::Idle && row.woken > row.handled;
    if busy { Status::Thinking } else { row.status }
}

impl Thread {
    /// Returns the thread of a row, with the parts that stand in rows of their own.
    pub fn new(row: ThreadRow, contacts: Vec<ContactRow>, timers: &[TimerRow]) -> Self {
        let status = shown_status(&row);
        let kind = Kind::of_row(&row);
        let Settings { title, wanted, .. } = Settings::of(&row.settings);
        let is_at_a_place = kind == Kind::Pipeline || row.thread.is_of_mission();
        let why = match row.state.paused {
            true => "paused",
            false => "people",
        };
        let rests = (status == Status::Waiting).then_some(why);
        let mission = wanted.map(|wanted| MissionOf {
            mission: wanted.mission,
            value: wanted.value,
            plan: wanted.plan,
            budget: wanted.budget,
            rests,
        });
        let worked = row.state.worked.unwrap_or_default().spent().as_millis();
        let worked = u64::try_from(worked).unwrap_or(u64::MAX);
        let time_ms = row.thread.is_of_mission().then_some(worked);
        let parent = row.parent().filter(|_| !is_at_a_place);
        let waiting = row.state.waiting.filter(|_| status == Status::Waiting);
        let ended = status.is_final();
        let reason = row.state.reason;
        let reason = reason.filter(|_| ended);
        let (stuck, from, until) =
            waiting.map_or_else(Default::default, |it| (it.reason, it.from, it.until));
        Self {
            mission,
            // What runs and missions are below is a place, no thread.
            parent,
            id: row.thread,
            title,
            kind,
            status: status.as_str().to_owned(),
            outcome: ended.then(|| Outcome::of(status.as_str(), row.state.tasks)),
            tasks: row.state.tasks,
            reason: reason.or(stuck),
            waiting_for: from.map(|from| from.to_string()),
            waiting_until: until.map(|until| until.to_string()),
            forked_from: row.state.fork.map(|fork| ForkedFrom {
                thread: fork.from,
                at: fork.at,
            }),
            forks: Vec::new(),
            first: None,
            last: None,
            turn: row.turn,
            archived: row.state.archived,
            head: row.head,
            handled: row.handled,
            queued: None,
            contacts,
            plan: row.state.plan,
            gatherings: pending::gatherings(&row.state.gathers, timers),
            watches: pending::watches(row.state.watches),
            timers: pending::timers(timers),
            budget: Used {
                model_calls: row.model_calls,
                tokens: row.tokens,
                self_messages: row.self_messages,
                sends: row.state.sends,
                subthreads: row.state.subthreads,
                time_ms,
            },
        }
    }
}

/// Returns a thread with the details that take a look of their own.
pub async fn with_details(session: &Session, row: ThreadRow) -> Result<Thread, Problem> {
    let details = session.thread_details(&row).await?;
    let mut thread = Thread::new(row, details.contacts, &details.timers);
    if let Some(spent) = details.spent {
        (thread.budget.model_calls, thread.budget.tokens) = (spent.calls, spent.tokens);
    }
    thread.queued = Some(details.queued);
    thread.forks = details.forks;
    Ok(thread)
}
