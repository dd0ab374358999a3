//! A toolbox is the tools of one kind of caller at one moment, with the specs that models are sent. The same tools are always the same bytes, and
//! tools that come and go stand last, so that the prompt cache of the provider keeps the beginning.

use std::sync::{Arc, Mutex, PoisonError};

use super::layers::layered;
use super::supplies::Supplies;
use super::tool::{Tool, is_name};
use crate::model::provider::{ToolSpec, ToolSpecs};
use crate::thread::settings::Settings;
use crate::words::id::Name;

/// Says which tools something outside offers at this moment (a server of tools, once it is connected). Asked at every decision:
/// it answers from memory.
pub type Source = Arc<dyn Fn() -> Vec<Arc<dyn Tool>> + Send + Sync>;

/// The tools of one kind of caller at one moment. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox(Arc<Inner>);

struct Inner {
    tools: Vec<Arc<dyn Tool>>,
    /// Of these models are told only when they are open; called they may be at any time.
    rare: Vec<String>,
    specs: ToolSpecs,
}

impl Toolbox {
    /// A toolbox of these, in this order. Models are told of those called `rare` only where they are open.
    pub fn new(tools: Vec<Arc<dyn Tool>>, rare: Vec<String>) -> Self {
        let told = tools.iter().map(|tool| &tool.spec().told).filter(|told| !rare.contains(&told.name));
        let specs = ToolSpecs::new(told.cloned().collect());
        Self(Arc::new(Inner { tools, rare, specs }))
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.0.tools.iter().find(|tool| tool.spec().name() == name)
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&str> {
        self.0.tools.iter().map(|tool| tool.spec().name()).collect()
    }

    /// Whether models are told of it only where it is open.
    pub fn is_rare(&self, name: &str) -> bool {
        self.0.rare.iter().any(|rare| rare == name)
    }

    /// What models are told.
    pub fn specs(&self) -> &ToolSpecs {
        &self.0.specs
    }

    /// What a model is told where these are open: the same, and behind it those, in the order in which they were opened.
    pub fn offered(&self, open: &[String]) -> ToolSpecs {
        let opened = open.iter().filter(|name| self.is_rare(name));
        let opened: Vec<ToolSpec> = opened.filter_map(|name| Some(self.get(name)?.spec().told.clone())).collect();
        if opened.is_empty() {
            return self.specs().clone();
        }
        ToolSpecs::new(self.specs().list.iter().cloned().chain(opened).collect())
    }
}

/// The tools there are, by who has them. Those of sources come and go: each decision asks for those of its moment.
pub struct Tools {
    /// Of the decision of a conversation.
    pub conversation: Shelf,
    /// Of a process.
    pub process: Shelf,
    /// Of a process that goes in sub-steps.
    pub step: Shelf,
    /// Of a submodule.
    pub submodule: Shelf,
}

impl Tools {
    /// Those of the decision of a thread that was created with these settings.
    pub fn of(&self, settings: &Settings) -> &Shelf {
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
    sources: Vec<Source>,
    /// Of those that come and go only these are taken; `None`: all.
    only: Option<Vec<Name>>,
    supplies: Supplies,
    // A plain mutex: held for a look-up, never across an await.
    last: Mutex<Option<Last>>,
}

/// What sources said last, and the toolbox that this made.
struct Last {
    found: Vec<Arc<dyn Tool>>,
    toolbox: Toolbox,
}

impl Shelf {
    /// Of those that stay, and of what comes from these sources.
    pub fn new(stay: Toolbox, sources: Vec<Source>, only: Option<Vec<Name>>, supplies: Supplies) -> Self {
        Self { stay, sources, only, supplies, last: Mutex::default() }
    }

    /// Which tools there are now.
    pub fn now(&self) -> Toolbox {
        if self.sources.is_empty() {
            return self.stay.clone();
        }
        let found: Vec<Arc<dyn Tool>> = self.sources.iter().flat_map(|source| source()).collect();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.found.len() == found.len()
            && last.found.iter().zip(&found).all(|(known, found)| Arc::ptr_eq(known, found))
        {
            return last.toolbox.clone();
        }
        let toolbox = self.with(&found);
        *last = Some(Last { found, toolbox: toolbox.clone() });
        toolbox
    }

    /// Those that stay, and behind them these by name: their order does not tell in which order they came.
    fn with(&self, found: &[Arc<dyn Tool>]) -> Toolbox {
        let mut tools = self.stay.0.tools.clone();
        let mut found: Vec<&Arc<dyn Tool>> = found.iter().filter(|tool| self.takes(tool.spec().name())).collect();
        found.sort_by(|one, other| one.spec().name().cmp(other.spec().name()));
        found.dedup_by(|one, other| one.spec().name() == other.spec().name());
        tools.extend(found.into_iter().map(|tool| layered(tool.clone(), &self.supplies)));
        Toolbox::new(tools, self.stay.0.rare.clone())
    }

    fn takes(&self, name: &str) -> bool {
        let is_wanted = self.only.as_ref().is_none_or(|only| only.iter().any(|it| it.as_str() == name));
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
