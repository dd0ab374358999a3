//! `thinkd recall`: statements that a running server holds to be so and relevant to a question.

use serde_json::Value;

use super::client::Target;
use super::memory::{texts, word};
use super::paint::{self, BOLD, FAINT, painted};
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;
use thinkd_words::time::Timestamp;

/// The question, and the time that it is about.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    target: Target,
    /// The question
    #[arg(allow_hyphen_values = true)]
    question: String,
    /// At most so many statements
    #[arg(long, default_value_t = 8)]
    limit: u32,
    /// Statements true at this time, such as 2026-12-01T09:00:00+01:00
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<String>,
    /// Statements held when the log ended with this event
    #[arg(long, value_name = "SEQ")]
    as_of: Option<u64>,
    /// Kinds to search, between commas: statements, notes, thoughts, frameworks
    #[arg(long = "in", value_name = "LIST")]
    among: Option<String>,
}

/// Asks, and prints the hits with their reasons.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let server = options.target.server(settings);
    let client = reqwest::Client::new();
    let colours = paint::is_wanted();
    let faint = |text: &str| painted(colours, &[FAINT], text);
    let mut query = vec![
        ("q", options.question.clone()),
        ("limit", options.limit.to_string()),
    ];
    query.extend(options.at.iter().map(|at| ("at", at.clone())));
    query.extend(options.as_of.iter().map(|seq| ("as_of", seq.to_string())));
    query.extend(options.among.iter().map(|among| ("in", among.clone())));
    let found: Value = server.ask(&client, "/recall", &query).await?;
    let hits = list(&found["items"]);
    let others = list(&found["others"]);
    if hits.is_empty() && others.is_empty() {
        return Ok(say("nothing that is held is relevant")?);
    }
    for hit in hits {
        let text = word(hit, "text");
        let id = word(hit, "id");
        let text = painted(colours, &[BOLD], &text);
        say(format_args!("{text}  {}", faint(&id)))?;
        say(format_args!("    {}", faint(&why(hit))))?;
        let against = list(&hit["contested_by"]);
        for other in against {
            say(format_args!("    but: {}", word(other, "text")))?;
        }
        let all = hit["contested_by_count"].as_u64().unwrap_or(0);
        let more = all.saturating_sub(against.len() as u64);
        if more > 0 {
            say(format_args!("    and {more} more"))?;
        }
    }
    for other in others {
        let text = word(other, "text");
        let kind = word(other, "kind");
        let what = format!("{kind} #{}, {}", other["seq"], other["score"]);
        say(format_args!("{text}\n    {}", faint(&what)))?;
    }
    match found["left_out"].as_u64() {
        None | Some(0) => Ok(()),
        Some(more) => Ok(say(format_args!("{more} more have no room: --limit"))?),
    }
}

/// Reads a time as it is sent to the server.
fn time(given: &str) -> Result<String, String> {
    match Timestamp::parse(given) {
        Some(_) => Ok(given.to_owned()),
        None => {
            Err("a time with an offset is expected, such as 2026-12-01T09:00:00+01:00".to_owned())
        }
    }
}

fn list(of: &Value) -> &[Value] {
    of.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the kind of a hit and the reason for it.
fn why(hit: &Value) -> String {
    let why = &hit["why"];
    let words = |member: &str| {
        let words = texts(why, member).map(escaped);
        words.collect::<Vec<_>>().join(", ")
    };
    let mut legs = vec![format!("words {} ({})", why["words"], words("matched"))];
    if why["vectors"].is_number() {
        legs.push(format!("vectors {}", why["vectors"]));
    }
    if why["graph"].is_number() {
        legs.push(format!("graph {} ({})", why["graph"], words("names")));
    }
    let legs = legs.join(", ");
    let label = word(hit, "label");
    format!("{} — {legs}; {label}", hit["score"])
}
