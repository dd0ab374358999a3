//! Language models: which there are, asking them, the prompts.

pub mod answer;
pub mod at_once;
pub mod cache;
pub mod embedding;
pub mod endpoint;
mod guard;
pub mod habits;
pub mod http;
pub mod metered;
pub mod models;
pub mod offline;
pub mod openai;
mod plain_schemas;
pub mod prompt;
pub mod provider;
mod refusal_text;
pub mod refused_tools;
pub mod schema_form;
pub mod scripted;
pub mod waited;
mod wire;
pub mod written;
