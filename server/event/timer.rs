//! The purpose of a timer, which is its name in the log. The server's own names have a mark that a thread cannot give.

use std::fmt;

/// The purpose of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// Wakes the thread, which has set it.
    Own(&'a str),
    /// Ends a wait.
    Wait,
    /// Ends the gathering of this id.
    Gathering(&'a str),
    /// Ends the request to people of this id.
    Request(&'a str),
    /// Stands for the rest of an end.
    Ending,
}

impl<'a> Purpose<'a> {
    /// Reads the name of a timer.
    pub fn of(name: &'a str) -> Self {
        match name.split_once('!') {
            Some(("wait", "")) => Self::Wait,
            Some(("gather", id)) => Self::Gathering(id),
            Some(("request", id)) => Self::Request(id),
            Some(("ending", "")) => Self::Ending,
            _ => Self::Own(name),
        }
    }
}

/// The name of the timer.
impl fmt::Display for Purpose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(name) => f.write_str(name),
            Self::Wait => f.write_str("wait!"),
            Self::Gathering(id) => write!(f, "gather!{id}"),
            Self::Request(id) => write!(f, "request!{id}"),
            Self::Ending => f.write_str("ending!"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let all = [
            Purpose::Own("t3-3.1"),
            Purpose::Own("later!x"),
            Purpose::Wait,
            Purpose::Gathering("g-1-2"),
            Purpose::Request("0199"),
            Purpose::Ending,
        ];
        for purpose in all {
            assert_eq!(Purpose::of(&purpose.to_string()), purpose);
        }
        // Logs have these names.
        let written = all.map(|purpose| purpose.to_string());
        let names = [
            "t3-3.1",
            "later!x",
            "wait!",
            "gather!g-1-2",
            "request!0199",
            "ending!",
        ];
        assert_eq!(written, names);
    }
}
