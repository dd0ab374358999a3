//! A client on a socket: handshake, authentication, frames in, events out. One task a socket.
//! Frames are acted on one after the other, so that what is said first is stored first; events flow meanwhile.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Edge;
use super::auth::{Principal, Shown, user_name};
use super::follow::{Follow, Seen};
use super::frame::{
    self, Ack, CaughtUp, ClientFrame, Framed, Hello, HelloLimits, Older, PROTOCOL, Pong, ProblemFrame, ServerFrame,
    Subscribe,
};
use super::input;
use super::limits::ms;
use super::problem::{Problem, Slug};
use super::seats::Seat;
use super::socket::{Came, End, Socket};
use crate::event::Draft;
use crate::id::{Seq, ThreadId};
use crate::store::{Append, Query};

/// Answers that may wait to be written before no more frames are read.
const ANSWERS_WAITING: u32 = 64;
/// Between two events about one socket's refused frames.
const FAILURE_EVERY: Duration = Duration::from_secs(1);
/// How long a last event about a lost client may take.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// `GET /`: a WebSocket, or for people the way to the documentation.
pub async fn root(state: State<Arc<Edge>>, request: Request) -> axum::response::Response {
    if wants_upgrade(request.headers()) { ws(state, request).await } else { Redirect::to("/docs").into_response() }
}

/// `GET /ws`: a WebSocket.
pub async fn ws(State(edge): State<Arc<Edge>>, request: Request) -> axum::response::Response {
    match upgrade(edge, request) {
        Ok(response) => response,
        Err(problem) => refuse(problem),
    }
}

fn refuse(problem: Problem) -> axum::response::Response {
    let upgrade = problem.slug() == Slug::UpgradeRequired;
    let mut response = problem.into_response();
    if upgrade {
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    response
}

fn has_token(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|word| word.trim().eq_ignore_ascii_case(token))
}

fn wants_upgrade(headers: &HeaderMap) -> bool {
    has_token(headers, header::UPGRADE, "websocket") && has_token(headers, header::CONNECTION, "upgrade")
}

/// The answer to a handshake's key, if it is one.
fn accept_key(headers: &HeaderMap) -> Option<String> {
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let key = keys.next()?;
    let bytes = STANDARD.decode(key.as_bytes()).ok()?;
    (bytes.len() == 16 && keys.next().is_none()).then(|| derive_accept_key(key.as_bytes()))
}

