//! The configuration of a server of tools, and the part of it that may be printed. Files of secrets
//! are read when the server is connected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use thinkd_tools::approval::{WaitingCalls, matches, matches_alike};
use thinkd_tools::secret_file::with_file;
use thinkd_words::defaults::with_defaults;
use thinkd_words::secret::{self, optional_url, redacted_table};
use thinkd_words::veil::{Veil, is_long};

/// Longest name of a server: with it every tool's name has room for its own.
const NAME_MAX: usize = 24;
/// Longest time that a call may be given.
const TIMEOUT_MAX_MS: u64 = 24 * 60 * 60 * 1000;
/// The shortest value, in bytes, that is taken out of errors.
const STRICT: usize = 4;

with_defaults! {
    /// A server of tools that speaks MCP: a program (`command`), or an address (`url`).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Options {
        /// The program to start, which speaks by its standard input and output. It gets `PATH`,
        /// `HOME` and the variables of `env`, and nothing else of the server's environment.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub command: Option<String> = None,
        /// The arguments of the program, a list; not for secrets, which all of the machine could read.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub args: Vec<String> = Vec::new(),
        /// The environment of the program, a table; its values are not printed.
        #[serde(
            serialize_with = "redacted_table",
            skip_serializing_if = "BTreeMap::is_empty"
        )]
        pub env: BTreeMap<String, SecretString> = BTreeMap::new(),
        /// The address of a server that speaks streamable HTTP.
        #[serde(
            serialize_with = "optional_url",
            skip_serializing_if = "Option::is_none"
        )]
        pub url: Option<String> = None,
        /// Headers of every request, a table; their values are not printed.
        #[serde(
            serialize_with = "redacted_table",
            skip_serializing_if = "BTreeMap::is_empty"
        )]
        pub headers: BTreeMap<String, SecretString> = BTreeMap::new(),
        /// A file with more of `env`, a line `NAME=value` each, or of `headers`, a line `Name: value` each. It is read whenever the
        /// program is started, or the server connected.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub secrets_file: Option<PathBuf> = None,
        /// Of its tools only these are taken: a list of the names that the server gives them, in which `*` stands for anything;
        /// absent: all. Its resources and prompts are named `resource:<uri>` and `prompt:<name>`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub allow: Option<Vec<String>> = None,
        /// Of these none is taken: a list likewise, which comes first.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub deny: Vec<String> = Vec::new(),
        /// The calls of its tools that wait for a person: `all`, `writes` (all but those that its server marks as only reading, which is the
        /// server's word), or `none`; absent: as `tools.mcp_approve` says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub approve: Option<WaitingCalls> = None,
        /// Tools that were not on the first list that a space had of the server wait for a person (`wait`, unless said), or are taken (`trust`).
        pub new_tools: NewTools = NewTools::default(),
        /// The time that a call of its tools may take, 30 s unless said; `tools.timeout_ms` is not
        /// about them.
        pub timeout_ms: u64 = 30_000,
        /// True if the server is believed when it marks a tool as one that only reads, or may be
        /// called again (`readOnlyHint`, `idempotentHint`). A call of such a tool is run again
        /// after a crash. Unless said, no.
        pub believe_annotations: bool = false,
    }
    fixed {
        /// The time that a call may take in all while its server tells of its progress, which begins `timeout_ms` anew each time. Absent: progress
        /// lengthens no call.
        pub progress_ms: Option<u64> = None,
        /// The greatest age of the list of a server with a `url` while turns use it, 60 s unless
        /// said. An older list is read again, since the notice of its changes may have been lost.
        pub list_ms: u64 = 60_000,
    }
}

/// The rule for tools that a server lists later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewTools {
    /// Such a tool waits for a person.
    #[default]
    Wait,
    /// Models are told of it.
    Trust,
}

