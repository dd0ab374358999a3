//! What the answer to a task claims of the world: each fact is a hypothesis before the answer is judged, is tried like any other claim, and is knowledge only if
//! it survives. A node of the pipeline in `missions/flow.rs`.

use unhurried::{Context, NodeExecutionError, node};

use super::desk::Desk;
use super::solving::Tried;
use crate::event::mission::{TEXT_MAX, TaskId, sameness};
use crate::event::statement::{Claim, Claimant, STATEMENT_MAX, Source, cut};
use crate::words::id;

/// Most facts of one answer.
const FACTS_MAX: usize = 8;

/// Claims what an answer rests on. Nobody waits for the trials.
pub(super) async fn claim_facts(
    desk: &Desk,
    task: TaskId,
    tried: &Tried,
) -> Result<(), NodeExecutionError> {
    if !tried.facts.is_empty() {
        claim(Context::new(task), tried.facts.clone(), desk.clone()).await?;
        desk.wake_trials();
    }
    Ok(())
}

/// Claims facts in the thread of a task, each once, and each by an append of its own: so no claims at once pass `memory.waiting` together.
#[node]
pub(super) async fn claim(task: TaskId, facts: Vec<String>, desk: Desk) {
    let (thread, _) = desk.seat(Some(task));
    let refuse = |fact: &str, why: String| {
        desk.refuse(
            Some(task),
            [(task, format!("to claim {}", cut(fact, TEXT_MAX)), why)],
        );
    };
    for (at, fact) in facts
        .iter()
        .map(|fact| fact.trim())
        .filter(|fact| !fact.is_empty())
        .enumerate()
    {
        if at >= FACTS_MAX {
            refuse(
                fact,
                format!("an answer rests on {FACTS_MAX} facts at most"),
            );
            return;
        }
        let id = id::about(&format!("the fact {} of {thread}", sameness(fact)));
        match desk.client().store().event(desk.space(), id).await {
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(error) => return desk.lose(error).await,
        }
        // One that is cut is another one.
        if fact.chars().count() > STATEMENT_MAX {
            refuse(
                fact,
                format!("a statement has at most {STATEMENT_MAX} characters"),
            );
            continue;
        }
        let source = Source {
            by: Claimant::Mind,
            seqs: Vec::new(),
            quote: None,
            word: false,
        };
        let claim = Claim {
            text: fact.to_owned(),
            source,
            premises: Vec::new(),
            root: desk.wanted().root,
        };
        if !desk.claim(&thread, id, claim).await {
            let most = desk.claims_max();
            refuse(
                fact,
                format!("{most} claims wait for their trial already (memory.waiting)"),
            );
        }
    }
}
