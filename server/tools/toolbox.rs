//! A toolbox is the tools of one kind of caller at one moment, with the specs that models are sent. The same tools are always the same bytes, and
//! tools that come and go stand last, so that the prompt cache of the provider keeps the beginning.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::approval::matches;
use super::crowd;
use super::layers::layered;
use super::supplies::Supplies;
use super::tool::{Effect, Tool, is_name};
use said::{Provider, Said};
use thinkd_event::draft::Draft;
use thinkd_log::error::StoreError;
use thinkd_model::prompt::Error;
use thinkd_model::provider::{ToolSpec, ToolSpecs};
use thinkd_thread::settings::{Kind, Settings};
use thinkd_words::failure::{Failure, Who};
use thinkd_words::id::Space;

pub mod client;
mod offering;
mod opening;
pub mod said;

/// Something outside that offers tools, which come and go. A function that says which there are in a space is one.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// The tools that it offers a space at this moment. Asked at every decision: it answers from memory.
    fn tools(&self, space: &Space) -> Vec<Arc<dyn Tool>>;

    /// Returns the words of its providers about all their tools together.
    fn said(&self, _space: &Space) -> Vec<Said> {
        Vec::new()
    }

    /// Sees to it that it can answer for a space. Awaited before every decision: it waits for
    /// nothing but the store.
    async fn prepare(&self, _space: &Space) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns its failures that the space has not been told yet, each with its origin: told once,
    /// in the thread that asks.
    fn news(&self, _space: &Space) -> Vec<(Who, Failure)> {
        Vec::new()
    }

    /// Returns the details of its tools for people, those of tools that models are not told of,
    /// too.
    async fn shown(&self, _space: &Space) -> Result<Vec<Shown>, StoreError> {
        Ok(Vec::new())
    }

    /// The providers of its tools, as a space has them.
    async fn providers(&self, _space: &Space) -> Result<Vec<Provider>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the approval that makes a space take a tool for its present version, where that has
    /// this hash.
    async fn approved(
        &self,
        _space: &Space,
        _name: &str,
        _sha256: &str,
        _by: &str,
    ) -> Result<Result<Approved, Unapproved>, StoreError> {
        Ok(Err(Unapproved::Unknown))
    }
}

impl<F: Fn(&Space) -> Vec<Arc<dyn Tool>> + Send + Sync + 'static> Source for F {
    fn tools(&self, space: &Space) -> Vec<Arc<dyn Tool>> {
        self(space)
    }
}

/// A tool as people are shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its name.
    pub name: String,
    /// The server it is from, where it comes and goes.
    pub server: Option<String>,
    /// Its state.
    pub state: State,
    /// Why it is not ready.
    pub why: Option<String>,
    /// The difference of its description from before, as a unified diff.
    pub diff: Option<String>,
    /// The hash of its description.
    pub sha256: Option<String>,
    /// Its calls wait for a person.
    pub needs_approval: bool,
    /// The text that models are told of it, and its effect on the world, once a person has let it;
    /// none: they are not told of it.
    pub told: Option<(ToolSpec, Effect)>,
}

/// The state of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolState)]
pub enum State {
    /// Models are told of it.
    Ready,
    /// Models are told of it where it is open.
    Rare,
    /// Models are told of it from the next turn on.
    New,
    /// Models are told of it, but its provider is away.
    Away,
    /// The tool is not as it was, or came later than its server's first list, and a person has to
    /// approve it.
    Changed,
    /// Something is wrong with it.
    Withheld,
}

/// The result of an approval.
#[derive(Debug)]
pub enum Approved {
    /// The tool is taken for that already.
    Already,
    /// The tool is, once this is stored.
    By(Box<Draft>),
}

/// Why a tool cannot be approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unapproved {
    /// No source offers one of this name.
    Unknown,
    /// The tool has another hash.
    Other,
    /// Something is wrong with it.
    Wrong(String),
}

/// The tools of one kind of caller at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox(Arc<Inner>);

struct Inner {
    tools: Vec<Arc<dyn Tool>>,
    /// Of these models are told only when they are open; called they may be at any time.
    rare: Vec<String>,
    /// Most tools of a request.
    most: usize,
    specs: ToolSpecs,
    said: Vec<Said>,
}

impl Toolbox {
    /// A toolbox of these, in this order. Models are told of those called `rare` only where they are open.
    pub fn new(tools: Vec<Arc<dyn Tool>>, rare: Vec<String>) -> Self {
        Self::of(tools, rare, crowd::TOOLS_MAX, Vec::new())
    }

