//! Requests to people: two events of one append end one, the word of it and the result of the call
//! that waited. The timer that ends a request names the call in its note, so that any server can
//! write both.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition::{Condition, RequestState};
use super::draft::Draft;
use super::fact::Fact;
use super::fact::approval::{Ruling, Verdict};
use super::fact::calls::Call;
use super::fact::client::Offered;
use super::fact::question::{Answer, Answered};
use super::fact::statement::Trials;
use super::statement::OfTrial;
use super::trial::News;
use crate::timer::Purpose;
use thinkd_words::failure::{Failure, FailureKind, Who, cut_off, not_run};
use thinkd_words::id::ThreadId;

/// The tool of questions.
pub const ASK_USER: &str = "ask_user";

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The request.
    pub id: String,
    /// The call's id within the thread.
    pub call_id: String,
    /// The tool of the call that waits for a verdict; none: a question waits for its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The server of tools that asks while it works on the call: the answer is not the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The mark of the client that runs the call itself: it gives the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The turn that made the call.
    pub turn: u64,
    /// The trial that asks: the answer is a reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<OfTrial>,
}

/// The words of a person on a call that waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The call may run, with these arguments or, without, with those that were proposed.
    Approve(Option<Value>),
    /// The call may not run.
    Reject,
    /// The call does not run: this is its result.
    Respond(String),
}

/// The result that a client gives of a call that it ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The id of the event that asked it.
    pub request: String,
    /// The result.
    pub output: Value,
}

/// The part of a client's words that is about tools that it runs itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FromClient {
    /// The mark of the client: it ends no calls of others.
    pub client: String,
    /// The tools that it offers from here on.
    pub offered: Option<Offered>,
    /// The calls that it was asked to run and has not answered, by the ids of the events that asked
    /// it: these end with its words.
    pub calls: Vec<String>,
    /// The results that it gives of some of them.
    pub given: Vec<Given>,
    /// The members of its request that a door's answer repeats, where it only gives results.
    pub request: Option<Value>,
}

/// The end of a request without a run of its call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Settled<'a> {
    /// A person gave the result: words, or of a question with a schema JSON.
    Answered {
        /// The person, when known.
        by: Option<&'a str>,
        /// The words.
        text: &'a str,
        /// The JSON.
        value: Option<&'a Value>,
    },
    /// A person said no.
    Denied {
        /// The person, when known.
        by: Option<&'a str>,
        /// Why.
        reason: &'a str,
    },
    /// Of a question: people are away.
    Away,
    /// No word came in time.
    Expired,
    /// The thread has ended, or was cancelled.
    Withdrawn {
        /// The reason: one of both.
        reason: &'a str,
    },
}

/// The result of a question to people that are away.
pub const AWAY: &str = "away";

