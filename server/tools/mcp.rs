//! The tools of other servers, which speak MCP: who offers what, and what of it models are told in which space. What a server says of a tool counts
//! as it was the first time (its *pin*, an event of the space); what it says differently later, and tools that it lists later, no model is told of before a person
//! has approved them.
//! The protocol is in `mcp/wire.rs`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::supplies::Supplies;
use super::tool::Tool;
use super::toolbox::said::{Provider, Said};
use super::toolbox::{Approved, Shown, Source, Unapproved};
use asking::{Desk, OnStored};
use line::Phase;
use offer::Offer;
use options::NewTools;
use server::Server;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Pin};
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::projections::pins::PinRow;
use thinkd_model::prompt::Error;
use thinkd_tasks::supervisor;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Seq, Space, ThreadId};

mod asking;
mod child;
mod content;
mod fit;
pub mod launcher;
mod line;
mod meter;
pub mod names;
pub mod offer;
pub mod options;
pub mod reading;
mod remote;
mod said;
pub mod server;
mod shown;
pub mod wire;

/// How long the first turns wait for servers that are being reached for the first time.
const FIRST: Duration = Duration::from_secs(2);
/// How long a task that panicked is left alone.
const AFTER_PANIC: Duration = Duration::from_secs(5);
/// Most tools of one server that a space ever knows: one that invents names without end is heard no further.
const PINS_MAX: usize = 1024;
/// Of most spaces what they know is kept; of others it is read again.
const SPACES_MAX: usize = 1024;
/// Most things that are remembered as told.
const TOLD_MAX: usize = 10_000;

/// The servers that are configured.
pub struct Mcp {
    servers: Vec<Arc<Server>>,
    /// The tool that reads what they have besides tools.
    reading: Arc<dyn Tool>,
    desk: Arc<Desk>,
    // Plain mutexes: held for a look, never across an await.
    pins: Mutex<HashMap<Space, Arc<Pins>>>,
    told: Mutex<HashSet<(Space, String)>>,
}

/// What a space knows of tools.
type Pins = BTreeMap<String, PinRow>;

/// How a tool stands in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Models are told of it.
    Ready,
    /// Nobody has been offered anything of its server yet, or what that lists later is trusted.
    New,
    /// Its server lists it since the space knows that server.
    Later,
    /// It is another one than what the space knows, by this event.
    Changed(Seq),
    /// Something is wrong with it.
    Wrong(String),
}

impl Mcp {
    /// The servers, which nobody has needed yet.
    pub fn new(
        options: &BTreeMap<String, options::Options>,
        supplies: &Supplies,
    ) -> Result<Self, Error> {
        let Supplies {
            store,
            approvals,
            prompts,
            ..
        } = supplies.clone();
        let desk = Arc::new(Desk {
            store: store.clone(),
            open_max: approvals.open_max,
            on_stored: OnceLock::new(),
        });
        let server = |(name, options): (&String, &options::Options)| {
            Arc::new(Server::new(name, options.clone(), desk.clone()))
        };
        let servers: Vec<Arc<Server>> = options.iter().map(server).collect();
        let reading = reading::tool(&servers, store, &prompts)?;
        Ok(Self {
            servers,
            reading,
            desk,
            pins: Mutex::default(),
            told: Mutex::default(),
        })
    }

    /// From now on this is told of what is stored. Only the first is known.
    pub fn tells(&self, on_stored: OnStored) {
        let _ = self.desk.on_stored.set(on_stored);
    }

    /// Starts a task for each; all end when they are told to leave, within some seconds.
    pub fn start(&self, leave: &CancellationToken) -> TaskTracker {
        let tasks = TaskTracker::new();
        for server in &self.servers {
            let (server, leave) = (server.clone(), leave.clone());
            tasks.spawn(async move {
                // What a server sends is nothing that could end this one.
                while let Err(panic) = AssertUnwindSafe(server.clone().run(leave.clone()))
                    .catch_unwind()
                    .await
                {
                    let why = supervisor::words(&*panic);
                    tracing::error!(
                        server = server.line.name,
                        why,
                        "the task of a server of tools panicked; it begins again"
                    );
                    sleep(AFTER_PANIC).await;
                }
            });
        }
        tasks.close();
        tasks
    }

