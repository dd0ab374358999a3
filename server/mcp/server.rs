//! One server of tools: a task that connects when the server is needed, listens for changes of its
//! list, and comes back after it was away. It delays no caller: each is told the state that
//! is known at that moment.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::asking::Desk;
use super::line::{Line, Phase};
use super::offer::{Offer, TOOLS_MAX, offers};
use super::options::Options;
use super::remote::Remote;
use super::said;
use super::wire::reading::Has;
use super::wire::{self, Connection, Ended, Link, Listing};
use thinkd_tools::tool::Tool;

/// The time without an answer after which a server counts as away, and is still waited for.
const ANSWER: Duration = Duration::from_secs(60);
/// The time that connecting may take: a package manager loads a program first, and begins again when it is ended.
const CONNECT: Duration = Duration::from_secs(600);
/// The time in which changes of a list are gathered; it doubles each time that there are more.
const GATHER: Duration = Duration::from_millis(200);
/// The longest such time. After as long without a change, the first time counts again.
const GATHER_MAX: Duration = Duration::from_secs(60);
/// The first pause after a server was lost; it doubles each time. A connection that held less is one that was just made.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The time after which a connection counts as a good one.
const GOOD: Duration = Duration::from_secs(10);

/// A tool that a server offers.
#[derive(Clone)]
pub struct Offered {
    /// The server's words about the tool.
    pub offer: Arc<Offer>,
    /// The tool itself.
    pub tool: Arc<dyn Tool>,
}

/// See the module.
pub struct Server {
    /// The way to the server.
    pub line: Arc<Line>,
    /// Its configuration.
    pub options: Options,
    desk: Arc<Desk>,
    list: Mutex<List>,
}

/// The last list of a server.
#[derive(Clone, Default)]
struct List {
    offered: Arc<[Offered]>,
    /// The part of the list that is not taken, or why it could not be read again, in words.
    lacks: Option<String>,
    /// The flags for its resources and prompts.
    has: Has,
    /// Its words about all its tools together.
    said: Option<Arc<Offer>>,
}

impl Server {
    /// Returns a server that is not needed yet.
    pub fn new(name: &str, options: Options, desk: Arc<Desk>) -> Self {
        Self {
            line: Arc::new(Line::new(name)),
            options,
            desk,
            list: Mutex::default(),
        }
    }

    /// Returns its tools, as it listed them last. The list stays while the server is away, so that
    /// models are told the same.
    pub fn offered(&self) -> Arc<[Offered]> {
        self.list.lock().offered.clone()
    }

    /// Returns its words about all its tools together.
    pub fn said(&self) -> Option<Arc<Offer>> {
        self.list.lock().said.clone()
    }

    /// Returns all its words for models: about all its tools together, and about each.
    pub fn offers(&self) -> Vec<Arc<Offer>> {
        let offered = self.offered();
        let tools = offered.iter().map(|offered| offered.offer.clone());
        self.said().into_iter().chain(tools).collect()
    }

    /// Returns the part of its list that is not taken, or why the list could not be read again, in
    /// words.
    pub fn lacks(&self) -> Option<String> {
        self.list.lock().lacks.clone()
    }

    /// Returns whether it has resources and prompts, as it said last.
    pub fn has(&self) -> Has {
        self.list.lock().has
    }

