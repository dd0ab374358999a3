//! The list of the built-in tools and their callers, a line each. The tools are the files of this
//! folder; `tools/tool.rs` defines a tool.

use std::sync::Arc;

use super::approval::matches;
use super::layers::layered;
use super::supplies::Supplies;
use super::tool::{Spec, Tool, Typed, boxed, is_name, spec_of};
use super::toolbox::{Shelf, Source, Toolbox, Tools};
use thinkd_model::prompt::{Error, Prompts};

mod ask;
mod ask_user;
mod clear_context;
mod contacts;
mod do_nothing;
mod fan_out;
mod fork_thread;
pub mod mission_plan;
mod more_tools;
mod plan;
mod propose_submodule;
mod query_events;
mod recall;
mod remember;
mod reply;
mod run_code;
mod schedule;
mod send;
mod set_timer;
mod spawn_thread;
mod start_mission;
mod state;
mod step;
mod terminate;
pub mod think;
mod wait;
mod watch;

/// The name of the tool that reads the resources and prompts of servers of tools.
pub const READS_SERVERS: &str = "mcp_read";

/// The tools that come with the server, in the order in which models are told of them.
pub fn built_in() -> Catalogue {
    Catalogue::default()
        .with(DECISIONS, |_| reply::Reply)
        .with(WHOLE_TURNS, |_| think::Think)
        .with(DECISIONS, |_| ask::Ask)
        .with(WHOLE_TURNS, |_| do_nothing::DoNothing)
        .with(EVERYBODY, |it| query_events::QueryEvents(it.clone()))
        .with(EVERYBODY, |it| state::Get(it.clone()))
        .with(EVERYBODY, |_| state::Put)
        .with(EVERYBODY, |it| state::Search(it.clone()))
        .with(EVERYBODY, |it| state::Delete(it.clone()))
        .with(DECISIONS, |it| send::Send(it.clone()))
        .with(RARELY, |it| contacts::Connect(it.clone()))
        .with(RARELY, |it| contacts::Disconnect(it.clone()))
        .with(RARELY, |it| contacts::ViewContacts(it.clone()))
        // A conversation waits without being told.
        .with(WHOLE_TURNS.to_conversations(Offer::Rarely), |it| {
            wait::Wait(it.clone())
        })
        .with(DECISIONS, |it| spawn_thread::SpawnThread(it.clone()))
        // The fork of a conversation would be a conversation that nobody talks with.
        .with(RARELY.to_conversations(Offer::Never), |it| {
            fork_thread::ForkThread(it.clone())
        })
        .with(RARELY, |it| clear_context::ClearContext(it.clone()))
        .with(RARELY, |it| set_timer::SetTimer(it.clone()))
        .with(RARELY, |it| ask_user::AskUser(it.clone()))
        .with(RARELY, |it| propose_submodule::ProposeSubmodule(it.clone()))
        .with(RARELY, |it| propose_submodule::ProposeRemoval(it.clone()))
        .with(RARELY, |_| plan::Plan)
        .with(RARELY, |it| watch::SetWatch(it.clone()))
        .with(RARELY, |it| watch::CloseWatch(it.clone()))
        .with(DECISIONS.to_conversations(Offer::Rarely), |it| {
            fan_out::FanOut(it.clone())
        })
        .with(RARELY, |it| fan_out::Sequence(it.clone()))
        // A mission has no parts of its own that begin others: only who decides in one go begins one.
        .with(RARELY_WHOLE, start_mission::StartMission::new)
        .with(RARELY, |it| run_code::RunCode(it.clone()))
        .with(
            DECISIONS.to_processes(Offer::Rarely),
            remember::Remember::new,
        )
        .with(EVERYBODY.to_processes(Offer::Rarely), recall::Recall::new)
        // It would lock out whoever talks with a conversation.
        .with(DECISIONS.to_conversations(Offer::Named), |_| {
            terminate::Terminate
        })
        // It keeps a mind at work without end: somebody is to want that.
        .with(NAMED, |it| schedule::Schedule(it.clone()))
        .with(MISSIONS, |_| mission_plan::MissionPlan)
        .with(STEPS, |it| wait::SetWait(it.clone()))
        .with(STEPS, |_| step::Note)
        .with(STEPS, |_| step::Focus)
        .with(STEPS, |_| step::SendsDone)
        .with(STEPS, |_| step::ContactsDone)
}

