//! Supervision of background tasks: the search for work, the renewal of leases, timers, the index,
//! the writer. They are not awaited, so an end would go unseen; the supervisor keeps the name of
//! the first that ends, and why.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::watch;

/// A supervisor remembers the first task that ended; cheap to clone.
#[derive(Debug, Clone)]
pub struct Supervisor(Arc<watch::Sender<Option<String>>>);

impl Default for Supervisor {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }
}

impl Supervisor {
    /// Watches a task: the supervisor learns when it ends or panics. A task that is dropped has not ended.
    pub fn watch(
        &self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = ()> + Send + 'static {
        let first = self.clone();
        async move {
            let why = match AssertUnwindSafe(task).catch_unwind().await {
                Ok(()) => "ended by itself".to_owned(),
                Err(panic) => format!("panicked: {}", words(&*panic)),
            };
            first.end(format!(
                "{name} {why}: a server without it would only look alive"
            ));
        }
    }

    /// Reports that the server cannot go on although all its tasks live, and why.
    pub fn end(&self, why: String) {
        self.0.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(why);
            is_first
        });
    }

    /// Waits until a task has ended, or the server cannot go on; says which, and why.
    pub async fn ended(&self) -> String {
        let mut first = self.0.subscribe();
        match first.wait_for(Option::is_some).await {
            Ok(known) => known.clone().unwrap_or_default(),
            // The sender lives as long as this.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Returns the message of a panic.
pub fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}
