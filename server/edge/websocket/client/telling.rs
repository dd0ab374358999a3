//! The frames to a client: the hello, acknowledgements, events and hints, the problems with its own
//! frames.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::super::outgoing::{self, CaughtUp, Hello, HelloLimits, ProblemFrame, ServerFrame};
use super::super::socket::End;
use super::{Client, Done, Work, lost_log};
use crate::ack::Ack;
use crate::frame::PROTOCOL;
use crate::problem::{Problem, Slug};
use thinkd_log::query::Query;
use thinkd_session::follow::{Follow, Seen};

/// Between two events about one socket's refused frames.
const FAILURE_EVERY: Duration = Duration::from_secs(1);

impl Client {
    /// Says hello; from then on the whole space is followed.
    pub async fn greet(&mut self) -> Result<(), End> {
        self.session.open_space().await.map_err(lost_log)?;
        let follow = self.session.follow(Query::default(), None).await;
        let (follow, head) = follow.map_err(lost_log)?;
        self.follow = Some(Box::new(follow));
        self.pieces = Some(self.session.pieces().map_err(lost_log)?);
        if let Some(id) = self.acknowledge.take() {
            self.say(&ServerFrame::Ack(Ack::ok(Some(id))))?;
        }
        self.say(&ServerFrame::Hello(Hello {
            protocol: PROTOCOL.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            space: self.session.space().to_string(),
            role: self.session.principal().role,
            epoch: head.epoch,
            head: head.seq,
            limits: HelloLimits {
                frame_bytes: self.edge.limits.frame_bytes,
            },
        }))
    }

    /// Follows a subscription from now on, and the replies in progress from their beginnings.
    pub fn subscribed(&mut self, mut follow: Box<Follow>) {
        follow.show_begun();
        if let Some(pieces) = &mut self.pieces {
            pieces.subscribe();
        }
        self.older = false;
        self.follow = Some(follow);
    }

    pub fn say(&mut self, frame: &ServerFrame) -> Result<(), End> {
        self.socket.answer(frame.to_text())
    }

    pub fn acknowledge(&mut self, id: Option<String>) -> Result<(), End> {
        match id {
            Some(_) => self.say(&ServerFrame::Ack(Ack::ok(id))),
            None => Ok(()),
        }
    }

    pub fn show(&mut self, seen: Seen) -> Result<(), End> {
        match seen {
            Seen::Events { events, replay } => {
                for told in events {
                    self.socket.put(outgoing::event_text(told.json(), replay))?;
                    if self.older
                        && let Some(older) =
                            ServerFrame::older(&*told.event().map_err(lost_log)?, self.user())
                    {
                        self.socket.put(older.to_text())?;
                    }
                }
                Ok(())
            }
            Seen::CaughtUp => {
                let caught_up = CaughtUp {
                    id: self.replaying.take(),
                    after: self.reached(),
                };
                self.say(&ServerFrame::CaughtUp(caught_up))
            }
            Seen::Hint(hint) => {
                let hint = match &mut self.pieces {
                    Some(pieces) => pieces.unsent(hint),
                    None => Some(hint),
                };
                let Some(hint) = hint else { return Ok(()) };
                let frame = ServerFrame::hint(&hint);
                if self.older
                    && let ServerFrame::Problem(trouble) = &frame
                {
                    self.socket
                        .put(ServerFrame::older_problem(&trouble.problem, self.user()).to_text())?;
                }
                self.socket.put(frame.to_text())
            }
        }
    }

    /// Says, once, why answers come later from now on: without a word it looks as if the server were slow.
    pub fn tell_of_pace(&mut self) -> Result<(), End> {
        let limit = self.edge.limits.frames_per_second;
        let detail = format!(
            "limits.frames_per_second = {limit}: what comes faster on this connection is read later, and none of it is lost; \
             this is said once a connection"
        );
        self.notify(None, Problem::new(Slug::TooManyRequests, detail))
    }

    /// Reports the problem with a frame, to the client and (at most once a second) in the log.
    pub fn refuse(&mut self, id: Option<String>, problem: Problem) -> Result<(), End> {
        let now = Instant::now();
        if self.next_failure <= now && self.work.is_none() {
            self.next_failure = now + FAILURE_EVERY;
            self.work = Some(self.note(&problem));
        }
        self.notify(id, problem)
    }

    fn notify(&mut self, id: Option<String>, problem: Problem) -> Result<(), End> {
        metrics::counter!("thinkd_problems_total", "problem" => problem.slug().as_str())
            .increment(1);
        if self.older {
            self.say(&ServerFrame::older_problem(&problem, self.user()))?;
        }
        self.say(&ServerFrame::Problem(ProblemFrame { id, problem }))
    }

    fn note(&self, problem: &Problem) -> Work {
        let detail = json!({ "problem": problem, "user": self.session.user() });
        let what = format!("a frame was refused: {}", problem.detail);
        let session = self.session.clone();
        Box::pin(async move {
            if let Err(error) = session.note_failure(&what, detail).await {
                tracing::warn!(%error, "a frame was refused, and the log cannot be told");
            }
            Done::Noted
        })
    }

    fn user(&self) -> &str {
        self.session.user().unwrap_or_default()
    }
}
