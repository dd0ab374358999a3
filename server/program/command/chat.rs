//! `thinkd chat`: talk to a mind from a terminal, or through a pipe. Messages go over the
//! contract's socket; `screen` shows them.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::bail;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;
use uuid::Uuid;

use super::client::{Server, Target};
use super::keyboard::{self, Hands, Typed};
use super::screen::{Manner, Screen};
use super::wire::{Socket, closed, enter, is_refusal, message, send};
use crate::program::settings::Settings;
use thinkd_words::id::{Seq, ThreadId, fresh};

/// Whom to talk to.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Your name
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The thread to talk in
    #[arg(long, default_value = "main")]
    thread: String,
    /// Show the remarks of submodules, too
    #[arg(long)]
    thoughts: bool,
}

mod asked;
mod hear;
mod recall;

const HELP: &str = "\
/history [N]   what was said before, the last N things
/voices        the submodules, and what each comments on
/why           what the model saw before it gave the last reply
/thoughts      show or hide the remarks of submodules
/thread NAME   talk in another thread
/inbox         what waits for a person in this thread
/approve ID    let a tool call run that waits; /reject ID WHY does not, /respond ID TEXT says its result
/answer ID …   answer a question of the agent
/steer TEXT    say it to the turn that runs, before its next step
/cancel        stop what it is thinking about (or Ctrl-C)
/quit          leave (or Ctrl-D)
Anything else is said.";

/// Most tries to restore a lost connection where no person is present to give up.
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

/// The name of the agent on the screen.
const AGENT: &str = "agent";

/// Past messages shown on opening.
const OPENING: u32 = 6;

/// Talks until the person leaves or, from a pipe, all is answered.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let server = server.named(options.user.clone())?;
    let thread = ThreadId::parse(&options.thread)?;
    // A first connection that fails is a mistake to be shown, not a loss to be waited out; nothing else is shown before it stands.
    let (socket, hello) = enter(&server).await?;
    let greeting = format!(
        "thinkd: {thread} at {}. /help says what can be done here.",
        server.base
    );
    let (screen, hands) = keyboard::start(&greeting)?;
    let mut chat = Chat {
        is_live: screen.grows(),
        screen,
        hands,
        server,
        http: reqwest::Client::new(),
        thread,
        thoughts: options.thoughts,
        unsent: VecDeque::new(),
        said: VecDeque::new(),
        epoch: hello.epoch,
        after: hello.head,
        woken: 0,
        handled: 0,
        thinking: None,
        growing: None,
        replied: None,
        ended: false,
        failed: false,
    };
    let outcome = chat.talk(socket).await;
    if let (Err(error), true) = (&outcome, chat.is_live) {
        // The line editor has the terminal; it gives it back with the next line.
        chat.screen
            .show(Manner::Alarm, "", &format!("{error:#} (Enter to leave)"))
            .await?;
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
    /// True for a terminal with a person, false for a pipe.
    is_live: bool,
    screen: Screen,
    hands: Hands,
    server: Server,
    http: reqwest::Client,
    thread: ThreadId,
    thoughts: bool,
    /// Said and not yet acknowledged: sent again on a new connection, under the same id.
    unsent: VecDeque<(Uuid, Value)>,
    /// The last messages sent here: all others come from other clients.
    said: VecDeque<Uuid>,
    epoch: Uuid,
    /// The last event seen.
    after: Seq,
    /// The last event that gave the thread something to do, and the last it has done.
    woken: Seq,
    handled: Seq,
    thinking: Option<Thinking>,
    /// The reply that is coming: its id, and its words so far.
    growing: Option<(Uuid, String)>,
    /// The last reply seen.
    replied: Option<Uuid>,
    /// Nothing more will be typed.
    ended: bool,
    /// Something was not answered.
    failed: bool,
}

/// A turn that goes on.
struct Thinking {
    since: Instant,
    /// The submodules that have spoken.
    spoken: Vec<String>,
}

impl Thinking {
    fn describe(&self) -> String {
        let seconds = self.since.elapsed().as_secs();
        match self.spoken.as_slice() {
            [] => format!("thinking… {seconds} s"),
            [one] => format!("thinking… {one} has spoken, {seconds} s"),
            all => format!("thinking… {} have spoken, {seconds} s", all.join(", ")),
        }
    }
}

impl Chat {
    async fn talk(&mut self, socket: Socket) -> anyhow::Result<()> {
        if self.is_live {
            self.recall(OPENING).await?;
            self.inbox(false).await?;
        }
        let mut connected = Some(socket);
        let mut tries = 0;
        loop {
            let lost = match connected.take() {
                Some(mut socket) => {
                    tries = 0;
                    self.subscribe(&mut socket).await;
                    for (_, frame) in &self.unsent {
                        send(&mut socket, frame).await;
                    }
                    match self.converse(socket).await? {
                        Parted::Done => return Ok(()),
                        Parted::Lost(why) => why,
                    }
                }
                None => {
                    let server = self.server.clone();
                    match self.meanwhile(enter(&server)).await? {
                        None => return Ok(()),
                        Some(Ok((socket, hello))) => {
                            self.again(&hello).await?;
                            connected = Some(socket);
                            continue;
                        }
                        Some(Err(error)) if is_refusal(&error) => return Err(error),
                        Some(Err(error)) => format!("{error:#}"),
                    }
                }
            };
            tries += 1;
            if !self.is_live && tries > TRIES {
                bail!("the connection is lost: {lost}");
            }
            if tries == 1 {
                self.growing = None;
                self.screen.end();
                self.rest().await?;
                self.notice(&format!("(connection lost: {lost}; trying again)"))
                    .await?;
            }
            let pause = tokio::time::sleep(Duration::from_millis(200) * 2u32.pow(tries.min(6)));
            if self.meanwhile(pause).await?.is_none() {
                return Ok(());
            }
        }
    }

