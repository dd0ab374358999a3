//! A principal is a client after authentication: its space, its name, its role.

use serde::{Deserialize, Serialize};

use super::id::Space;
use super::spelling::words;
use super::time::Timestamp;

words! {
    /// The role of a credential, each with all that those before it may do. `session/right.rs` says the lowest role of each right.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Role {
        /// Reads everything of its space.
        Viewer = "viewer",
        /// Talks, too; creates, ends and cancels threads, runs pipelines.
        Member = "member",
        /// Changes the parts of the mind, too.
        #[default]
        Operator = "operator",
        /// An operator with a view of matters of all spaces of the server.
        Admin = "admin",
    }
}

/// The credential that admitted a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// None: no key was needed.
    Open,
    /// The key of this number.
    Key(u32),
    /// A token that an issuer signed.
    Token {
        /// The number for its user and space.
        holder: u64,
        /// The number of the issuer's key that signed it.
        key: u32,
        /// When it ends.
        ends: Timestamp,
    },
}

impl Credential {
    /// Returns the holder by which sockets and requests are counted together; none: there is no
    /// holder.
    pub fn holder(self) -> Option<Holder> {
        match self {
            Self::Open => None,
            Self::Key(number) => Some(Holder::Key(number)),
            Self::Token { holder, .. } => Some(Holder::Token(holder)),
        }
    }
}

/// The holder of a credential: a key is one holder, and so are all tokens of one user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// The holder of this key.
    Key(u32),
    /// The user of these tokens.
    Token(u64),
}

/// A caller in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The space, from the credential alone.
    pub space: Space,
    /// The name they go by, when they said one.
    pub user: Option<String>,
    /// The credential that let the caller in.
    pub credential: Credential,
    /// Their role.
    pub role: Role,
}

impl Principal {
    /// Returns true if the other one is in the same space and may do the same there; a token has to
    /// be one of the same user, too.
    pub fn is_like(&self, other: &Self) -> bool {
        let token = |it: &Self| {
            it.credential
                .holder()
                .filter(|holder| matches!(holder, Holder::Token(_)))
        };
        self.space == other.space && self.role == other.role && token(self) == token(other)
    }
}
