//! The facts of approvals: a tool call waits for a person, what was said of it, and that it starts after all.
//! Long because a family of facts is one file: its types, how each is written and read, what readers ask of it, examples.

use std::fmt;

use serde_json::{Value, json};

use super::Kind;
use super::family::{Byline, Family, Piece, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility, tag};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT, TURN};
use crate::words::id::{Seq, ThreadId};

/// A tool call waits for a person. It is no result: that comes with the verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pending<'a> {
    /// The id of the approval: that of this event.
    pub approval: &'a str,
    /// The turn that proposed the call.
    pub turn: u64,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What it is to be called with.
    pub arguments: &'a Value,
    /// SHA-256 of the arguments in canonical form.
    pub arguments_sha256: &'a str,
    /// SHA-256 of what models are told of the tool.
    pub tool_version: &'a str,
    /// What the call would change, as a unified diff, where the tool can say that.
    pub diff: Option<&'a str>,
    /// When it counts as rejected.
    pub expires: &'a str,
}

/// What was said of a call that waited. The first verdict is the only one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict<'a> {
    /// The approval.
    pub approval: &'a str,
    /// The call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// What.
    pub ruling: Ruling<'a>,
    /// Who said it, when known.
    pub by: Option<&'a str>,
    /// Why; of an answer, the answer.
    pub reason: &'a str,
}

/// What a verdict says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ruling<'a> {
    /// The call runs: once, and with these arguments.
    Granted(Granted<'a>),
    /// It does not run: what the person said is its result.
    Answered,
    /// It does not run.
    Denied,
    /// Nobody said anything in time.
    Expired,
    /// Its thread has ended, or was cancelled.
    Withdrawn,
}

/// What a grant is bound to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Granted<'a> {
    /// What the call runs with.
    pub arguments: &'a Value,
    /// SHA-256 of the arguments in canonical form.
    pub arguments_sha256: &'a str,
    /// SHA-256 of what models are told of the tool.
    pub tool_version: &'a str,
    /// The arguments are the person's, not those that were proposed.
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

    /// A withdrawn call wakes nobody: its thread has ended, or was told to stop.
    const fn wakes(self) -> bool {
        !matches!(self, Self::Withdrawn)
    }

    const fn is_of_a_person(self) -> bool {
        matches!(self, Self::Granted(_) | Self::Answered | Self::Denied)
    }
}

impl fmt::Display for Ruling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A granted call starts. From here on it may have had its effect, and is not run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started<'a> {
    /// The approval.
    pub approval: &'a str,
    /// The turn that runs it.
    pub turn: u64,
    /// The call.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The seq of the verdict.
    pub verdict: Seq,
}

const ID: Member = (
    "approval_id",
    "string",
    "the approval: the id of the event that asked for it",
);
const CALL: Member = ("call_id", "string", "the call's id within the thread");
const TOOL: Member = ("tool", "string", "the tool");
const SHA: &str = "SHA-256 of the arguments as canonical JSON";
const VERSION: &str = "SHA-256 of the tool's description and schema";

pub(super) const PENDING: Spec = Spec {
    name: "approval-pending",
    about: "A tool call waits for a person: POST /approvals/{approval_id}, or the frames `approve`, `deny` and `respond`. It is no \
            result: that comes with the verdict.",
    tags: &["approval", "pending", "tool:<name>"],
    members: &[
        TEXT,
        TURN,
        ID,
        CALL,
        TOOL,
        ("arguments", "unknown", "what it is to be called with"),
        ("arguments_sha256", "string", SHA),
        ("tool_version", "string", VERSION),
        (
            "diff?",
            "string",
            "what the call would change, as a unified diff",
        ),
        ("expires_at", "string", "when it counts as rejected"),
    ],
    open: false,
};

