//! Runs of pipelines as a kind of work. A run is a thread with the pipeline as its only turn. The
//! lease and the search for waiting work are the same. After a crash one server takes it up again,
//! and does not repeat the steps that the log has.
//! Long because all requests of clients about runs are here beside the work: begin one, see one,
//! list them, cancel one.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::ground::Ground;
use crate::mailbox::each_after;
use crate::refused::Refused;
use crate::work::{Claim, Looked, Work, looked};
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;
use thinkd_event::fact::run::{Held, RunKey, RunNews, RunOutcome};
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::fence::Fence;
use thinkd_log::query::{Query, Show};
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::{Stop, Why};
use thinkd_mind::turn_writer::{Lost, TurnWriter};
use thinkd_pipelines::host::{Host, Parts};
use thinkd_pipelines::ledger::{self, Ledger, NotKept, Values};
use thinkd_pipelines::past::Past;
use thinkd_pipelines::registry::{Pipeline, Worked};
use thinkd_tasks::share::{Place, Places};
use thinkd_words::failure::{Failure, FailureKind};
use thinkd_words::id::{self, Key, Name, Seq, Space, ThreadId};

/// Most times that a run is taken up again: one that ends its server each time must not do so for
/// ever.
const RESUMES_MAX: u64 = 16;
/// Number of events that are looked at at once, and most such looks, for one page of runs: others'
/// runs stand between them.
const SCAN: u32 = 500;
const SCANS_MAX: usize = 20;

/// A run to be.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The space, from the credential.
    pub space: Space,
    /// The pipeline.
    pub pipeline: Name,
    /// Its input.
    pub input: Value,
    /// The client's idempotency key: the id of the run.
    pub id: Option<Key>,
    /// The user that starts it, as far as known.
    pub user: Option<String>,
}

/// A run as its log has it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRun {
    /// The key of the run.
    pub key: RunKey,
    /// The event that began it.
    pub started: Event,
    /// The event that ended it.
    pub ended: Option<Event>,
}

/// Runs of these pipelines.
pub struct Runs {
    ground: Ground,
    places: Places,
}

#[async_trait]
impl Work for Runs {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.is_of_runs() && thread.mission().is_none()
    }

    /// Returns none: runs wait for their place with the lease held, so that no other server begins
    /// a run that was started here.
    async fn place(&self, _: &Space, _: &ThreadId) -> Option<Place> {
        None
    }

    /// A run is cancelled by an event, which the server heeds that runs it. One that has ended stays as it is.
    async fn cancel(
        &self,
        space: &Space,
        row: &ThreadRow,
        user: Option<&str>,
    ) -> Result<bool, Refused> {
        let Ground {
            store,
            running,
            waker,
            ..
        } = &self.ground;
        let thread = &row.thread;
        if row.status.is_final() {
            return Ok(false);
        }
        let begun = match thread.run() {
            Some(id) => store.event(space, id).await?,
            None => None,
        };
        let key = begun.and_then(|event| event.begins_run());
        let key = key.ok_or_else(|| Refused::NotFound(format!("run {thread}")))?;
        store
            .append(Append::free(space, vec![key.cancel(user)]))
            .await?;
        running.stop(&(space.clone(), thread.clone()), Why::Cancel);
        waker.wake(space, thread, None);
        Ok(true)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    async fn work(&self, claim: Claim) -> Result<Looked, StoreError> {
        self.take_run(claim).await
    }
}

impl Runs {
    /// Returns runs of the configured pipelines.
    pub fn new(ground: &Ground) -> Self {
        let options = &ground.options;
        let at_once = options.pipeline_limits.at_once;
        Self {
            ground: ground.clone(),
            places: Places::new("pipelines.at_once", at_once, options.space_share),
        }
    }

    /// Returns all pipelines, by name.
    pub fn pipelines(&self) -> impl Iterator<Item = &Arc<Pipeline>> {
        self.ground.options.pipelines.all()
    }

    /// Starts a run. Returns after the commit.
    pub async fn start(&self, new: NewRun) -> Result<LoggedRun, Refused> {
        let NewRun {
            space,
            pipeline,
            input,
            id,
            user,
        } = new;
        let Ground { store, waker, .. } = &self.ground;
        let id = id.map(Key::id);
        self.pipeline(&pipeline)?;
        let known = match id {
            Some(id) => store.event(&space, id).await?.is_some(),
            None => false,
        };
        // A repeated start is answered as the first time, however many runs there are by now.
        let place = match known {
            true => None,
            false => Some(self.try_place(&space)?),
        };
        let key = RunKey::new(id.unwrap_or_else(id::fresh), pipeline);
        let input = self
            .values(&space)
            .hold(input)
            .await
            .map_err(|error| match error {
                NotKept::Unfit(why) => Refused::Unprocessable(why),
                NotKept::Store(error) => Refused::Store(error),
            })?;
        let started = key.started(&input, user.as_deref());
        let placed = self.ground.begin(&space, started, "run").await?;
        let Some(placed) = placed.into_iter().find(|placed| !placed.duplicate) else {
            return self.run(&space, &key.pipeline, key.id).await;
        };
        if place.is_some() {
            waker.wake(&space, &key.thread(), place);
        }
        Ok(LoggedRun {
            key,
            started: placed.shown.event.clone(),
            ended: None,
        })
    }

