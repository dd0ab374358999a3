//! How a store is opened.

use std::time::Duration;

use secrecy::SecretString;

use crate::tasks::share::SPACE_SHARE;
use crate::tasks::supervisor::Supervisor;

/// Connections to Postgres that a server has at most, if nothing else is said: more do not make one Postgres faster.
pub const CONNECTIONS: u32 = 21;

/// With fewer it cannot go on: one of each kind.
pub const CONNECTIONS_MIN: u32 = 6;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// Postgres itself, where the URL of the store is that of a pooler: the log, its index, the
    /// listener, migrations and the lock of the database go there.
    pub direct: Option<SecretString>,
    /// SQLite: most connections that read at a time; there is one more that writes.
    pub readers: u32,
    /// Postgres: most connections at a time, in all.
    pub connections: u32,
    /// How much of them, and of the room for appends, one space may hold.
    pub space_share: f64,
    /// How long one read of a space may take.
    pub read: Duration,
    /// How long a commit may take.
    pub commit: Duration,
    /// Who watches the store's tasks.
    pub supervisor: Supervisor,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            direct: None,
            readers: 8,
            connections: CONNECTIONS,
            space_share: SPACE_SHARE,
            read: Duration::from_secs(10),
            commit: Duration::from_secs(30),
            supervisor: Supervisor::default(),
        }
    }
}