pub(super) const VERDICT: Spec = Spec {
    name: "approval-verdict",
    about: "What was said of a tool call that waited. Of a granted one the result is still to come; of all others it stands behind this.",
    tags: &[
        "approval",
        "granted|answered|denied|expired|withdrawn",
        "tool:<name>",
        "overrules?",
    ],
    members: &[
        TEXT,
        ID,
        CALL,
        TOOL,
        ("by?", "string", "who said it, when known"),
        ("reason", "string", "why; of `answered` the answer"),
        (
            "arguments?",
            "unknown",
            "of `granted`: what the call runs with",
        ),
        ("arguments_sha256?", "string", SHA),
        ("tool_version?", "string", VERSION),
        (
            "edited?",
            "boolean",
            "of `granted`: the arguments are the person's; the event `approval-pending` has those that were proposed",
        ),
    ],
    open: false,
};

pub(super) const STARTED: Spec = Spec {
    name: "approval-started",
    about: "A granted call with an effect outside starts: from here on it is not run again, whatever becomes of the server.",
    tags: &["approval", "started", "tool:<name>"],
    members: &[
        TEXT,
        TURN,
        ID,
        CALL,
        TOOL,
        ("verdict", "number", "the seq of the verdict"),
    ],
    open: false,
};

fn marked(second: &str, tool: &str) -> Vec<String> {
    tags([tag::APPROVAL, second, &format!("tool:{tool}")])
}

impl<'a> Pending<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            approval: raw.text("approval_id")?,
            turn: raw.turn()?,
            call_id: raw.text("call_id")?,
            tool: raw.value("tool:")?,
            arguments: raw.get("arguments")?,
            arguments_sha256: raw.text("arguments_sha256")?,
            tool_version: raw.text("tool_version")?,
            diff: raw.text("diff"),
            expires: raw.text("expires_at")?,
        })
    }

    /// The event to be.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            approval,
            turn,
            call_id,
            tool,
            arguments,
            arguments_sha256,
            tool_version,
            diff,
            expires,
        } = self;
        let payload = json!({
            "text": format!("{tool} waits for a person"),
            "turn": turn,
            "approval_id": approval,
            "call_id": call_id,
            "tool": tool,
            "arguments": arguments,
            "arguments_sha256": arguments_sha256,
            "tool_version": tool_version,
            "expires_at": expires,
        });
        Draft::new(
            thread,
            Source::System,
            Modality::Text,
            marked("pending", tool),
            payload,
        )
        .payload_some("diff", diff)
    }
}

impl<'a> Verdict<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let ruling = match raw.tags.get(1)?.as_str() {
            "granted" => Ruling::Granted(Granted {
                arguments: raw.get("arguments")?,
                arguments_sha256: raw.text("arguments_sha256")?,
                tool_version: raw.text("tool_version")?,
                is_edited: raw.is("edited"),
            }),
            "answered" => Ruling::Answered,
            "denied" => Ruling::Denied,
            "expired" => Ruling::Expired,
            "withdrawn" => Ruling::Withdrawn,
            _ => return None,
        };
        Some(Self {
            approval: raw.text("approval_id")?,
            call_id: raw.text("call_id")?,
            tool: raw.value("tool:")?,
            ruling,
            by: raw.text("by"),
            reason: raw.said("reason"),
        })
    }

    /// What people and models read.
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

    /// The event to be.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            approval,
            call_id,
            tool,
            ruling,
            by,
            reason,
        } = self;
        let source = if ruling.is_of_a_person() {
            Source::User
        } else {
            Source::System
        };
        let payload = json!({
            "text": self.text(), "approval_id": approval, "call_id": call_id, "tool": tool, "reason": reason,
        });
        let draft = Draft::new(
            thread,
            source,
            Modality::Text,
            marked(ruling.as_str(), tool),
            payload,
        )
        .payload_some("by", by)
        .tagged(ruling.wakes().then_some(tag::OVERRULES));
        let Ruling::Granted(Granted {
            arguments,
            arguments_sha256,
            tool_version,
            is_edited,
        }) = ruling
        else {
            return draft;
        };
        draft
            .payload("arguments", arguments.clone())
            .payload("arguments_sha256", arguments_sha256)
            .payload("tool_version", tool_version)
            .payload_some("edited", is_edited.then_some(true))
    }
}