    /// Does some work while there is no connection; input of that time is kept. Returns none if the
    /// person left.
    async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> anyhow::Result<Option<T>> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(Some(done)),
                typed = self.hands.typed.recv(), if self.is_live => {
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
        let mut second = tokio::time::interval(Duration::from_secs(1));
        loop {
            if !self.is_live && self.ended && self.is_idle() {
                return Ok(Parted::Done);
            }
            // From a pipe one thing is said after the other; a person may interrupt, but not outrun the server.
            let may_type = match self.is_live {
                true => self.unsent.len() < UNSENT,
                false => self.is_idle(),
            };
            let may_type = may_type && !self.ended;
            tokio::select! {
                said = tokio::time::timeout(SILENCE, socket.next()) => match said {
                    Ok(Some(Ok(Message::Text(text)))) => self.hear(&text).await?,
                    Ok(Some(Ok(Message::Close(frame)))) => return closed(&self.server, frame).map(Parted::Lost),
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
                _ = second.tick(), if self.is_live && self.thinking.is_some() => self.show_thinking().await?,
                // A failure to send is found by the reading half.
                _ = ping.tick() => send(&mut socket, &json!({ "type": "ping" })).await,
            }
        }
    }

    /// Nothing is on its way, and the agent has done with all it was told.
    fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.handled >= self.woken
    }

    /// Does a typed command. Returns true to leave.
    async fn act(&mut self, socket: Option<&mut Socket>, typed: Typed) -> anyhow::Result<bool> {
        let leaves = match typed {
            Typed::End => {
                self.ended = true;
                self.is_live
            }
            Typed::Interrupt if self.thinking.is_some() => self.cancel(socket).await?,
            Typed::Interrupt => self.notice("(Ctrl-D or /quit to leave)").await?,
            Typed::Line(line) if line.trim().is_empty() => false,
            Typed::Line(line) if self.is_live && line.starts_with('/') => {
                self.command(socket, line.trim()).await?
            }
            Typed::Line(line) => self.say(socket, &line, None).await?,
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
            ("/steer", "") => self.notice("(/steer takes the words)").await,
            ("/steer", text) => self.say(socket, text, Some("steer")).await,
            ("/thread", name) => self.go_to(socket, name.trim()).await,
            ("/history", count) => match count.trim() {
                "" => self.recall(20).await.map(|()| false),
                count => match count.parse() {
                    Ok(count @ 1..=500) => self.recall(count).await.map(|()| false),
                    _ => self.notice("(/history takes a number from 1 to 500)").await,
                },
            },
            ("/inbox", _) => self.inbox(true).await.map(|()| false),
            (command @ ("/approve" | "/reject" | "/respond" | "/answer"), rest) => {
                self.tell(command, rest).await
            }
            ("/voices", _) => self.submodules().await.map(|()| false),
            ("/why", _) => self.why().await.map(|()| false),
            ("/thoughts", _) => {
                self.thoughts = !self.thoughts;
                let how = if self.thoughts { "shown" } else { "hidden" };
                self.notice(&format!("(remarks are {how})")).await
            }
            (other, _) => {
                let text = format!("({other} is not known here; /help says what is)");
                self.notice(&text).await
            }
        }
    }

    async fn notice(&mut self, text: &str) -> anyhow::Result<bool> {
        self.screen.show(Manner::Notice, "", text).await?;
        Ok(false)
    }

    async fn cancel(&mut self, socket: Option<&mut Socket>) -> anyhow::Result<bool> {
        let Some(socket) = socket else {
            return self.notice("(not now: there is no connection)").await;
        };
        let frame = json!({ "type": "cancel", "id": "cancel", "thread": self.thread });
        send(socket, &frame).await;
        Ok(false)
    }

    /// Says something; `policy`: its effect on a running turn, where that is not the thread's.
    async fn say(
        &mut self,
        socket: Option<&mut Socket>,
        text: &str,
        policy: Option<&str>,
    ) -> anyhow::Result<bool> {
        if self.unsent.len() >= UNSENT {
            let text = "(not said: too much is waiting for the server)";
            return self.notice(text).await;
        }
        let id = fresh();
        let mut frame = message(id, &self.thread, text);
        if let Some(policy) = policy {
            frame["policy"] = policy.into();
        }
        if let Some(socket) = socket {
            send(socket, &frame).await;
        }
        self.unsent.push_back((id, frame));
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
        (self.woken, self.handled, self.replied) = (0, 0, None);
        self.rest().await?;
        self.notice(&format!("(talking in {})", self.thread))
            .await?;
        self.recall(OPENING).await?;
        self.inbox(false).await?;
        if let Some(socket) = socket {
            self.subscribe(socket).await;
        }
        Ok(false)
    }

    async fn subscribe(&self, socket: &mut Socket) {
        let frame = json!({ "type": "subscribe", "thread": self.thread, "after": self.after, "epoch": self.epoch });
        send(socket, &frame).await;
    }
}
