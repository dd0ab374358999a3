//! thinkd is a self-hosted server for agents: an append-only event log, parallel submodules, one deciding model with tools.
//!
//! Each module here is a floor, from the ground up: a crate of its own in the folder of its name (`program` is a module of this one). It
//! depends on floors before it and on none after it. A floor has no items of its own and exports none again: everything has one path, that of its file.
//!
//! # A server with parts of your own
//!
//! A program that depends on this crate hands its pipelines and tools to the command line, [`program::command::run`], or, with settings
//! that it has loaded ([`program::settings::Settings::load`]), to the server alone, [`program::app::serve`]:
//!
//! - a pipeline is a function, added to [`pipelines::registry::built_in`]; it reads and asks through a [`pipelines::host::Host`];
//! - a tool is a type that implements [`tools::tool::Typed`] (or [`tools::tool::Tool`], where its arguments are no type), added to
//!   [`tools::catalogue::built_in`]; it fails with a [`words::failure::Failure`];
//! - a feature is a [`program::feature::Feature`], with events, tables and addresses as well: [`program::command::Program::with`] adds it.
//!
//! These are the paths for programs like that; the other modules are open because tests and benches use them, and may move.
//! `examples/own_pipeline.rs`, `examples/own_tool.rs` and `examples/own_feature.rs` are such programs; this is the second one:
//!
//! ```no_run
#![doc = include_str!("../examples/own_tool.rs")]
//! ```

/// `#[derive(Fact)]`: kinds of events from their declarations.
pub use thinkd_facts as facts;

/// Values: ids, time, text, failures, budgets, secrets.
pub use thinkd_words as words;

/// Events, in one closed envelope.
pub use thinkd_event as event;

/// Fair shares of the machine; supervision of background tasks.
pub use thinkd_tasks as tasks;

/// The append-only log, the rows derived from it, its databases.
pub use thinkd_log as log;

/// Language models: which there are, asking them, the prompts.
pub use thinkd_model as model;

/// Recall of statements and notes that are relevant to a question.
pub use thinkd_recall as recall;

/// Threads: settings, derived state, quotas, the views of models.
pub use thinkd_thread as thread;

/// Tools: their interface, the catalogue, the layers around a call.
pub use thinkd_tools as tools;

/// The tools of other servers, which speak MCP.
pub use thinkd_mcp as mcp;

/// One turn: submodules, the decision, calls of models and tools.
pub use thinkd_mind as mind;

/// Pipelines by name, and the events of their runs.
pub use thinkd_pipelines as pipelines;

/// The lease loop: which thread is worked on, and when.
pub use thinkd_runtime as runtime;

/// Missions: a wish that is taken apart into tasks and solved best route first.
pub use thinkd_missions as missions;

/// The world model: trials of claims, and the effects of their verdicts.
pub use thinkd_memory as memory;

/// Sessions: the acts of a principal in its space.
pub use thinkd_session as session;

/// The outside: HTTP and WebSocket. Translation only.
pub use thinkd_edge as edge;

/// Settings, telemetry, the command line, the composition root.
pub mod program {
    pub mod app;
    pub mod command;
    mod descriptors;
    pub mod feature;
    mod greeting;
    mod jwks;
    mod key_files;
    mod orphans;
    mod output;
    mod parts;
    pub mod settings;
    mod stop;
    pub mod telemetry;
}
