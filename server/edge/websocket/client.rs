//! A client that is in: its frames are acted on, events flow to it, until one of us ends it.
//! Frames are acted on one after the other, so that the first to come is stored first; events flow
//! meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use super::order::{Order, behind};
use super::outgoing::{CaughtUp, Expiring, Pong, ServerFrame};
use super::socket::{Came, End, Socket};
use crate::ack::{Ack, Forked};
use crate::auth::{Shown, user_name};
use crate::context::Edge;
use crate::frame::{self, ClientFrame, Framed, Subscribe};
use crate::guesses::Peer;
use crate::limits::{Limits, ms};
use crate::problem::{Problem, Slug};
use crate::rate_limit::RateLimit;
use crate::stay::{Notice, Stay};
use crate::{ids, input, query};
use thinkd_event::request::Said;
use thinkd_log::query::{Query, Show};
use thinkd_session::follow::{Follow, Seen};
use thinkd_session::handle::Session;
use thinkd_session::pieces::Pieces;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::principal::Credential;

mod deciding;
mod telling;

/// Answers that may wait to be written before no more frames are read. Until then a client may send on without reading.
const ANSWERS_WAITING: u32 = 64;

/// The result of work on a frame.
enum Done {
    Ack(Ack),
    Forked(Forked),
    Refused(Option<String>, Problem),
    /// The `id`, the events to follow, and true if their beginning is to be told although nothing
    /// is replayed.
    Subscribed(Option<String>, Box<Follow>, bool),
    /// The `id`, and the session of another credential.
    Shown(Option<String>, Box<Session>),
    /// The log was told of a refused frame.
    Noted,
}

type Work = BoxFuture<'static, Done>;

/// The way in which a client came in.
pub struct Entrance {
    /// The client's rights and operations.
    pub session: Session,
    /// Its address.
    pub from: Peer,
    /// By plain `<user>:<token>`: it also gets the older frames until its first `subscribe`.
    pub older: bool,
    /// The `id` of its `auth` frame.
    pub acknowledge: Option<String>,
}

/// A client that is in.
pub struct Client {
    edge: Arc<Edge>,
    socket: Socket,
    session: Session,
    from: Peer,
    stay: Stay,
    /// The first frame may be `<user>:…`, which only names the speaker.
    may_name_itself: bool,
    older: bool,
    acknowledge: Option<String>,
    follow: Option<Box<Follow>>,
    /// The pieces of replies that it was sent; from its greeting on.
    pieces: Option<Pieces>,
    /// The cursor of the last subscription, when there is none now.
    cursor: Seq,
    /// The `id` of the subscribe that is being replayed.
    replaying: Option<String>,
    /// The work on the last frame; no other one is read meanwhile.
    work: Option<Work>,
    /// The `event_id` of the input that is worked on, if it is one.
    input: Option<Option<Uuid>>,
    order: Order,
    rate: RateLimit,
    /// True once the client was told that it is read more slowly than it sends.
    told_of_rate: bool,
    next_ping: Instant,
    unanswered: u32,
    next_failure: Instant,
}

impl Client {
    /// The client that came in on this socket.
    pub fn new(edge: Arc<Edge>, socket: Socket, entrance: Entrance) -> Self {
        let now = Instant::now();
        let limits = &edge.limits;
        let rate = RateLimit::new(limits.frames_per_second, now);
        let next_ping = now + ms(limits.ping_ms);
        Self {
            may_name_itself: edge.authority.is_open(),
            stay: edge.stay(&entrance.session),
            socket,
            session: entrance.session,
            from: entrance.from,
            older: entrance.older,
            acknowledge: entrance.acknowledge,
            follow: None,
            pieces: None,
            cursor: 0,
            replaying: None,
            work: None,
            input: None,
            order: Order::default(),
            rate,
            told_of_rate: false,
            next_ping,
            unanswered: 0,
            next_failure: now,
            edge,
        }
    }