    /// How a tool that is offered stands in a space.
    pub fn standing(server: &Server, offer: &Offer, pins: &BTreeMap<String, PinRow>) -> Standing {
        let name = &server.line.name;
        // What it says of all of them is no tool.
        let is_tool = |pin: &str| pin != said::name(name);
        let is_known = || {
            let mut pins = pins.iter();
            pins.any(|(pin, row)| row.server == *name && is_tool(pin))
        };
        match (&offer.wrong, pins.get(&offer.name)) {
            (Some(why), _) => Standing::Wrong(why.clone()),
            (None, None) if server.options.new_tools == NewTools::Wait && is_known() => {
                Standing::Later
            }
            (None, None) => Standing::New,
            (None, Some(pin)) if offer.is(&pin.sha256) => Standing::Ready,
            (None, Some(pin)) => Standing::Changed(pin.seq),
        }
    }

    /// What is offered under this name now.
    pub fn offer(&self, name: &str) -> Option<(&Arc<Server>, Arc<Offer>)> {
        self.servers.iter().find_map(|server| {
            let mut offers = server.offers().into_iter();
            Some((server, offers.find(|offer| offer.name == name)?))
        })
    }

    /// The event by which a tool is what it is in a space from now on; `last` is the one that settled it before.
    pub fn pin(server: &Server, offer: &Offer, last: Seq, by: Option<&str>) -> Draft {
        let pin = Pin {
            server: server.line.name.clone(),
            tool: offer.original.clone(),
            description: offer.description.clone(),
            schema: offer.schema.clone(),
            sha256: offer.sha256.clone(),
            by: by.map(str::to_owned),
        };
        let change = Change::Pin(Box::new(pin));
        let draft = Draft::set(&ThreadId::default(), &offer.name, change);
        draft.only_if(Condition::PinAt {
            tool: offer.name.clone(),
            seq: last,
        })
    }

    /// The events by which a space comes to know what it has not been offered before.
    fn first_pins(&self, pins: &Pins) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for server in &self.servers {
            let known = pins
                .values()
                .filter(|pin| pin.server == server.line.name)
                .count();
            let is_new = |offer: &Arc<Offer>| Self::standing(server, offer, pins) == Standing::New;
            let new = server.offers().into_iter().filter(is_new);
            let new = new.take(PINS_MAX.saturating_sub(known));
            drafts.extend(new.map(|offer| Self::pin(server, &offer, 0, None)));
        }
        drafts
    }

    fn known(&self, space: &Space) -> Arc<Pins> {
        self.pins.lock().get(space).cloned().unwrap_or_default()
    }

    fn keep(&self, space: &Space, pins: Pins) {
        let mut all = self.pins.lock();
        if all.len() >= SPACES_MAX && !all.contains_key(space) {
            all.clear();
        }
        all.insert(space.clone(), Arc::new(pins));
    }

    /// Whether this is told in a space for the first time.
    fn is_news(&self, space: &Space, what: String) -> bool {
        let mut told = self.told.lock();
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        told.insert((space.clone(), what))
    }

    /// What went wrong with a server that a space has not been told of.
    fn news_of(&self, server: &Server, pins: &Pins, space: &Space) -> Vec<(Who, Failure)> {
        let name = &server.line.name;
        let who = |tool: &str| Who::Tool(tool.to_owned());
        let failure = |text: String, reason: &str| {
            Failure::new(FailureKind::Tool, text).with(json!({ "reason": reason, "server": name }))
        };
        let mut news = Vec::new();
        if let Phase::Away { why, time } = &*server.line.phase.borrow()
            && self.is_news(space, format!("away {name} {}", time.ilog2()))
        {
            let text = format!("the server of tools {name} is away ({why}); it is tried again");
            news.push((
                who(&format!("{}{name}", names::PREFIX)),
                failure(text, "server_away").retryable(),
            ));
        }
        for offer in &server.offers() {
            let why = match Self::standing(server, offer, pins) {
                Standing::Ready | Standing::New => continue,
                Standing::Changed(_) => {
                    "its server says something else of it than before, or what is said counts otherwise by now \
                     (approve, believe_annotations), which a person has to approve (GET /tools shows the difference)"
                        .to_owned()
                }
                Standing::Later => shown::LATER.to_owned(),
                Standing::Wrong(why) => why,
            };
            if self.is_news(space, format!("withheld {} {}", offer.name, why)) {
                let what = if offer.original.is_empty() && offer.name == said::name(name) {
                    format!("what the server {name} says of its tools")
                } else {
                    format!("the tool {}", offer.name)
                };
                let text = format!("{what} is withheld: {why}");
                news.push((who(&offer.name), failure(text, "withheld")));
            }
        }
        news
    }
}

