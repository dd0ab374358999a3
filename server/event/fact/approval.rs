//! The facts of approvals: a tool call waits for a person, the verdict on it, and its start after
//! all.

use std::fmt;

use serde_json::Value;
use thinkd_facts::{Fact, Members};

use super::calls::named;
use super::family::{Byline, Family};
use crate::draft::Draft;
use crate::envelope::Source;
use crate::raw::Raw;
use crate::spec::{Flat, Member};
use thinkd_words::id::Seq;

/// A tool call waits for a person: POST /approvals/{approval_id}, or the frames `approve`,
/// `deny` and `respond`. It is no result: that comes with the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(name = "approval-pending", tags("approval", "pending", "tool:<name>" = tool),
       source = System, modality = Text, visibility = Heard, role = Decision, label = "approval",
       text = format!("{tool} waits for a person"))]
pub struct Pending<'a> {
    /// The turn.
    pub turn: u64,
    /// The approval: the id of the event that asked for it.
    #[fact(name = "approval_id")]
    pub approval: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The tool.
    #[fact(from_tag = "tool:")]
    pub tool: &'a str,
    /// The arguments that it is to be called with.
    pub arguments: &'a Value,
    /// SHA-256 of the arguments as canonical JSON.
    pub arguments_sha256: &'a str,
    /// SHA-256 of the tool's description and schema.
    pub tool_version: &'a str,
    /// The change that the call would make, as a unified diff.
    pub diff: Option<&'a str>,
    /// When it counts as rejected.
    #[fact(name = "expires_at")]
    pub expires: &'a str,
}

/// The verdict on a tool call that waited. Of a granted one the result is still to come; of all
/// others it stands behind this.
///
/// The first verdict is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(name = "approval-verdict",
       tags("approval", "granted|answered|denied|expired|withdrawn" = ruling,
            "tool:<name>" = tool, "overrules?" = ruling.wakes()),
       source = ruling.source(), modality = Text, visibility = Heard, role = Aside,
       wakes = self.ruling.wakes(), text = self.text())]
pub struct Verdict<'a> {
    /// The approval: the id of the event that asked for it.
    #[fact(name = "approval_id")]
    pub approval: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The tool.
    #[fact(from_tag = "tool:")]
    pub tool: &'a str,
    /// The person that gave the verdict, when known.
    pub by: Option<&'a str>,
    /// Why; of `answered` the answer.
    #[fact(or_default)]
    pub reason: &'a str,
    /// The word that was said.
    #[fact(flat)]
    pub ruling: Ruling<'a>,
}

/// The ruling of a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ruling<'a> {
    /// The call runs: once, and with these arguments.
    Granted(Granted<'a>),
    /// The call does not run: the person's words are its result.
    Answered,
    /// The call does not run.
    Denied,
    /// No verdict came in time.
    Expired,
    /// Its thread has ended, or was cancelled.
    Withdrawn,
}

/// The arguments and the version of the tool that a grant is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Members)]
pub struct Granted<'a> {
    /// Of `granted`: the arguments that the call runs with.
    #[fact(missing)]
    pub arguments: &'a Value,
    /// SHA-256 of the arguments as canonical JSON.
    #[fact(missing)]
    pub arguments_sha256: &'a str,
    /// SHA-256 of the tool's description and schema.
    #[fact(missing)]
    pub tool_version: &'a str,
    /// Of `granted`: the arguments are the person's; the event `approval-pending` has those that were proposed.
    #[fact(name = "edited", optional)]
    pub is_edited: bool,
}

impl Ruling<'_> {
    /// The word of its tag.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Granted(_) => "granted",
            Self::Answered => "answered",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Returns false for a withdrawn call, which wakes no thread: its thread has ended, or was told
    /// to stop.
    const fn wakes(self) -> bool {
        !matches!(self, Self::Withdrawn)
    }

    const fn is_of_a_person(self) -> bool {
        matches!(self, Self::Granted(_) | Self::Answered | Self::Denied)
    }

    const fn source(self) -> Source {
        if self.is_of_a_person() {
            Source::User
        } else {
            Source::System
        }
    }
}

impl fmt::Display for Ruling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'a> Flat<'a> for Ruling<'a> {
    fn members() -> Vec<Member> {
        Granted::members()
    }

    fn read(raw: Raw<'a>) -> Option<Self> {
        Some(match raw.tags.get(1)?.as_str() {
            "granted" => Self::Granted(Granted::read(raw)?),
            "answered" => Self::Answered,
            "denied" => Self::Denied,
            "expired" => Self::Expired,
            "withdrawn" => Self::Withdrawn,
            _ => return None,
        })
    }

    fn write(self, draft: Draft) -> Draft {
        match self {
            Self::Granted(granted) => granted.write(draft),
            _ => draft,
        }
    }
}

impl Verdict<'_> {
    /// Returns the text for people and models.
    fn text(&self) -> String {
        let what = match self.ruling {
            Ruling::Granted(Granted {
                is_edited: false, ..
            }) => "may run",
            Ruling::Granted(Granted {
                is_edited: true, ..
            }) => "may run with other arguments",
            Ruling::Answered => "does not run, and is answered",
            Ruling::Denied => "may not run",
            Ruling::Expired => "does not run: nobody said anything in time",
            Ruling::Withdrawn => "does not run any more",
        };
        let colon = if self.reason.is_empty() { "" } else { ": " };
        format!("{} {what}{colon}{}", self.tool, self.reason)
    }
}

/// A granted call with an effect outside starts: from here on it is not run again, even if the
/// server dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "approval-started", tags("approval", "started", "tool:<name>" = tool),
       source = System, modality = Text, visibility = Heard, role = Aside, label = "approval",
       text = format!("{tool} starts"))]
pub struct Started<'a> {
    /// The turn.
    pub turn: u64,
    /// The approval: the id of the event that asked for it.
    #[fact(name = "approval_id")]
    pub approval: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The tool.
    #[fact(from_tag = "tool:")]
    pub tool: &'a str,
    /// The seq of the verdict.
    pub verdict: Seq,
}

impl<'a> Family<'a> for Pending<'a> {
    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        named("approval pending ", self.tool, self.call_id)
    }

    // The arguments stand in the entry of the call.
    fn content(&self) -> Option<String> {
        Some(format!(
            "waits for a person until {}; the result comes with their verdict",
            self.expires
        ))
    }
}

// It says of a call what a turn is to do, and belongs to none.
impl<'a> Family<'a> for Verdict<'a> {
    fn is_root(&self) -> bool {
        self.ruling.is_of_a_person()
    }

    fn is_from_outside(&self) -> bool {
        self.ruling.wakes()
    }

    fn ends_any_wait(&self) -> bool {
        true
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        named("approval ", self.tool, self.call_id)
    }

    fn label(&self) -> Option<String> {
        Some(
            self.by
                .map_or_else(|| "approval".to_owned(), |by| format!("approval ({by})")),
        )
    }
}

// The machine goes by what the table says of the approval (`Turn::grant`).
impl<'a> Family<'a> for Started<'a> {
    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        named("approved call ", self.tool, self.call_id)
    }
}