    /// Connects whenever a caller needs the server, until the task is told to stop.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut pauses = Pauses(PAUSE);
        let mut time = 0;
        loop {
            tokio::select! {
                () = self.line.wanted() => {}
                () = stop.cancelled() => return,
            }
            if time == 0 {
                self.line.phase.send_replace(Phase::Connecting);
            }
            let connecting = self.connect();
            tokio::pin!(connecting);
            let connected = tokio::select! {
                connected = &mut connecting => connected,
                () = sleep(ANSWER) => {
                    let why = format!(
                        "it has not answered for {} s, and is waited for",
                        ANSWER.as_secs()
                    );
                    time += 1;
                    self.line.phase.send_replace(Phase::Away { why, time });
                    tokio::select! {
                        connected = connecting => connected,
                        () = stop.cancelled() => return,
                    }
                }
                () = stop.cancelled() => return,
            };
            let begin = Instant::now();
            let ended = match connected {
                Err(why) => Ended::Lost(why),
                Ok(connection) => match self.serve(connection, &stop).await {
                    Some(ended) => ended,
                    None => return,
                },
            };
            metrics::counter!("thinkd_mcp_lost_total", "server" => self.line.name.clone())
                .increment(1);
            let pause = pauses.after(&ended, begin.elapsed());
            let (Ended::Lost(why) | Ended::Stale(why)) = ended;
            let Some(pause) = pause else {
                tracing::info!(
                    server = self.line.name,
                    why,
                    "a server of tools is connected anew"
                );
                self.line.phase.send_replace(Phase::Connecting);
                continue;
            };
            time += 1;
            tracing::warn!(
                server = self.line.name,
                why,
                "a server of tools is away; it is tried again"
            );
            self.line.phase.send_replace(Phase::Away { why, time });
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Has its tools called over a connection until that ends. None: the task is to stop.
    async fn serve(&self, mut connection: Connection, stop: &CancellationToken) -> Option<Ended> {
        tracing::info!(
            server = self.line.name,
            tools = self.offered().len(),
            "a server of tools is connected"
        );
        self.line
            .phase
            .send_replace(Phase::Ready(connection.link.clone()));
        let ended = tokio::select! {
            ended = self.follow(&mut connection) => Some(ended),
            () = stop.cancelled() => None,
        };
        match &ended {
            Some(Ended::Stale(_)) => {
                let retired = connection.retire(self.options.longest(), stop.clone());
                tokio::spawn(retired);
            }
            Some(Ended::Lost(_)) | None => connection.close().await,
        }
        ended
    }

    async fn connect(&self) -> Result<Connection, String> {
        let late = |_| format!("it could not be reached within {} s", CONNECT.as_secs());
        let connected = async {
            let garbled = self.line.garbled.clone();
            let connection = wire::connect(&self.line.name, &self.options, garbled).await?;
            match self.list(&connection.link).await {
                Ok(()) => Ok(connection),
                Err(why) => {
                    connection.close().await;
                    Err(why)
                }
            }
        };
        timeout(CONNECT, connected).await.map_err(late).flatten()
    }

    /// Takes in changes of its list until the connection ends: those that the server tells of, and
    /// those of which the notice was lost. The former list counts as long as the new one cannot be
    /// read.
    async fn follow(&self, connection: &mut Connection) -> Ended {
        let changed = connection.changed.clone();
        let link = connection.link.clone();
        let relisting = async {
            let mut gather = GATHER;
            let mut last = Instant::now();
            loop {
                tokio::select! {
                    () = changed.notified() => {
                        gather = if last.elapsed() > GATHER_MAX { GATHER } else { gather };
                        sleep(gather).await;
                    }
                    () = self.is_old() => {}
                }
                if let Err(why) = self.list(&link).await {
                    let why = format!(
                        "its list could not be read again; what it was before counts: {why}"
                    );
                    tracing::warn!(
                        server = self.line.name,
                        why,
                        "the list of a server of tools is not taken"
                    );
                    self.list.lock().lacks = Some(why);
                    changed.notify_one();
                }
                (gather, last) = ((gather * 2).min(GATHER_MAX), Instant::now());
            }
        };
        tokio::select! {
            ended = connection.ended() => ended,
            never = relisting => never,
        }
    }

    /// Returns when the list has got old, and the server is used.
    async fn is_old(&self) {
        match self.options.list_age() {
            Some(age) => sleep(age).await,
            None => std::future::pending().await,
        }
        self.line.wanted().await;
    }

    async fn list(&self, link: &Link) -> Result<(), String> {
        let listing = link.tools(TOOLS_MAX).await;
        let Listing { tools, left_out } = listing.map_err(|trouble| trouble.to_string())?;
        let lacks = (!left_out.is_empty())
            .then(|| format!("not taken of its list: {}", left_out.join("; ")));
        if let Some(why) = &lacks {
            tracing::warn!(
                server = self.line.name,
                why,
                "a server of tools lists what is not taken"
            );
        }
        let before = self.offered();
        let known = |offer: &Offer| before.iter().find(|known| *known.offer == *offer).cloned();
        let offered = |offer: Offer| known(&offer).unwrap_or_else(|| self.offer(offer));
        let offers = offers(&self.line.name, &self.options, tools).into_iter();
        *self.list.lock() = List {
            offered: offers.map(offered).collect(),
            lacks,
            has: link.has(),
            said: said::offer(&self.line.name, &link.instructions()).map(Arc::new),
        };
        Ok(())
    }

    fn offer(&self, offer: Offer) -> Offered {
        if let Some(why) = &offer.wrong {
            tracing::warn!(
                server = self.line.name,
                tool = offer.name,
                why,
                "a tool is withheld"
            );
        }
        let offer = Arc::new(offer);
        let tool = Remote::new(&offer, self.line.clone(), &self.options, self.desk.clone());
        Offered {
            offer,
            tool: Arc::new(tool),
        }
    }
}

/// The next pause after a server was lost.
struct Pauses(Duration);

impl Pauses {
    /// Returns the pause after a connection that held so long. None: the connection is made anew at
    /// once, and callers that come meanwhile wait.
    fn after(&mut self, ended: &Ended, held: Duration) -> Option<Duration> {
        if held > GOOD {
            self.0 = PAUSE;
        }
        let is_stale = matches!(ended, Ended::Stale(_));
        if is_stale && held > PAUSE {
            return None;
        }
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSE_MAX);
        // Who has just been connected is not asked again and again.
        (!is_stale || pause > PAUSE).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pauses: &mut Pauses, ended: fn(String) -> Ended, held: u64) -> Option<u128> {
        pauses
            .after(&ended(String::new()), Duration::from_millis(held))
            .map(|pause| pause.as_millis())
    }

