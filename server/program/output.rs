//! Output of the program to its standard output and error.

use std::fmt::Display;
use std::io::{self, Write};

/// A line on standard output.
pub fn say(line: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// A document on standard output, as it is.
pub fn print(document: &str) -> io::Result<()> {
    io::stdout().lock().write_all(document.as_bytes())
}

/// A text on standard error, as it is.
pub fn complain_as_is(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A line on standard error. There is nowhere to complain about its failing.
pub fn complain(what: &str) {
    let _ = writeln!(io::stderr().lock(), "thinkd: {what}");
}
