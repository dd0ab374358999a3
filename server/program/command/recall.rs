//! `thinkd recall`: what a running server holds to be so and relevant to a question.

use serde_json::Value;

use super::client::Target;
use super::paint::{self, BOLD, FAINT, painted};
use crate::program::output::say;
use crate::program::settings::Settings;
use crate::program::telemetry::escaped;

/// What is asked.
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
    /// What was so at this time: RFC 3339
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// What was held when this event was the last one
    #[arg(long, value_name = "SEQ")]
    as_of: Option<u64>,
    /// What is looked through, between commas: statements, notes, thoughts, frameworks
    #[arg(long = "in", value_name = "LIST")]
    among: Option<String>,
}

/// Asks, and says what was found and why.
pub async fn run(options: &Options, settings: &Settings) -> anyhow::Result<()> {
    let (server, client, colours) = (
        options.target.server(settings),
        reqwest::Client::new(),
        paint::is_wanted(),
    );
    let mut query = vec![
        ("q", options.question.clone()),
        ("limit", options.limit.to_string()),
    ];
    query.extend(options.at.iter().map(|at| ("at", at.clone())));
    query.extend(options.as_of.iter().map(|seq| ("as_of", seq.to_string())));
    query.extend(options.among.iter().map(|among| ("in", among.clone())));
    let found: Value = server.ask(&client, "/recall", &query).await?;
    let hits = found["items"].as_array().map_or(&[][..], Vec::as_slice);
    let others = found["others"].as_array().map_or(&[][..], Vec::as_slice);
    if hits.is_empty() && others.is_empty() {
        return Ok(say("nothing that is held is relevant")?);
    }
    for hit in hits {
        let id = hit["id"].as_str().unwrap_or_default();
        say(format_args!(
            "{}  {}",
            painted(colours, &[BOLD], &text(hit)),
            painted(colours, &[FAINT], &escaped(id))
        ))?;
        say(format_args!(
            "    {}",
            painted(colours, &[FAINT], &why(hit))
        ))?;
        for other in hit["contested_by"].as_array().into_iter().flatten() {
            say(format_args!("    but: {}", text(other)))?;
        }
        let shown = hit["contested_by"].as_array().map_or(0, Vec::len) as u64;
        if let Some(more) = hit["contested_by_count"]
            .as_u64()
            .and_then(|all| all.checked_sub(shown))
            .filter(|more| *more > 0)
        {
            say(format_args!("    and {more} more"))?;
        }
    }
    for other in others {
        let what = format!(
            "{} #{}, {}",
            escaped(other["kind"].as_str().unwrap_or_default()),
            other["seq"],
            other["score"]
        );
        say(format_args!(
            "{}\n    {}",
            text(other),
            painted(colours, &[FAINT], &what)
        ))?;
    }
    match found["left_out"].as_u64() {
        None | Some(0) => Ok(()),
        Some(more) => Ok(say(format_args!("{more} more have no room: --limit"))?),
    }
}

fn text(of: &Value) -> String {
    escaped(of["text"].as_str().unwrap_or_default())
}

/// What it is, and why it is here.
fn why(hit: &Value) -> String {
    let (why, list) = (&hit["why"], |of: &Value| {
        of.as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(escaped)
            .collect::<Vec<_>>()
            .join(", ")
    });
    let mut legs = vec![format!(
        "words {} ({})",
        why["words"],
        list(&why["matched"])
    )];
    if why["vectors"].is_number() {
        legs.push(format!("vectors {}", why["vectors"]));
    }
    if why["graph"].is_number() {
        legs.push(format!("graph {} ({})", why["graph"], list(&why["names"])));
    }
    let label = escaped(hit["label"].as_str().unwrap_or_default());
    format!("{} — {}; {label}", hit["score"], legs.join(", "))
}
