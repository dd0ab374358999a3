//! Text from outside, made safe for a terminal.

use std::io::IsTerminal as _;

use serde::Serialize;

use crate::program::output::say;
use crate::program::telemetry::escaped;
use thinkd_words::unseen::in_json;

/// The text without anything that could steer a terminal; its lines stay lines.
pub fn safe(text: &str) -> String {
    let text = text.replace('\t', "    ");
    let lines: Vec<String> = text.split('\n').map(escaped).collect();
    lines.join("\n")
}

/// Says a value as JSON on one line: for programs as it is, for a terminal without anything that could steer it.
pub fn say_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(value)?;
    match std::io::stdout().is_terminal() {
        true => Ok(say(in_json(&json))?),
        false => Ok(say(json)?),
    }
}