    fn of(tools: Vec<Arc<dyn Tool>>, rare: Vec<String>, most: usize, said: Vec<Said>) -> Self {
        let told = tools
            .iter()
            .map(|tool| &tool.spec().told)
            .filter(|told| !rare.contains(&told.name));
        let specs = ToolSpecs::new(told.take(most).cloned().collect());
        Self(Arc::new(Inner {
            tools,
            rare,
            most,
            specs,
            said,
        }))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.tools.iter().find(|tool| tool.spec().name() == name)
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&str> {
        self.0.tools.iter().map(|tool| tool.spec().name()).collect()
    }

    /// Returns true if models are told of it only where it is open.
    pub fn is_rare(&self, name: &str) -> bool {
        self.0.rare.iter().any(|rare| rare == name)
    }

    /// Returns the specs that models are told.
    pub fn specs(&self) -> &ToolSpecs {
        &self.0.specs
    }

    /// Returns the specs for a model where these are open: the same, and behind them those, in the
    /// order in which they were opened. Where that is more than a request may have, those that were
    /// opened first are left out.
    pub fn offered(&self, open: &[String]) -> ToolSpecs {
        let opened = open.iter().filter(|name| self.is_rare(name));
        let opened: Vec<ToolSpec> = opened
            .filter_map(|name| Some(self.get(name)?.spec().told.clone()))
            .collect();
        if opened.is_empty() {
            return self.specs().clone();
        }
        let room = self.0.most.saturating_sub(self.specs().list.len());
        let first = opened.len().saturating_sub(room);
        let opened = opened[first..].to_vec();
        ToolSpecs::new(self.specs().list.iter().cloned().chain(opened).collect())
    }
}

/// The tools there are, by their callers. Those of sources come and go: each decision asks for
/// those of its moment.
pub struct Tools {
    /// Of the decision of a conversation.
    pub conversation: Shelf,
    /// Of a process.
    pub process: Shelf,
    /// Of a process that goes in sub-steps.
    pub step: Shelf,
    /// Of a submodule.
    pub submodule: Shelf,
    /// Of a mission: the tools that it puts before people, and those that only read, to do tasks
    /// with.
    pub mission: Shelf,
}

impl Tools {
    /// Returns the tools of the decision of a thread that was created with these settings.
    pub fn of(&self, settings: &Settings) -> &Shelf {
        if settings.kind == Kind::Mission {
            return &self.mission;
        }
        match (settings.is_process(), settings.substeps) {
            (false, _) => &self.conversation,
            (true, false) => &self.process,
            (true, true) => &self.step,
        }
    }
}

/// Tools that stay, and those that come and go.
pub struct Shelf {
    stay: Toolbox,
    sources: Vec<Arc<dyn Source>>,
    /// Of those that come and go only these are taken, by name or pattern; `None`: all.
    only: Option<Vec<String>>,
    supplies: Supplies,
    opener: Option<Opener>,
    // A plain mutex: held for a look-up, never across an await.
    last: Mutex<Option<Last>>,
}

/// Makes the tool that opens these.
pub type Opener = fn(&Supplies, Vec<String>) -> Result<Arc<dyn Tool>, Error>;

/// The last answers of sources, and the toolbox that these made.
struct Last {
    found: Vec<Arc<dyn Tool>>,
    said: Vec<Said>,
    toolbox: Toolbox,
}

impl Shelf {
    /// Returns a shelf of the tools that stay, and of those that come from these sources.
    pub fn new(
        stay: Toolbox,
        sources: Vec<Arc<dyn Source>>,
        only: Option<Vec<String>>,
        supplies: Supplies,
    ) -> Self {
        Self {
            stay,
            sources,
            only,
            supplies,
            opener: None,
            last: Mutex::default(),
        }
    }

    /// The same, where the tool that this makes opens those for which a request has no room.
    #[must_use]
    pub fn opening(self, opener: Opener) -> Self {
        Self {
            opener: Some(opener),
            ..self
        }
    }

    /// Sees to it that `now` can answer for a space.
    pub async fn prepare(&self, space: &Space) -> Result<(), StoreError> {
        for source in &self.sources {
            source.prepare(space).await?;
        }
        Ok(())
    }

    /// Returns the failures of tools that come and go that the space has not been told yet.
    pub fn news(&self, space: &Space) -> Vec<(Who, Failure)> {
        self.sources
            .iter()
            .flat_map(|source| source.news(space))
            .collect()
    }

