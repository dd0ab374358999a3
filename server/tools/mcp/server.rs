//! One server of tools: a task that connects when somebody needs it, listens for changes of its list, and comes back after it was away. It
//! delays nobody: who asks is told what is known at that moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::asking::Desk;
use super::line::{Line, Phase};
use super::offer::{Offer, TOOLS_MAX, offers};
use super::options::Options;
use super::remote::Remote;
use super::wire::reading::Has;
use super::wire::{self, Connection, Link};
use crate::tools::tool::Tool;

/// How long connecting may take: what starts a program by a package manager loads it first.
const CONNECT: Duration = Duration::from_secs(60);
/// How long listing may take.
const LIST: Duration = Duration::from_secs(10);
/// How long changes of a list are gathered; twice as long each time that there are more.
const GATHER: Duration = Duration::from_millis(200);
/// At most so long. After as long without a change it is as at first.
const GATHER_MAX: Duration = Duration::from_secs(60);
/// The first pause after a server was lost; it doubles each time.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// A connection that held so long was a good one.
const GOOD: Duration = Duration::from_secs(60);

/// A tool that a server offers.
#[derive(Clone)]
pub struct Offered {
    /// What it says of it.
    pub offer: Arc<Offer>,
    /// It.
    pub tool: Arc<dyn Tool>,
}

/// See the module.
pub struct Server {
    /// The way to it.
    pub line: Arc<Line>,
    /// How it is configured.
    pub options: Options,
    desk: Arc<Desk>,
    list: Mutex<List>,
}

/// What a server listed last.
#[derive(Clone, Default)]
struct List {
    offered: Arc<[Offered]>,
    /// There were more than are taken.
    is_cut: bool,
    /// What it has besides.
    has: Has,
}

impl Server {
    /// A server that nobody has needed yet.
    pub fn new(name: &str, options: Options, desk: Arc<Desk>) -> Self {
        Self { line: Arc::new(Line::new(name)), options, desk, list: Mutex::default() }
    }

    /// What it offers, as it was listed last: also while it is away, so that models are told the same.
    pub fn offered(&self) -> Arc<[Offered]> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).offered.clone()
    }

    /// Whether it listed more tools than are taken.
    pub fn is_cut(&self) -> bool {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).is_cut
    }

    /// What it has besides tools, as it said last.
    pub fn has(&self) -> Has {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).has
    }

    /// Connects whenever somebody needs it, until it is told to stop.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut pause, mut time) = (PAUSE, 0);
        loop {
            tokio::select! {
                () = self.line.wanted() => {}
                () = stop.cancelled() => return,
            }
            if time == 0 {
                self.line.phase.send_replace(Phase::Connecting);
            }
            let connected = tokio::select! {
                connected = self.connect() => connected,
                () = stop.cancelled() => return,
            };
            let begin = Instant::now();
            let why = match connected {
                Err(why) => why,
                Ok(mut connection) => {
                    tracing::info!(
                        server = self.line.name,
                        tools = self.offered().len(),
                        "a server of tools is connected"
                    );
                    self.line.phase.send_replace(Phase::Ready(connection.link.clone()));
                    let why = tokio::select! {
                        why = self.follow(&mut connection) => Some(why),
                        () = stop.cancelled() => None,
                    };
                    connection.close().await;
                    let Some(why) = why else { return };
                    why
                }
            };
            time += 1;
            metrics::counter!("thinkd_mcp_lost_total", "server" => self.line.name.clone()).increment(1);
            tracing::warn!(server = self.line.name, why, "a server of tools is away; it is tried again");
            self.line.phase.send_replace(Phase::Away { why, time });
            if begin.elapsed() > GOOD {
                pause = PAUSE;
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                () = stop.cancelled() => return,
            }
        }
    }

    async fn connect(&self) -> Result<Connection, String> {
        let veil = wire::veil(&self.options);
        let late = |_| format!("it could not be reached within {} s", CONNECT.as_secs());
        let connected = timeout(CONNECT, wire::connect(&self.line.name, &self.options)).await.map_err(late)?;
        let connection = connected.map_err(|why| veil.over(&why))?;
        match self.list(&connection.link).await {
            Ok(()) => Ok(connection),
            Err(why) => {
                connection.close().await;
                Err(veil.over(&why))
            }
        }
    }

    /// Takes changes of its list in, until the connection ends; says why it did.
    async fn follow(&self, connection: &mut Connection) -> String {
        let (changed, link) = (connection.changed.clone(), connection.link.clone());
        let relisting = async {
            let (mut gather, mut last) = (GATHER, Instant::now());
            loop {
                changed.notified().await;
                gather = if last.elapsed() > GATHER_MAX { GATHER } else { gather };
                sleep(gather).await;
                if let Err(why) = self.list(&link).await {
                    return why;
                }
                (gather, last) = ((gather * 2).min(GATHER_MAX), Instant::now());
            }
        };
        tokio::select! {
            why = connection.ended() => why,
            why = relisting => why,
        }
    }

    async fn list(&self, link: &Link) -> Result<(), String> {
        let late = |_| format!("it did not list its tools within {} s", LIST.as_secs());
        let told = timeout(LIST, link.tools(TOOLS_MAX)).await.map_err(late)?.map_err(|trouble| trouble.to_string())?;
        let is_cut = told.len() > TOOLS_MAX;
        if is_cut {
            tracing::warn!(
                server = self.line.name,
                taken = TOOLS_MAX,
                "a server of tools lists more of them than are taken"
            );
        }
        let before = self.offered();
        let known = |offer: &Offer| before.iter().find(|known| *known.offer == *offer).cloned();
        let offered = |offer: Offer| known(&offer).unwrap_or_else(|| self.offer(offer));
        let offered = offers(&self.line.name, &self.options, told).into_iter().map(offered).collect();
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = List { offered, is_cut, has: link.has() };
        Ok(())
    }

    fn offer(&self, offer: Offer) -> Offered {
        if let Some(why) = &offer.wrong {
            tracing::warn!(server = self.line.name, tool = offer.name, why, "a tool is withheld");
        }
        let offer = Arc::new(offer);
        let tool = Remote::new(&offer, self.line.clone(), self.options.timeout(), self.desk.clone());
        Offered { offer, tool: Arc::new(tool) }
    }
}
