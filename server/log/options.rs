//! Options of a store.

use std::time::Duration;

use secrecy::SecretString;

use thinkd_tasks::share::SPACE_SHARE;
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::defaults::with_defaults;

/// Connections to Postgres that a server has at most, if nothing else is said: more do not make one Postgres faster.
pub const CONNECTIONS: u32 = 21;

/// With fewer it cannot go on: one of each kind.
pub const CONNECTIONS_MIN: u32 = 6;

with_defaults! {
    /// The options with which a store is opened.
    #[derive(Debug, Clone)]
    pub struct Options {
        /// Postgres itself, where the URL of the store is that of a pooler: the log, its index, the
        /// listener, migrations and the lock of the database go there.
        pub direct: Option<SecretString> = None,
        /// SQLite: most connections that read at a time; there is one more that writes.
        pub readers: u32 = 8,
        /// Postgres: most connections at a time, in all.
        pub connections: u32 = CONNECTIONS,
        /// The share of the connections, and of the room for appends, that one space may hold.
        pub space_share: f64 = SPACE_SHARE,
        /// The time that one read of a space may take.
        pub read: Duration = Duration::from_secs(10),
        /// The time that a commit may take.
        pub commit: Duration = Duration::from_secs(30),
        /// The supervisor that watches the store's tasks.
        pub supervisor: Supervisor = Supervisor::default(),
    }
}