    /// Returns the client's session: its rights and operations.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Serves it to its end.
    pub async fn run(&mut self) -> End {
        match self.converse().await {
            Err(end) => end,
            Ok(never) => match never {},
        }
    }

    /// Its socket, for the goodbye.
    pub fn leave(self) -> Socket {
        self.socket
    }

    async fn converse(&mut self) -> Result<std::convert::Infallible, End> {
        self.greet().await?;
        loop {
            let read = self.work.is_none()
                && self.socket.answers() < ANSWERS_WAITING
                && self.rate.allows();
            let show = self.socket.unflushed().is_none();
            let wake = self.wake();
            tokio::select! {
                biased;
                () = self.edge.drain.cancelled() => return Err(End::Close(1001, "going away; connect again")),
                notice = self.stay.next() => self.learn(notice)?,
                done = next(&mut self.work) => self.finish_work(done)?,
                () = sleep_until(wake) => self.tick()?,
                came = self.socket.turn(read) => self.came(came)?,
                seen = follow(&mut self.follow), if show => self.show(seen?)?,
            }
        }
    }

    /// Tells the client that its token ends soon; ends a socket with a credential that is worth
    /// nothing any more.
    fn learn(&mut self, notice: Notice) -> Result<(), End> {
        match notice {
            Notice::Expiring(at) => self
                .socket
                .put(ServerFrame::Expiring(Expiring { at }).to_text()),
            Notice::Expired => Err(End::Close(
                4401,
                "unauthenticated: the token of this socket has ended",
            )),
            Notice::Revoked => Err(End::Close(
                4401,
                "unauthenticated: the key of this socket was removed or changed",
            )),
        }
    }

    /// When to wake up without anything happening.
    fn wake(&self) -> Instant {
        let stalled = self.socket.unflushed();
        let stalled = stalled.map(|since| since + ms(self.edge.limits.stall_ms));
        let sooner = stalled.into_iter().chain(self.rate.again());
        sooner.fold(self.next_ping, Instant::min)
    }

    fn tick(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let limits = &self.edge.limits;
        let stalled = |since| since + ms(limits.stall_ms) <= now;
        if self.socket.unflushed().is_some_and(stalled) {
            return Err(End::Lost("it took nothing of what was sent to it"));
        }
        if self.next_ping <= now {
            if self.unanswered >= limits.unanswered_pings {
                return Err(End::Close(4408, "pings are not answered"));
            }
            self.next_ping = now + ms(limits.ping_ms);
            self.unanswered += 1;
            self.socket.ping(Bytes::new())?;
        }
        self.rate.renew(now);
        Ok(())
    }