    #[test]
    fn t1_04_who_is_lost_again_and_again_is_tried_ever_more_seldom() {
        let mut pauses = Pauses(PAUSE);
        let all: Vec<_> = (0..10)
            .filter_map(|_| after(&mut pauses, Ended::Lost, 5))
            .collect();
        assert_eq!(
            all,
            [
                250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000
            ]
        );
        assert_eq!(
            after(&mut pauses, Ended::Lost, 9_999),
            Some(60_000),
            "it did not hold long"
        );
        assert_eq!(
            after(&mut pauses, Ended::Lost, 10_001),
            Some(250),
            "a good connection ends that"
        );
        assert_eq!(after(&mut pauses, Ended::Lost, 5), Some(500));
    }

    #[test]
    fn t1_04_a_session_that_is_gone_is_begun_anew_at_once_unless_it_just_was() {
        let mut pauses = Pauses(PAUSE);
        assert_eq!(after(&mut pauses, Ended::Stale, 5), None, "once");
        let all: Vec<_> = (0..9)
            .map(|_| after(&mut pauses, Ended::Stale, 5))
            .collect();
        assert_eq!(
            all,
            [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].map(Some)
        );
        assert_eq!(
            after(&mut pauses, Ended::Stale, 251),
            None,
            "it held a while"
        );
        assert_eq!(
            after(&mut pauses, Ended::Stale, 5),
            Some(60_000),
            "that while was short"
        );
        assert_eq!(after(&mut pauses, Ended::Stale, 10_001), None);
        assert_eq!(
            after(&mut pauses, Ended::Stale, 5),
            None,
            "a good connection ends that"
        );
        assert_eq!(after(&mut pauses, Ended::Stale, 5), Some(500));
    }
}
