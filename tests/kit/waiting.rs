//! Waits for a state that is asked for: by the frames of a follower where the log tells of it, by looking again and again
//! where nothing does.

use futures_util::FutureExt;

use super::socket::Came;
use super::{App, Duration, PATIENCE, Socket, ms, within};

/// The time without a frame after which a follower looks again: a row, a lease or an index may follow its event by a
/// moment, and events tagged `debug` come to no follower of everything.
const QUIET: Duration = ms(250);

impl App {
    /// `app.until("the end", async || app.get("/threads/a").await.body["status"] == "done").await`: waits until it is so. It looks
    /// at once, and again after every frame that a follower of everything gets.
    pub async fn until(&self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        self.until_some(what, async || is_so().await.then_some(()))
            .await;
    }

    /// The same for a value: waits until there is one.
    pub async fn until_some<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        // Most of what is awaited is there already, and needs no socket.
        match within(what, look()).await {
            Some(found) => found,
            None => self.socket().await.until_some(what, look).await,
        }
    }
}

impl Socket {
    /// Waits until it is so: looks at once, and again after every frame that comes here.
    pub async fn until(&mut self, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
        self.until_some(what, async || is_so().await.then_some(()))
            .await;
    }

    /// The same for a value: waits until there is one.
    pub async fn until_some<T>(&mut self, what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
        self.until_within(PATIENCE, what, look).await
    }

    /// The same with another patience.
    pub async fn until_within<T>(
        &mut self,
        patience: Duration,
        what: &str,
        mut look: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let found = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                if let Ok(Came::Closed) = tokio::time::timeout(QUIET, self.read()).await {
                    panic!("the socket closed ({:?}) before {what} came", self.code);
                }
                // Frames that came together are one reason to look.
                while let Some(Came::Frame) = self.read().now_or_never() {}
            }
        };
        let found = tokio::time::timeout(patience, found).await;
        found.unwrap_or_else(|_| panic!("{what} did not come within {patience:?}"))
    }
}

/// Waits until it is so, for a state of which no event, request or line of output tells: a file, a port, a process, a metric, a lease
/// in the store, a row of the database.
pub async fn polled(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    within(what, async {
        while !is_so().await {
            pause().await;
        }
    })
    .await;
}

/// The same for a value: waits until there is one.
pub async fn polled_some<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            pause().await;
        }
    })
    .await
}

/// The time between two looks at a state that tells of no change.
async fn pause() {
    tokio::time::sleep(ms(10)).await;
}