    fn came(&mut self, came: Came) -> Result<(), End> {
        let message = match came {
            Came::Flushed => return Ok(()),
            Came::Over(end) => return Err(end),
            Came::Message(message) => message,
        };
        self.unanswered = 0;
        self.rate.count(Instant::now());
        if !self.rate.allows() && !std::mem::replace(&mut self.told_of_rate, true) {
            self.tell_of_pace()?;
        }
        match message {
            Message::Text(text) => return self.text(&text),
            Message::Binary(_) => return Err(End::Close(1003, "frames are text")),
            Message::Close(_) => return Err(End::Closed),
            Message::Ping(_) => self.socket.touch(),
            Message::Pong(mark) => self.order.pong(&mark, Instant::now()),
            Message::Frame(_) => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), End> {
        let Framed { id, frame } = frame::read(text, &self.edge.limits, Some(&self.session));
        let may_name_itself = std::mem::take(&mut self.may_name_itself);
        match frame {
            Ok(frame) => self.act(id, frame),
            Err(problem) if may_name_itself && problem.slug() == Slug::MalformedJson => {
                let Some(user) = named(text) else {
                    return self.refuse(id, problem);
                };
                self.session.set_user(user);
                // Whoever begins like this speaks the older protocol, with or without a token to check.
                self.older = true;
                Ok(())
            }
            Err(problem) => self.refuse(id, problem),
        }
    }

    fn act(&mut self, id: Option<String>, frame: ClientFrame) -> Result<(), End> {
        match frame {
            ClientFrame::Input(kind, said) => {
                if !self.takes(said.event_id.as_deref()) {
                    return self.refuse(id, behind());
                }
                self.start(id, async move |edge, session, id| {
                    let ack = input::submit_said(&session, &edge.limits, id, kind, said);
                    ack.await.map(Done::Ack)
                })
            }
            ClientFrame::Trigger(trigger) => {
                if !self.takes(trigger.event_id.as_deref()) {
                    return self.refuse(id, behind());
                }
                self.start(id, async move |_, session, id| {
                    let ack = input::submit_trigger(&session, id, trigger);
                    ack.await.map(Done::Ack)
                })
            }
            ClientFrame::Subscribe(frame) => self.start(id, async move |edge, session, id| {
                subscribe(&session, &edge.limits, id, frame).await
            }),
            ClientFrame::Fork(fork) => {
                let message = fork.message.as_ref();
                if message.is_some_and(|it| !self.takes(it.event_id.as_deref())) {
                    return self.refuse(id, behind());
                }
                self.start(id, async move |edge, session, id| {
                    let forked = input::fork(&session, &edge.limits, id, fork);
                    forked.await.map(Done::Forked)
                })
            }
            ClientFrame::Cancel(cancel) => self.start(id, async move |_, session, id| {
                let thread = ids::thread(cancel.thread.as_deref())?;
                match cancel.subtree {
                    true => drop(session.cancel_subtree(&thread).await?),
                    false => drop(session.cancel(&thread).await?),
                }
                Ok(Done::Ack(Ack::ok(id)))
            }),
            ClientFrame::Unsubscribe(_) => {
                self.cursor = self.reached();
                self.follow = None;
                self.acknowledge(id)
            }
            ClientFrame::Ping(_) => {
                self.acknowledge(id)?;
                let after = self.reached();
                self.say(&ServerFrame::Pong(Pong { after }))
            }
            ClientFrame::Auth(shown) => {
                let from = self.from;
                self.start(id, async move |edge, _, id| {
                    let session = edge.enter(Shown::Secret(&shown.token), from).await?;
                    Ok(Done::Shown(id, Box::new(session)))
                })
            }
            ClientFrame::Approve(it) => {
                let said = Said::Approve(it.arguments.map(Value::Object));
                self.decide(id, it.approval, said, it.reason)
            }
            ClientFrame::Deny(it) => self.decide(id, it.approval, Said::Reject, it.reason),
            ClientFrame::Respond(it) => self.decide(id, it.approval, Said::Respond(it.text), None),
            ClientFrame::Answer(it) => self.answer(id, it.question, it.text),
        }
    }

    /// Returns true if an input is worked on; false if it stands behind one that was refused.
    fn takes(&mut self, event_id: Option<&str>) -> bool {
        let event_id = event_id.and_then(|text| Uuid::try_parse(text).ok());
        let takes = self.order.takes(event_id, Instant::now());
        self.input = takes.then_some(event_id);
        takes
    }

    /// Begins work that takes time; its outcome is told before the next frame is read.
    fn start<F>(
        &mut self,
        id: Option<String>,
        work: impl FnOnce(Arc<Edge>, Session, Option<String>) -> F,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<Done, Problem>> + Send + 'static,
    {
        let work = work(self.edge.clone(), self.session.clone(), id.clone());
        let refused = |problem| Done::Refused(id, problem);
        self.work = Some(Box::pin(async move { work.await.unwrap_or_else(refused) }));
        Ok(())
    }

    fn finish_work(&mut self, done: Done) -> Result<(), End> {
        self.work = None;
        let input = self.input.take();
        match done {
            Done::Noted => Ok(()),
            Done::Shown(id, session) => self.shown(id, *session),
            Done::Ack(ack) => {
                // Inputs are always acknowledged; what has no events only when it asked to be.
                match ack.id.is_none() && ack.events.is_empty() {
                    true => Ok(()),
                    false => self.say(&ServerFrame::Ack(ack)),
                }
            }
            Done::Forked(forked) => self.say(&ServerFrame::Forked(forked)),
            Done::Refused(id, problem) => {
                if let Some(event_id) = input.filter(|_| problem.slug() == Slug::Unavailable) {
                    // Before the refusal: what the client sends when it has read that comes behind the pong.
                    let mark = self.order.refused(event_id);
                    self.socket.ping(mark)?;
                }
                self.refuse(id, problem)
            }
            Done::Subscribed(id, follow, begins) => {
                self.subscribed(follow);
                self.replaying = id.clone();
                self.acknowledge(id)?;
                let id = None;
                let after = self.reached();
                match begins {
                    true => self.say(&ServerFrame::CaughtUp(CaughtUp { id, after })),
                    false => Ok(()),
                }
            }
        }
    }

    /// Another credential of the same client was shown: a later token lets it stay longer.
    fn shown(&mut self, id: Option<String>, session: Session) -> Result<(), End> {
        if !session.principal().is_like(self.session.principal()) {
            let detail = "this connection is of another space, role or user; open another one";
            return self.refuse(id, Problem::new(Slug::Forbidden, detail));
        }
        if let Credential::Token { .. } = session.principal().credential {
            self.stay = self.edge.stay(&session);
            self.session = session;
        }
        self.acknowledge(id)
    }

    fn reached(&self) -> Seq {
        self.follow
            .as_ref()
            .map_or(self.cursor, |follow| follow.cursor())
    }
}

/// Returns the user that a first frame names which is no JSON: `<user>:…`. A text that begins like
/// JSON is broken JSON.
fn named(text: &str) -> Option<String> {
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    let text = if is_json { "" } else { text };
    text.split_once(':')
        .and_then(|(user, _)| user_name(user))
        .map(str::to_owned)
}

fn lost_log(error: impl std::fmt::Display) -> End {
    tracing::error!(%error, "a socket is closed because the log cannot be read");
    End::Close(1001, "the log cannot be read now; connect again")
}

async fn next(work: &mut Option<Work>) -> Done {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}

async fn follow(follow: &mut Option<Box<Follow>>) -> Result<Seen, End> {
    match follow {
        Some(follow) => follow.next().await.map_err(lost_log),
        None => std::future::pending().await,
    }
}

async fn subscribe(
    session: &Session,
    limits: &Limits,
    id: Option<String>,
    frame: Subscribe,
) -> Result<Done, Problem> {
    let (filter, epoch) = subscription(&frame, limits)?;
    let (follow, head) = session.follow(filter, frame.after).await?;
    let pointed = |problem: Problem| Problem::at(problem.slug(), "/epoch", problem.detail);
    query::check_epoch(epoch, head.epoch).map_err(pointed)?;
    if let Some(after) = frame.after.filter(|after| *after > head.seq) {
        let detail = format!("after {after} is beyond the log's end, {}", head.seq);
        return Err(Problem::at(Slug::CursorAhead, "/after", detail));
    }
    // Neither acknowledged nor caught up with, it would be answered by nothing.
    let begins = id.is_none() && frame.after.is_none();
    Ok(Done::Subscribed(id, Box::new(follow), begins))
}

/// Returns the query of a subscription, and the epoch its cursor belongs to.
fn subscription(frame: &Subscribe, limits: &Limits) -> Result<(Query, Option<Uuid>), Problem> {
    let thread = frame.thread.as_deref().map(ThreadId::parse).transpose();
    let thread = thread.map_err(ids::at("/thread"))?;
    let epoch = frame.epoch.as_deref().map(|text| ids::uuid(text, "/epoch"));
    let epoch = epoch.transpose()?;
    let show = if frame.debug { Show::All } else { Show::Public };
    let query = Query {
        thread,
        subtree: frame.subtree,
        tags: frame.tags.clone(),
        show,
        ..Query::default()
    };
    let query = query::within_tags(query, limits)
        .map_err(|detail| Problem::at(Slug::InvalidParameter, "/tags", detail))?;
    Ok((query, epoch))
}
