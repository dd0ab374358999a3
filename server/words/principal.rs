//! A principal is a client after authentication: its space, its name, its role.

use serde::{Deserialize, Serialize};

use super::id::Space;

/// The role of a credential. `session/right.rs` is the table of what each role may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads everything of its space.
    Viewer,
    /// Talks, too; creates, ends and cancels threads, runs pipelines.
    Member,
    /// Changes what the mind is made of, too.
    #[default]
    Operator,
    /// An operator who also sees what concerns all spaces of the server.
    Admin,
}

impl Role {
    /// All roles, each with all that those before it may do.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Operator, Self::Admin];

    /// The word for it in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// Who speaks, and in which space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The space, from the credential alone.
    pub space: Space,
    /// The name they go by, when they said one.
    pub user: Option<String>,
    /// The number of the key that let them in; `None` where none is needed.
    pub key: Option<u32>,
    /// Their role.
    pub role: Role,
}

impl Principal {
    /// Whether the other one is in the same space, and may do the same there.
    pub fn is_like(&self, other: &Self) -> bool {
        self.space == other.space && self.role == other.role
    }
}
