//! Words of providers about all of their tools together. Models that are told of one of the tools
//! are told them once.

use std::sync::Arc;

use super::{Shown, Toolbox};
use crate::approval::WaitingCalls;

/// The words of a provider of tools that come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its name.
    pub server: String,
    /// The beginning of the names of its tools.
    pub prefix: String,
    /// Its words.
    pub text: Arc<str>,
}

/// A provider of tools that come and go.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// The calls of its tools that wait for a person.
    pub approve: WaitingCalls,
    /// True for one that can be called.
    pub is_connected: bool,
    /// The reason that it cannot be, or another note.
    pub why: Option<String>,
    /// Its words about all its tools together, and how they stand.
    pub said: Option<(String, Shown)>,
}

impl Toolbox {
    /// Returns the words of the providers of these tools, each behind the provider's name.
    pub fn said_of<'n>(&self, tools: impl Iterator<Item = &'n str> + Clone) -> String {
        let is_told = |said: &&Said| tools.clone().any(|tool| tool.starts_with(&said.prefix));
        let all = self.0.said.iter().filter(is_told).map(|said| {
            let lines = said.text.lines().map(|line| format!("\n    {line}"));
            let lines: String = lines.collect();
            format!("(the server {} says of its tools:){lines}", said.server)
        });
        all.collect::<Vec<_>>().join("\n\n")
    }
}
