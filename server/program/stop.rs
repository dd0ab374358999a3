//! The signals that stop a process.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;

/// SIGXFSZ, wherever thinkd runs.
const FILE_TOO_LARGE: i32 = 25;

/// The signals that stop a server.
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Listens from now on: a signal that comes later is not lost.
    pub fn listen() -> io::Result<Self> {
        // A file that may not grow any more (`ulimit -f`, a quota) is an error of a write, as a full disk is, not the end.
        let _ = signal(SignalKind::from_raw(FILE_TOO_LARGE))?;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns a signal that was sent on purpose: one sent to a whole process group often comes
    /// twice at once.
    pub async fn signalled_again(&mut self) -> &'static str {
        let first = Instant::now();
        loop {
            let signal = self.signalled().await;
            if first.elapsed() > Duration::from_secs(1) {
                return signal;
            }
        }
    }

    /// Waits for one, and names it.
    pub async fn signalled(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
