//! The duty of process 1: every orphan of a container becomes its child, and stays a zombie until it is waited for.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

/// The time in which a child of the server's own is waited for by its owner; a child that stays
/// longer is an orphan.
const OWN: Duration = Duration::from_millis(400);

/// Says that this process is the first of its container.
pub fn is_first() -> bool {
    getpid().is_init()
}

/// Waits for orphans, whenever a child has ended, from now on.
pub fn reap() -> io::Result<impl Future<Output = ()>> {
    Ok(reap_at(signal(SignalKind::child())?))
}

async fn reap_at(mut ended: Signal) {
    let mut seen = BTreeSet::new();
    // Those that ended while the server started have told nobody.
    loop {
        sleep(OWN).await;
        let now = zombies(getpid());
        for pid in now.intersection(&seen) {
            let orphan = Pid::from_raw(*pid);
            let _ = orphan.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
        }
        seen = now.difference(&seen).copied().collect();
        if seen.is_empty() {
            ended.recv().await;
        }
    }
}

/// Returns the children of a process that have ended and were not waited for.
fn zombies(parent: Pid) -> BTreeSet<i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let zombie = |entry: std::fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name of a program may have anything in it, brackets and blanks too.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let is_zombie = fields.next()? == "Z";
        let is_child = fields.next()?.parse() == Ok(parent.as_raw_nonzero().get());
        (is_zombie && is_child).then_some(pid)
    };
    all.filter_map(zombie).collect()
}
