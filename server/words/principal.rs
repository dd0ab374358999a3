//! Who speaks, and in what role.

use serde::{Deserialize, Serialize};

use super::id::Space;

/// What a key's holder is. What that lets them do is one table, `session/right.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    #[default]
    Operator,
    /// Talk, but not change what the mind is made of.
    Member,
    /// Look.
    Viewer,
    /// Everything, and see what concerns all spaces of the server.
    Admin,
}

impl Role {
    /// Whether its holder can do no more than it says. Others cannot be configured.
    pub fn is_enforced(self) -> bool {
        matches!(self, Self::Operator | Self::Admin)
    }
}

/// Who is speaking, and in which space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The space, from the credential alone.
    pub space: Space,
    /// The name they go by, when they said one.
    pub user: Option<String>,
    /// Which key let them in; `None` where none is needed.
    pub key: Option<u32>,
    /// What they are.
    pub role: Role,
}
