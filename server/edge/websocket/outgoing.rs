//! The frames of the server: their shapes, and how they become text. Those of clients are in `frame.rs`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::ack::{Ack, Forked};
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::hint::{Delta, DeltaEnd, Hint};
use thinkd_log::work::Work;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::principal::Role;
use thinkd_words::time::Timestamp;

/// A frame of the server. Clients ignore types they do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFrame {
    /// The first one.
    Hello(Hello),
    /// An event that the subscription asks for.
    Event(EventFrame),
    /// The replay is over; events that follow are live.
    CaughtUp(CaughtUp),
    /// A frame was taken; for inputs: after the commit.
    Ack(Ack),
    /// A thread was forked: the answer to `fork`, after the commit.
    Forked(Forked),
    /// A piece of a reply to come: a hint. It comes after the events that were stored before it, and before those stored later.
    Delta(Delta),
    /// The fate of a reply's pieces.
    DeltaEnd(DeltaEnd),
    /// A thread's status changed: a hint.
    Status(StatusFrame),
    /// A turn or a model call begins or ends: a hint, for subscriptions with `debug`.
    Work(WorkFrame),
    /// A frame was refused, or (without an `id`) a thread cannot go on now; the connection lives.
    Problem(ProblemFrame),
    /// The answer to `ping`.
    Pong(Pong),
    /// The token of this connection ends soon.
    Expiring(Expiring),
    /// A reply or problem for older clients, until their first `subscribe`.
    Response(Older),
}

/// The server and the space that the client speaks to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hello {
    /// `thinkd.v1`.
    pub protocol: String,
    /// The server's version.
    pub version: String,
    /// The space the credential opens.
    pub space: String,
    /// The role of the credential: `viewer`, `member`, `operator` or `admin`.
    #[schema(value_type = String, example = "member")]
    pub role: Role,
    /// This incarnation of the log.
    pub epoch: Uuid,
    /// The seq of the log's last event.
    #[schema(value_type = i64)]
    pub head: Seq,
    /// The most that the server takes.
    pub limits: HelloLimits,
}

/// The most that the server takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HelloLimits {
    /// Bytes of a frame.
    pub frame_bytes: usize,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventFrame {
    /// The event.
    pub event: Event,
    /// Present and true: stored before the subscription.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replay: bool,
}

/// The replay is over. Also the answer to a `subscribe` without `id` and `after`, which nothing else would answer: it has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaughtUp {
    /// The subscribe's `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The cursor reached.
    #[schema(value_type = i64)]
    pub after: Seq,
}

/// A thread's status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusFrame {
    /// The thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// `idle`, `thinking`, `waiting`, `done`, `failed` or `stopped`.
    pub status: String,
    /// The number of inputs that wait.
    pub queued: u32,
}

/// A turn or, with `module`, a model call in it begins or ends at this server. Its outcome is in
/// the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkFrame {
    /// The thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The number of the turn.
    pub turn: u64,
    /// `started` or `ended`.
    pub phase: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The module that asks a model, as the call's record will say it: `decision`,
    /// `submodule:<name>`, …; absent: it is the turn itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = String, example = "submodule:critic")]
    pub module: Option<String>,
    /// Of a call: why, as its record will say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = String, example = "turn")]
    pub purpose: Option<String>,
    /// Of a call: which of its kind in the turn, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = u64)]
    pub round: Option<u64>,
    /// Milliseconds: how long a turn waits for its voices, or a call for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = u64, example = 20000)]
    pub limit_ms: Option<u64>,
}

/// A frame is refused; or, without an `id`, a thread cannot go on now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemFrame {
    /// The frame's `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The problem.
    pub problem: Problem,
}

/// The answer to `ping`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pong {
    /// The cursor reached: everything up to it was shown, or is not asked for.
    #[schema(value_type = i64)]
    pub after: Seq,
}

/// The token of this connection ends soon; then the connection is closed with 4401. An `auth` frame with a later token of the same
/// user, space and role lets it go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Expiring {
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A reply or problem in the older shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Older {
    /// `assistant` for replies, `system` for problems.
    pub role: String,
    /// The client's user.
    pub user: String,
    /// The texts that were said.
    pub chat: Vec<String>,
    /// Seconds since 1970.
    pub timestamp: i64,
}

impl ServerFrame {
    /// The frame as text.
    pub fn to_text(&self) -> String {
        // Maps with string keys and finite numbers: this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The frame of a hint.
    pub fn hint(hint: &Hint) -> Self {
        match hint.clone() {
            Hint::Delta(delta) => Self::Delta(delta),
            Hint::DeltaEnd(end) => Self::DeltaEnd(end),
            Hint::Status {
                thread,
                status,
                queued,
            } => Self::Status(StatusFrame {
                thread,
                status: status.as_str().to_owned(),
                queued,
            }),
            Hint::Work(work) => Self::Work(work.into()),
            Hint::Trouble { thread, text } => {
                let problem = Problem::new(Slug::Unavailable, format!("thread {thread}: {text}"));
                Self::Problem(ProblemFrame { id: None, problem })
            }
        }
    }

    /// A problem in the older shape.
    pub fn older_problem(problem: &Problem, user: &str) -> Self {
        Self::Response(Older {
            role: "system".into(),
            user: user.to_owned(),
            chat: vec![problem.detail.clone()],
            timestamp: thinkd_words::time::now().seconds(),
        })
    }

    /// A reply in the older shape, if the event is one.
    pub fn older(event: &Event, user: &str) -> Option<Self> {
        matches!(event.fact(), Fact::Reply(_)).then(|| {
            Self::Response(Older {
                role: "assistant".into(),
                user: user.to_owned(),
                chat: vec![event.text().to_owned()],
                timestamp: event.ts.seconds(),
            })
        })
    }
}

impl From<Work> for WorkFrame {
    fn from(work: Work) -> Self {
        let phase = if work.ended { "ended" } else { "started" };
        let call = work
            .call
            .map(|(module, purpose, round)| (module, (purpose, round)));
        let (module, call) = call.unzip();
        let (purpose, round) = call.unzip();
        Self {
            thread: work.thread,
            turn: work.turn,
            phase: phase.to_owned(),
            at: work.at,
            module,
            purpose,
            round,
            limit_ms: work.limit_ms,
        }
    }
}

/// The frame of an event: its JSON is there already.
pub fn event_text(json: &str, replay: bool) -> String {
    let replay = if replay { r#","replay":true"# } else { "" };
    format!(r#"{{"type":"event","event":{json}{replay}}}"#)
}
