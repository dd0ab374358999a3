//! The servers of tools, which speak MCP: the offers of each, and the offers that the models of a
//! space are told of. The first description of a tool counts as its *pin*, an event of the space.
//! If the server changes the description, no model is told of the tool before a person has approved
//! it. The same holds for tools that the server lists later, unless `new_tools` trusts them. The
//! protocol is in `mcp/wire.rs`.

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

use super::asking::{Desk, OnStored};
use super::line::Phase;
use super::offer::Offer;
use super::options;
use super::reading;
use super::server::Server;
use super::standing::{Pins, Standing, standing};
use super::{said, shown};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Pin};
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_model::prompt::Error;
use thinkd_tasks::supervisor;
use thinkd_tools::server_names::PREFIX;
use thinkd_tools::supplies::Supplies;
use thinkd_tools::tool::Tool;
use thinkd_tools::toolbox::said::{Provider, Said};
use thinkd_tools::toolbox::{Approved, Shown, Source, Unapproved};
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Seq, Space, ThreadId};

/// The time that the first turns wait for servers that are being reached for the first time.
const FIRST: Duration = Duration::from_secs(2);
/// The pause after which a task that panicked begins again.
const AFTER_PANIC: Duration = Duration::from_secs(5);
/// Most tools of one server that a space ever knows: a server cannot add names without end.
const PINS_MAX: usize = 1024;
/// Most spaces with their pins in memory; beyond it, the pins of all are dropped and read again.
const SPACES_MAX: usize = 1024;
/// Most notices that are remembered as told.
const TOLD_MAX: usize = 10_000;

/// The servers that are configured.
pub struct Mcp {
    servers: Vec<Arc<Server>>,
    /// The tool that reads their resources and prompts.
    reading: Arc<dyn Tool>,
    desk: Arc<Desk>,
    // Plain mutexes: held for a look, never across an await.
    pins: Mutex<HashMap<Space, Arc<Pins>>>,
    told: Mutex<HashSet<(Space, String)>>,
}

impl Mcp {
    /// Returns the servers, none of which is needed yet.
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

    /// Sets the listener that is told of stored events from now on. Only the first listener counts.
    pub fn tells(&self, on_stored: OnStored) {
        let _ = self.desk.on_stored.set(on_stored);
    }

    /// Starts a task for each server. All tasks end within some seconds after `leave` is cancelled.
    pub fn start(&self, leave: &CancellationToken) -> TaskTracker {
        let tasks = TaskTracker::new();
        for server in &self.servers {
            let server = server.clone();
            let leave = leave.clone();
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

    /// Returns the present offer of this name, and its server.
    pub fn offer(&self, name: &str) -> Option<(&Arc<Server>, Arc<Offer>)> {
        self.servers.iter().find_map(|server| {
            let mut offers = server.offers().into_iter();
            Some((server, offers.find(|offer| offer.name == name)?))
        })
    }

    /// Returns the event that pins a tool in a space from now on; `last` is the seq of the pin
    /// before it.
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

    /// Returns the events that pin the offers which are new to a space.
    fn first_pins(&self, pins: &Pins) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for server in &self.servers {
            let known = pins
                .values()
                .filter(|pin| pin.server == server.line.name)
                .count();
            let is_new = |offer: &Arc<Offer>| standing(server, offer, pins) == Standing::New;
            let new = server.offers().into_iter().filter(is_new);
            let new = new.take(PINS_MAX.saturating_sub(known));
            drafts.extend(new.map(|offer| Self::pin(server, &offer, 0, None)));
        }
        drafts
    }

    fn known(&self, space: &Space) -> Arc<Pins> {
        self.pins.lock().get(space).cloned().unwrap_or_default()
    }

    fn shown_of<'a>(&'a self, space: &'a Space, pins: &'a Pins) -> shown::SpacePins<'a> {
        let store = &*self.desk.store;
        shown::SpacePins { store, space, pins }
    }

    fn keep(&self, space: &Space, pins: Pins) {
        let mut all = self.pins.lock();
        if all.len() >= SPACES_MAX && !all.contains_key(space) {
            all.clear();
        }
        all.insert(space.clone(), Arc::new(pins));
    }

    /// Returns true if this is told in a space for the first time.
    fn is_news(&self, space: &Space, what: String) -> bool {
        let mut told = self.told.lock();
        if told.len() >= TOLD_MAX {
            told.clear();
        }
        told.insert((space.clone(), what))
    }

    /// Returns the failures of a server that a space has not been told of.
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
                who(&format!("{PREFIX}{name}")),
                failure(text, "server_away").retryable(),
            ));
        }
        for offer in &server.offers() {
            let why = match standing(server, offer, pins) {
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
                .filter(|offered| standing(server, &offered.offer, &pins) == Standing::Ready);
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
            let is_ready = standing(server, &said, &pins) == Standing::Ready;
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
        let pins = self.known(space);
        shown::tools(&self.servers, &self.shown_of(space, &pins)).await
    }

    async fn providers(&self, space: &Space) -> Result<Vec<Provider>, StoreError> {
        let pins = self.known(space);
        shown::providers(&self.servers, &self.shown_of(space, &pins)).await
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
        let last = match standing(server, &offer, &pins) {
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
