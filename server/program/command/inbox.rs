//! `thinkd inbox`: the requests that wait for people, from a running server, and a person's
//! answers.

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::client::Target;
use super::paint::{self, BOLD, FAINT, painted};
use super::waiting::{Waiting, Word};
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;
use thinkd_words::digits;
use thinkd_words::text::unmarked;

/// The inbox to read, and the act; without an act all open requests are listed.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// Your name: the log has your words under it
    #[arg(long, value_name = "NAME", global = true)]
    user: Option<String>,
    /// List only what this thread asks
    #[arg(long)]
    thread: Option<String>,
    #[command(subcommand)]
    act: Option<Act>,
}

/// Acts on a request. An ID is the name in the list, or the whole id.
#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Show all of one: the arguments of a call and what it would change, or what an answer has to be like
    Show {
        /// The request, as the list names it
        id: String,
    },
    /// Let a tool call run
    Approve {
        /// The request, as the list names it
        id: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
        /// Other arguments than proposed, all of them: JSON, or @FILE
        #[arg(long, value_name = "JSON|@FILE")]
        arguments: Option<String>,
    },
    /// Do not let a tool call run
    Reject {
        /// The request, as the list names it
        id: String,
        /// Why
        #[arg(long)]
        reason: Option<String>,
    },
    /// Do not let a tool call run, and say what its result is
    Respond {
        /// The request, as the list names it
        id: String,
        /// The result
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
    /// Answer a question
    Answer {
        /// The request, as the list names it
        id: String,
        /// The answer; JSON where the question has a schema
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
}

/// Lists the waiting requests, or acts on one.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let server = server.named(options.user.clone())?;
    let client = reqwest::Client::new();
    let colours = paint::is_wanted();
    let (id, word, why) = match &options.act {
        None => {
            let all = server.waiting(&client, options.thread.as_deref()).await?;
            if let (true, Some(thread)) = (all.is_empty(), &options.thread) {
                server.check_thread(&client, thread).await?;
            }
            return list(&all, colours);
        }
        Some(Act::Show { id }) => {
            let Some(waiting) = server.waits(&client, id).await? else {
                bail!("nothing that waits has an id like {id:?}; `thinkd inbox` lists what waits");
            };
            return Ok(say(waiting.described(colours))?);
        }
        Some(Act::Approve {
            id,
            reason,
            arguments,
        }) => (
            id,
            Word::Approve(arguments.as_deref().map(read).transpose()?),
            reason.as_deref(),
        ),
        Some(Act::Reject { id, reason }) => (id, Word::Reject, reason.as_deref()),
        Some(Act::Respond { id, text }) => (id, Word::Respond(text.clone()), None),
        Some(Act::Answer { id, text }) => (id, Word::Answer(text.clone()), None),
    };
    Ok(say(server.tell(&client, id, &word, why).await?)?)
}

/// Prints a line for each: name, kind, thread, subject and times.
fn list(all: &[Waiting], colours: bool) -> anyhow::Result<()> {
    if all.is_empty() {
        return Ok(say("nothing waits for a person")?);
    }
    for waiting in all {
        let name = painted(colours, &[BOLD], &waiting.handle(all));
        let kind = waiting.kind.as_str();
        let place = escaped(&waiting.thread);
        let times = painted(colours, &[FAINT], &format!("({})", waiting.times()));
        let about = waiting.about();
        say(format_args!("{name}  {kind}  {place}: {about} {times}"))?;
    }
    Ok(())
}

/// Arguments as they were given: JSON, or a file of it.
fn read(given: &str) -> anyhow::Result<Value> {
    let text = match given.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("--arguments: {file} cannot be read"))?,
        None => given.to_owned(),
    };
    if let Some(number) = digits::unkept(&text) {
        bail!("--arguments: {}", digits::wrong(number));
    }
    let arguments: Value =
        serde_json::from_str(unmarked(&text)).context("--arguments: this is not JSON")?;
    if !arguments.is_object() {
        bail!(
            "--arguments: the arguments of a call are a JSON object, such as {{\"name\": \"owl\"}}"
        );
    }
    Ok(arguments)
}
