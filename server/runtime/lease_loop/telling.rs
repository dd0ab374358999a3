//! News from the lease loop to other servers: that this one is there, and how; that it leaves
//! threads; that it is gone.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::LeaseLoop;
use thinkd_log::presence::{Doing, Presence};

/// Time in which the news for other servers is gathered into one message.
const GATHER: Duration = Duration::from_millis(10);

impl LeaseLoop {
    /// Tells other servers, soon, that there are threads that this one does not run any more: they need not wait for their next search.
    pub(super) fn leave_to_others(&self) {
        if self.0.telling.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.clone();
        self.0.ground.mind.beside.spawn(async move {
            tokio::time::sleep(GATHER).await;
            this.0.telling.store(false, Ordering::Release);
            this.hand_over().await;
        });
    }

    /// Says that this server is there, and how, with its next look.
    pub(super) fn say_present(&self) {
        self.say(match self.is_draining() {
            true => Doing::Draining,
            false => Doing::Ready,
        });
    }

    fn say(&self, doing: Doing) {
        let ground = &self.0.ground;
        let leases = self.0.leases.lock().len() as u64;
        ground.store.say(Presence {
            doing,
            threads: ground.running.len() as u64,
            leases,
            every: ground.options.scan,
        });
    }

    /// Tells other servers that this one is gone, and leaves waiting work to them.
    pub async fn leave(&self) {
        self.say(Doing::Gone);
        self.hand_over().await;
    }

    /// Tells other servers now.
    async fn hand_over(&self) {
        if let Err(error) = self.0.ground.store.hand_over().await {
            tracing::warn!(%error, "other servers are not told of the threads that are left; they will find them by looking");
        }
    }
}
