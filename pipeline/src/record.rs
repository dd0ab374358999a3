//! The record that a journal keeps of a call, and why a call is refused by it.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::data::{ArgumentError, Arguments};

/// Record of one node in a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Place in the run: `2.1` is the first call in the body of the run's second, `/a.1` the first in the branch `a`.
    pub place: String,
    /// The node's name. Another one at the same place means that the run took another way.
    pub node: String,
    /// Arguments of the call. None in records of before arguments were recorded, which are refused.
    #[serde(default)]
    pub arguments: Option<Arguments>,
    /// Version of the node's body.
    #[serde(default = "first")]
    pub version: u32,
    /// Its value.
    pub value: Json,
    /// True if it gave no value: it failed, or its readers went away, and the run went on. Then it
    /// names only the call that had this place, and the call is run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
}

fn first() -> u32 {
    1
}

impl Record {
    /// Returns true if this record, found at its place, is one of the call that has the place now.
    pub(crate) fn check(&self, now: &Record) -> Result<(), JournalError> {
        let place = now.place.clone();
        let node = now.node.clone();
        let recorded = self.version;
        let another_way = |recorded: String, now: String| JournalError::AnotherWay {
            place: place.clone(),
            recorded,
            now,
        };
        if self.node != node {
            return Err(another_way(self.node.clone(), node));
        }
        let (Some(arguments), Some(others)) = (&self.arguments, &now.arguments) else {
            return Err(JournalError::OldForm { place, node });
        };
        if !self.abandoned && recorded != now.version {
            return Err(JournalError::OtherVersion {
                place,
                node,
                recorded,
                now: now.version,
            });
        }
        if let Some((module, other)) = arguments.modules(others) {
            let [recorded, now] = [module, other].map(|module| format!("{module}::{node}"));
            return Err(another_way(recorded, now));
        }
        let names = arguments.differing(others);
        if names.is_empty() {
            return Ok(());
        }
        Err(JournalError::OtherArguments {
            place,
            node,
            arguments: names.into_iter().map(str::to_owned).collect(),
        })
    }
}

/// Why a node failed by its journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Places are counted within a run.
    #[error(
        "the node was called outside of the run: call it inside of `Run::scope`, or in a task of `Run::spawn`, that it \
         has a place there"
    )]
    OutsideTheRun,
    /// Two flows of control that have no names.
    #[error(
        "`{node}` was called while another flow of the same scope was reading, so that timing decides that its place is \
         {place}: give each flow a name of its own, `Run::branch(\"…\", …)`"
    )]
    NoName {
        /// Expected place.
        place: String,
        /// Its node.
        node: String,
    },
    /// The type has no form as data.
    #[error(
        "its value cannot be recorded: derive Serialize and Deserialize for it, or say #[node(transient)]"
    )]
    NotData,
    /// An argument has no form as data.
    #[error("the call cannot be recorded: {0}")]
    Argument(#[from] ArgumentError),
    /// The code has changed since, or the way depends on something that is not recorded.
    #[error("the run took another way: at {place} `{recorded}` is recorded, and now it is `{now}`")]
    AnotherWay {
        /// Its place.
        place: String,
        /// Node of the record.
        recorded: String,
        /// Node of the code.
        now: String,
    },
    /// The run was begun with another input, or the way depends on something that is not recorded.
    #[error(
        "the run took another way: at {place} `{node}` is recorded with another `{}`; what is new begins under a new id, \
         or after `JournalStore::forget`",
        arguments.join("`, `")
    )]
    OtherArguments {
        /// Its place.
        place: String,
        /// Its node.
        node: String,
        /// The arguments that differ.
        arguments: Vec<String>,
    },
    /// The node's body means something else since, as its author says.
    #[error(
        "at {place} `{node}` is recorded in version {recorded}, and now it is of version {now}"
    )]
    OtherVersion {
        /// Its place.
        place: String,
        /// Its node.
        node: String,
        /// The version then.
        recorded: u32,
        /// The version now.
        now: u32,
    },
    /// Kept by an earlier version of this library.
    #[error(
        "the record of `{node}` at {place} is of the old form, which does not say what the node was called with: let the \
         run begin anew, under a new id or after `JournalStore::forget`"
    )]
    OldForm {
        /// Its place.
        place: String,
        /// Its node.
        node: String,
    },
    /// The run took another way before this call: where it is now, places mean nothing.
    #[error("the journal has stopped this run: {0}")]
    Stopped(Arc<JournalError>),
    /// The value does not become data, or the data no value.
    #[error("the record at {place} cannot be written or read: {source}")]
    Data {
        /// Its place.
        place: String,
        /// Its fault.
        source: serde_json::Error,
    },
    /// The store itself.
    #[error("the journal's store failed: {0}")]
    Store(#[from] io::Error),
}

impl JournalError {
    /// Returns true if it concerns the identity of the call.
    pub(crate) fn is_another_way(&self) -> bool {
        use JournalError::{AnotherWay, NoName, OldForm, OtherArguments, OtherVersion};
        matches!(
            self,
            AnotherWay { .. }
                | NoName { .. }
                | OldForm { .. }
                | OtherArguments { .. }
                | OtherVersion { .. }
        )
    }
}