impl<'a> Started<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            approval: raw.text("approval_id")?,
            turn: raw.turn()?,
            call_id: raw.text("call_id")?,
            tool: raw.value("tool:")?,
            verdict: raw.seq("verdict")?,
        })
    }

    /// The event to be.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            approval,
            turn,
            call_id,
            tool,
            verdict,
        } = self;
        let payload = json!({
            "text": format!("{tool} starts"),
            "turn": turn,
            "approval_id": approval,
            "call_id": call_id,
            "tool": tool,
            "verdict": verdict,
        });
        Draft::new(
            thread,
            Source::System,
            Modality::Text,
            marked(tag::STARTED, tool),
            payload,
        )
    }
}

/// `approval pending send c7.0.0`.
fn byline<'a>(words: &'static str, tool: &'a str, call_id: &'a str) -> Byline<'a> {
    vec![
        Piece::Word(words),
        Piece::Name(tool.into()),
        Piece::Word(" "),
        Piece::Name(call_id.into()),
    ]
}

impl<'a> Family<'a> for Pending<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::ApprovalPending)
    }

    fn visibility(&self) -> Visibility {
        Visibility::Heard
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Decision
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        byline("approval pending ", self.tool, self.call_id)
    }

    // The arguments stand in the entry of the call.
    fn content(&self) -> Option<String> {
        Some(format!(
            "waits for a person until {}; the result comes with their verdict",
            self.expires
        ))
    }

    fn label(&self) -> Option<String> {
        Some("approval".to_owned())
    }
}

impl<'a> Family<'a> for Verdict<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::ApprovalVerdict)
    }

    fn visibility(&self) -> Visibility {
        Visibility::Heard
    }

    fn wakes(&self) -> bool {
        self.ruling.wakes()
    }

    // It says of a call what a turn is to do, and belongs to none.
    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

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
        byline("approval ", self.tool, self.call_id)
    }

    fn label(&self) -> Option<String> {
        Some(
            self.by
                .map_or_else(|| "approval".to_owned(), |by| format!("approval ({by})")),
        )
    }
}

impl<'a> Family<'a> for Started<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::ApprovalStarted)
    }

    fn visibility(&self) -> Visibility {
        Visibility::Heard
    }

    fn wakes(&self) -> bool {
        false
    }

    // The machine goes by what the table says of the approval (`Turn::grant`).
    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        byline("approved call ", self.tool, self.call_id)
    }

    fn label(&self) -> Option<String> {
        Some("approval".to_owned())
    }
}

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let (arguments, edited) = (
        json!({ "to": ["bob"], "text": "pay 12" }),
        json!({ "to": ["bob"], "text": "pay 10" }),
    );
    let (approval, call_id, tool) = ("0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b", "c7.0.0", "send");
    let (sha, version) = (
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "9f86d081884c7d65",
    );
    let pending = Pending {
        approval,
        turn: 7,
        call_id,
        tool,
        arguments: &arguments,
        arguments_sha256: sha,
        tool_version: version,
        diff: None,
        expires: "2026-11-28T04:25:00.123456Z",
    };
    let granted = Granted {
        arguments: &arguments,
        arguments_sha256: sha,
        tool_version: version,
        is_edited: false,
    };
    let verdict = |ruling, by, reason| {
        Verdict {
            approval,
            call_id,
            tool,
            ruling,
            by,
            reason,
        }
        .encode(thread)
    };
    vec![
        pending.encode(thread),
        Pending {
            diff: Some("-Doubt it.\n+Doubt it twice.\n"),
            ..pending
        }
        .encode(thread),
        verdict(Ruling::Granted(granted), Some("ada"), ""),
        verdict(
            Ruling::Granted(Granted {
                arguments: &edited,
                is_edited: true,
                ..granted
            }),
            Some("ada"),
            "less",
        ),
        verdict(Ruling::Answered, Some("ada"), "Bob has left."),
        verdict(Ruling::Denied, None, "not today"),
        verdict(Ruling::Expired, None, ""),
        verdict(Ruling::Withdrawn, None, "the thread has ended"),
        Started {
            approval,
            turn: 9,
            call_id,
            tool,
            verdict: 61,
        }
        .encode(thread),
    ]
}
