//! A submodule is asked with its own prompt about something new, the decision, or a question. It
//! may call tools first. Its words become events; the turn decides where and when they are
//! appended.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::action::{self, Asked};
use super::call::{Ended, ModelClient, PromptView, Question, Scope, TurnPlace, Until};
use super::turn_writer::{Lost, TurnWriter};
use thinkd_event::draft::{Draft, When};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::error::StoreError;
use thinkd_log::query::Show;
use thinkd_model::provider::{Tier, ToolCall, ToolChoice};
use thinkd_thread::history::positions;
use thinkd_thread::settings::Commit;
use thinkd_tools::tool::{CallSite, SoFar};
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Name, Seq, Space};

mod tally;
mod written_calls;

pub use tally::{Heard, Tally};

/// The word a submodule may say instead of saying nothing.
pub const PASS: &str = "PASS";

/// Why a submodule is asked.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// Something new has come.
    New {
        /// Its seqs.
        batch: Vec<Seq>,
    },
    /// The decision has acted.
    FollowUp {
        /// The events that it was about.
        batch: Vec<Seq>,
        /// The events of its words and acts.
        decision: Vec<Seq>,
    },
    /// The decision asks something.
    Asked {
        /// The question's seq.
        question: Seq,
    },
}

impl Purpose {
    /// The purpose of its calls, as their records say it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::New { .. } => "turn",
            Self::FollowUp { .. } => "follow-up",
            Self::Asked { .. } => "answer",
        }
    }
}

/// One submodule, with its earlier calls in this turn (when a turn is taken up again).
#[derive(Debug, Clone)]
pub struct Submodule {
    /// Its name.
    pub name: Name,
    /// Its prompt.
    pub prompt: String,
    /// Its calls and results in this turn so far.
    pub own: Vec<Event>,
    /// The number of times that its model was asked in this turn.
    pub rounds: u64,
    /// The number of these before messages joined the turn.
    pub before: u64,
}

