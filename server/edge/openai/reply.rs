//! The answer to a message: the thread is followed from the message on until the turn about it is
//! over.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use super::place::Place;
use super::tools::shown_id;
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::client::ClientCall;
use thinkd_event::fact::withdrawn::Withdrawn;
use thinkd_log::hint::{DeltaOutcome, Hint};
use thinkd_log::query::{Query, Show};
use thinkd_session::follow::{Follow, Seen};
use thinkd_session::handle::Session;
use thinkd_session::pieces::Pieces;
use thinkd_words::failure::By;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// Between two texts of one answer.
const BETWEEN: &str = "\n\n";
/// The longest time that a turn that is stopped may take to write its end.
pub const CANCELLED: Duration = Duration::from_secs(5);

/// Tokens of the calls of a turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct Used {
    /// Of the prompts.
    pub input: u64,
    /// Of the answers.
    pub output: u64,
    /// Of the prompts: those that the provider had.
    pub cached: u64,
}

/// A call that the client is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Its id, as the client is told of it.
    pub id: String,
    /// The client's name of the tool.
    pub name: String,
    /// The arguments, as JSON.
    pub arguments: String,
}

impl Wanted {
    fn of(call: &ClientCall<'_>) -> Self {
        Self {
            id: shown_id(call.request),
            name: call.client_name().to_owned(),
            arguments: call.arguments.to_string(),
        }
    }

    /// Returns the call as this protocol says it, with so much of its arguments.
    pub fn shown(&self, arguments: &str) -> Value {
        json!({
            "id": self.id, "type": "function",
            "function": { "name": self.name, "arguments": arguments },
        })
    }
}

/// The next thing of an answer.
#[derive(Debug)]
pub enum Next {
    /// A turn about the message has begun.
    Begun,
    /// More words.
    Words(String),
    /// A comment of a submodule.
    Remark(String),
    /// A call that the client is to run, and its number.
    Call(usize, Wanted),
    /// The log has no more of the answer so far.
    CaughtUp,
    /// The turn is over.
    Over(End),
}

/// The end of an answer, as the log has it.
#[derive(Debug, Clone)]
pub struct End {
    /// The way in which it ended.
    pub how: How,
    /// The tokens of its calls.
    pub used: Used,
    /// The words that are stored. Words of a reply that came to nothing were sent, and are not here.
    pub text: String,
    /// True if words were sent.
    pub has_said: bool,
    /// The event that ended it.
    pub seq: Seq,
    /// The time of that event.
    pub ts: Timestamp,
}

/// The way in which an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// Its turn is done.
    Done,
    /// Its turn is done, and the model's last reply was cut off.
    CutOff,
    /// Its turn is done, and the client is to run calls.
    Calls,
    /// Its turn was cancelled.
    Cancelled,
    /// Its turn failed, for this reason.
    Failed(String),
    /// The message was taken back before a turn came to it.
    TakenBack,
    /// The thread ended before a turn came to it.
    ThreadEnded,
}

/// An answer as it comes.
pub struct Reply {
    follow: Follow,
    pieces: Pieces,
    /// The message.
    seq: Seq,
    /// The mark of the client, if it offered tools.
    client: Option<String>,
    /// The turn about it, once it has begun.
    turn: Option<u64>,
    /// The pieces that come now are of that turn.
    is_next: bool,
    /// True if something was said.
    has_said: bool,
    /// The reply that is streamed, and the characters of it that were sent.
    open: Option<(Uuid, usize)>,
    /// The calls that the client is to run.
    calls: Vec<Wanted>,
    /// Calls that another client is to run, in words.
    other_calls: Vec<String>,
    used: Used,
    /// The words that are stored.
    stored: String,
    /// True if the last of them were cut off.
    is_cut: bool,
    failure: Option<String>,
    /// True if all that the log had was read.
    is_live: bool,
    /// The end of the thread, while its turn has not written its own.
    ended: Option<Event>,
    /// Read, and not handed on yet.
    ready: std::collections::VecDeque<Next>,
}

impl Used {
    /// Returns the usage as this protocol says it.
    pub fn shown(self) -> Value {
        json!({
            "prompt_tokens": self.input,
            "completion_tokens": self.output,
            "total_tokens": self.input + self.output,
            "prompt_tokens_details": { "cached_tokens": self.cached },
        })
    }

    fn add(&mut self, record: &thinkd_event::fact::calls::Record<'_>) {
        let usage = record.get("usage");
        let tokens = |key| usage.and_then(|it| it.get(key)).and_then(Value::as_u64);
        self.input += tokens("input_tokens").unwrap_or(0);
        self.output += tokens("output_tokens").unwrap_or(0);
        self.cached += tokens("cached_tokens").unwrap_or(0);
    }
}