#[async_trait]
impl Source for Mcp {
    fn tools(&self, space: &Space) -> Vec<Arc<dyn Tool>> {
        let pins = self.known(space);
        let mut tools = Vec::new();
        for server in &self.servers {
            let offered = server.offered();
            let ready = offered
                .iter()
                .filter(|offered| Self::standing(server, &offered.offer, &pins) == Standing::Ready);
            tools.extend(ready.map(|offered| offered.tool.clone()));
        }
        let has_more = |server: &Arc<Server>| server.has().resources || server.has().prompts;
        if self.servers.iter().any(has_more) {
            tools.push(self.reading.clone());
        }
        tools
    }

    fn said(&self, space: &Space) -> Vec<Said> {
        let pins = self.known(space);
        let said = |server: &Arc<Server>| {
            let said = server.said()?;
            let is_ready = Self::standing(server, &said, &pins) == Standing::Ready;
            is_ready.then(|| Said {
                server: server.line.name.clone(),
                prefix: format!("{}__", said.name),
                text: said.description.as_str().into(),
            })
        };
        self.servers.iter().filter_map(said).collect()
    }

    async fn prepare(&self, space: &Space) -> Result<(), StoreError> {
        self.servers.iter().for_each(|server| server.line.need());
        // Once they have been tried, this does not wait.
        let tried = self.servers.iter().map(|it| it.line.tried_for(FIRST));
        join_all(tried).await;
        let store = &self.desk.store;
        let mut pins = store.pins(space).await?;
        let drafts = self.first_pins(&pins);
        if !drafts.is_empty() {
            match store.append(Append::free(space, drafts)).await {
                // Somebody was faster: what that one said is so.
                Ok(_) | Err(StoreError::Unmet(_)) => {}
                Err(error) => return Err(error),
            }
            pins = store.pins(space).await?;
        }
        self.keep(space, pins);
        Ok(())
    }

    fn news(&self, space: &Space) -> Vec<(Who, Failure)> {
        let pins = self.known(space);
        self.servers
            .iter()
            .flat_map(|server| self.news_of(server, &pins, space))
            .collect()
    }

    async fn shown(&self, space: &Space) -> Result<Vec<Shown>, StoreError> {
        shown::tools(self, space).await
    }

    async fn providers(&self, space: &Space) -> Result<Vec<Provider>, StoreError> {
        shown::providers(self, space).await
    }

    async fn approved(
        &self,
        space: &Space,
        name: &str,
        sha256: &str,
        by: &str,
    ) -> Result<Result<Approved, Unapproved>, StoreError> {
        let Some((server, offer)) = self.offer(name) else {
            return Ok(Err(Unapproved::Unknown));
        };
        let pins = self.desk.store.pins(space).await?;
        let last = match Self::standing(server, &offer, &pins) {
            Standing::Wrong(why) => return Ok(Err(Unapproved::Wrong(why))),
            _ if offer.sha256 != sha256 => return Ok(Err(Unapproved::Other)),
            Standing::Ready => return Ok(Ok(Approved::Already)),
            Standing::New | Standing::Later => 0,
            Standing::Changed(last) => last,
        };
        let pin = Self::pin(server, &offer, last, Some(by));
        Ok(Ok(Approved::By(Box::new(pin))))
    }
}