fn check_handshake(request: &Request) -> Result<String, Problem> {
    let headers = request.headers();
    if request.method() != Method::GET || !wants_upgrade(headers) {
        return Err(Problem::new(Slug::UpgradeRequired, "this address speaks WebSocket; /docs says how"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(Problem::new(Slug::UpgradeRequired, "Sec-WebSocket-Version has to be 13"));
    }
    accept_key(headers)
        .ok_or_else(|| Problem::new(Slug::InvalidParameter, "Sec-WebSocket-Key has to be 16 bytes in base64, once"))
}

fn upgrade(edge: Arc<Edge>, mut request: Request) -> Result<axum::response::Response, Problem> {
    let accept = check_handshake(&request)?;
    if edge.drain.is_cancelled() {
        return Err(Problem::new(Slug::Unavailable, "the server is going away; connect again"));
    }
    let shown = Shown::in_headers(request.headers());
    let principal = match shown {
        Shown::Nothing if !edge.auth.is_open() => None,
        shown => Some(edge.auth.decide(shown)?),
    };
    let mut seat = edge.seats.take().ok_or_else(|| too_many(&edge, "sockets"))?;
    if principal.as_ref().and_then(|principal| principal.key).is_some_and(|key| !seat.assign(key)) {
        return Err(too_many(&edge, "sockets of this key"));
    }
    let offered = has_token(request.headers(), header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    let upgrading = hyper::upgrade::on(&mut request);
    edge.tasks.clone().spawn(async move {
        let before = principal.is_none().then_some(edge.limits.unauthenticated_frame_bytes);
        match upgrading.await {
            Ok(upgraded) => match Socket::new(upgraded, edge.limits.frame_bytes, before).await {
                Some(socket) => serve(edge, socket, principal, seat).await,
                None => tracing::error!("a WebSocket did not come over TCP"),
            },
            Err(error) => tracing::debug!(%error, "a client left during the handshake"),
        }
    });
    Ok(switching(&accept, offered))
}

fn too_many(edge: &Edge, what: &str) -> Problem {
    metrics::counter!("thinkd_limit_total", "limit" => "sockets").increment(1);
    let limits = &edge.limits;
    let detail =
        format!("too many {what}: {} of a key and {} in all are the most", limits.sockets_per_key, limits.sockets);
    Problem::new(Slug::TooManyRequests, detail)
}

fn switching(accept: &str, echo_protocol: bool) -> axum::response::Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if echo_protocol {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    response
}

/// Serves one socket to its end.
async fn serve(edge: Arc<Edge>, mut socket: Socket, principal: Option<Principal>, mut seat: Seat) {
    let (end, client) = match enter(&edge, &mut socket, principal, &mut seat).await {
        Ok(entrance) => {
            let mut client = Client::new(edge.clone(), socket, entrance);
            let end = client.run().await;
            let Client { socket: used, principal, .. } = client;
            socket = used;
            (end, Some(principal))
        }
        Err(end) => (end, None),
    };
    tracing::debug!(?end, "a socket ended");
    // The seat is free as soon as nothing more is read, however long the goodbye takes.
    drop(seat);
    socket.finish(&end).await;
    if let (End::Lost(why), Some(principal)) = (end, client) {
        let draft = Draft::client_failure(&ThreadId::default(), "a client was lost", json!({ "reason": why }));
        let appended = edge.runtime.store().append(Append::free(&principal.space, vec![draft]));
        if !matches!(tokio::time::timeout(LAST_WORDS, appended).await, Ok(Ok(_))) {
            tracing::warn!(why, "a client was lost, and the log cannot be told");
        }
    }
}

/// How a client came in.
struct Entrance {
    principal: Principal,
    /// By plain `<user>:<token>`: it also gets the older frames until its first `subscribe`.
    older: bool,
    /// The `id` of its `auth` frame.
    acknowledge: Option<String>,
}

async fn enter(
    edge: &Edge,
    socket: &mut Socket,
    principal: Option<Principal>,
    seat: &mut Seat,
) -> Result<Entrance, End> {
    if let Some(principal) = principal {
        return Ok(Entrance { principal, older: false, acknowledge: None });
    }
    let entrance = tokio::select! {
        entrance = first_frame(edge, socket) => entrance?,
        () = tokio::time::sleep(ms(edge.limits.auth_ms)) => return Err(End::Close(4408, "no credentials came in time")),
        () = edge.drain.cancelled() => return Err(End::Close(1001, "going away; connect again")),
    };
    if entrance.principal.key.is_some_and(|key| !seat.assign(key)) {
        let _ = too_many(edge, "sockets of this key");
        return Err(End::Close(4429, "too many sockets of this key"));
    }
    socket.authenticated();
    Ok(entrance)
}

async fn first_frame(edge: &Edge, socket: &mut Socket) -> Result<Entrance, End> {
    loop {
        match socket.turn(true).await {
            Came::Flushed | Came::Message(Message::Pong(_) | Message::Frame(_)) => {}
            Came::Message(Message::Ping(_)) => socket.touch(),
            Came::Message(Message::Binary(_)) => return Err(End::Close(1003, "frames are text")),
            Came::Message(Message::Close(_)) => return Err(End::Closed),
            Came::Over(end) => return Err(end),
            Came::Message(Message::Text(text)) => return authenticate(edge, &text),
        }
    }
}

fn authenticate(edge: &Edge, text: &str) -> Result<Entrance, End> {
    let Framed { id, frame } = frame::read(text, &edge.limits);
    let (shown, older) = match &frame {
        Ok(ClientFrame::Auth(auth)) => (Shown::Secret(&auth.token), false),
        Err(problem) if problem.slug() == Slug::MalformedJson => (Shown::in_text(text.trim()), true),
        _ => (Shown::Nothing, false),
    };
    let denied = |_| End::Close(4401, "unauthenticated: send an auth frame or <user>:<token> first");
    let principal = edge.auth.decide(shown).map_err(denied)?;
    Ok(Entrance { principal, older, acknowledge: id })
}

/// What work on a frame came to.
enum Done {
    Ack(Ack),
    Refused(Option<String>, Problem),
    Subscribed(Option<String>, Box<Follow>),
    /// The log was told of a refused frame.
    Noted,
}

type Work = BoxFuture<'static, Done>;

/// A client that is in.
struct Client {
    edge: Arc<Edge>,
    socket: Socket,
    principal: Principal,
    /// The first frame may be `<user>:…`, which only says who speaks.
    may_name_itself: bool,
    older: bool,
    acknowledge: Option<String>,
    follow: Option<Box<Follow>>,
    /// The cursor of the last subscription, when there is none now.
    cursor: Seq,
    /// The `id` of the subscribe that is being replayed.
    replaying: Option<String>,
    /// What is done about the last frame; no other one is read meanwhile.
    work: Option<Work>,
    pace: Pace,
    next_ping: Instant,
    unanswered: u32,
    next_failure: Instant,
}

impl Client {
    fn new(edge: Arc<Edge>, socket: Socket, entrance: Entrance) -> Self {
        let now = Instant::now();
        let limits = &edge.limits;
        let pace = Pace::new(limits.frames_per_second, now);
        let next_ping = now + ms(limits.ping_ms);
        Self {
            may_name_itself: edge.auth.is_open(),
            socket,
            principal: entrance.principal,
            older: entrance.older,
            acknowledge: entrance.acknowledge,
            follow: None,
            cursor: 0,
            replaying: None,
            work: None,
            pace,
            next_ping,
            unanswered: 0,
            next_failure: now,
            edge,
        }
    }

    async fn run(&mut self) -> End {
        match self.converse().await {
            Err(end) => end,
            Ok(never) => match never {},
        }
    }

    async fn converse(&mut self) -> Result<std::convert::Infallible, End> {
        self.greet().await?;
        loop {
            let read = self.work.is_none() && self.socket.queued() < ANSWERS_WAITING && self.pace.allows();
            let show = self.socket.unflushed().is_none();
            let wake = self.wake();
            tokio::select! {
                biased;
                () = self.edge.drain.cancelled() => return Err(End::Close(1001, "going away; connect again")),
                done = next(&mut self.work) => self.finish_work(done)?,
                () = sleep_until(wake) => self.tick()?,
                came = self.socket.turn(read) => self.came(came)?,
                seen = follow(&mut self.follow), if show => self.show(seen.map_err(lost_log)?)?,
            }
        }
    }

    /// Says hello; from then on the whole space is followed.
    async fn greet(&mut self) -> Result<(), End> {
        self.edge.runtime.open(&self.principal.space).await.map_err(lost_log)?;
        let follow = Follow::start(self.edge.runtime.store(), &self.principal.space, Query::default(), None).await;
        let (follow, head) = follow.map_err(lost_log)?;
        self.follow = Some(Box::new(follow));
        if let Some(id) = self.acknowledge.take() {
            self.say(&ServerFrame::Ack(Ack::ok(Some(id))))?;
        }
        self.say(&ServerFrame::Hello(Hello {
            protocol: PROTOCOL.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            space: self.principal.space.to_string(),
            epoch: head.epoch,
            head: head.seq,
            limits: HelloLimits { frame_bytes: self.edge.limits.frame_bytes },
        }))
    }

    fn say(&mut self, frame: &ServerFrame) -> Result<(), End> {
        self.socket.put(frame.to_text())
    }

    /// When to wake up without anything happening.
    fn wake(&self) -> Instant {
        let stalled = self.socket.unflushed().map(|since| since + ms(self.edge.limits.stall_ms));
        let paced = self.pace.again();
        [stalled, paced].into_iter().flatten().fold(self.next_ping, Instant::min)
    }

    fn tick(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let limits = &self.edge.limits;
        if self.socket.unflushed().is_some_and(|since| since + ms(limits.stall_ms) <= now) {
            return Err(End::Lost("it took nothing of what was sent to it"));
        }
        if self.next_ping <= now {
            if self.unanswered >= limits.unanswered_pings {
                return Err(End::Close(4408, "pings are not answered"));
            }
            self.next_ping = now + ms(limits.ping_ms);
            self.unanswered += 1;
            self.socket.ping()?;
        }
        self.pace.renew(now);
        Ok(())
    }

    fn came(&mut self, came: Came) -> Result<(), End> {
        let message = match came {
            Came::Flushed => return Ok(()),
            Came::Over(end) => return Err(end),
            Came::Message(message) => message,
        };
        self.unanswered = 0;
        self.pace.count(Instant::now());
        match message {
            Message::Text(text) => self.text(&text),
            Message::Binary(_) => Err(End::Close(1003, "frames are text")),
            Message::Close(_) => Err(End::Closed),
            Message::Ping(_) => {
                self.socket.touch();
                Ok(())
            }
            Message::Pong(_) | Message::Frame(_) => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), End> {
        let Framed { id, frame } = frame::read(text, &self.edge.limits);
        let may_name_itself = std::mem::take(&mut self.may_name_itself);
        match frame {
            Ok(frame) => self.act(id, frame),
            Err(problem) if may_name_itself && problem.slug() == Slug::MalformedJson => match named(text) {
                Some(user) => {
                    self.principal.user = Some(user);
                    Ok(())
                }
                None => self.refuse(id, problem),
            },
            Err(problem) => self.refuse(id, problem),
        }
    }

    fn act(&mut self, id: Option<String>, frame: ClientFrame) -> Result<(), End> {
        match frame {
            ClientFrame::Input(kind, said) => {
                let (runtime, who) = (self.edge.runtime.clone(), self.principal.clone());
                self.start(id, async move |id| input::said(&runtime, &who, id, kind, said).await.map(Done::Ack))
            }
            ClientFrame::Trigger(trigger) => {
                let (runtime, who) = (self.edge.runtime.clone(), self.principal.clone());
                self.start(id, async move |id| input::trigger(&runtime, &who, id, trigger).await.map(Done::Ack))
            }
            ClientFrame::Subscribe(frame) => {
                let (edge, who) = (self.edge.clone(), self.principal.clone());
                self.start(id, async move |id| subscribe(&edge, &who, id, frame).await)
            }
            ClientFrame::Cancel(cancel) => {
                let (runtime, space) = (self.edge.runtime.clone(), self.principal.space.clone());
                self.start(id, async move |id| {
                    let thread = input::thread(cancel.thread.as_deref())?;
                    runtime.cancel(&space, &thread).await?;
                    Ok(Done::Ack(Ack::ok(id)))
                })
            }
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
            ClientFrame::Auth(auth) => match self.edge.auth.decide(Shown::Secret(&auth.token)) {
                Ok(same) if same.space == self.principal.space => self.acknowledge(id),
                Ok(_) => {
                    let detail = "this connection is of another space; open another one";
                    self.refuse(id, Problem::new(Slug::Forbidden, detail))
                }
                Err(denied) => self.refuse(id, denied.into()),
            },
            ClientFrame::Approve(frame::Approve { approval, .. }) | ClientFrame::Deny(frame::Deny { approval, .. }) => {
                self.refuse(id, unknown("approval", &approval))
            }
            ClientFrame::Answer(answer) => self.refuse(id, unknown("question", &answer.question)),
        }
    }

    /// Begins what takes time; its outcome is told before the next frame is read.
    fn start<F>(&mut self, id: Option<String>, work: impl FnOnce(Option<String>) -> F) -> Result<(), End>
    where
        F: Future<Output = Result<Done, Problem>> + Send + 'static,
    {
        let work = work(id.clone());
        self.work = Some(Box::pin(async move { work.await.unwrap_or_else(|problem| Done::Refused(id, problem)) }));
        Ok(())
    }

    fn finish_work(&mut self, done: Done) -> Result<(), End> {
        self.work = None;
        match done {
            Done::Noted => Ok(()),
            Done::Ack(ack) => {
                // Inputs are always acknowledged; what has no events only when it asked to be.
                if ack.id.is_some() || !ack.events.is_empty() { self.say(&ServerFrame::Ack(ack)) } else { Ok(()) }
            }
            Done::Refused(id, problem) => self.refuse(id, problem),
            Done::Subscribed(id, follow) => {
                self.older = false;
                self.follow = Some(follow);
                self.replaying = id.clone();
                self.acknowledge(id)
            }
        }
    }

    fn acknowledge(&mut self, id: Option<String>) -> Result<(), End> {
        if id.is_some() { self.say(&ServerFrame::Ack(Ack::ok(id))) } else { Ok(()) }
    }

    fn reached(&self) -> Seq {
        self.follow.as_ref().map_or(self.cursor, |follow| follow.cursor())
    }

    fn show(&mut self, seen: Seen) -> Result<(), End> {
        match seen {
            Seen::Events { events, replay } => {
                for shown in events {
                    self.socket.put(frame::event_text(&shown, replay))?;
                    if self.older {
                        let user = self.principal.user.as_deref().unwrap_or_default();
                        if let Some(older) = ServerFrame::older(&shown.event, user) {
                            self.say(&older)?;
                        }
                    }
                }
                Ok(())
            }
            Seen::CaughtUp => {
                let caught_up = CaughtUp { id: self.replaying.take(), after: self.reached() };
                self.say(&ServerFrame::CaughtUp(caught_up))
            }
            Seen::Hint(hint) => self.say(&ServerFrame::hint(&hint)),
        }
    }

    /// Says what is wrong with a frame, to the client and (at most once a second) in the log.
    fn refuse(&mut self, id: Option<String>, problem: Problem) -> Result<(), End> {
        metrics::counter!("thinkd_problems_total", "problem" => problem.slug().as_str()).increment(1);
        let now = Instant::now();
        if self.next_failure <= now && self.work.is_none() {
            self.next_failure = now + FAILURE_EVERY;
            self.work = Some(self.note(&problem));
        }
        if self.older {
            self.say(&ServerFrame::Response(Older {
                role: "system".into(),
                user: self.principal.user.clone().unwrap_or_default(),
                chat: vec![problem.detail.clone()],
                timestamp: crate::time::now().seconds(),
            }))?;
        }
        self.say(&ServerFrame::Problem(ProblemFrame { id, problem }))
    }

    fn note(&self, problem: &Problem) -> Work {
        let detail = json!({ "problem": problem, "user": self.principal.user });
        let what = format!("a frame was refused: {}", problem.detail);
        let draft = Draft::client_failure(&ThreadId::default(), &what, detail);
        let (store, space) = (self.edge.runtime.store().clone(), self.principal.space.clone());
        Box::pin(async move {
            if let Err(error) = store.append(Append::free(&space, vec![draft])).await {
                tracing::warn!(%error, "a frame was refused, and the log cannot be told");
            }
            Done::Noted
        })
    }
}

/// The user that a first frame names which is no JSON: `<user>:…`. What begins like JSON is broken JSON.
fn named(text: &str) -> Option<String> {
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    let text = if is_json { "" } else { text };
    text.split_once(':').and_then(|(user, _)| user_name(user)).map(str::to_owned)
}

fn unknown(what: &str, id: &str) -> Problem {
    let id: String = id.chars().take(60).collect();
    Problem::new(Slug::NotFound, format!("there is no {what} {id:?}"))
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

async fn follow(follow: &mut Option<Box<Follow>>) -> Result<Seen, crate::store::Error> {
    match follow {
        Some(follow) => follow.next().await,
        None => std::future::pending().await,
    }
}

async fn subscribe(edge: &Edge, who: &Principal, id: Option<String>, frame: Subscribe) -> Result<Done, Problem> {
    let (filter, epoch) = input::subscription(&frame)?;
    let (follow, head) = Follow::start(edge.runtime.store(), &who.space, filter, frame.after).await?;
    if let Some(epoch) = epoch.filter(|epoch| *epoch != head.epoch) {
        let detail = format!("the log is {} now, not {epoch}; read it anew (after 0)", head.epoch);
        return Err(Problem::at(Slug::EpochChanged, "/epoch", detail));
    }
    if let Some(after) = frame.after.filter(|after| *after > head.seq) {
        let detail = format!("after {after} is beyond the log's end, {}", head.seq);
        return Err(Problem::at(Slug::CursorAhead, "/after", detail));
    }
    Ok(Done::Subscribed(id, Box::new(follow)))
}

/// How fast a socket is read: bursts of a second's worth, then evenly.
struct Pace {
    every: Duration,
    /// When the next frame is due at an even pace.
    due: Instant,
    burst: Duration,
    paused: bool,
}

impl Pace {
    fn new(per_second: u32, now: Instant) -> Self {
        Self {
            every: Duration::from_secs(1) / per_second.max(1),
            due: now,
            burst: Duration::from_secs(1),
            paused: false,
        }
    }

    fn count(&mut self, now: Instant) {
        self.due = self.due.max(now) + self.every;
        self.paused = self.due > now + self.burst;
        if self.paused {
            metrics::counter!("thinkd_limit_total", "limit" => "frames_per_second").increment(1);
        }
    }

    fn allows(&self) -> bool {
        !self.paused
    }

    /// When to read again, if not now.
    fn again(&self) -> Option<Instant> {
        self.paused.then(|| self.due - self.burst)
    }

    fn renew(&mut self, now: Instant) {
        self.paused = self.due > now + self.burst;
    }
}