/// Returns the words of an event of a turn that a client of this protocol is told: a reply, a
/// question, a call that waits for a person.
pub fn told(event: &Event, turn: u64) -> Option<Cow<'_, str>> {
    match event.fact() {
        Fact::Reply(reply) if reply.turn == turn => Some(event.text().into()),
        Fact::Question(question) if question.turn == turn && question.trial.is_none() => {
            let choices = question
                .choices
                .iter()
                .map(|choice| format!("\n- {choice}"));
            Some(format!("{}{}", event.text(), choices.collect::<String>()).into())
        }
        Fact::ApprovalPending(pending) if pending.turn == turn => {
            let text = "waits for a person to approve it (console, Inbox)";
            Some(format!("`{}` {text}: `{}`", pending.tool, pending.arguments).into())
        }
        _ => None,
    }
}

/// Returns the words on a call that another client is to run.
pub fn waits(call: &ClientCall<'_>) -> String {
    let tool = call.client_name();
    let arguments = call.arguments;
    format!("`{tool}` waits for the client that offers it: `{arguments}`")
}

impl Reply {
    /// Follows the answer to a message.
    pub async fn to(session: &Session, message: &Place) -> Result<Self, Problem> {
        let filter = Query {
            thread: Some(message.thread.clone()),
            show: Show::All,
            ..Query::default()
        };
        let (mut follow, _) = session.follow(filter, Some(message.seq)).await?;
        follow.show_begun();
        let mut pieces = session.pieces()?;
        pieces.subscribe();
        Ok(Self {
            follow,
            pieces,
            seq: message.seq,
            client: message.client.clone(),
            turn: None,
            is_next: message.is_next,
            has_said: false,
            open: None,
            calls: Vec::new(),
            other_calls: Vec::new(),
            used: Used::default(),
            stored: String::new(),
            is_cut: false,
            failure: None,
            is_live: false,
            ended: None,
            ready: std::collections::VecDeque::new(),
        })
    }

