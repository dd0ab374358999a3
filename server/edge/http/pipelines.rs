//! `/pipelines`: the list of pipelines, running one, and the outcome of a run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::cursor::Part;
use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Json, Page, bounds, made, messages};
use crate::context::Edge;
use crate::ids;
use crate::json::Body;
use crate::limits::ms;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::run::{RunFact, RunNews};
use thinkd_pipelines::registry;
use thinkd_runtime::runs::LoggedRun;
use thinkd_words::id::{Name, ThreadId};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "pipelines": "Functions that run on a JSON input";
    "/pipelines" => get(list);
    "/pipelines/{name}" => post(start);
    "/pipelines/{name}/runs" => get(runs);
    "/pipelines/{name}/runs/{run}" => get(one);
    "/pipelines/{name}/runs/{run}/cancel" => post(cancel);
    bounds: |document| {
        let id = ("event_id", json!({ "format": "uuid" }));
        bounds::of_body(document, "StartRun", [id]);
    };
}

/// A pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pipeline {
    /// Its name.
    #[schema(value_type = String, example = "summary")]
    pub name: Name,
    /// Its work, in words.
    pub about: String,
    /// JSON Schema of its input.
    #[schema(value_type = Object)]
    pub input: Value,
}

/// The pipelines by name.
#[utoipa::path(get, path = "/pipelines", operation_id = "list_pipelines", tag = "pipelines",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Pipeline>)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Page<Pipeline>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of("pipelines".to_owned())?;
    let after = part.at.as_deref().unwrap_or_default();
    let all = session.pipelines()?;
    let all = all.filter(|pipeline| pipeline.name.as_str() > after);
    Ok(axum::Json(part.page(all, |it| it.name.clone())))
}

impl From<&Arc<registry::Pipeline>> for Pipeline {
    fn from(pipeline: &Arc<registry::Pipeline>) -> Self {
        Self {
            name: pipeline.name.clone(),
            about: pipeline.about.clone(),
            input: pipeline.input.clone(),
        }
    }
}

/// A run to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// As the pipeline's schema says; null when absent.
    #[serde(default)]
    #[schema(example = json!({ "thread": "main" }))]
    pub input: Value,
    /// A UUID of the caller's, so that a repeated request starts nothing: it becomes the run's id.
    pub event_id: Option<String>,
}

impl Body for StartRun {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(None, self.event_id.as_deref(), wrongs);
    }
}

/// A run of a pipeline.
#[derive(Debug, Serialize, ToSchema)]
pub struct Run {
    /// Its id.
    pub id: Uuid,
    /// Its pipeline.
    #[schema(value_type = String, example = "summary")]
    pub pipeline: Name,
    /// The thread that has its events.
    #[schema(value_type = String, example = "runs.0193b6c27c2e7aaa80000123456789ab")]
    pub thread: ThreadId,
    /// Its status.
    pub status: RunStatus,
    /// The output, once the run is `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// In place of a large output: the blob that has it, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<Value>,
    /// Why it `failed`: kind, text, retryable, detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Value>,
    /// When it was started.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// The run has not ended.
    Running,
    /// The run has an output.
    Done,
    /// The run has a failure.
    Failed,
    /// The run was cancelled.
    Cancelled,
}

impl From<LoggedRun> for Run {
    fn from(run: LoggedRun) -> Self {
        let ended_at = run.ended.as_ref().map(|event| event.ts);
        let status = status(run.ended.as_ref());
        let mut ended = run.ended.map(|event| event.payload).unwrap_or_default();
        Self {
            id: run.key.id,
            thread: run.key.thread(),
            pipeline: run.key.pipeline,
            status,
            output: ended.remove("output"),
            output_blob: ended.remove("output_blob"),
            failure: ended.remove("failure"),
            started_at: run.started.ts,
            ended_at,
        }
    }
}

fn status(ended: Option<&Event>) -> RunStatus {
    let outcome = match ended.map(Event::fact) {
        None => return RunStatus::Running,
        Some(Fact::Run(RunFact {
            what: RunNews::Ended { outcome, .. },
            ..
        })) => outcome,
        Some(_) => "cancelled",
    };
    match outcome {
        "done" => RunStatus::Done,
        "failed" => RunStatus::Failed,
        _ => RunStatus::Cancelled,
    }
}

