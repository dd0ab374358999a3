//! A principal is a client after authentication: its space, its name, its role.

use serde::{Deserialize, Serialize};

use super::id::Space;

/// The role of a credential. `session/right.rs` is the table of what each role may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    #[default]
    Operator,
    /// Talk, but not change what the mind is made of.
    Member,
    /// Read.
    Viewer,
    /// Everything, and see what concerns all spaces of the server.
    Admin,
}

impl Role {
    /// Whether the server enforces the limits of this role. Roles without enforcement cannot be configured.
    pub fn is_enforced(self) -> bool {
        matches!(self, Self::Operator | Self::Admin)
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