    /// Returns the next thing of the answer. Cancel safe.
    pub async fn next(&mut self) -> Result<Next, Problem> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Ok(next);
            }
            let seen = match &self.ended {
                None => self.follow.next().await,
                // The turn of a thread that has ended is cancelled, and writes its end; on a server that has died it does not.
                Some(_) => match tokio::time::timeout(CANCELLED, self.follow.next()).await {
                    Ok(seen) => seen,
                    Err(_) => Ok(Seen::CaughtUp),
                },
            };
            if let Ok(Seen::CaughtUp) = seen
                && let Some(event) = self.ended.take()
            {
                let how = match self.turn {
                    Some(_) => How::Cancelled,
                    None => How::ThreadEnded,
                };
                self.over(&event, how);
                continue;
            }
            match seen.map_err(thinkd_session::handle::Error::from)? {
                Seen::Events { events, .. } => {
                    for told in &events {
                        let event = told.event();
                        let event = event.map_err(thinkd_session::handle::Error::from)?;
                        self.take(&event);
                    }
                }
                Seen::Hint(hint) if self.is_next => {
                    if let Some(hint) = self.pieces.unsent(hint) {
                        self.hear(&hint);
                    }
                }
                Seen::CaughtUp => {
                    self.is_live = true;
                    return Ok(Next::CaughtUp);
                }
                Seen::Hint(_) => {}
            }
        }
    }

    fn hear(&mut self, hint: &Hint) {
        match hint {
            Hint::Delta(delta) => {
                let sent = match self.open {
                    Some((id, sent)) if id == delta.event_id => sent,
                    _ => {
                        self.begin();
                        0
                    }
                };
                self.open = Some((delta.event_id, sent + delta.text.chars().count()));
                self.say(delta.text.clone());
            }
            Hint::DeltaEnd(end) if end.outcome == DeltaOutcome::Discarded => {
                self.open = self.open.filter(|(id, _)| *id != end.event_id);
            }
            _ => {}
        }
    }

    /// Begins a text behind another one.
    fn begin(&mut self) {
        if self.has_said {
            self.ready.push_back(Next::Words(BETWEEN.to_owned()));
        }
    }

    fn say(&mut self, words: String) {
        if !words.is_empty() {
            self.has_said = true;
            self.ready.push_back(Next::Words(words));
        }
    }

    fn keep(&mut self, text: &str) {
        if !self.stored.is_empty() {
            self.stored.push_str(BETWEEN);
        }
        self.stored.push_str(text);
    }

    fn take(&mut self, event: &Event) {
        if let Some(text) = self.turn.and_then(|turn| told(event, turn)) {
            let sent = self.open.take_if(|(id, _)| *id == event.event_id);
            if sent.is_none() {
                self.begin();
            }
            let sent = sent.map_or(0, |(_, sent)| sent);
            self.say(text.chars().skip(sent).collect());
            self.keep(&text);
            self.is_cut = matches!(event.fact(), Fact::Reply(reply) if reply.is_partial);
            return;
        }
        match event.fact() {
            Fact::TurnStarted(started) if started.batch.contains(&self.seq) => {
                (self.turn, self.is_next) = (Some(started.turn), true);
                self.ready.push_back(Next::Begun);
            }
            Fact::TurnSteered(steered) if steered.has(self.seq) => {
                (self.turn, self.is_next) = (Some(steered.turn), true);
                self.ready.push_back(Next::Begun);
            }
            Fact::Call(record) if self.is_ours(event) => self.used.add(&record),
            Fact::ClientCall(call) if Some(call.turn) == self.turn => {
                match self.client.as_deref() == Some(call.client) {
                    true => self.calls.push(Wanted::of(&call)),
                    false => self.other_calls.push(waits(&call)),
                }
            }
            Fact::Remark(remark) if Some(remark.turn) == self.turn => {
                let text = format!("{}: {}\n", remark.submodule, remark.text);
                self.ready.push_back(Next::Remark(text));
            }
            Fact::Failure(failed)
                if self.is_ours(event) && !matches!(failed.who, By::Submodule(_) | By::Tool(_)) =>
            {
                self.failure = Some(failed.problem.text.to_owned());
            }
            Fact::TurnEnded(ended) => {
                let is_ours = self.turn == Some(ended.turn);
                let handled = is_ours || ended.handled.is_some_and(|handled| handled >= self.seq);
                match ended.outcome {
                    // What was interrupted is gone on with by the next turn.
                    Some(TurnOutcome::Interrupted) => {
                        self.calls.clear();
                        self.other_calls.clear();
                        self.is_next = true;
                    }
                    outcome if handled => self.end(event, outcome),
                    _ => self.is_next = true,
                }
            }
            Fact::Withdrawn(Withdrawn { input, .. }) if input == self.seq => {
                self.over(event, How::TakenBack);
            }
            // A turn that runs writes its beginning and its end behind that of its thread.
            _ if event.ends_thread() => match self.is_live && !self.is_next {
                true => self.over(event, How::ThreadEnded),
                false => self.ended = Some(event.clone()),
            },
            _ => {}
        }
    }

    fn is_ours(&self, event: &Event) -> bool {
        self.turn.is_some() && event.turn() == self.turn
    }

    fn end(&mut self, event: &Event, outcome: Option<TurnOutcome>) {
        for words in std::mem::take(&mut self.other_calls) {
            self.begin();
            self.keep(&words);
            self.say(words);
        }
        let how = match outcome {
            Some(TurnOutcome::Failed) => {
                let why = self.failure.take();
                How::Failed(why.unwrap_or_else(|| "the log says why (GET /events)".into()))
            }
            Some(TurnOutcome::Cancelled) => How::Cancelled,
            _ if !self.calls.is_empty() => {
                let calls = std::mem::take(&mut self.calls).into_iter().enumerate();
                self.ready
                    .extend(calls.map(|(index, call)| Next::Call(index, call)));
                How::Calls
            }
            _ if self.is_cut => How::CutOff,
            _ => How::Done,
        };
        self.over(event, how);
    }

    fn over(&mut self, event: &Event, how: How) {
        self.ended = None;
        self.ready.push_back(Next::Over(End {
            how,
            used: self.used,
            text: std::mem::take(&mut self.stored),
            has_said: self.has_said,
            seq: event.seq,
            ts: event.ts,
        }));
    }
}

impl How {
    /// The reason for which an answer ended, in the word of chat completions.
    pub const fn finish(&self) -> &'static str {
        match self {
            Self::Done | Self::CutOff => "stop",
            Self::Calls => "tool_calls",
            Self::Cancelled | Self::Failed(_) | Self::TakenBack | Self::ThreadEnded => "length",
        }
    }

    /// The problem that it is for a client without any words; none: it is an answer.
    pub fn problem(&self) -> Option<Problem> {
        let failed = |detail: String| Some(Problem::new(Slug::TurnFailed, detail));
        match self {
            Self::Done | Self::CutOff | Self::Calls => None,
            Self::Cancelled => {
                failed("the turn about the message was cancelled before it replied".into())
            }
            Self::Failed(why) => failed(format!("the turn about the message failed: {why}")),
            Self::TakenBack => failed("the message was taken back before a turn came to it".into()),
            Self::ThreadEnded => {
                let detail = "the thread has ended, and no turn came to the message";
                Some(Problem::new(Slug::ThreadEnded, detail))
            }
        }
    }
}

impl End {
    /// Returns the words that the answer ends with in chat completions; or the problem that it is
    /// where nothing was said.
    pub fn told(&self) -> Result<String, Problem> {
        match &self.how {
            How::Cancelled if self.has_said => Ok(String::new()),
            How::Failed(why) if self.has_said => Ok(format!("{BETWEEN}(The turn failed: {why})")),
            how => how.problem().map_or(Ok(String::new()), Err),
        }
    }
}
