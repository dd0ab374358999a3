//! `/usage`: the totals of model calls; and of one voice, `/submodules/{name}/figures` and
//! `/submodules/{name}/versions`.

use serde::Serialize;
use utoipa::ToSchema;

use super::Answer;
use super::needs::{Needs, Read};
use super::params::{NoParams, Params};
use super::path::Path;
use crate::problem::Problem;
use thinkd_session::handle::Session;
use thinkd_session::usage::{By, Span, Usage, VoiceVersion};
use thinkd_thread::tokens::Tokens;
use thinkd_thread::turns::VoiceOutcome;
use thinkd_thread::usage::{Calls, Figures};
use thinkd_words::id::Name;
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "usage": "What it costs";
    "/usage" => get(usage);
    "/submodules/{name}/figures" => get(figures);
    "/submodules/{name}/versions" => get(versions);
}

/// Keys that an answer has, the dearest; the others are summed up.
const ITEMS: usize = 100;
/// The longest step, in seconds: a day.
const STEP_MAX: i64 = 86_400;
/// The upper ends of the bins of a histogram, in milliseconds; the last bin has none.
const BINS: [u64; 12] = [
    50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000,
];

/// The sums of the calls of one module, thread, model or purpose.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageItem {
    /// The module, thread, model or purpose.
    #[schema(example = "submodule:critic")]
    pub key: String,
    /// The sums of these calls.
    #[serde(flatten)]
    pub sums: Calls,
}

/// The sums of the calls of one step.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageStep {
    /// When the step begins: a multiple of its length since 1970.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.000000Z")]
    pub at: Timestamp,
    /// The sums of these calls.
    #[serde(flatten)]
    pub sums: Calls,
}

/// The sums of the calls of models over a span.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageBody {
    /// The items that used the most tokens, at most 100.
    pub items: Vec<UsageItem>,
    /// All others together.
    pub rest: Calls,
    /// By time, the oldest first, where a step was asked for; steps without calls are missing.
    pub steps: Vec<UsageStep>,
    /// The beginning of the part that was read, if the span has more calls than were read; null:
    /// all of the span was.
    #[schema(value_type = Option<String>, example = "2026-11-21T04:25:00.123456Z")]
    pub cut: Option<Timestamp>,
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        let mut all: Vec<_> = usage.by.into_iter().collect();
        all.sort_by_key(|(_, sums)| std::cmp::Reverse((sums.tokens.all(), sums.calls)));
        let mut rest = Calls::default();
        all.iter().skip(ITEMS).for_each(|(_, sums)| rest.join(sums));
        let item = |(key, sums): (String, Calls)| UsageItem { key, sums };
        let step = |(at, sums): (i64, Calls)| UsageStep {
            at: Timestamp::from_micros(at),
            sums,
        };
        Self {
            items: all.into_iter().take(ITEMS).map(item).collect(),
            rest,
            steps: usage.steps.into_iter().map(step).collect(),
            cut: usage.cut,
        }
    }
}

/// `since` and `before_ts`.
fn span(params: &mut Params) -> Result<Span, Problem> {
    Ok(Span {
        since: params.moment("since")?,
        before: params.moment("before_ts")?,
    })
}

/// Returns the sums of calls of models, by the module that asked, by thread, by model or by
/// purpose. They are made of the newest 10,000 calls of the span.
#[utoipa::path(get, path = "/usage", operation_id = "get_usage", tag = "usage",
    params(("by" = Option<String>, Query, example = "module", description = "what calls are told apart by: `module` (when absent), `thread`, `model` or `purpose`"),
        ("since" = Option<String>, Query, format = DateTime, description = "only calls that ended at or after this moment"),
        ("before_ts" = Option<String>, Query, format = DateTime, description = "only calls that ended before this moment"),
        ("step_s" = Option<u32>, Query, minimum = 1, maximum = 86400, description = "seconds of a step, to have them by time, too"),),
    responses((status = 200, body = UsageBody)))]
pub async fn usage(session: Needs<Read>, mut params: Params) -> Answer<UsageBody> {
    let by = params.word("by", "module, thread, model, purpose", By::parse)?;
    let span = span(&mut params)?;
    let step = params.integer("step_s", 1..=STEP_MAX)?;
    params.end()?;
    let step = step.map(|seconds| seconds * 1_000_000);
    let usage = session.usage(span, by.unwrap_or(By::Module), step);
    Ok(axum::Json(usage.await?.into()))
}

