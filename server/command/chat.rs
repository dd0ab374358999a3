//! `thinkd chat`: talk to a mind from a terminal, or through a pipe. What is said and heard is the contract's socket;
//! where it appears is `screen`.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::bail;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use super::client::{Server, Target};
use super::events::{what, who};
use super::keyboard::{self, Hands, Typed};
use super::screen::{Screen, Style};
use super::wire::{Socket, closed, connect, is_refusal, message, send};
use crate::edge::outgoing::{DeltaFate, Placement, ProblemFrame, ServerFrame};
use crate::event::{Event, Modality, tag};
use crate::id::{Seq, ThreadId, fresh};
use crate::settings::{Settings, environment};

/// Whom to talk to.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Who you are
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The thread to talk in
    #[arg(long, default_value = "main")]
    thread: String,
    /// Show what the mind thinks, too
    #[arg(long)]
    thoughts: bool,
}

const HELP: &str = "\
/thoughts      show or hide what the mind thinks
/thread NAME   talk in another thread
/cancel        stop what it is thinking about (or Ctrl-C)
/quit          leave (or Ctrl-D)
Anything else is said.";

/// How often a lost connection is tried again, when nobody is there who could give up.
const TRIES: u32 = 12;

/// Between two pings.
const PING: Duration = Duration::from_secs(20);

/// A server silent for so long, although asked, is gone.
const SILENCE: Duration = Duration::from_secs(65);

/// Things said that may wait to be taken by the server.
const UNSENT: usize = 100;

/// Why talking over one connection ended.
enum Parted {
    /// The person left, or everything was answered.
    Done,
    /// The connection is gone.
    Lost(String),
}

/// Talks until the person leaves or, from a pipe, all is answered.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let thread = ThreadId::parse(&options.thread)?;
    let user = options.user.clone().or_else(|| environment().remove("THINKD_USER"));
    let greeting = format!("thinkd: {thread} at {}. /help says what can be done here.", server.base);
    let (screen, hands) = keyboard::start(&greeting)?;
    let mut chat = Chat {
        is_live: screen.grows(),
        screen,
        hands,
        thread,
        thoughts: options.thoughts,
        unsent: VecDeque::new(),
        said: VecDeque::new(),
        epoch: None,
        after: 0,
        woken: 0,
        handled: 0,
        thinking: false,
        growing: None,
        ended: false,
        failed: false,
    };
    let outcome = chat.talk(&server, user.as_deref()).await;
    if let (Err(error), true, true) = (&outcome, chat.is_live, chat.epoch.is_some()) {
        // The line editor has the terminal; it gives it back with the next line.
        chat.screen.line(Style::Alarm, &format!("{error:#} (Enter to leave)")).await?;
        chat.hands.typed.recv().await;
    }
    outcome?;
    if chat.failed && !chat.is_live {
        bail!("not everything was answered");
    }
    Ok(())
}

/// A conversation, across connections.
struct Chat {
    /// Whether a person sits there (and no pipe).
    is_live: bool,
    screen: Screen,
    hands: Hands,
    thread: ThreadId,
    thoughts: bool,
    /// Said and not yet acknowledged: sent again on a new connection, under the same id.
    unsent: VecDeque<(Uuid, ThreadId, String)>,
    /// The last things said here: what else is said comes from others.
    said: VecDeque<Uuid>,
    epoch: Option<Uuid>,
    /// The last event seen.
    after: Seq,
    /// The last event that gave the thread something to do, and the last it has done.
    woken: Seq,
    handled: Seq,
    thinking: bool,
    /// The reply that is coming: its id, and its characters so far.
    growing: Option<(Uuid, usize)>,
    /// Nothing more will be typed.
    ended: bool,
    /// Something was not answered.
    failed: bool,
}