/// Runs a pipeline on an input.
#[utoipa::path(post, path = "/pipelines/{name}", operation_id = "start_run", tag = "pipelines",
    params(
        ("name" = String, Path, description = "the pipeline's name"),
        ("wait" = Option<f64>, Query, minimum = 0, description = "seconds to wait for its end"),
    ),
    request_body = StartRun,
    responses(
        (status = 200, body = Run, description = "it has ended"),
        (status = 202, body = Run, description = "it runs"),
    ))]
pub async fn start(
    State(edge): State<Arc<Edge>>,
    session: Needs<Speak>,
    Path(name): Path<Name>,
    mut params: Params,
    Json(body): Json<StartRun>,
) -> Result<Response, Problem> {
    let wait = messages::wait(&mut params, edge.limits.wait_ms)?;
    params.end()?;
    let pipeline = session.pipeline_to_start(&name)?;
    let mut wrongs = Wrongs::default();
    for wrong in pipeline.check(&body.input) {
        let pointer = format!("/input{}", wrong.pointer());
        wrongs.add(Slug::InvalidFrame, pointer, wrong.detail);
    }
    if let Some(problem) = wrongs.take() {
        return Err(problem);
    }
    let id = ids::key(body.event_id.as_deref())?;
    let mut run = session.start_run(name.clone(), body.input, id).await?;
    if let Some(limit_ms) = wait.filter(|_| run.ended.is_none()) {
        tokio::select! {
            // It was started: a log that cannot be read now changes nothing about that.
            ended = tokio::time::timeout(ms(limit_ms), session.run_ended(&run)) => if let Ok(Err(error)) = ended {
                tracing::warn!(%error, run = %run.key.id, "what became of a run cannot be read");
            },
            () = edge.drain.cancelled() => {}
        }
        run = session.run(&name, run.key.id).await.unwrap_or(run);
    }
    let place = format!("/pipelines/{name}/runs/{}", run.key.id);
    let status = match run.ended {
        Some(_) => StatusCode::OK,
        None => StatusCode::ACCEPTED,
    };
    Ok(made(status, place, Run::from(run)))
}

/// Returns a run and its outcome.
#[utoipa::path(get, path = "/pipelines/{name}/runs/{run}", operation_id = "get_run", tag = "pipelines",
    params(("name" = String, Path, description = "the pipeline's name"), ("run" = String, Path, description = "the run's id")),
    responses((status = 200, body = Run)))]
pub async fn one(
    session: Needs<Read>,
    Path((name, id)): Path<(Name, Uuid)>,
    _: NoParams,
) -> Answer<Run> {
    Ok(axum::Json(session.run(&name, id).await?.into()))
}

/// The runs of a pipeline, the newest first.
#[utoipa::path(get, path = "/pipelines/{name}/runs", operation_id = "list_runs", tag = "pipelines",
    params(("name" = String, Path, description = "the pipeline's name"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before; a page may be short and have one"),),
    responses((status = 200, body = Page<Run>)))]
pub async fn runs(
    session: Needs<Read>,
    Path(name): Path<Name>,
    mut params: Params,
) -> Answer<Page<Run>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of(format!("runs {name}"))?;
    let found = session.runs(&name, part.behind(), part.limit as usize);
    let (runs, next) = found.await?;
    if runs.is_empty() && next.is_none() {
        // One that is registered no longer has its runs all the same.
        session.pipeline(&name)?;
    }
    Ok(axum::Json(Page {
        items: runs.into_iter().map(Run::from).collect(),
        next: next.map(|seq| part.next(seq)),
    }))
}

/// Cancels a run; its end follows, wherever it runs. One that has ended stays as it is.
#[utoipa::path(post, path = "/pipelines/{name}/runs/{run}/cancel", operation_id = "cancel_run", tag = "pipelines",
    params(("name" = String, Path, description = "the pipeline's name"), ("run" = String, Path, description = "the run's id")),
    responses(
        (status = 200, body = Run, description = "it has ended already"),
        (status = 202, body = Run, description = "it is told to end"),
    ))]
pub async fn cancel(
    session: Needs<Speak>,
    Path((name, id)): Path<(Name, Uuid)>,
    _: NoParams,
) -> Result<Response, Problem> {
    let status = match session.cancel_run(&name, id).await? {
        true => StatusCode::ACCEPTED,
        false => StatusCode::OK,
    };
    let run = session.run(&name, id).await?;
    Ok((status, axum::Json(Run::from(run))).into_response())
}
