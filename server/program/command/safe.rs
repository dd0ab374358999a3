//! Text from outside, made safe for a terminal.

use crate::program::telemetry::escaped;

/// The text without anything that could steer a terminal; its lines stay lines.
pub fn safe(text: &str) -> String {
    let lines: Vec<String> = text
        .replace('\t', "    ")
        .split('\n')
        .map(escaped)
        .collect();
    lines.join("\n")
}