/// The offer of a tool to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// At every call.
    Always,
    /// Once `more_tools` has opened it; where it is configured which tools there are, at every call.
    Rarely,
    /// Only where it is configured.
    Named,
    /// The tool is none of theirs.
    Never,
}

/// The callers that have a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audience {
    /// Decisions of conversations.
    pub conversation: Offer,
    /// Processes.
    pub process: Offer,
    /// Processes that go in sub-steps. They are told of all that is theirs, for each answer is asked for one of them.
    pub step: bool,
    /// Submodules.
    pub submodule: bool,
    /// Missions: the tools that they put before people, and those that only read, to do tasks with.
    pub mission: bool,
}

impl Audience {
    const fn to_conversations(self, conversation: Offer) -> Self {
        Self {
            conversation,
            ..self
        }
    }

    const fn to_processes(self, process: Offer) -> Self {
        Self { process, ..self }
    }
}

/// All that decide.
pub const DECISIONS: Audience = Audience {
    conversation: Offer::Always,
    process: Offer::Always,
    step: true,
    submodule: false,
    mission: false,
};
/// All that decide, and submodules.
pub const EVERYBODY: Audience = Audience {
    submodule: true,
    ..DECISIONS
};
/// All that decide, once they ask for it.
pub const RARELY: Audience = DECISIONS
    .to_conversations(Offer::Rarely)
    .to_processes(Offer::Rarely);
/// All that decide in one go, not in sub-steps.
const WHOLE_TURNS: Audience = Audience {
    step: false,
    ..DECISIONS
};
/// The same, once they ask for it.
const RARELY_WHOLE: Audience = WHOLE_TURNS
    .to_conversations(Offer::Rarely)
    .to_processes(Offer::Rarely);
/// All that decide, where it is configured.
const NAMED: Audience = WHOLE_TURNS
    .to_conversations(Offer::Named)
    .to_processes(Offer::Named);
/// Only processes that go in sub-steps.
const STEPS: Audience = DECISIONS
    .to_conversations(Offer::Never)
    .to_processes(Offer::Never);
/// Only missions.
const MISSIONS: Audience = Audience {
    step: false,
    mission: true,
    ..STEPS
};

/// A line of the list.
#[derive(Clone)]
struct Entry {
    name: &'static str,
    audience: Audience,
    spec: fn(&Prompts) -> Result<Spec, Error>,
    make: Arc<Make>,
}

/// Makes a tool of this spec.
type Make = dyn Fn(Spec, &Supplies) -> Arc<dyn Tool> + Send + Sync;

/// The tools of a server: those that come with it, and yours (`docs/add-a-tool.md`).
///
/// ```no_run
#[doc = include_str!("../../examples/own_tool.rs")]
/// ```
#[derive(Clone, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
    sources: Vec<(Audience, Arc<dyn Source>)>,
}

/// The tools that are configured, by name, in which `*` stands for anything; `None`: the usual ones.
#[derive(Debug, Clone, Default)]
pub struct Chosen {
    /// Of conversations.
    pub conversation: Option<Vec<String>>,
    /// Of processes.
    pub process: Option<Vec<String>>,
}

impl Catalogue {
    /// Returns the same, with one more. `make` makes it, with its supplies, when the server starts.
    #[must_use]
    pub fn with<T: Typed>(
        mut self,
        audience: Audience,
        make: impl Fn(&Supplies) -> T + Send + Sync + 'static,
    ) -> Self {
        let make = Arc::new(move |spec: Spec, supplies: &Supplies| boxed(spec, make(supplies)));
        self.entries.push(Entry {
            name: T::NAME,
            audience,
            spec: spec_of::<T>,
            make,
        });
        self
    }