impl Options {
    /// Checks the configuration of the server of this name. The error names the fault.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("[tools.mcp.{name:?}]: {why}"));
        let is_name = name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte)
        });
        if !is_name
            || name.is_empty()
            || name.len() > NAME_MAX
            || name.contains("__")
            || name.ends_with('_')
        {
            return wrong(
                "a server's name has 1 to 24 of a-z, 0-9, - and _, no two _ together, and none at its end",
            );
        }
        match (&self.command, &self.url) {
            (None, None) => {
                return wrong(
                    "it needs command, the program to start, or url, the address of a server",
                );
            }
            (Some(_), Some(_)) => return wrong("it has both command and url: leave one"),
            (Some(command), None) if command.is_empty() => return wrong("its command is empty"),
            (None, Some(url)) if !(url.starts_with("http://") || url.starts_with("https://")) => {
                return wrong("its url is no address of the kind http:// or https://");
            }
            _ => {}
        }
        let is_program = self.command.is_some();
        if is_program && !self.headers.is_empty() {
            return wrong("headers are for servers with a url");
        }
        if !is_program && (!self.args.is_empty() || !self.env.is_empty()) {
            return wrong("args and env are for servers with a command");
        }
        if !(1..=TIMEOUT_MAX_MS).contains(&self.timeout_ms) {
            return wrong("timeout_ms is from 1 to 86400000, a day");
        }
        Ok(())
    }

    /// Returns true if a tool that the server calls so is taken.
    pub fn takes(&self, tool: &str) -> bool {
        let is_allowed = |list: &[String]| list.iter().any(|pattern| matches(pattern, tool));
        let mut denied = self.deny.iter();
        self.allow.as_deref().is_none_or(is_allowed)
            && !denied.any(|pattern| matches_alike(pattern, tool))
    }

    /// Returns the calls of its tools that wait for a person.
    pub fn approve(&self) -> WaitingCalls {
        self.approve.unwrap_or_default()
    }

    /// Returns the age at which its list is read again while it is used. None: a program tells of
    /// all its changes, or has ended.
    pub fn list_age(&self) -> Option<Duration> {
        self.url
            .as_ref()
            .map(|_| Duration::from_millis(self.list_ms))
    }

    /// Returns the time that a call may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Returns the time that a call may take in all, where progress lengthens it.
    pub fn longest(&self) -> Duration {
        Duration::from_millis(self.progress_ms.unwrap_or(self.timeout_ms))
    }

    /// Returns the place of the server, without anything secret.
    pub fn place(&self) -> String {
        match (&self.command, &self.url) {
            (Some(command), _) => format!("the program {command}"),
            (None, Some(url)) => secret::shown_url(url),
            (None, None) => "nowhere".to_owned(),
        }
    }

    /// Returns the environment of the program, with that of its file. The error says why the file
    /// cannot be read.
    pub fn whole_env(&self) -> Result<BTreeMap<String, SecretString>, String> {
        with_file(&self.env, self.file_of(self.command.is_some()), '=')
    }

    /// Returns the headers, with those of their file. The error says why the file cannot be read.
    pub fn whole_headers(&self) -> Result<BTreeMap<String, SecretString>, String> {
        with_file(&self.headers, self.file_of(self.url.is_some()), ':')
    }

    /// Returns the file of secrets, for a server of its kind.
    fn file_of(&self, is_of_it: bool) -> Option<&Path> {
        self.secrets_file.as_deref().filter(|_| is_of_it)
    }

    /// Returns the veil over all that the server says: the values of its headers and variables,
    /// also of those in files, and the secrets in its address.
    pub fn veil(&self) -> Veil {
        let named = [self.whole_env(), self.whole_headers()];
        let of_values = named
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|(name, value)| secret::in_variable(&name, value));
        let in_url = self.url.iter().flat_map(|url| secret::named_in_url(url));
        Veil::new(of_values.chain(in_url).filter(is_long))
    }

    /// Returns the veil over words that are no data, errors and lines of a log: all values of four
    /// bytes and more, plain ones among them.
    pub fn strict_veil(&self) -> Veil {
        let values = [self.whole_env(), self.whole_headers()];
        let values = values.into_iter().flatten().flat_map(BTreeMap::into_values);
        let is_no_letter = |value: &SecretString| value.expose_secret().len() >= STRICT;
        Veil::new(values.chain(self.secrets()).filter(is_no_letter))
    }

    /// Returns the secrets that are configured here, without those in files.
    pub fn secrets(&self) -> impl Iterator<Item = SecretString> {
        let in_url = self.url.iter().flat_map(|url| secret::in_url(url));
        self.env
            .values()
            .chain(self.headers.values())
            .cloned()
            .chain(in_url)
    }
}
