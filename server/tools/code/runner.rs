//! The runner hands code to workers, for each caller in this process: the tool `run_code`, trials
//! of statements. All share its workers and its places. The use of an outcome is up to them.

use runner::request::{Answer, Error, Request};
use tokio::sync::OnceCell;
use unhurried::ReplicaError;

use super::Options;
use super::workers::{Ran, WorkersProxy, reach};
use thinkd_tasks::share::Places;
use thinkd_words::id::Space;

/// See the module.
pub struct Runner {
    options: Options,
    /// Reached when the first code comes, and again where that failed.
    workers: OnceCell<WorkersProxy>,
    /// As many as there are workers: callers that wait for one wait space by space.
    places: Places,
}

impl Default for Runner {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Runner {
    /// Returns a runner with workers that no caller has needed yet.
    pub fn new(options: Options) -> Self {
        Self {
            places: Places::new("code", options.workers, 1.0),
            options,
            workers: OnceCell::new(),
        }
    }

    /// Returns true if code may be run here.
    pub fn is_enabled(&self) -> bool {
        self.options.enabled
    }

    /// Runs it as soon as a worker is free for the space.
    ///
    /// # Errors
    /// Where it was stopped, or could not be begun.
    pub async fn run(&self, space: &Space, request: Request) -> Result<Answer, Error> {
        let _place = self.places.take(space).await;
        let unavailable = |error: ReplicaError| Error::Unavailable(error.to_string());
        let workers = self
            .workers
            .get_or_try_init(|| reach(&self.options))
            .await
            .map_err(unavailable)?;
        let Ran(outcome) = workers
            .run(space.as_str().to_owned(), request)
            .await
            .map_err(unavailable)?;
        outcome
    }
}
