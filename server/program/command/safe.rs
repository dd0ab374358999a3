//! Text from outside, made safe for a terminal.

use std::io::IsTerminal as _;

use serde::Serialize;

use crate::program::output::say;
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

/// Says a value as JSON on one line: for programs as it is, for a terminal without anything that could steer it.
pub fn say_json(value: &impl Serialize) -> anyhow::Result<()> {
    let json = serde_json::to_string(value)?;
    if std::io::stdout().is_terminal() {
        Ok(say(safe_json(&json))?)
    } else {
        Ok(say(json)?)
    }
}

/// The same JSON: what could steer a terminal stands in texts alone, where an escape says the same.
fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii_graphic() || escaped(c.encode_utf8(&mut [0; 4])).starts_with(c) {
            safe.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_a_terminal_is_the_same_json() {
        let text = "a\u{9b}31m \\ \" \n\u{7f}\u{202e}é語🦉";
        let safe = safe_json(&serde_json::to_string(text).unwrap());
        assert_eq!(safe, r#""a\u009b31m \\ \" \n\u007f\u202eé語🦉""#);
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }
}