/// The request that all submodules of a turn share.
#[derive(Clone)]
pub struct SubmoduleRequest {
    /// The client that asks the model.
    pub client: Arc<ModelClient>,
    /// The submodules' tools.
    pub tools: Toolbox,
    /// The turn's writer, for the calls of a submodule before it speaks.
    pub writer: Arc<TurnWriter>,
    /// The place.
    pub place: TurnPlace,
    /// The view of the log that they see.
    pub view: Arc<PromptView>,
    /// Why they are asked.
    pub purpose: Purpose,
    /// When every submodule must have answered, late or not.
    pub until: Until,
    /// Most calls one submodule may make.
    pub rounds_max: u64,
    /// Most tool calls one submodule may make.
    pub calls_max: u64,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The answer of a submodule: events to append, the last of them marked as such in its record.
#[derive(Debug)]
pub struct SubmoduleAnswer {
    /// The name of the submodule.
    pub name: Name,
    /// Its words, with the records of its calls; a failure, if it failed. `when` tags its words.
    pub drafts: Vec<Draft>,
}

/// Asks one submodule and lets it use its tools until it has answered. Never fails: a failure is among the events.
pub async fn ask_submodule(
    mut request: SubmoduleRequest,
    mut submodule: Submodule,
    when: When,
) -> SubmoduleAnswer {
    let who = Who::Submodule(submodule.name.clone());
    let mut said = Vec::new();
    loop {
        match ask(&mut request, &submodule, &who, when, &mut said).await {
            Ok(Some(own)) => submodule.own.extend(own),
            Ok(None) => break,
            Err(failure) => {
                said.push(request.place.failure(&who, &failure).when(when));
                break;
            }
        }
        submodule.rounds += 1;
    }
    SubmoduleAnswer {
        name: submodule.name,
        drafts: said,
    }
}

/// One call. `Some`: it used tools (those events are stored) and wants to be asked again.
async fn ask(
    request: &mut SubmoduleRequest,
    submodule: &Submodule,
    who: &Who,
    when: When,
    said: &mut Vec<Draft>,
) -> Result<Option<Vec<Event>>, Failure> {
    let mut view = request.view.clone();
    let asks = |_: &PromptView| question(request, submodule, who);
    let place = &request.place;
    let asked = request
        .client
        .ask_about(
            place,
            &mut view,
            asks,
            request.until,
            &request.stop,
            &mut |_| {},
        )
        .await;
    let (ready, ended) = asked.map_err(unstored)?;
    request.view = view;
    let place = &request.place;
    let (ended, is_from_text) = written_calls::read(ended, &ready, place);
    let left = request.calls_max.saturating_sub(calls_made(submodule));
    let made: &[ToolCall] = match &ended {
        Ended::Answered(answer) => &answer.calls,
        Ended::Failed(_) | Ended::Stopped => &[],
    };
    let calls = calls(made, request, submodule, left).map(|call| call.from_text(is_from_text));
    let calls = Vec::from_iter(calls);
    let is_gone =
        !calls.is_empty() && !is_there(request, &submodule.name).await.map_err(unstored)?;
    let last = calls.is_empty()
        || is_gone
        || submodule.rounds + 1 >= request.rounds_max + submodule.before;
    let mut record = json!({ "last": last, "calls": calls.len() });
    let mended = BTreeSet::from_iter(calls.iter().flat_map(|call| &call.mends));
    if !mended.is_empty() {
        record["mended"] = json!(mended);
    }
    let left_out = action::left_out(who, made.len(), calls.len(), request.calls_max);
    if left_out.is_some() {
        record["calls_made"] = made.len().into();
    }
    said.extend(ready.records(place, &ended, record));
    // Not as the submodule's own failure: it has not come to its end by that.
    let told = |failure: &Failure| place.failure(&Who::Core, failure).when(when);
    said.extend(left_out.as_ref().map(told));
    match ended {
        Ended::Stopped => Ok(None),
        Ended::Failed(failure) => Err(failure),
        Ended::Answered(answer) => {
            let words = answer.text.trim();
            if !words.is_empty() && words != PASS {
                let thread = &place.thread;
                let turn = place.turn;
                said.push(Draft::submodule_said(
                    thread,
                    turn,
                    &submodule.name,
                    when,
                    words,
                ));
            }
            if calls.is_empty() {
                return Ok(None);
            }
            if is_gone {
                return Err(removed());
            }
            let allowed = Allowed {
                left,
                beyond: beyond(request.calls_max, left_out),
            };
            let own = act(request, who, &calls, &allowed, std::mem::take(said));
            let own = own.await.map_err(lost)?;
            if last {
                let most = request.rounds_max;
                let text = format!("{who} was still calling tools after {most} calls to its model");
                return Err(Failure::new(FailureKind::Budget, text));
            }
            Ok(Some(own))
        }
    }
}

fn question(request: &SubmoduleRequest, submodule: &Submodule, who: &Who) -> Question {
    let prompts = request.client.prompts();
    let value = |name: &str, seqs: &[Seq]| (name.to_owned(), positions(seqs));
    let (tail, values) = match &request.purpose {
        Purpose::New { batch } => (&prompts.submodule_turn, vec![value("batch", batch)]),
        Purpose::FollowUp { batch, decision } => {
            let values = vec![value("batch", batch), value("decision", decision)];
            (&prompts.submodule_follow_up, values)
        }
        Purpose::Asked { question } => {
            let values = vec![value("question", &[*question])];
            (&prompts.submodule_answer, values)
        }
    };
    Question {
        who: who.clone(),
        purpose: request.purpose.as_str(),
        round: submodule.rounds,
        system: prompts.submodule.source().clone(),
        tail: tail.clone(),
        values,
        prompt: Some(submodule.prompt.clone()),
        own: submodule.own.clone(),
        tools: request.tools.specs().clone(),
        choice: ToolChoice::Auto,
        tier: Tier::Low,
    }
}

/// The number of a submodule's calls that run, and the result of one beyond.
struct Allowed {
    left: u64,
    beyond: Failure,
}

/// Returns the failure of a call beyond the limit. A submodule is shown only its own events of the
/// turn, so the result says how many were left out after it, too.
fn beyond(limit: u64, left_out: Option<Failure>) -> Failure {
    let text = format!("not run: all {limit} tool calls are used up (turn.max_tool_calls)");
    let more = left_out.map(|failure| format!("; {}", failure.text));
    Failure::new(FailureKind::Budget, text + &more.unwrap_or_default())
}

/// Returns the number of tool calls that a submodule has made since it was asked, from its events
/// in the log.
fn calls_made(submodule: &Submodule) -> u64 {
    let is_action = |event: &&Event| matches!(event.fact(), Fact::Action(_));
    submodule.own.iter().filter(is_action).count() as u64
}

fn calls(
    made: &[ToolCall],
    request: &SubmoduleRequest,
    submodule: &Submodule,
    left: u64,
) -> impl Iterator<Item = Asked> {
    let name = &submodule.name;
    let turn = request.place.turn;
    // A submodule may be asked about several things in a turn.
    let who = match &request.purpose {
        Purpose::New { .. } => format!("{name}-{turn}"),
        Purpose::FollowUp { .. } => format!("{name}-{turn}-after"),
        Purpose::Asked { question } => format!("{name}-{turn}-q{question}"),
    };
    let taken = made[..action::taken(made.len(), left)].iter().enumerate();
    taken.map(move |(index, call)| {
        let call_id = action::call_id(&who, submodule.rounds, index);
        Asked::read(call, call_id, &request.tools)
    })
}

/// Runs the calls in order and appends the events that they leave, after `before`. Returns the
/// actions and results.
async fn act(
    request: &SubmoduleRequest,
    who: &Who,
    calls: &[Asked],
    allowed: &Allowed,
    before: Vec<Draft>,
) -> Result<Vec<Event>, Lost> {
    let SubmoduleRequest { place, tools, .. } = request;
    let mut drafts = before;
    let mut own = Vec::new();
    for (number, call) in (0..).zip(calls) {
        let site = CallSite {
            space: place.space.clone(),
            thread: place.thread.clone(),
            turn: place.turn,
            by: who.clone(),
            call_id: call.call_id.clone(),
            now: thinkd_words::time::now(),
            so_far: SoFar {
                purse: place.purse.clone(),
                ..SoFar::default()
            },
            grant: None,
        };
        drafts.extend(call.action(tools, &site));
        if number < allowed.left {
            drafts.extend(call.run(tools, &site, Commit::Immediate).await);
        } else {
            drafts.push(call.refused(&site, &allowed.beyond));
        }
        let drafts = std::mem::take(&mut drafts);
        let stored = request.writer.write_beside(drafts).await?;
        let events = stored.iter().map(|shown| &shown.event);
        own.extend(events.filter(|event| is_own(event, who)).cloned());
    }
    Ok(own)
}

/// Returns true if a submodule has not been removed since it was asked.
async fn is_there(request: &SubmoduleRequest, name: &Name) -> Result<bool, StoreError> {
    let store = request.client.store();
    let submodules = store.submodules(&request.place.space).await?;
    Ok(submodules.iter().any(|row| row.name == *name))
}

/// The submodule is there no more: neither asked nor acted for.
pub fn removed() -> Failure {
    let text = "the voice was removed before it was heard";
    Failure::new(FailureKind::Tool, text)
}

/// Returns the drafts of submodules as they are to be stored: the words of one that has been
/// removed meanwhile are late, for any purpose.
pub async fn dated(client: &ModelClient, space: &Space, drafts: Vec<Draft>) -> Vec<Draft> {
    if !drafts.iter().any(|draft| words_of(draft).is_some()) {
        return drafts;
    }
    // Where this cannot be read nothing can be stored either, which is said there.
    let Ok(submodules) = client.store().submodules(space).await else {
        return drafts;
    };
    let date = |draft: Draft| match words_of(&draft) {
        Some(name) if !submodules.iter().any(|row| row.name.as_str() == name) => {
            draft.when(When::Late)
        }
        _ => draft,
    };
    drafts.into_iter().map(date).collect()
}

/// Returns the submodule that said these words, unless they are late already.
fn words_of(draft: &Draft) -> Option<&str> {
    match draft.fact() {
        Fact::Remark(remark) if !remark.is_late => Some(remark.submodule),
        _ => None,
    }
}

/// Returns true if an event is an action of this submodule or its result.
fn is_own(event: &Event, who: &Who) -> bool {
    let fact = event.fact();
    let name = who.by().submodule();
    matches!(fact, Fact::Action(_) | Fact::Result(_)) && name.is_some() && fact.submodule() == name
}

/// Returns the scope that a submodule is shown: the log without the words of any submodule, and all
/// events that the turn is about.
pub fn scope(batch: &[Seq]) -> Scope {
    Scope {
        show: Show::Heard,
        until: None,
        about: Scope::about(batch),
    }
}

fn unstored(error: StoreError) -> Failure {
    let text = format!("the log could not be read: {error}");
    Failure::new(FailureKind::Store, text).retryable()
}

fn lost(lost: Lost) -> Failure {
    Failure::new(FailureKind::Store, lost.to_string()).retryable()
}
