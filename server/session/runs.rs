//! A session starts runs of pipelines, reads and cancels them.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_pipelines::registry::Pipeline;
use thinkd_runtime::runs::{LoggedRun, NewRun};
use thinkd_words::id::{Key, Name, Seq};

impl Session {
    /// All pipelines, by name.
    pub fn pipelines(&self) -> Acted<impl Iterator<Item = &Arc<Pipeline>>> {
        Ok(self.kinds(Right::Read)?.runs.pipelines())
    }

    /// The pipeline of that name.
    pub fn pipeline(&self, name: &Name) -> Acted<&Arc<Pipeline>> {
        Ok(self.kinds(Right::Read)?.runs.pipeline(name)?)
    }

    /// Returns the pipeline of that name, if the principal may start it.
    pub fn pipeline_to_start(&self, name: &Name) -> Acted<&Arc<Pipeline>> {
        Ok(self.kinds(Right::Speak)?.runs.pipeline(name)?)
    }

    /// Starts a run; `id` is the client's idempotency key. Returns after the commit.
    pub async fn start_run(
        &self,
        pipeline: Name,
        input: Value,
        id: Option<Key>,
    ) -> Acted<LoggedRun> {
        let runs = &self.kinds(Right::Speak)?.runs;
        let run = NewRun {
            space: self.space().clone(),
            pipeline,
            input,
            id,
            user: self.user().map(str::to_owned),
        };
        Ok(runs.start(run).await?)
    }

    /// A run of this pipeline.
    pub async fn run(&self, pipeline: &Name, id: Uuid) -> Acted<LoggedRun> {
        let runs = &self.kinds(Right::Read)?.runs;
        Ok(runs.run(self.space(), pipeline, id).await?)
    }

    /// Runs of this pipeline, the newest first, from before a position; and where the next ones would begin, if there are any.
    pub async fn runs(
        &self,
        pipeline: &Name,
        before: Option<Seq>,
        limit: usize,
    ) -> Acted<(Vec<LoggedRun>, Option<Seq>)> {
        let runs = &self.kinds(Right::Read)?.runs;
        Ok(runs.page(self.space(), pipeline, before, limit).await?)
    }

    /// Cancels a run, wherever it runs. False: it has ended already, and stays as it is.
    pub async fn cancel_run(&self, pipeline: &Name, id: Uuid) -> Acted<bool> {
        // Asked for first: whether there is such a run is not said to who may not cancel it.
        let (runtime, space) = self.acting(Right::Speak)?;
        let thread = self.run(pipeline, id).await?.key.thread();
        Ok(runtime.cancel(space, &thread, self.user()).await?)
    }
}
