//! Colours and weights on a terminal: checks that they are wanted, and chooses the colour of a
//! name. Each is written as the terminal takes it ("31", "1").

use std::io::IsTerminal as _;

/// Beside the point.
pub const FAINT: &str = "2";
/// Something is wrong.
pub const ALARM: &str = "31";
/// Important words.
pub const BOLD: &str = "1";
/// Words with a stress.
pub const ITALIC: &str = "3";
/// Crossed-out text.
pub const STRUCK: &str = "9";
/// Words of a computer.
pub const CODE: &str = "36";

/// Colours of names: no red, which marks errors, and none that a light or a dark ground swallows.
const NAMES: [&str; 5] = ["32", "33", "34", "35", "36"];

/// Returns true if standard output is a terminal, and its owner wants colours.
pub fn is_wanted() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The colour of a name: always the same one.
pub fn of_name(name: &str) -> &'static str {
    let sum = name.bytes().fold(7usize, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(usize::from(byte))
    });
    NAMES[sum % NAMES.len()]
}

/// The text in these colours, or as it is.
pub fn painted(colours: bool, codes: &[&str], text: &str) -> String {
    let codes = codes.iter().copied().filter(|code| !code.is_empty());
    let codes: Vec<&str> = codes.collect();
    if !colours || codes.is_empty() || text.is_empty() {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", codes.join(";"))
}