    /// Returns a run of this pipeline.
    pub async fn run(
        &self,
        space: &Space,
        pipeline: &Name,
        id: Uuid,
    ) -> Result<LoggedRun, Refused> {
        let started = self.ground.store.event(space, id).await?;
        let found = started.and_then(|event| Some((event.begins_run()?, event)));
        let (key, started) = found
            .filter(|(key, _)| key.pipeline == *pipeline && !key.thread.is_of_mission())
            .ok_or_else(|| Refused::NotFound(format!("run {id} of the pipeline {pipeline}")))?;
        let ended = self.last(space, &key.thread(), tag::ENDED).await?;
        Ok(LoggedRun {
            key,
            started,
            ended,
        })
    }

    /// Returns runs of this pipeline, the newest first, from before a position; and where the next
    /// ones would begin, if there are any.
    pub async fn page(
        &self,
        space: &Space,
        pipeline: &Name,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<(Vec<LoggedRun>, Option<Seq>), Refused> {
        let mut ended = HashMap::new();
        let mut runs: Vec<LoggedRun> = Vec::new();
        let mut query = Query {
            tags: vec![tag::RUN.to_owned()],
            before,
            limit: SCAN,
            ..Query::default()
        };
        'scans: for _ in 0..SCANS_MAX {
            let events = self.ground.store.events(space, &query).await?;
            let full = events.len() == SCAN as usize;
            for event in events {
                query.before = Some(event.seq);
                if is_end(&event) {
                    ended.insert(event.thread.clone(), event);
                    continue;
                }
                let key = event.begins_run();
                let key = key.filter(|it| it.pipeline == *pipeline && !it.thread.is_of_mission());
                runs.extend(key.map(|key| LoggedRun {
                    ended: ended.remove(&key.thread()),
                    key,
                    started: event,
                }));
                if runs.len() == limit {
                    break 'scans;
                }
            }
            if !full {
                query.before = None;
                break;
            }
        }
        // Ends that came after the page began.
        for run in runs.iter_mut().filter(|run| run.ended.is_none()) {
            run.ended = self.last(space, &run.key.thread(), tag::ENDED).await?;
        }
        Ok((runs, query.before))
    }

    /// Returns the pipeline of that name.
    pub fn pipeline(&self, name: &Name) -> Result<&Arc<Pipeline>, Refused> {
        let found = self.ground.options.pipelines.get(name);
        found.ok_or_else(|| Refused::NotFound(format!("pipeline {name}")))
    }

    fn try_place(&self, space: &Space) -> Result<Place, Refused> {
        let places = &self.places;
        let full = || Refused::TooManyRuns {
            of_space: places.of_a_space(),
            all: places.all(),
        };
        places.try_take(space).ok_or_else(full)
    }

    fn values(&self, space: &Space) -> Values {
        let event_bytes = self.ground.options.tool_limits.output_bytes;
        Values {
            store: self.ground.store.clone(),
            space: space.clone(),
            event_bytes,
        }
    }

    /// Returns the newest event of a run's thread with this tag.
    async fn last(
        &self,
        space: &Space,
        thread: &ThreadId,
        tag: &str,
    ) -> Result<Option<Event>, StoreError> {
        let query = Query {
            thread: Some(thread.clone()),
            tags: vec![tag.to_owned()],
            limit: 1,
            ..Query::default()
        };
        let found = self.ground.store.events(space, &query).await?;
        Ok(found.into_iter().next())
    }

    /// A run's turn: from where its log leaves off to its end, or until it is left.
    async fn take_run(
        &self,
        Claim {
            row,
            fence,
            stop,
            attempts,
            ..
        }: Claim,
    ) -> Result<Looked, StoreError> {
        let mut past = Past::default();
        let Ground { store, options, .. } = &self.ground;
        each_after(&**store, &fence.space, &row, Show::Public, |event| {
            past.apply(&event);
            true
        })
        .await?;
        let Some((key, input)) = past.started.take() else {
            tracing::error!(thread = %row.thread, "a run without a beginning is left alone");
            return Ok(Looked::Nothing);
        };
        let _place = if past.cancel {
            None
        } else {
            self.take_place(&fence, &stop).await
        };
        let writer = TurnWriter::new(store.clone(), fence.clone(), None);
        let limits = options.pipeline_limits.clone();
        let values = self.values(&fence.space);
        let ledger = Ledger::new(key.clone(), writer, values, limits, &past);
        if attempts.are_used_up() {
            return looked(close(&key, &ledger, RunOutcome::Failed(not_taken())).await);
        }
        let came_to = tokio::select! {
            // What ends a run from outside must not look like its own end.
            biased;
            why = stop.stopped() => match why {
                Why::Leave => Err(Lost::Stale),
                Why::Cancel | Why::CancelWithAbove | Why::Interrupt => Ok(RunOutcome::Cancelled),
            },
            lost = ledger.lost() => Err(lost),
            outcome = self.work(&key, input, &past, &ledger, &stop) => outcome,
        };
        match came_to {
            Ok(outcome) => looked(close(&key, &ledger, outcome).await),
            Err(lost) => looked(Err(lost)),
        }
    }