impl Chat {
    async fn talk(&mut self, server: &Server, user: Option<&str>) -> anyhow::Result<()> {
        let mut tries = 0;
        loop {
            let Some(connected) = self.meanwhile(connect(server, user)).await? else { return Ok(()) };
            let lost = match connected {
                Ok(socket) => {
                    tries = 0;
                    match self.converse(socket).await? {
                        Parted::Done => return Ok(()),
                        Parted::Lost(why) => why,
                    }
                }
                // A first connection that fails is a mistake to be shown, not a loss to be waited out.
                Err(error) if self.epoch.is_none() || is_refusal(&error) => return Err(error),
                Err(error) => format!("{error:#}"),
            };
            tries += 1;
            if self.epoch.is_none() || (!self.is_live && tries > TRIES) {
                bail!("the connection is lost: {lost}");
            }
            if tries == 1 {
                self.growing = None;
                self.screen.end();
                self.screen.line(Style::Faint, &format!("(connection lost: {lost}; trying again)")).await?;
            }
            let pause = tokio::time::sleep(Duration::from_millis(200) * 2u32.pow(tries.min(6)));
            if self.meanwhile(pause).await?.is_none() {
                return Ok(());
            }
        }
    }

    /// Waits for something while there is no connection; what is said meanwhile is kept. None: the person left.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> anyhow::Result<Option<T>> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(Some(done)),
                typed = self.hands.typed.recv(), if self.is_live && self.epoch.is_some() => {
                    if self.act(None, typed.unwrap_or(Typed::End)).await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Talks over one connection until it or the talk is over.
    async fn converse(&mut self, mut socket: Socket) -> anyhow::Result<Parted> {
        let mut ping = tokio::time::interval(PING);
        loop {
            if !self.is_live && self.ended && self.is_idle() {
                return Ok(Parted::Done);
            }
            // From a pipe one thing is said after the other; a person may interrupt, but not outrun the server.
            let may_type = if self.is_live { self.unsent.len() < UNSENT } else { self.is_idle() };
            let may_type = may_type && self.epoch.is_some() && !self.ended;
            tokio::select! {
                said = tokio::time::timeout(SILENCE, socket.next()) => match said {
                    Ok(Some(Ok(Message::Text(text)))) => self.hear(&mut socket, &text).await?,
                    Ok(Some(Ok(Message::Close(frame)))) => return closed(frame).map(Parted::Lost),
                    Ok(Some(Ok(_))) => {}
                    Ok(Some(Err(error))) => return Ok(Parted::Lost(error.to_string())),
                    Ok(None) => return Ok(Parted::Lost("closed".into())),
                    Err(_) => return Ok(Parted::Lost("nothing heard for a minute".into())),
                },
                typed = self.hands.typed.recv(), if may_type => {
                    if self.act(Some(&mut socket), typed.unwrap_or(Typed::End)).await? {
                        let _ = socket.close(None).await;
                        return Ok(Parted::Done);
                    }
                }
                // A failure to send is found by the reading half.
                _ = ping.tick() => send(&mut socket, &json!({ "type": "ping" })).await,
            }
        }
    }

    /// Nothing is on its way, and the mind has done with all it was told.
    fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.handled >= self.woken
    }

    /// Does what was typed. True: leave.
    async fn act(&mut self, socket: Option<&mut Socket>, typed: Typed) -> anyhow::Result<bool> {
        let leaves = match typed {
            Typed::End => {
                self.ended = true;
                self.is_live
            }
            Typed::Interrupt if self.thinking => self.cancel(socket).await?,
            Typed::Interrupt => self.notice("(Ctrl-D or /quit to leave)").await?,
            Typed::Line(line) if line.trim().is_empty() => false,
            Typed::Line(line) if self.is_live && line.starts_with('/') => self.command(socket, line.trim()).await?,
            Typed::Line(line) => self.say(socket, line).await?,
        };
        if !leaves {
            self.hands.go_on();
        }
        Ok(leaves)
    }