/// The number of turns in which the calls of a voice took about so long.
#[derive(Debug, Serialize, ToSchema)]
pub struct TimeBin {
    /// Up to so many milliseconds, and longer than the bin before; null: longer than all bins.
    pub up_to_ms: Option<u64>,
    /// In how many turns.
    pub turns: u64,
}

/// The outcomes of a voice over a span; each turn in which it was asked counts once.
#[derive(Debug, Serialize, ToSchema)]
pub struct SubmoduleFigures {
    /// The number of turns in which it was asked.
    pub asked: u64,
    /// The number of turns in which it spoke in time.
    pub spoke: u64,
    /// The number of turns in which it had nothing to say.
    pub passed: u64,
    /// The number of turns in which it had not answered when the decision began.
    pub late: u64,
    /// The number of turns in which it could not answer.
    pub failed: u64,
    /// The number of turns in which it added something to the decision.
    pub followed_up: u64,
    /// Milliseconds that its calls took before the decision, in half of the turns at most; null: none has come back.
    pub p50_ms: Option<u64>,
    /// The same, in 95 of 100 turns.
    pub p95_ms: Option<u64>,
    /// The same, all of them.
    pub times: Vec<TimeBin>,
    /// The tokens that its calls used, those after decisions with them.
    pub tokens: Tokens,
    /// The beginning of the part that was read, if the span has more than was read; null: all of
    /// the span was.
    #[schema(value_type = Option<String>, example = "2026-11-21T04:25:00.123456Z")]
    pub cut: Option<Timestamp>,
}

fn bins(times: &[u64]) -> Vec<TimeBin> {
    let ends = BINS.into_iter().map(Some).chain([None]);
    let mut from = 0;
    ends.map(|up_to_ms| {
        let to = up_to_ms.map_or(times.len(), |end| times.partition_point(|ms| *ms <= end));
        let turns = (to - from) as u64;
        from = to;
        TimeBin { up_to_ms, turns }
    })
    .collect()
}

impl SubmoduleFigures {
    fn new(figures: &Figures, cut: Option<Timestamp>) -> Self {
        Self {
            asked: figures.asked,
            spoke: figures.of(VoiceOutcome::Spoke),
            passed: figures.of(VoiceOutcome::Passed),
            late: figures.of(VoiceOutcome::Late),
            failed: figures.of(VoiceOutcome::Failed),
            followed_up: figures.followed_up,
            p50_ms: figures.percentile(50),
            p95_ms: figures.percentile(95),
            times: bins(&figures.times),
            tokens: figures.tokens,
            cut,
        }
    }
}

/// Returns the outcomes of a voice over a span, made of its newest 10,000 events there.
#[utoipa::path(get, path = "/submodules/{name}/figures", operation_id = "get_submodule_figures", tag = "submodules",
    params(("name" = String, Path, description = "its name; of one that was removed, too"),
        ("since" = Option<String>, Query, format = DateTime, description = "only what was stored at or after this moment"),
        ("before_ts" = Option<String>, Query, format = DateTime, description = "only what was stored before this moment"),),
    responses((status = 200, body = SubmoduleFigures)))]
pub async fn figures(
    session: Needs<Read>,
    Path(name): Path<Name>,
    mut params: Params,
) -> Answer<SubmoduleFigures> {
    let span = span(&mut params)?;
    params.end()?;
    known(&session, &name).await?;
    let found = session.voice_figures(&name, span).await?;
    Ok(axum::Json(SubmoduleFigures::new(&found.figures, found.cut)))
}

/// The versions of a voice, past and present.
#[derive(Debug, Serialize, ToSchema)]
pub struct SubmoduleVersions {
    /// The newest first.
    pub items: Vec<VoiceVersion>,
}

/// Returns the versions of a voice, past and present, among the newest 10,000 changes of voices.
#[utoipa::path(get, path = "/submodules/{name}/versions", operation_id = "list_submodule_versions", tag = "submodules",
    params(("name" = String, Path, description = "its name; of one that was removed, too")),
    responses((status = 200, body = SubmoduleVersions)))]
pub async fn versions(
    session: Needs<Read>,
    Path(name): Path<Name>,
    _: NoParams,
) -> Answer<SubmoduleVersions> {
    let items = known(&session, &name).await?;
    Ok(axum::Json(SubmoduleVersions { items }))
}

/// The versions of a voice that there is, or was.
async fn known(session: &Session, name: &Name) -> Result<Vec<VoiceVersion>, Problem> {
    let versions = session.voice_versions(name).await?;
    if versions.is_empty() {
        let detail = format!("there is no submodule {name}, and there was none");
        return Err(Problem::not_found(detail));
    }
    Ok(versions)
}
