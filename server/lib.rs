//! thinkd is a self-hosted server for agents: an append-only event log, parallel submodules, one deciding model with tools.
//!
//! Each module here is a floor, from the ground up: it may use the floors before it and none after it (`tests/it/floors.rs`). A floor has
//! no items of its own and exports none again: everything has one path, that of its file.
//!
//! # A server with parts of your own
//!
//! A program that depends on this crate hands its pipelines and tools to the command line, [`program::command::run`], or, with settings
//! that it has loaded ([`program::settings::Settings::load`]), to the server alone, [`program::app::serve`]:
//!
//! - a pipeline is a function, added to [`pipelines::registry::built_in`]; it reads and asks through a [`pipelines::host::Host`];
//! - a tool is a type that implements [`tools::tool::Typed`] (or [`tools::tool::Tool`], where its arguments are no type), added to
//!   [`tools::catalogue::built_in`]; it fails with a [`words::failure::Failure`].
//!
//! These are the paths for programs like that; the other modules are open because tests and benches use them, and may move.
//! `examples/own_pipeline.rs` and `examples/own_tool.rs` are such programs; this is the second one:
//!
//! ```no_run
#![doc = include_str!("../examples/own_tool.rs")]
//! ```

/// Values: ids, time, text, failures, budgets, secrets.
pub mod words {
    pub mod alike;
    pub mod budget;
    pub mod decode;
    pub mod defaults;
    pub mod diff;
    pub mod digits;
    pub mod failure;
    pub mod id;
    pub mod lenient_json;
    pub mod marks;
    pub mod principal;
    pub mod recurrence;
    pub mod secret;
    pub mod setting;
    pub mod spelling;
    pub mod text;
    pub mod time;
    pub mod tool_name;
    pub mod unseen;
    pub mod veil;
}
/// Events: what happened, in one closed envelope.
pub mod event {
    pub mod agreement;
    pub mod catalogue;
    pub mod condition;
    pub mod correction;
    pub mod doubt;
    pub mod draft;
    pub mod entity;
    pub mod envelope;
    pub mod estimate;
    pub mod evidence;
    pub mod fact;
    pub mod framework;
    pub mod gather;
    pub mod intent;
    pub mod method;
    pub mod mission;
    pub mod mood;
    pub mod outcome;
    pub mod process;
    pub mod raw;
    pub mod request;
    pub mod rest;
    pub mod retest;
    pub mod schedule;
    pub mod spec;
    pub mod statement;
    pub mod summary;
    pub mod timer;
    pub mod trial;
    pub mod tuning;
    pub mod unshown;
    pub mod word;
    pub mod worked;
}
/// Fair shares of the machine; supervision of background tasks.
pub mod tasks {
    pub mod level;
    pub mod lock;
    pub mod share;
    pub mod supervisor;
    pub mod under_way;
}
/// The append-only log, the rows derived from it, its databases.
pub mod log {
    mod append;
    pub mod appended;
    pub mod backup;
    mod batch;
    pub mod begun;
    pub mod blob;
    mod catch_up;
    pub mod change;
    mod columns;
    pub mod error;
    pub mod feed;
    pub mod fence;
    pub mod head;
    pub mod hint;
    mod index;
    mod indexed;
    pub mod kernel;
    mod leases;
    pub mod memory;
    pub mod migrations;
    pub mod not_copied;
    pub mod options;
    mod postgres;
    pub mod presence;
    pub mod projections;
    pub mod query;
    mod rebuild;
    mod rows;
    mod seal;
    mod seen;
    pub mod select;
    pub mod shown;
    pub mod shown_to_models;
    mod sql;
    mod sqlite;
    pub mod status;
    pub mod store;
    pub mod table;
    mod terms;
    pub mod thread_row;
    pub mod thread_state;
    pub mod unserved;
    pub mod upkeep;
    pub mod vectors;
    pub mod words;
    pub mod work;
    mod write_cache;
    mod writes;
}
/// Language models: which there are, asking them, the prompts.
pub mod model {
    pub(crate) mod answer;
    pub mod at_once;
    pub(crate) mod cache;
    pub mod embedding;
    pub mod endpoint;
    pub(crate) mod guard;
    pub mod habits;
    pub(crate) mod http;
    pub mod metered;
    pub mod models;
    pub mod offline;
    pub mod openai;
    pub(crate) mod plain_schemas;
    pub mod prompt;
    pub mod provider;
    mod refusal_text;
    pub mod refused_tools;
    pub mod schema_form;
    pub mod scripted;
    pub mod waited;
    mod wire;
    pub mod written;
}
/// Recall: what is held and relevant to a question.
pub mod recall {
    pub mod audit;
    pub mod background;
    mod bm25;
    pub mod choices;
    mod cut;
    pub mod filling;
    pub mod finder;
    pub mod forms;
    pub mod frameworks;
    pub mod fusion;
    pub mod graph;
    pub mod held;
    pub mod meaning;
    mod measuring;
    pub mod memories;
    pub mod options;
    mod pagerank;
    mod past;
    mod rivals;
    mod shelf;
    pub mod shown;
    pub mod uses;
    pub mod vectors;
    pub mod view;
}
/// Threads: settings, derived state, quotas, what a model reads.
pub mod thread {
    pub mod history;
    pub mod new_thread;
    pub mod projection;
    pub mod quota;
    pub mod settings;
    pub mod tokens;
    pub mod turns;
    pub mod usage;
}
/// Tools: what one is, which there are, the layers around a call.
pub mod tools {
    pub mod approval;
    pub mod arguments;
    pub mod catalogue;
    pub mod code;
    pub mod contacts;
    pub mod crowd;
    pub mod fitting;
    pub mod gate;
    pub mod knowledge;
    mod layers;
    pub mod mcp;
    pub mod quote;
    pub mod schema;
    pub mod spawning;
    pub mod supplies;
    pub mod tool;
    pub mod toolbox;
    pub mod word;
}
/// One turn: submodules, the decision, calls of models and tools.
pub mod mind {
    pub mod action;
    pub mod call;
    pub mod decision;
    mod plain_words;
    pub mod submodule;
    pub mod turn;
    pub mod turn_writer;
}
/// Pipelines by name, and what a run leaves in the log.
pub mod pipelines {
    pub mod host;
    pub mod ledger;
    pub mod past;
    pub mod registry;
}
/// The lease loop: which thread is worked on, and when.
pub mod runtime {
    mod ahead;
    mod append;
    mod ends;
    pub mod firing;
    pub mod frameworks;
    pub mod ground;
    pub mod handle;
    mod identity;
    pub mod kinds;
    mod lease_loop;
    mod mailbox;
    pub mod memory;
    pub mod mission;
    mod opening;
    mod operate;
    pub mod options;
    mod prompt_view;
    mod reflection;
    pub mod refused;
    mod remote_cancel;
    pub mod requests;
    mod running;
    pub mod schedule;
    mod schedules;
    mod settings;
    mod timers;
    pub mod tools;
    mod waits;
    pub mod work;
}
/// Sessions: what a principal may do in its space.
pub mod session {
    pub mod audit;
    pub mod entities;
    pub mod follow;
    pub mod frameworks;
    pub mod handle;
    mod identity;
    mod log;
    mod missions;
    pub mod outcome;
    pub mod pieces;
    mod recall;
    pub mod requests;
    pub mod right;
    mod runs;
    mod schedules;
    mod settings;
    pub mod space;
    pub mod statement;
    pub mod threads;
    mod tools;
    pub mod turns;
    pub mod usage;
    pub mod world_model;
}
/// The outside: HTTP and WebSocket. Translation only.
pub mod edge {
    pub mod ack;
    mod allowed_hosts;
    pub mod auth;
    mod client_stream;
    mod compress;
    mod connections;
    mod console;
    pub mod context;
    mod docs;
    pub mod frame;
    pub mod guesses;
    pub mod http;
    mod ids;
    mod input;
    mod json;
    pub mod jwt;
    pub mod keys;
    pub mod limits;
    pub mod media;
    pub mod packed;
    mod problem;
    mod query;
    mod rate_limit;
    pub mod server;
    mod stay;
    mod stream_limits;
    pub mod websocket;
}
/// Settings, telemetry, the command line, the composition root.
pub mod program {
    pub mod app;
    pub mod command;
    mod descriptors;
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
