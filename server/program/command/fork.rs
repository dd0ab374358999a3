//! `thinkd fork`: a new thread with the past of another, on a running server.

use serde_json::{Value, json};

use super::client::Target;
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;
use thinkd_words::id::ThreadId;

/// The thread to fork, and from where the fork goes on.
///
/// `thinkd fork main --at 41 "And in winter?"` goes on from event 41 with another message.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Your name: the message is said under it
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The thread to fork
    thread: String,
    /// Copy the thread up to this event; all of it if not given
    #[arg(long, value_name = "SEQ")]
    at: Option<i64>,
    /// Replace this message
    #[arg(long, value_name = "EVENT_ID")]
    instead_of: Option<String>,
    /// The id of the fork; chosen by the server if not given
    #[arg(long = "as", value_name = "THREAD")]
    id: Option<String>,
    /// The first message of the fork
    #[arg(allow_hyphen_values = true)]
    message: Option<String>,
}

/// Forks a thread and prints the id of the fork.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let server = server.named(options.user.clone())?;
    let message = options.message.as_ref().map(|text| json!({ "text": text }));
    let members = [
        ("at", options.at.map(Value::from)),
        ("instead_of", options.instead_of.clone().map(Value::from)),
        ("thread", options.id.clone().map(Value::from)),
        ("message", message),
    ];
    let given = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let path = format!("/threads/{}/fork", ThreadId::parse(&options.thread)?);
    let fork = server
        .post(
            &reqwest::Client::new(),
            &path,
            &Value::Object(given.collect()),
        )
        .await?;
    let text = |name: &str| escaped(fork[name].as_str().unwrap_or_default()).to_string();
    let thread = text("thread");
    let from = text("from");
    let at = fork["at"].as_i64().unwrap_or(0);
    let past = match at {
        0 => "an empty past".to_owned(),
        _ => format!("the past of {from} up to event {at}"),
    };
    Ok(say(format!(
        "{thread}: {past}; go on with `thinkd chat --thread {thread}`"
    ))?)
}
