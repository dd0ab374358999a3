//! thinkd: a server for minds that think in the open.
//!
//! Floors, top to bottom; each may use those below it, never one above (`tests/it/floors.rs` checks it):
//! 6 `app`, `command`, `settings`, `telemetry` · 5 `edge` · 4 `runtime`, `turn` · 3 `action`, `call`, `decision`, `interpreter`, `pipelines`, `scribe`, `submodule`, `tools` ·
//! 2 `history`, `projection`, `thread` ·
//! 1 `store`, `model`, `prompt`, `quota`, `share`, `supervisor`, `tool` · 0 `budget`, `decode`, `event`, `failure`, `id`, `secret`, `text`, `time`.

// floor 0: words
pub mod budget;
pub mod decode;
pub mod event;
pub mod failure;
pub mod id;
pub mod secret;
pub mod text;
pub mod time;
// floor 1: one trait each, and who watches their tasks
pub mod model;
pub mod prompt;
pub mod quota;
pub mod share;
pub mod store;
pub mod supervisor;
pub mod tool;
// floor 2: what events add up to; what a model reads of them
pub mod history;
pub mod projection;
pub mod thread;
// floor 3: minds and what they do with; they meet in events
pub mod action;
pub mod call;
pub mod decision;
pub mod interpreter;
pub mod pipelines;
pub mod scribe;
pub mod submodule;
pub mod tools;
// floor 4: the order of a turn; who runs which thread
pub mod runtime;
pub mod turn;
// floor 5: translation only
pub mod edge;
// floor 6: the program
pub mod app;
pub mod command;
pub mod settings;
pub mod telemetry;