    /// Returns a place to work at; held until the run ends or is left. A run that was started here
    /// has it already; one that was cut off elsewhere waits for it, its lease renewed. None: it was
    /// stopped meanwhile.
    async fn take_place(&self, fence: &Fence, stop: &Stop) -> Option<Place> {
        let key = (fence.space.clone(), fence.thread.clone());
        let place = self.ground.running.take_place(&key);
        if place.is_some() {
            return place;
        }
        tokio::select! {
            place = self.places.take(&fence.space) => Some(place),
            _ = stop.stopped() => None,
        }
    }

    /// Works on a run until it has an outcome.
    async fn work(
        &self,
        key: &RunKey,
        input: Held,
        past: &Past,
        ledger: &Ledger,
        stop: &Stop,
    ) -> Result<RunOutcome, Lost> {
        let pipeline = match self.ground.options.pipelines.get(&key.pipeline) {
            _ if past.cancel => return Ok(RunOutcome::Cancelled),
            _ if past.resumed >= RESUMES_MAX => return Ok(RunOutcome::Failed(never_ends())),
            Some(pipeline) => pipeline,
            None => {
                let text = format!("there is no pipeline {} any more", key.pipeline);
                return Ok(RunOutcome::Failed(Failure::new(FailureKind::Node, text)));
            }
        };
        if past.begun {
            ledger.write(key.resumed(past.resumed + 1)).await;
        }
        let values = ledger.values();
        let host = self.host(key, &values.space, stop);
        let worked = ledger
            .hooked()
            .scope(pipeline.start(values.load(input).await?, host));
        let most = self.ground.options.pipeline_limits.time_ms;
        let left = Duration::from_millis(most).saturating_sub(past.spent());
        match tokio::time::timeout(left, AssertUnwindSafe(worked).catch_unwind()).await {
            Ok(Ok(worked)) => Ok(outcome(worked, values).await?),
            Ok(Err(_)) => {
                let text = format!("the pipeline {} panicked", key.pipeline);
                let failure = Failure::new(FailureKind::Internal, text);
                Ok(RunOutcome::Failed(failure))
            }
            Err(_) => Ok(RunOutcome::Failed(too_long(most))),
        }
    }

    fn host(&self, key: &RunKey, space: &Space, stop: &Stop) -> Host {
        let Ground { mind, quotas, .. } = &self.ground;
        Host::new(Parts {
            client: mind.client.clone(),
            run: key.clone(),
            space: space.clone(),
            ask_ms: mind.options.decision_timeout_ms,
            // A run has limits of its own (`[pipelines]`); thread and space have theirs.
            purse: quotas.open(space, &key.thread(), None, false),
            beside: mind.beside.clone(),
            stop: stop.token().clone(),
        })
    }
}

fn is_end(event: &Event) -> bool {
    let Fact::Run(run) = event.fact() else {
        return false;
    };
    matches!(run.what, RunNews::Ended { .. })
}

async fn outcome(worked: Worked, values: &Values) -> Result<RunOutcome, StoreError> {
    let output = match worked {
        Ok(output) => output,
        Err(error) => return Ok(RunOutcome::Failed(ledger::failure(&*error))),
    };
    match values.hold(output).await {
        Ok(output) => Ok(RunOutcome::Done(output)),
        Err(NotKept::Unfit(why)) => Ok(RunOutcome::Failed(Failure::new(FailureKind::Node, why))),
        Err(NotKept::Store(error)) => Err(error),
    }
}

async fn close(key: &RunKey, ledger: &Ledger, outcome: RunOutcome) -> Result<Status, Lost> {
    let labels = [
        ("pipeline", key.pipeline.to_string()),
        ("outcome", outcome.as_str().to_owned()),
    ];
    let status = match outcome {
        RunOutcome::Done(_) => Status::Done,
        RunOutcome::Failed(_) => Status::Failed,
        RunOutcome::Cancelled => Status::Stopped,
    };
    ledger.close(key.ended(&outcome, None)).await?;
    metrics::counter!("thinkd_pipeline_runs_total", &labels).increment(1);
    Ok(status)
}

fn not_taken() -> Failure {
    Failure::new(
        FailureKind::Store,
        "the run is given up: the log did not take what it led to, and would not another time",
    )
}

fn never_ends() -> Failure {
    let text = format!("the run was taken up again {RESUMES_MAX} times and never came to its end");
    Failure::new(FailureKind::Budget, text)
}

fn too_long(most: u64) -> Failure {
    let text = format!("the run was worked on for {most} ms and did not come to its end");
    Failure::new(FailureKind::Timeout, text)
        .with(json!({ "limit": most, "key": "pipelines.time_ms" }))
}
