//! `[tools]`: which tools there are, how long they may take, and which of them wait for a person.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::values::{list, names};
use thinkd_edge::limits::ms;
use thinkd_event::request::ASK_USER;
use thinkd_mcp::options;
use thinkd_mind::decision;
use thinkd_tools::approval::{Rules, WaitingCalls};
use thinkd_tools::catalogue::Catalogue;
use thinkd_tools::code;
use thinkd_tools::server_names::PREFIX;
use thinkd_words::defaults::with_defaults;

with_defaults! {
    /// The tools that are chosen by name, and their time limit.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Tools {
        /// The tools of a conversation's decision, a list of names, in which `*` stands for anything (`mcp__files__*`), all of which its
        /// model is told of; `reply` must be among them; absent: all but `terminate`, the rarer ones by `more_tools`.
        #[serde(deserialize_with = "names", skip_serializing_if = "Option::is_none")]
        pub conversation: Option<Vec<String>> = None,
        /// The tools of a process, likewise; absent: all, the rarer ones by `more_tools`.
        #[serde(deserialize_with = "names", skip_serializing_if = "Option::is_none")]
        pub process: Option<Vec<String>> = None,
        /// The time that one tool call may take.
        pub timeout_ms: u64 = 30_000,
        /// The tools with calls that wait for a person, a list of names, in which `*` stands for
        /// anything. Proposals of submodules always wait.
        #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
        pub approval: Vec<String> = Vec::new(),
        /// The tool `run_code`: the limits of code that a model writes.
        pub code: code::Options = code::Options::default(),
        /// The calls to tools of other servers that wait for a person, where a server does not say (`tools.mcp.<name>.approve`): `all`, `writes` (all but those that
        /// their server marks as only reading), or `none`, unless said.
        pub mcp_approve: WaitingCalls = WaitingCalls::None,
        /// A server of tools by its name, as many as wanted: its tools are called `mcp__<name>__<tool>`.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub mcp: BTreeMap<String, options::Options> = BTreeMap::new(),
    }
    fixed {
        /// The time that a call, or a question to people, waits for them; then it counts as
        /// rejected. From 1 s to 365 days.
        pub approval_ms: u64 = u64::try_from(Rules::default().expiry.as_millis()).unwrap_or(u64::MAX),
        /// Most calls and questions of one thread that wait for people.
        pub open_requests: u64 = Rules::default().open_max,
    }
}

impl Tools {
    /// Returns the rules for calls that wait for a person.
    pub fn approvals(&self) -> Rules {
        Rules {
            tools: self.approval.clone(),
            expiry: ms(self.approval_ms),
            open_max: self.open_requests,
        }
    }

    /// Returns the servers of tools, each with the settings for all.
    pub fn servers(&self) -> BTreeMap<String, options::Options> {
        let said = |options: &options::Options| options::Options {
            approve: Some(options.approve.unwrap_or(self.mcp_approve)),
            ..options.clone()
        };
        self.mcp
            .iter()
            .map(|(name, options)| (name.clone(), said(options)))
            .collect()
    }

    /// Returns the servers that run all calls without a person, unless `tools.approval` names some
    /// of them.
    pub fn unseen(&self) -> Vec<String> {
        let marks = self.approvals();
        let runs = |(name, options): (String, options::Options)| {
            let all = format!("{PREFIX}{name}__");
            (options.approve() == WaitingCalls::None && !marks.marks(&all)).then_some(name)
        };
        self.servers().into_iter().filter_map(runs).collect()
    }

    /// Checks the servers of tools; the error names the fault.
    pub(super) fn check_servers(&self) -> Result<(), String> {
        self.mcp
            .iter()
            .try_for_each(|(name, options)| options.check(name))
    }

    /// Checks the names that are marked for approval; the error names the fault.
    pub(super) fn check_approvals(&self, tools: &Catalogue) -> Result<(), String> {
        if self.approvals().marks(decision::REPLY) {
            return Err(
                "tools.approval: reply cannot wait for a person, for its words are shown while they are written".into(),
            );
        }
        if self.approvals().marks(ASK_USER) {
            return Err(
                "tools.approval: ask_user cannot wait for a person before it asks one".into(),
            );
        }
        let mut marked = self.approval.iter();
        marked.try_for_each(|name| tools.check_marked(name))
    }
}