    async fn command(&mut self, socket: Option<&mut Socket>, line: &str) -> anyhow::Result<bool> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("/quit" | "/exit", _) => Ok(true),
            ("/help", _) => self.notice(HELP).await,
            ("/cancel", _) => self.cancel(socket).await,
            ("/thread", name) => self.go_to(socket, name.trim()).await,
            ("/thoughts", _) => {
                self.thoughts = !self.thoughts;
                self.notice(if self.thoughts { "(thoughts are shown)" } else { "(thoughts are hidden)" }).await
            }
            (other, _) => self.notice(&format!("({other} is not known here; /help says what is)")).await,
        }
    }

    async fn notice(&mut self, text: &str) -> anyhow::Result<bool> {
        self.screen.line(Style::Faint, text).await?;
        Ok(false)
    }

    async fn cancel(&mut self, socket: Option<&mut Socket>) -> anyhow::Result<bool> {
        let Some(socket) = socket else { return self.notice("(not now: there is no connection)").await };
        send(socket, &json!({ "type": "cancel", "id": "cancel", "thread": self.thread })).await;
        Ok(false)
    }

    async fn say(&mut self, socket: Option<&mut Socket>, text: String) -> anyhow::Result<bool> {
        if self.unsent.len() >= UNSENT {
            return self.notice("(not said: too much is waiting for the server)").await;
        }
        let id = fresh();
        if let Some(socket) = socket {
            send(socket, &message(id, &self.thread, &text)).await;
        }
        self.unsent.push_back((id, self.thread.clone(), text));
        self.said.push_back(id);
        if self.said.len() > UNSENT {
            self.said.pop_front();
        }
        Ok(false)
    }

    async fn go_to(&mut self, socket: Option<&mut Socket>, name: &str) -> anyhow::Result<bool> {
        let thread = match ThreadId::parse(name) {
            Ok(thread) => thread,
            Err(error) => return self.notice(&format!("({error})")).await,
        };
        self.thread = thread;
        (self.woken, self.handled, self.thinking) = (0, 0, false);
        if let Some(socket) = socket {
            self.subscribe(socket).await;
        }
        self.notice(&format!("(talking in {})", self.thread)).await
    }

    async fn subscribe(&self, socket: &mut Socket) {
        let mut frame = json!({ "type": "subscribe", "thread": self.thread, "after": self.after });
        if let Some(epoch) = self.epoch {
            frame["epoch"] = json!(epoch);
        }
        send(socket, &frame).await;
    }

    async fn hear(&mut self, socket: &mut Socket, text: &str) -> anyhow::Result<()> {
        // What a later server says beside is not for us.
        let Ok(frame) = serde_json::from_str(text) else { return Ok(()) };
        match frame {
            ServerFrame::Hello(hello) => self.greet(socket, hello.head, hello.epoch).await?,
            ServerFrame::Event(shown) => self.show(&shown.event).await?,
            ServerFrame::Ack(ack) => self.acknowledged(ack.id.as_deref(), &ack.events),
            ServerFrame::Delta(delta) if delta.thread == self.thread => {
                self.grow(delta.event_id, delta.at, &delta.text).await?;
            }
            ServerFrame::DeltaEnd(end) => self.grown(end.event_id, end.outcome).await?,
            ServerFrame::Status(status) if status.thread == self.thread => self.thinking = status.status == "thinking",
            ServerFrame::Problem(refused) => self.complain(&refused).await?,
            _ => {}
        }
        Ok(())
    }

    /// A connection begins: from where we were, or from here.
    async fn greet(&mut self, socket: &mut Socket, head: Seq, epoch: Uuid) -> anyhow::Result<()> {
        match self.epoch {
            None => self.after = head,
            Some(known) if known != epoch || head < self.after => {
                self.screen.line(Style::Alarm, "(the log was replaced; going on at its end)").await?;
                (self.after, self.woken, self.handled) = (head, 0, 0);
            }
            Some(_) => self.screen.line(Style::Faint, "(connected again)").await?,
        }
        self.epoch = Some(epoch);
        self.subscribe(socket).await;
        for (id, thread, text) in &self.unsent {
            send(socket, &message(*id, thread, text)).await;
        }
        Ok(())
    }

    fn acknowledged(&mut self, id: Option<&str>, events: &[Placement]) {
        let Some(id) = id.and_then(|id| Uuid::parse_str(id).ok()) else { return };
        self.unsent.retain(|(unsent, ..)| *unsent != id);
        let own = events.iter().filter(|event| event.thread == self.thread);
        self.woken = own.map(|event| event.seq).max().unwrap_or(0).max(self.woken);
    }

    async fn show(&mut self, event: &Event) -> anyhow::Result<()> {
        self.after = self.after.max(event.seq);
        if event.wakes() {
            self.woken = self.woken.max(event.seq);
        }
        if event.has(tag::TURN) && event.has(tag::ENDED) {
            self.handled = event.payload.get("handled").and_then(Value::as_i64).unwrap_or(0).max(self.handled);
            // An interrupted turn's input is answered by the next one.
            let outcome = event.payload.get("outcome").and_then(Value::as_str);
            self.failed |= !matches!(outcome, Some("done" | "interrupted"));
        }
        if event.has(tag::RESPONSE) {
            return self.show_reply(event).await;
        }
        if event.has(tag::FAILURE) {
            return Ok(self.screen.line(Style::Alarm, &format!("  {}: {}", who(event), what(event))).await?);
        }
        if event.has(tag::INPUT) && self.is_live && !self.said.contains(&event.event_id) {
            return Ok(self.screen.line(Style::Plain, &format!("{}: {}", who(event), what(event))).await?);
        }
        // The call of `reply` only says what the reply says.
        let is_known = event.has(tag::INPUT) || (event.has(tag::ACTION) && event.has("tool:reply"));
        let is_thought = event.modality != Modality::State && !is_known;
        if is_thought && self.thoughts {
            self.screen.line(Style::Faint, &format!("  {}: {}", who(event), what(event))).await?;
        }
        Ok(())
    }

    /// The whole reply: nothing but its end, where all of it was seen to grow.
    async fn show_reply(&mut self, event: &Event) -> anyhow::Result<()> {
        let seen = self.growing.take_if(|(id, _)| *id == event.event_id).map_or(0, |(_, seen)| seen);
        self.screen.end();
        if seen != event.text().chars().count() || seen == 0 {
            self.screen.line(Style::Plain, event.text()).await?;
        }
        if event.has(tag::PARTIAL) {
            self.screen.line(Style::Faint, "  (cut off)").await?;
        }
        Ok(())
    }

    async fn grow(&mut self, id: Uuid, at: usize, text: &str) -> anyhow::Result<()> {
        if !self.screen.grows() {
            return Ok(());
        }
        match &mut self.growing {
            Some((growing, seen)) if *growing == id => {
                // A hole: wait for the whole reply.
                if at != *seen {
                    return Ok(());
                }
                *seen += text.chars().count();
            }
            _ if at == 0 => {
                self.screen.end();
                self.growing = Some((id, text.chars().count()));
            }
            _ => return Ok(()),
        }
        Ok(self.screen.grow(text).await?)
    }

    async fn grown(&mut self, id: Uuid, outcome: DeltaFate) -> anyhow::Result<()> {
        if outcome == DeltaFate::Discarded && self.growing.take_if(|(growing, _)| *growing == id).is_some() {
            self.screen.end();
            self.screen.line(Style::Faint, "  (taken back)").await?;
        }
        Ok(())
    }

    async fn complain(&mut self, refused: &ProblemFrame) -> anyhow::Result<()> {
        if let Some(id) = refused.id.as_deref().and_then(|id| Uuid::parse_str(id).ok()) {
            self.unsent.retain(|(unsent, ..)| *unsent != id);
        }
        let ProblemFrame { id, problem } = refused;
        // Without an id and unavailable: the thread cannot go on now, but will.
        self.failed |= id.is_some() || problem.status != 503;
        Ok(self.screen.line(Style::Alarm, &format!("  {}: {}", problem.title, problem.detail)).await?)
    }
}