    /// Returns the tools that there are now in a space.
    pub fn now(&self, space: &Space) -> Toolbox {
        if self.sources.is_empty() {
            return self.stay.clone();
        }
        let found = self.sources.iter().flat_map(|source| source.tools(space));
        let found: Vec<Arc<dyn Tool>> = found.collect();
        let said = self.sources.iter().flat_map(|source| source.said(space));
        let said: Vec<Said> = said.collect();
        let mut last = self.last.lock();
        let is_same = |last: &&Last| {
            let mut pairs = last.found.iter().zip(&found);
            last.said == said
                && last.found.len() == found.len()
                && pairs.all(|(known, found)| Arc::ptr_eq(known, found))
        };
        if let Some(last) = last.as_ref().filter(is_same) {
            return last.toolbox.clone();
        }
        let toolbox = self.with(&found, said.clone());
        *last = Some(Last {
            found,
            said,
            toolbox: toolbox.clone(),
        });
        toolbox
    }

    /// The tools as people are shown them: those of the moment, and behind them those that models are not told of.
    pub async fn shown(&self, space: &Space) -> Result<Vec<Shown>, StoreError> {
        self.prepare(space).await?;
        let toolbox = self.now(space);
        let mut more: BTreeMap<String, Shown> = BTreeMap::new();
        for source in &self.sources {
            let shown = source.shown(space).await?.into_iter();
            more.extend(shown.map(|shown| (shown.name.clone(), shown)));
        }
        let now = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            let needs_approval = spec.always_gated || spec.gated.is_some();
            let state = match toolbox.is_rare(spec.name()) {
                true => State::Rare,
                false => State::Ready,
            };
            let plain = Shown {
                name: spec.name().to_owned(),
                server: None,
                state,
                why: None,
                diff: None,
                sha256: None,
                needs_approval,
                told: None,
            };
            let told = Some((spec.told.clone(), spec.gated.unwrap_or(spec.effect)));
            let mut known = more.remove(spec.name()).unwrap_or(plain);
            if state == State::Rare && known.state == State::Ready {
                (known.state, known.why) = (state, Some(crowd::why()));
            }
            Shown {
                needs_approval,
                told,
                ..known
            }
        };
        let mut all: Vec<Shown> = toolbox.0.tools.iter().map(now).collect();
        // Of what was not chosen nothing is said.
        all.extend(more.into_values().filter(|it| self.is_chosen(&it.name)));
        Ok(all)
    }

    /// The providers of the tools that come and go, as a space has them.
    pub async fn providers(&self, space: &Space) -> Result<Vec<Provider>, StoreError> {
        let mut all = Vec::new();
        for source in &self.sources {
            all.extend(source.providers(space).await?);
        }
        Ok(all)
    }

    /// Returns the approval that makes a space take a tool for its present version, where that has
    /// this hash.
    pub async fn approved(
        &self,
        space: &Space,
        name: &str,
        sha256: &str,
        by: &str,
    ) -> Result<Result<Approved, Unapproved>, StoreError> {
        for source in &self.sources {
            match source.approved(space, name, sha256, by).await? {
                Err(Unapproved::Unknown) => {}
                known => return Ok(known),
            }
        }
        Ok(Err(Unapproved::Unknown))
    }

    /// Returns the tools that stay, and behind them these by name: their order does not tell in
    /// which order they came.
    fn with(&self, found: &[Arc<dyn Tool>], said: Vec<Said>) -> Toolbox {
        let mut tools = self.stay.0.tools.clone();
        let mut found: Vec<&Arc<dyn Tool>> = found
            .iter()
            .filter(|tool| self.takes(tool.spec().name()))
            .collect();
        found.sort_by(|one, other| one.spec().name().cmp(other.spec().name()));
        found.dedup_by(|one, other| one.spec().name() == other.spec().name());
        let names: Vec<&str> = found.iter().map(|tool| tool.spec().name()).collect();
        let mut rare = self.stay.0.rare.clone();
        let crowd = crowd::rare(self.stay.specs().list.len(), rare.len(), &names);
        if let Some(opener) = self.opener.filter(|_| !crowd.is_empty()) {
            rare.extend(crowd);
            self.open_with(opener, &mut tools, &rare);
        }
        let found = found.into_iter().cloned();
        tools.extend(found.map(|tool| layered(tool, &self.supplies)));
        Toolbox::of(tools, rare, crowd::TOOLS_MAX, said)
    }

    fn is_chosen(&self, name: &str) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.iter().any(|pattern| matches(pattern, name)))
    }

    fn takes(&self, name: &str) -> bool {
        let is_wanted = self.is_chosen(name);
        if is_wanted && (!is_name(name) || self.stay.get(name).is_some()) {
            tracing::warn!(
                name,
                "a tool from outside is left out: its name is none, or is that of a tool of the server"
            );
            return false;
        }
        is_wanted
    }
}
