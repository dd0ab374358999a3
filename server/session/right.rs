//! Rights: each act of a session needs one, and each right has a lowest role.

use thinkd_words::principal::Role;

/// The right that an act needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Right {
    /// To read the space: its log with `debug`, prompt views, threads, submodules, settings, state, blobs and runs.
    Read,
    /// To speak in the space: inputs, blobs and answers to questions. To create, end and cancel
    /// threads and runs of pipelines. To take back inputs of the same user.
    Speak,
    /// To change the mind, its behaviour, its waking by the clock and its world model: submodules,
    /// settings, schedules, frameworks, the withdrawal of statements, the merging of names. To take
    /// back inputs of any user.
    Shape,
    /// To say of tool calls whether they may run.
    Judge,
    /// To see the affairs of all spaces of the server.
    Oversee,
}

/// Returns true if a role has a right.
pub fn may(role: Role, right: Right) -> bool {
    role >= right.least()
}

impl Right {
    /// Returns the lowest role that has it: each role may do all that those before it may.
    const fn least(self) -> Role {
        match self {
            Self::Read => Role::Viewer,
            Self::Speak => Role::Member,
            Self::Shape | Self::Judge => Role::Operator,
            Self::Oversee => Role::Admin,
        }
    }

    /// The refusal of a role that does not have it.
    pub(super) fn denial(self) -> &'static str {
        match self {
            Self::Read => "the role of this key may not read here",
            Self::Speak => {
                "the role of this key may only read here: what speaks, creates, ends or cancels is for a key with role = \"member\" or above"
            }
            Self::Shape => {
                "the role of this key may not change submodules, settings, schedules or frameworks, withdraw statements or merge names; that is for a key with role = \"operator\" or \"admin\""
            }
            Self::Judge => {
                "the role of this key may not say whether calls may run; that is for a key with role = \"operator\" or \"admin\""
            }
            Self::Oversee => {
                "this is about all spaces of the server; it is for a key with role = \"admin\""
            }
        }
    }
}
