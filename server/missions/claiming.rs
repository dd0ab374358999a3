//! Claims in the answer to a task about the world: each fact is a hypothesis before the answer is
//! judged. It is tried like any other claim, and is knowledge only if it survives. A node of the
//! pipeline in `missions/flow.rs`.

use unhurried::{Context, node};

use super::desk::{Desk, Done};
use super::solving::Tried;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::mission::{TEXT_MAX, TaskId, sameness};
use thinkd_event::statement::{Claim, Claimant, STATEMENT_MAX, Source, cut};
use thinkd_log::error::StoreError;
use thinkd_mind::turn_writer::Lost;
use thinkd_words::id::{self, ThreadId};

/// Most facts of one answer.
const FACTS_MAX: usize = 8;

/// Claims the facts that an answer rests on, and does not wait for the trials.
pub(super) async fn claim_facts(desk: &Desk, task: TaskId, tried: &Tried) -> Done<()> {
    if !tried.facts.is_empty() {
        claim(Context::new(task), tried.facts.clone(), desk.clone()).await?;
        let trials = ThreadId::of_trials();
        desk.ground.waker.wake(&desk.space, &trials, None);
    }
    Ok(())
}

/// Claims facts in the thread of a task, each once, and each by an append of its own: so no claims
/// at once pass the limit together.
#[node]
pub(super) async fn claim(task: TaskId, facts: Vec<String>, desk: Desk) {
    let journal = &desk.journal;
    let most = desk.ground.options.tool_limits.claims;
    let thread = journal.thread(Some(task));
    let facts = facts.iter().map(|fact| fact.trim());
    for (at, fact) in facts.filter(|fact| !fact.is_empty()).enumerate() {
        let refuse = |why: String| {
            let of = format!("to claim {}", cut(fact, TEXT_MAX));
            journal.refuse(Some(task), of, why);
        };
        if at >= FACTS_MAX {
            return refuse(format!("an answer rests on {FACTS_MAX} facts at most"));
        }
        let id = id::about(&format!("the fact {} of {thread}", sameness(fact)));
        let known = desk.ground.store.event(&desk.space, id).await;
        if journal.found(known).await.is_some() {
            continue;
        }
        // One that is cut is another one.
        if fact.chars().count() > STATEMENT_MAX {
            refuse(format!(
                "a statement has at most {STATEMENT_MAX} characters"
            ));
            continue;
        }
        let claim = Claim {
            text: fact.to_owned(),
            source: Source {
                by: Claimant::Mind,
                seqs: Vec::new(),
                quote: None,
                word: false,
            },
            premises: Vec::new(),
            root: desk.wanted.root,
        };
        let [claimed, due] = Draft::claimed(&thread, id, claim);
        let claimed = claimed.only_if(Condition::FewerWaiting(most));
        match journal.ledger.say(vec![claimed, due]).await {
            Ok(()) => {}
            Err(Lost::Store(StoreError::Unmet(_))) => {
                refuse(format!("{most} claims wait for their trial already"))
            }
            Err(lost) => journal.ledger.lose(lost).await,
        }
    }
}
