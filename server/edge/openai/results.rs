//! The results that a client gives of calls that it ran itself. They are found by the ids of the
//! calls: all calls of an answer end by the first request with results of them, and later ones are
//! answered by the same turn.

use std::collections::BTreeSet;

use super::asking::Asked;
use super::marks::{self, Scope};
use super::place::{Place, said_before};
use super::request::{Chat, ToolResult};
use super::telling::from_client;
use super::tools::request_of;
use super::turns::{Until, turn_about};
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_session::client_tools::ClientCall;
use thinkd_session::handle::Session;

/// Most results of a request; an answer has fewer calls.
const RESULTS_MAX: usize = 256;

/// Gives the results of a request, unless an earlier one has, or their time was over.
pub async fn place(
    session: &Session,
    edge: &Edge,
    (chat, asked): (&Chat, &Asked),
) -> Result<Place, Problem> {
    let call = call(session, chat, &asked.scope).await?;
    let previous = asked.previous.as_ref();
    if previous.is_some_and(|it| it.thread != *call.thread()) {
        let detail = "these calls are not of the response before: name the one that made them";
        let place = "/previous_response_id";
        return Err(Problem::at(Slug::InvalidFrame, place, detail));
    }
    if call.is_open() {
        let from = from_client(session, edge, (chat, asked)).await?;
        if let Some(event) = session.give_results(&call, &from).await? {
            return Ok(begun(&event));
        }
    }
    let Some(results) = session.client_results(&call).await? else {
        let detail = "these calls have ended without results: the turn was cancelled, or the conversation went on; say something";
        return Err(Problem::new(Slug::AlreadySettled, detail));
    };
    let turn = turn_about(session, &results, Until::Turn).await?;
    let is_had = match turn.and_then(|turn| turn.outcome) {
        None | Some(TurnOutcome::Done) => true,
        Some(TurnOutcome::Failed) => asked.is_retry,
        Some(TurnOutcome::Cancelled | TurnOutcome::Interrupted) => false,
    };
    if is_had {
        return Ok(said_before(&results));
    }
    let from = from_client(session, edge, (chat, asked)).await?;
    let again = session.give_again(&results, &from).await?;
    Ok(again.map_or_else(|| said_before(&results), |event| begun(&event)))
}

fn begun(event: &Event) -> Place {
    Place {
        was_said: false,
        ..said_before(event)
    }
}

/// Returns one of the calls that a request has results of. All of them have to be of one answer.
pub async fn call(session: &Session, chat: &Chat, scope: &Scope) -> Result<ClientCall, Problem> {
    let client = &marks::of_client(scope);
    let refuse = |result: &ToolResult, detail: String| {
        Err(Problem::at(Slug::InvalidFrame, &result.place, detail))
    };
    let mut first = None::<ClientCall>;
    let mut known = BTreeSet::new();
    for result in &chat.results {
        let id: String = result.call.chars().take(80).collect();
        if known.len() == RESULTS_MAX {
            return refuse(
                result,
                format!("a request has at most {RESULTS_MAX} results"),
            );
        }
        if !known.insert(&result.call) {
            return refuse(result, format!("the call {id:?} has a result already"));
        }
        let call = match request_of(&result.call) {
            Some(request) => session.client_call(request, client).await?,
            None => None,
        };
        let Some(call) = call else {
            return refuse(result, format!("no call {id:?} waits for a result"));
        };
        match &first {
            None => first = Some(call),
            Some(one) if (one.thread(), one.turn()) == (call.thread(), call.turn()) => {}
            Some(_) => return refuse(result, format!("the call {id:?} is of another answer")),
        }
    }
    first.ok_or_else(|| Problem::new(Slug::Internal, "results without a call"))
}
