//! File descriptors: the server takes as many as it may have, and lets clients have those that it
//! does not need for models, files, tools and the database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::edge::limits::Limits;

/// Descriptors that no client gets; of few, half.
const RESERVE: u64 = 256;

/// Raises the limit of this process to the most that it may have. Returns it; none: there is none.
fn raised() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        // Some systems have a limit of their own, below one that is none.
        Err(_) => current,
    }
}

/// Bounds the connections of clients by the descriptors of this process, and says so.
pub fn bound(limits: &mut Limits) {
    let Some(most) = raised() else { return };
    let left = most - RESERVE.min(most / 2);
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    if limits.sockets.saturating_add(limits.connections) <= left {
        return;
    }
    limits.connections = limits.connections.min(left / 4).max(1);
    limits.sockets = limits.sockets.min(left - limits.connections).max(1);
    tracing::warn!(
        "this process may have {most} open files: limits.sockets is {} here, and limits.connections {}; raise the limit (ulimit -n, \
         LimitNOFILE of systemd, --ulimit nofile of docker) for more",
        limits.sockets,
        limits.connections
    );
}