    /// Returns the same, with those of another one behind its own.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.entries.extend(other.entries);
        self.sources.extend(other.sources);
        self
    }

    /// The same, with tools that come and go while the server runs: `source` says which there are, and is asked at every decision.
    #[must_use]
    pub fn with_source(self, audience: Audience, source: impl Source) -> Self {
        self.with_shared_source(audience, Arc::new(source))
    }

    /// Returns the same, with a source that other code knows, too.
    #[must_use]
    pub fn with_shared_source(mut self, audience: Audience, source: Arc<dyn Source>) -> Self {
        self.sources.push((audience, source));
        self
    }

    /// The same, without the tool of that name, where there is one.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.entries.retain(|entry| entry.name != name);
        self
    }

    /// Checks the listed tools, their prompts, and the names in the configuration. The error says
    /// the fault.
    pub fn check(&self, prompts: &Prompts, chosen: &Chosen) -> Result<(), String> {
        for (index, Entry { name, .. }) in self.entries.iter().enumerate() {
            if !is_name(name) {
                return Err(format!(
                    "{name:?} cannot be a tool's name: letters, digits, _ and -, at most 64"
                ));
            }
            let mut before = self.entries[..index].iter();
            if [more_tools::NAME, READS_SERVERS].contains(name)
                || before.any(|entry| entry.name == *name)
            {
                return Err(format!("two tools are called {name}"));
            }
        }
        let all: [(&str, Of, _); 2] = [
            ("conversation", conversation, &chosen.conversation),
            ("process", process, &chosen.process),
        ];
        for (key, of, names) in all {
            let known = self.names(of);
            // What comes and goes may be there later.
            let mut names = names.iter().flatten().filter(|_| self.sources.is_empty());
            if let Some(name) = names.find(|name| !known.iter().any(|known| matches(name, known))) {
                return Err(format!(
                    "tools.{key}: there is no tool {name}; there are {}",
                    known.join(", ")
                ));
            }
        }
        self.specs(prompts)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    /// Checks a name, or a pattern with `*`, that marks tools. An error: there is no such tool, and
    /// none may come.
    pub fn check_marked(&self, pattern: &str) -> Result<(), String> {
        let mut names = self.entries.iter().map(|entry| entry.name);
        if pattern.contains('*') || !self.sources.is_empty() || names.any(|name| name == pattern) {
            return Ok(());
        }
        let known: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
        Err(format!(
            "tools.approval: there is no tool {pattern}; there are {}",
            known.join(", ")
        ))
    }

    /// Returns the specs for models of the tools that stay, in the order of the list.
    pub fn specs(&self, prompts: &Prompts) -> Result<Vec<Spec>, Error> {
        let known: Vec<&str> = self
            .entries
            .iter()
            .map(|entry| entry.name)
            .chain([more_tools::NAME, READS_SERVERS])
            .collect();
        prompts.check_tools(&known)?;
        self.entries
            .iter()
            .map(|entry| (entry.spec)(prompts))
            .collect()
    }

    /// Makes the tools.
    pub fn tools(&self, supplies: &Supplies, chosen: &Chosen) -> Result<Tools, Error> {
        let specs = self.specs(&supplies.prompts)?;
        let made = self.entries.iter().zip(specs);
        let make = |(entry, spec): (&Entry, Spec)| {
            let tool = (entry.make)(spec, supplies);
            (entry.audience, layered(tool, supplies))
        };
        let made: Vec<(Audience, Arc<dyn Tool>)> = made.map(make).collect();
        let shelf = |of: Of, chosen: Option<&[String]>| {
            let stay = Self::toolbox(&made, of, chosen, supplies)?;
            let sources = self
                .sources
                .iter()
                .filter(|(audience, _)| of(audience) != Offer::Never);
            let sources = sources.map(|(_, source)| source.clone()).collect();
            Ok(Shelf::new(
                stay,
                sources,
                chosen.map(<[String]>::to_vec),
                supplies.clone(),
            ))
        };
        let opening = |shelf: Shelf| shelf.opening(more_tools::tool);
        Ok(Tools {
            conversation: opening(shelf(conversation, chosen.conversation.as_deref())?),
            process: opening(shelf(process, chosen.process.as_deref())?),
            step: opening(shelf(step, None)?),
            submodule: shelf(submodule, None)?,
            mission: shelf(mission, None)?,
        })
    }

    fn toolbox(
        made: &[(Audience, Arc<dyn Tool>)],
        of: Of,
        chosen: Option<&[String]>,
        supplies: &Supplies,
    ) -> Result<Toolbox, Error> {
        let is_chosen = |tool: &Arc<dyn Tool>| match chosen {
            Some(names) => names.iter().any(|name| matches(name, tool.spec().name())),
            None => true,
        };
        let theirs = |audience: &Audience| match of(audience) {
            Offer::Never => false,
            Offer::Named => chosen.is_some(),
            Offer::Always | Offer::Rarely => true,
        };
        let has = made
            .iter()
            .filter(|(audience, tool)| theirs(audience) && is_chosen(tool));
        let mut tools: Vec<Arc<dyn Tool>> = has.clone().map(|(_, tool)| tool.clone()).collect();
        if chosen.is_some() {
            return Ok(Toolbox::new(tools, Vec::new()));
        }
        let mut rare: Vec<_> = has
            .filter(|(audience, _)| of(audience) == Offer::Rarely)
            .collect();
        // What is rare everywhere stands first.
        rare.sort_by_key(|(audience, _)| audience.process != Offer::Rarely);
        let rare: Vec<String> = rare
            .into_iter()
            .map(|(_, tool)| tool.spec().name().to_owned())
            .collect();
        if !rare.is_empty() {
            let opener = more_tools::tool(supplies, rare.clone())?;
            tools.push(layered(opener, supplies));
        }
        Ok(Toolbox::new(tools, rare))
    }

    /// Bytes of tools that each call of a conversation's decision sends, and each call of a voice, with `around` for each tool.
    pub fn bytes(&self, prompts: &Prompts, around: usize) -> Result<(usize, usize), Error> {
        let specs = self.specs(prompts)?;
        let told = |of: Of| {
            let at_hand = |(entry, _): &(&Entry, &Spec)| of(&entry.audience) == Offer::Always;
            let bytes = |(_, spec): (&Entry, &Spec)| {
                let told = &spec.told;
                around + told.name.len() + told.description.len() + told.parameters.as_str().len()
            };
            self.entries
                .iter()
                .zip(&specs)
                .filter(at_hand)
                .map(bytes)
                .sum()
        };
        Ok((told(conversation), told(submodule)))
    }

    /// The numbers of tools that the decision of a conversation is told of at every call, and once they are open.
    pub fn counts(&self) -> (usize, usize) {
        let count = |offer: Offer| {
            let of = |entry: &&Entry| entry.audience.conversation == offer;
            self.entries.iter().filter(of).count()
        };
        (count(Offer::Always), count(Offer::Rarely))
    }

    /// The names of the tools that the decision of a conversation may have.
    pub fn of_conversations(&self) -> Vec<&'static str> {
        self.names(conversation)
    }

    /// The names of the tools that a process may have.
    pub fn of_processes(&self) -> Vec<&'static str> {
        self.names(process)
    }

    fn names(&self, of: Of) -> Vec<&'static str> {
        self.entries
            .iter()
            .filter(|entry| of(&entry.audience) != Offer::Never)
            .map(|entry| entry.name)
            .collect()
    }
}

/// The column of an audience that is looked at.
type Of = fn(&Audience) -> Offer;

fn conversation(audience: &Audience) -> Offer {
    audience.conversation
}

fn process(audience: &Audience) -> Offer {
    audience.process
}

fn step(audience: &Audience) -> Offer {
    always(audience.step)
}

fn submodule(audience: &Audience) -> Offer {
    always(audience.submodule)
}

fn mission(audience: &Audience) -> Offer {
    always(audience.mission)
}

fn always(is_theirs: bool) -> Offer {
    match is_theirs {
        true => Offer::Always,
        false => Offer::Never,
    }
}