impl Parked {
    /// The call that the event of a request speaks of, by its payload.
    pub fn of(id: &str, asked: &Value) -> Option<Self> {
        let text = |key: &str| asked.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: id.to_owned(),
            call_id: text("call_id")?,
            tool: text("tool"),
            server: text("server"),
            client: text("client"),
            turn: asked.get("turn")?.as_u64()?,
            trial: OfTrial::deserialize(asked).ok(),
        })
    }

    /// The name of the timer that ends it.
    pub fn timer(&self) -> String {
        Purpose::Request(&self.id).to_string()
    }

    /// The note of that timer.
    pub fn note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the note of a timer; none: the note is no such one.
    pub fn of_note(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    fn call(&self) -> Call<'_> {
        let tool = self.tool.as_deref().unwrap_or(ASK_USER);
        Call {
            turn: self.turn,
            by: &Who::Decision,
            tool,
            call_id: &self.call_id,
        }
    }

    /// Returns the word of this end, and the result of its call, unless that goes on; only if it is
    /// open.
    pub fn settled(&self, thread: &ThreadId, how: Settled<'_>) -> Vec<Draft> {
        if self.client.is_some() {
            return vec![self.of_client(thread, how)];
        }
        let (word, result) = match (&self.tool, &self.server, &self.trial) {
            (Some(tool), _, _) => (
                self.verdict(thread, tool, how),
                vec![self.refusal(thread, tool, how)],
            ),
            (None, _, Some(trial)) => (self.answer(thread, how), self.reading(thread, trial, how)),
            (None, None, None) => (self.answer(thread, how), vec![self.outcome(thread, how)]),
            (None, Some(_), None) => (self.answer(thread, how), vec![]),
        };
        let state = if self.tool.is_some() {
            RequestState::Approval
        } else {
            RequestState::Question
        };
        let word = word.only_if(Condition::Request {
            id: self.id.clone(),
            state,
        });
        [word].into_iter().chain(result).collect()
    }

    /// Returns the result of a call that its client runs; only if it is open. The word of it stands
    /// behind the results of all calls of the turn.
    fn of_client(&self, thread: &ThreadId, how: Settled<'_>) -> Draft {
        let tool = self.tool.as_deref().unwrap_or_default();
        let (kind, word, text) = match how {
            Settled::Answered { text, value, .. } => {
                let output = value.map_or_else(|| text.into(), Value::clone);
                return self.closing(Draft::result(thread, &self.call(), output, 0));
            }
            Settled::Expired => (
                FailureKind::Timeout,
                "expired",
                format!("the client gave no result of {tool} in time"),
            ),
            Settled::Denied { reason, .. } => (
                FailureKind::Tool,
                "no_result",
                format!("{reason}: there is no result of {tool}"),
            ),
            Settled::Withdrawn { reason } => (
                FailureKind::Tool,
                "withdrawn",
                format!("{reason}: there is no result of {tool}"),
            ),
            Settled::Away => (
                FailureKind::Tool,
                AWAY,
                format!("the client is away: there is no result of {tool}"),
            ),
        };
        self.closing(self.failed(thread, kind, word, &text))
    }

    fn closing(&self, result: Draft) -> Draft {
        let open = Condition::Request {
            id: self.id.clone(),
            state: RequestState::Client,
        };
        result.of_approval(&self.id).only_if(open)
    }

    /// Returns the reading for the trial that asked, which goes on.
    fn reading(&self, thread: &ThreadId, trial: &OfTrial, how: Settled<'_>) -> Vec<Draft> {
        let reading = match how {
            Settled::Answered { by, text, .. } => trial.reading(&self.id, by, Ok(text)),
            Settled::Denied { by, reason } => trial.reading(&self.id, by, Err(reason)),
            Settled::Away => trial.reading(&self.id, None, Err("people are away")),
            Settled::Expired => trial.reading(&self.id, None, Err("nobody answered in time")),
            Settled::Withdrawn { reason } => trial.reading(&self.id, None, Err(reason)),
        };
        vec![
            Draft::statement(thread, &trial.statement, News::Read(reading)),
            Draft::trials(Trials::Due),
        ]
    }

    fn verdict(&self, thread: &ThreadId, tool: &str, how: Settled<'_>) -> Draft {
        let (ruling, by, reason) = match how {
            Settled::Answered { by, text, .. } => (Ruling::Answered, by, text),
            Settled::Denied { by, reason } => (Ruling::Denied, by, reason),
            Settled::Expired => (Ruling::Expired, None, ""),
            Settled::Away => (Ruling::Withdrawn, None, AWAY),
            Settled::Withdrawn { reason } => (Ruling::Withdrawn, None, reason),
        };
        let Self { id, call_id, .. } = self;
        Fact::ApprovalVerdict(Verdict {
            approval: id,
            call_id,
            tool,
            ruling,
            by,
            reason,
        })
        .encode(thread)
    }

    fn refusal(&self, thread: &ThreadId, tool: &str, how: Settled<'_>) -> Draft {
        let (word, text) = match how {
            Settled::Answered { text, .. } => {
                return Draft::result(thread, &self.call(), text.into(), 0);
            }
            Settled::Denied { reason: "", .. } => {
                ("denied", format!("a person said no: {tool} was not run"))
            }
            Settled::Denied { reason, .. } => (
                "denied",
                format!("a person said no, {tool} was not run: {reason}"),
            ),
            Settled::Expired => (
                "expired",
                format!("nobody said in time whether {tool} may run: it was not run"),
            ),
            Settled::Away => ("withdrawn", format!("people are away: {tool} was not run")),
            Settled::Withdrawn { reason } => ("withdrawn", format!("{reason}: {tool} was not run")),
        };
        self.failed(thread, FailureKind::Tool, word, &text)
    }

    fn answer(&self, thread: &ThreadId, how: Settled<'_>) -> Draft {
        let (what, text) = match how {
            Settled::Answered { by, text, value } => (Answered::Given { by, value }, text),
            Settled::Denied { by, reason } => (Answered::Given { by, value: None }, reason),
            Settled::Away => (Answered::Away, AWAY),
            Settled::Expired => (Answered::Expired, "nobody answered in time"),
            Settled::Withdrawn { reason } => (Answered::Withdrawn, reason),
        };
        let answer = Answer {
            question: &self.id,
            call_id: &self.call_id,
            what,
            text,
            server: self.server.as_deref(),
            trial: self.trial.clone(),
        };
        Fact::Answer(answer).encode(thread)
    }

    /// The result of a question.
    pub fn outcome(&self, thread: &ThreadId, how: Settled<'_>) -> Draft {
        let output = match how {
            Settled::Answered {
                value: Some(value), ..
            } => value.clone(),
            Settled::Answered {
                text, value: None, ..
            } => text.into(),
            Settled::Denied { reason, .. } => reason.into(),
            Settled::Away => AWAY.into(),
            Settled::Expired => {
                return self.failed(
                    thread,
                    FailureKind::Timeout,
                    "expired",
                    "nobody answered in time",
                );
            }
            Settled::Withdrawn { reason } => {
                return self.failed(
                    thread,
                    FailureKind::Tool,
                    "withdrawn",
                    &format!("{reason}: nobody was asked on"),
                );
            }
        };
        Draft::result(thread, &self.call(), output, 0)
    }

    fn failed(&self, thread: &ThreadId, kind: FailureKind, reason: &str, text: &str) -> Draft {
        let failure = Failure::new(kind, text).with(json!({ "reason": reason }));
        Draft::result_failed(thread, &self.call(), &failure, 0)
    }

    /// The result of a granted call that will not run any more, or of which no server knows if it
    /// took effect; only if that is how far it is.
    pub fn abandoned(&self, thread: &ThreadId, state: RequestState, why: &str) -> Draft {
        let tool = self.tool.as_deref().unwrap_or(ASK_USER);
        let failure = match state {
            RequestState::Started => cut_off(why, tool, true),
            _ => not_run(why, tool),
        };
        let draft = Draft::result_failed(thread, &self.call(), &failure, 0).of_approval(&self.id);
        draft.only_if(Condition::Request {
            id: self.id.clone(),
            state,
        })
    }
}
