//! `/threads/{thread}/turns`: the outcomes of the turns of a thread.

use serde::Serialize;
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read};
use super::params::Params;
use super::path::Path;
use super::{Answer, Page};
use crate::problem::{Problem, Slug};
use thinkd_session::turns::TurnsAt;
use thinkd_thread::tokens::Tokens;
use thinkd_thread::turns::{TurnSummary, Voice};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE;
    "/threads/{thread}/turns" => get(list);
}

/// The record of a turn, as far as the log has it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Turn {
    /// Its number in the thread.
    pub turn: u64,
    /// The seq of its first event.
    #[schema(value_type = i64)]
    pub first: Seq,
    /// The seq of its last event so far; words of voices that come late or afterwards count.
    #[schema(value_type = i64)]
    pub last: Seq,
    /// When it began.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub started_at: Timestamp,
    /// When it ended; null: it runs, or was left to be taken up again.
    #[schema(value_type = Option<String>, example = "2026-11-21T04:25:04.000000Z")]
    pub ended_at: Option<Timestamp>,
    /// The way it ended: `done`, `cancelled`, `interrupted` or `failed`.
    #[schema(value_type = Option<String>, example = "done")]
    pub outcome: Option<&'static str>,
    /// The most milliseconds that the decision waited for the voices; null: there was none to wait
    /// for, or an older server ran it.
    pub deadline_ms: Option<u64>,
    /// The seqs of all that woke the thread and waited.
    #[schema(value_type = Vec<i64>)]
    pub batch: Vec<Seq>,
    /// The seqs of the messages that joined it while it ran (`"policy": "steer"`).
    #[schema(value_type = Vec<i64>)]
    pub joined: Vec<Seq>,
    /// The voices by name.
    pub voices: Vec<TurnVoice>,
    /// Calls of the decision's model.
    pub rounds: u64,
    /// Calls of models, the decision's with them.
    pub calls: u64,
    /// Calls of tools.
    pub tools: u64,
    /// Replies.
    pub replies: u64,
    /// Failures of voices, tools and the decision.
    pub failures: u64,
    /// The tokens that its calls used.
    pub tokens: Tokens,
}

/// A voice in a turn.
#[derive(Debug, Serialize, ToSchema)]
pub struct TurnVoice {
    /// Its name.
    #[schema(example = "critic")]
    pub name: String,
    /// `spoke`, `passed`, `late` or `failed`; null: nothing has become of it yet.
    #[schema(value_type = Option<String>, example = "spoke")]
    pub outcome: Option<&'static str>,
    /// Milliseconds that its calls took before the decision; null: none has come back.
    pub ms: Option<u64>,
    /// True if it added something to the decision.
    pub followed_up: bool,
}

impl From<(String, Voice)> for TurnVoice {
    fn from((name, voice): (String, Voice)) -> Self {
        Self {
            name,
            outcome: voice.outcome().map(|outcome| outcome.as_str()),
            ms: voice.ms,
            followed_up: voice.followed_up,
        }
    }
}

impl Turn {
    /// None: its beginning is not known.
    fn new(turn: u64, summary: TurnSummary) -> Option<Self> {
        let (first, started_at) = summary.started?;
        let (ended_at, outcome) = summary.ended.unzip();
        Some(Self {
            turn,
            first,
            last: summary.last.map_or(first, |(seq, _)| seq),
            started_at,
            ended_at,
            outcome: outcome.flatten().map(|outcome| outcome.as_str()),
            deadline_ms: summary.deadline_ms,
            batch: summary.batch,
            joined: summary.joined,
            voices: summary.voices.into_iter().map(TurnVoice::from).collect(),
            rounds: summary.rounds,
            calls: summary.calls,
            tools: summary.tools,
            replies: summary.replies,
            failures: summary.failures,
            tokens: summary.tokens,
        })
    }
}

/// The turns of a thread, the newest first. Words of a voice later than two turns after its own are
/// not counted. One request reads 10,000 events at most: where turns have very many, a page has
/// fewer than `limit`, and `next` to go on with.
#[utoipa::path(get, path = "/threads/{thread}/turns", operation_id = "list_turns", tag = "threads",
    params(("thread" = String, Path, description = "its id"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Turn>)))]
pub async fn list(
    session: Needs<Read>,
    Path(thread): Path<ThreadId>,
    mut params: Params,
) -> Answer<Page<Turn>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of(format!("turns {} {thread}", session.space()))?;
    let at = part.at.as_deref().map(read).transpose()?;
    if session.thread(&thread).await?.is_none() {
        return Err(Problem::not_found(format!("there is no thread {thread}")));
    }
    let found = session.turns(&thread, at, part.limit as usize).await?;
    let next = (found.next).map(|at| part.next(format_args!("{} {}", at.turn, at.before)));
    let turns = found.turns.into_iter();
    let items = turns.filter_map(|(number, summary)| Turn::new(number, summary));
    Ok(axum::Json(Page {
        items: items.collect(),
        next,
    }))
}

/// The place that a cursor of ours names.
fn read(at: &str) -> Result<TurnsAt, Problem> {
    let place = at.split_once(' ').and_then(|(turn, before)| {
        Some(TurnsAt {
            turn: turn.parse().ok()?,
            before: before.parse().ok()?,
        })
    });
    place.ok_or_else(|| Problem::new(Slug::InvalidCursor, "no place among turns"))
}
