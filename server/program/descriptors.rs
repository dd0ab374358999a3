//! File descriptors: the server takes as many as it may have, and lets clients have those that it
//! does not need for models, files, tools and the database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use thinkd_edge::limits::Limits;

/// Descriptors that no client gets; of few, half.
const RESERVE: u64 = 256;
/// Says how there can be more.
const MORE: &str =
    "raise the limit (ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker) for more";

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

/// Descriptors that clients may have, of so many.
fn left(most: u64) -> usize {
    usize::try_from(most - RESERVE.min(most / 2)).unwrap_or(usize::MAX)
}

/// Bounds the connections of clients by so many descriptors. Returns whether they were more.
fn fit(limits: &mut Limits, most: u64) -> bool {
    let left = left(most);
    if limits.sockets.saturating_add(limits.connections) <= left {
        return false;
    }
    limits.connections = limits.connections.min(left / 4).max(1);
    limits.sockets = limits.sockets.min(left - limits.connections).max(1);
    true
}

/// Bounds the connections of clients by the descriptors of this process, and says so.
pub fn bound(limits: &mut Limits) {
    let Some(most) = raised() else { return };
    if fit(limits, most) {
        tracing::warn!(
            "this process may have {most} open files: limits.sockets is {} here, with {} other connections; {MORE}",
            limits.sockets,
            limits.connections
        );
    }
}

/// Says how many clients a server fits that is started as this process was.
pub fn said(mut limits: Limits) -> String {
    let Some(most) = raised() else {
        return "open files have no limit: as many clients fit as limits.sockets says".to_owned();
    };
    let is_low = fit(&mut limits, most);
    let sockets = limits.sockets;
    let connections = limits.connections;
    let kept = most.saturating_sub(left(most) as u64);
    let fits = format!(
        "a server that is started from here may have {most} open files: {kept} are kept for models, files, tools and the database, and \
         {sockets} sockets and {connections} other connections fit"
    );
    match is_low {
        true => format!("{fits}, fewer than limits.sockets and a tenth; {MORE}"),
        false => format!("{fits}, as limits.sockets says"),
    }
}
